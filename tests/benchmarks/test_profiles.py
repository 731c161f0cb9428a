"""Where the processor time of one task of each method goes, by the module that spends it. Writes docs/profiles.md."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, by_rows

pytestmark = pytest.mark.benchmark
PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"
FIRST, LAST = "<!-- profiles: written by tests/benchmarks/test_profiles.py -->", "<!-- end of profiles -->"
OURS = ("fedbayes", "v6_")
INTERVAL = 0.001  # seconds of processor time between two looks
SHOWN = 6
STATES = {"sex": ["f", "m"], "stage": ["I", "II", "III", "IV"], "smoker": ["no", "yes"], "region": list("abcdefgh")}
NUMBERS = ("age", "weight", "pressure")
DOMAIN = {
    **{name: {"categories": states} for name, states in {**STATES, "ill": ["no", "yes"]}.items()},
    **{name: {"bounds": [0, 100]} for name in NUMBERS},
}
LINKED = {"a": ["sex", "stage", "ill"], "b": ["smoker", "region"], "c": ["grade", "dose"]}


@dataclass(frozen=True)
class Task:
    """What is asked, over whole records of ten stations or linked ones of three."""

    method: str
    function: str
    arguments: dict[str, Any]
    linked: bool = False
    rows: int = 10_000


LABELLED = {"label": "ill", "domain": DOMAIN}
COX = {"id_column": "id", "time": "time", "event": "event", "features": ["sex", "age", "smoker", "weight"]}
TASKS = (
    Task("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0}),
    Task("smooth_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0}),
    Task("discriminative_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "delta": 1e-6}),
    Task("secure_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0}),
    Task("scalar_product", "contingency", {"id_column": "id", "columns": ["stage", "smoker", "grade"]}, linked=True),
    Task(
        "vertibayes",
        "fit",
        {
            "id_column": "id",
            "columns": [name for own in LINKED.values() for name in own if name != "dose"],
            "structure": "k2",
            "max_parents": 2,
        },
        linked=True,
    ),
    Task("bayesian_ensemble", "fit", {"id_column": "id", "label": "ill"}, linked=True),
    Task("verticox", "fit", COX, linked=True, rows=2_000),
)


def people(rows: int) -> pd.DataFrame:
    """Return records of which an illness, a grade and censored times follow from the other columns."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(rows)})
    for name, states in STATES.items():
        table[name] = draw.choice(states, rows)
    for name in NUMBERS:
        table[name] = np.round(draw.uniform(0, 100, rows), 1)
    risk = 0.02 * (table["age"] - 50) + (table["smoker"] == "yes") - 0.3 * (table["sex"] == "f")
    table["ill"] = np.where(draw.logistic(size=rows) < risk, "yes", "no")
    table["grade"] = np.where(draw.logistic(size=rows) < risk, "high", "low")
    table["dose"] = draw.choice(["small", "large"], rows)
    until, censored = draw.exponential(np.exp(-risk)), draw.exponential(1.5, rows)
    return table.assign(time=np.ceil(np.minimum(until, censored) * 20), event=(until <= censored).astype(int))


def parties_of(task: Task) -> dict[str, pd.DataFrame]:
    table = people(task.rows)
    if not task.linked:
        return by_rows(table, [f"station{number}" for number in range(10)])
    if task.method == "verticox":
        coded = table.assign(sex=(table["sex"] == "f").astype(int), smoker=(table["smoker"] == "yes").astype(int))
        return by_columns(coded, {"a": ["sex", "age", "time", "event"], "b": ["smoker"], "c": ["weight"]})
    return by_columns(table, LINKED)


def module_of(frame: FrameType | None) -> str:
    """Return the innermost module of this project that a frame is called from, "beside" if there is none."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(OURS):
            return str(name)
        frame = frame.f_back
    return "beside"


@contextmanager
def looked_at() -> Iterator[Counter[str]]:
    """Yield processor seconds by module, filled by looking where the program is: what passed since the last look is this place's."""
    found: Counter[str] = Counter()
    last = time.process_time()

    def look(_number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        found[module_of(frame)] += now - last
        last = now

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.fixture(scope="module")
def lines() -> Iterator[dict[str, str]]:
    """Take rows of the page by method, and write those that were made."""
    made: dict[str, str] = {}
    yield made
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    table, _, tail = rest.partition(LAST)
    kept = {line.split("|")[1].strip().split(" ")[0]: line for line in table.strip().splitlines()[2:]}
    rows = {**kept, **made}
    shown = [rows[f"`{task.method}`"] for task in TASKS if f"`{task.method}`" in rows]
    text = "\n".join(["| task | processor | where it goes |", "|---|--:|---|", *shown])
    PAGE.write_text(f"{head}{FIRST}\n{text}\n{LAST}{tail}", encoding="utf-8")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.method)
def test_where_a_task_spends_its_time(task: Task, lines: dict[str, str]) -> None:
    with OneProcess(parties_of(task), ["helper"]) as running:
        running.run(task.method, task.function, task.arguments)  # imports and tables that are made once
        began = time.process_time()
        with looked_at() as found:
            result = running.run(task.method, task.function, task.arguments)
        spent = time.process_time() - began
    total = sum(found.values())
    places = [f"{name.removeprefix('fedbayes.')} {seconds / total:.0%}" for name, seconds in found.most_common(SHOWN)]
    told = f"{task.rows:,} records, {result['federation']['rounds']} rounds"
    print(f"\n{task.method}: {spent:.2f} s; {json.dumps(places)}", file=sys.stderr)
    lines[f"`{task.method}`"] = f"| `{task.method}` {task.function}, {told} | {spent:.2f} s | {', '.join(places)} |"
    assert total == pytest.approx(spent, rel=0.2, abs=0.1), "most of the time is seen"
