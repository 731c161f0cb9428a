"""Rounds, bytes and time of each method, beside those of an earlier version in the same run. Writes a table of docs/benchmarks.md.

FEDBAYES_BEFORE is the Python of the earlier version, as ``make setup`` leaves it in a checkout: the page has the parent of 1620ef3c, which is the last
version before stations asked whose question they answer (`docs/threat-model.md`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_profiles import TASKS, Task, parties_of

BEFORE = os.environ.get("FEDBAYES_BEFORE")
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(BEFORE is None, reason="FEDBAYES_BEFORE names no Python with an earlier version"),
]
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "benchmarks.md"
FIRST, LAST = "<!-- before and after: written by tests/benchmarks/test_before_and_after.py -->", "<!-- end of both -->"
REPEATS = 3
WARM = 4  # runs in one federation, less one in another: what starts once does not count
GROWN = 1.25
"""Times the processor seconds of the earlier version that are taken for the noise of a run on a busy machine."""


def asked(python: str, task: dict[str, Any], runs: int) -> dict[str, float]:
    given = json.dumps({**task, "runs": runs})
    command = [python, str(HERE / "asked_alone.py")]
    printed = subprocess.run(command, input=given, capture_output=True, text=True, check=True, cwd="/").stdout
    return dict(json.loads(printed))


def cost(python: str, task: dict[str, Any]) -> dict[str, float]:
    """Return rounds, bytes, the seconds of the fastest run and the processor seconds of one, without what starts once."""
    once, warm = asked(python, task, 1), asked(python, task, WARM)
    return {**warm, "processor": (warm["processor"] - once["processor"]) / (WARM - 1)}


@pytest.fixture(scope="module")
def rows() -> Iterator[list[str]]:
    """Take rows of the table, and write it if all were made."""
    made: list[str] = []
    yield made
    if len(made) == len(TASKS):
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
        table = ["| task | rounds | kB | processor | time |", "|---|--:|--:|--:|--:|", *made]
        PAGE.write_text("\n".join([head + FIRST, *table, LAST + rest.partition(LAST)[2]]), encoding="utf-8")


def told(what: str, before: dict[str, float], now: dict[str, float], unit: float = 1.0) -> str:
    digits = ".2f" if what in ("processor", "fastest") else ",.0f"
    return f"{before[what] / unit:{digits}} → {now[what] / unit:{digits}}"


def as_then(task: Task) -> dict[str, Any]:
    """Return a task's arguments by their earlier names, with what was no default then."""
    given = dict(task.arguments)
    if task.method == "bayesian_ensemble":
        given["target"] = given.pop("label")
    if task.method == "discriminative_naive_bayes":
        given["tables"] = "dp"
    return given


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.method)
def test_nothing_grows(task: Task, tmp_path: Path, rows: list[str]) -> None:
    assert BEFORE is not None
    files = {name: str(tmp_path / f"{name}.csv") for name in parties_of(task)}
    for name, table in parties_of(task).items():
        table.to_csv(files[name], index=False)
    helpers = ["helper"] if task.linked else []
    given = {"files": files, "helpers": helpers, "method": task.method, "function": task.function}
    pairs = [
        (
            cost(BEFORE, {**given, "arguments": as_then(task)}),
            cost(sys.executable, {**given, "arguments": task.arguments}),
        )
        for _ in range(REPEATS)
    ]
    before, now = (
        {what: min(pair[at][what] for pair in pairs) for what in ("rounds", "bytes", "processor", "fastest")}
        for at in (0, 1)
    )
    rows.append(
        f"| `{task.method}` {task.function}, {task.rows:,} records | {told('rounds', before, now)} | {told('bytes', before, now, 1000)} "
        f"| {told('processor', before, now)} s | {told('fastest', before, now)} s |"
    )
    print(f"\n{rows[-1]}", file=sys.stderr)
    assert now["rounds"] <= before["rounds"]
    assert now["processor"] <= GROWN * before["processor"]
