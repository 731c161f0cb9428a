"""Questions about whole records at several stations."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from one_process import OneProcess
from party_kit import by_rows

CLINIC = {
    "time": "months",
    "event": "died",
    "features": ["age", "stage"],
    "domain": {"age": {"bounds": [30, 90]}, "stage": {"categories": ["I", "II", "III"]}},
    "times": [float(month) for month in range(1, 37)],
    "split": "horizontal",
}


def ask(
    frame: pd.DataFrame,
    task: Mapping[str, Any],
    stations: int = 3,
    limits: Mapping[str, Any] | None = None,
    function: str = "fit",
) -> dict[str, Any]:
    """Return the answer over the records, dealt out to stations."""
    parties = by_rows(frame, [f"s{place}" for place in range(stations)])
    with OneProcess(parties, policies={"*": {"minimum_organizations": 2, **(limits or {})}}) as running:
        return dict(running.run("verticox", function, task))


def table(model: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(model["coefficients"]).set_index("feature")


def rossi() -> tuple[dict[str, Any], list[str]]:
    """Return the task of a fit to lifelines' `rossi`, and its features."""
    features = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]
    domain = {name: {"bounds": [0, 1]} for name in features}
    domain |= {"age": {"bounds": [15, 40]}, "prio": {"bounds": [0, 18]}}
    weeks = list(range(1, 53))
    task = {"time": "week", "event": "arrest", "features": features, "domain": domain, "times": weeks}
    return {**task, "split": "horizontal"}, features
