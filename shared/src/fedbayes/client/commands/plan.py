"""``fedbayes plan`` on the terminal."""

from __future__ import annotations

import json
from typing import Any

from ..expected import SIGNAL
from ..local import Job
from ..planning import Setting, plan
from ..text.formats import number, size
from . import options
from .run_options import Options


def execute(
    chosen: Options, stations: int, rows: int, policy: list[str] | None, as_json: bool, signal: float = SIGNAL
) -> None:
    """Print what a task would ask and cost; nobody is asked.

    Raises
    ------
    PolicyError
        If a limit that was given would refuse it, after the plan is printed.
    """
    limits = {name: value for entry in options.read_policies(policy or []).values() for name, value in entry.items()}
    planned = plan(Job(chosen.algorithm, chosen.function, chosen.arguments()), Setting(stations, rows, limits, signal))
    if as_json:
        print(json.dumps(planned, indent=1))
    else:
        _print(planned)
    if planned["refusals"]:
        from ...federation.errors import PolicyError

        raise PolicyError(f"a node with these limits would refuse it: {'; '.join(planned['refusals'])}")


def _print(planned: dict[str, Any]) -> None:
    debit = planned["debit"]
    cost = f"epsilon {debit['epsilon']:g}, delta {debit['delta']:g}, queries {debit['queries']}"
    rows = [
        ("stations", str(planned["stations"])),
        (
            "rounds",
            f"about {planned['rounds']}, {planned['seconds']:g} s on nodes"
            if planned["rounds"]
            else "not known before",
        ),
        *([("bytes", f"about {size(planned['bytes'])} in all")] if planned["bytes"] else []),
        ("columns", ", ".join(planned["columns"]) or "told by the stations"),
        ("debit at each station", cost),
        ("differentially private", number(planned["private"])),
        ("predicts single records", number(planned["single_records"])),
        *_noise_rows(planned["noise"]),
        *_expected_rows(planned["expected"]),
        *(
            (f"chosen {name}" if name != "from" else "chosen from", _text(value))
            for name, value in planned["chosen"].items()
        ),
    ]
    for name, text in rows:
        print(f"{name + ':':<26}{text}")
    for warning in planned["warnings"]:
        print(f"warning: {warning}")


def _text(value: Any) -> str:
    return ", ".join(f"{name} {one}" for name, one in value.items()) if isinstance(value, dict) else str(value)


def _noise_rows(noise: dict[str, Any] | None) -> list[tuple[str, str]]:
    if noise is None:
        return []
    rows = [
        (
            "noise in a cell",
            f"about {noise['deviation']:.3g} (standard deviation), {noise['cells']} cells in the largest table",
        )
    ]
    if noise["mean_count"] is not None:
        comparison = (
            "the noise dominates: raise epsilon, or take fewer bins or features"
            if noise["dominates"]
            else "more than the noise"
        )
        rows.append(("mean count of a cell", f"{noise['mean_count']:.3g}: {comparison}"))
    return rows


def _expected_rows(expected: dict[str, Any] | None) -> list[tuple[str, str]]:
    if expected is None:
        return []
    asked, exact = expected["asked"], expected["without_noise"]
    return [
        ("expected accuracy", f"about {asked:.2f}, {exact:.2f} without noise, on made-up records"),
        *((f"  with {words}", f"{value:.2f}") for words, value in expected["instead"].items()),
        (
            "  made up",
            f"classes alike, the log-odds of every feature of deviation {expected['signal']:g} (--signal): what the noise takes, "
            "not how well your data can be told apart",
        ),
    ]
