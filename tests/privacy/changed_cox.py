"""Private Cox fits, of columns with central at several places and of rows, and a judgement: tasks as in `changed_cases`."""

from __future__ import annotations

from functools import cache
from typing import Any

from changed_cases import ALL, COX, DOMAIN, EPSILON, LIMITS, ROWS, Spread, Task, table
from harness.inprocess import InProcess

ELSEWHERE: Spread = {
    "a": (["x", "t", "d"], ALL),
    "b": (["z", "v"], ALL),
    "c": (["w", "y"], ALL),
    "h": None,
    "o": None,
}
"""With one more organization without data, where central runs."""
BESIDE: Spread = {"a": (["x", "t", "d", "v"], ALL), "b": (["z", "w"], ALL), "c": (["y"], ALL), "h": None}
"""The station with the outcome has a feature too, and one of the three has no column of the fit."""
COLUMNS_OF_ROWS = ["v", "w", "t", "d"]
BY_ROWS: Spread = {
    "a": (COLUMNS_OF_ROWS, slice(0, 14)),
    "b": (COLUMNS_OF_ROWS, slice(14, 27)),
    "c": (COLUMNS_OF_ROWS, slice(27, ROWS)),
}
ROWS_FIT: dict[str, Any] = {**COX, "split": "horizontal", "neighbors": "replace_one"}
del ROWS_FIT["id_column"]
THREE = {**COX, "features": ["v", "w", "z"], "domain": {name: DOMAIN[name] for name in ("v", "w", "z")}}


@cache
def model() -> dict[str, Any]:
    """Return the model of a private fit to rows, which is judged."""
    whole = table(0, False)
    files = {name: whole[["id", *part[0]]].iloc[part[1]].to_csv(index=False) for name, part in BY_ROWS.items() if part}
    with InProcess("v6_verticox", files, {name: dict(LIMITS) for name in files}, "a") as platform:
        return dict(platform.run("fit", ROWS_FIT)["model"])


def cox_tasks() -> dict[str, Task]:
    """Return the tasks, by name."""
    judged = {"model": model(), "epsilon": EPSILON, "neighbors": "replace_one"}
    return {
        "cox": Task("verticox", "fit", COX),
        "cox elsewhere": Task("verticox", "fit", {**COX, "helper": "h"}, ELSEWHERE, central="o"),
        "cox at features": Task("verticox", "fit", COX, central="b"),
        "cox beside": Task("verticox", "fit", COX, BESIDE),
        "cox of three": Task("verticox", "fit", THREE),
        "cox rows": Task("verticox", "fit", ROWS_FIT, BY_ROWS),
        "cox rows judged": Task("verticox", "evaluate", judged, BY_ROWS),
    }
