"""``fedbayes ledger``: what a node has released, for its administrator."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..exits import TaskFailed, UsageProblem
from ..formats import counted
from ..inputs.files import print_json
from .listing import print_table


def execute(path: Path, as_json: bool, days: float | None = None) -> None:
    """Print the debits of a ledger and their sum.

    Raises
    ------
    UsageProblem
        If there is no ledger at the path, or the period is none.
    TaskFailed
        If the file cannot be read as a ledger.
    """
    import sqlite3

    from ...dp.ledger import Ledger, LedgerOlder
    from ...federation.node.policy import LEDGER_FILE

    if days is not None and not 0 < days < math.inf:
        raise UsageProblem("--days must be above 0: a period of no days has no debit; leave it out for all")
    file = path / LEDGER_FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageProblem(f"no ledger at {file}; name the folder database of the node or the file in it")
    ledger = Ledger(file, days=days)
    try:
        entries, spent = ledger.entries(), ledger.spent()
    except LedgerOlder as older:
        raise TaskFailed(f"{file}: {older}") from None
    except sqlite3.Error:
        raise TaskFailed(f"{file} is no privacy ledger, or it is damaged; name the node's folder database") from None
    total = {"epsilon": spent.epsilon, "delta": spent.delta, "queries": spent.queries}
    if as_json:
        content = {"debits": [_debit(entry) for entry in entries], "spent": total, "days": days}
        print_json(content)
        return
    _print(entries, total, days)


def _debit(entry: Any) -> dict[str, Any]:
    when = datetime.fromtimestamp(entry.time, timezone.utc).isoformat(timespec="seconds")
    return {
        "time": when,
        "job": entry.session,
        "round": entry.round,
        "epsilon": entry.epsilon,
        "delta": entry.delta,
        "queries": entry.queries,
        "note": entry.note,
    }


def _print(entries: list[Any], total: dict[str, float], days: float | None) -> None:
    rows = [
        (
            debit["time"].removesuffix("+00:00"),
            debit["job"][:8],
            f"{debit['epsilon']:.6g}",
            f"{debit['delta']:.3g}",
            debit["queries"],
            _what(debit),
        )
        for debit in map(_debit, entries)
    ]
    when, job, *numbers = "time (UTC)", "job", "epsilon", "delta", "queries"
    print_table((when, job, *numbers, "released"), rows, "Privacy ledger", right=numbers, whole=(when, job, *numbers))
    period = "in all" if days is None else f"in the last {days:g} days"
    queries = int(total["queries"]) if math.isfinite(total["queries"]) else 0
    print(
        f"{counted(len(entries), 'debit')}; spent {period}: epsilon {total['epsilon']:.6g}, delta {total['delta']:.3g}, queries {queries}"
    )


def _what(debit: dict[str, Any]) -> str:
    """Return what a debit was for and in which round, in words that fold well in a narrow column."""
    number, _, function = debit["round"].partition(":")
    words = " ".join(filter(None, (number, function.removeprefix("partial_").replace("_", " "))))
    return f"{debit['note']} (round {words})" if debit["note"] else f"round {words}"
