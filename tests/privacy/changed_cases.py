"""Private tasks over linked records, small ones, with a table and its neighbours: of these one record has another value in every column, or none at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

ROWS = 40
EPSILON, DELTA = 1.0, 1e-6
CATEGORIES = {"x": ["0", "1"], "z": ["0", "1", "2"], "w": ["0", "1"], "y": ["n", "p"]}
DOMAIN: dict[str, dict[str, Any]] = {
    **{name: {"categories": states} for name, states in CATEGORIES.items()},
    "v": {"bounds": [-2, 2]},
}
CHANGED = (None, 5, 17)
"""The record in which a table differs from the first one."""
LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 1, "allow_predictions": True}
Spread = Mapping[str, tuple[list[str], slice] | None]
"""Party -> its columns and rows; None: no data."""
ALL = slice(None)
COLUMNS: Spread = {"a": (["x", "t", "d"], ALL), "b": (["z", "v"], ALL), "c": (["w", "y"], ALL), "h": None}
ALONE: Spread = {name: part for name, part in COLUMNS.items() if part}
UNITED: Spread = {
    "a": (["x", "z"], slice(0, 25)),
    "b": (["x", "w"], slice(15, ROWS)),
    "c": (["w", "y"], slice(0, 30)),
    "h": None,
}
LABELLED: Spread = {"a": (["x", "y"], ALL), "b": (["z", "v", "y"], ALL), "c": (["w", "y"], ALL), "h": None}


def table(place: int, erased: bool) -> pd.DataFrame:
    """Return the first table, or a neighbour of it."""
    draw = np.random.default_rng(7)
    found = pd.DataFrame({name: draw.choice(states, ROWS) for name, states in CATEGORIES.items()})
    found["v"] = draw.uniform(-2, 2, ROWS).round(2)
    found["t"] = draw.exponential(4, ROWS).round(2) + 0.01
    found["d"] = draw.integers(0, 2, ROWS)
    found, row = found.astype(object), CHANGED[place]
    if row is not None:
        record = found.loc[row]
        others = {name: states[states.index(record[name]) - 1] for name, states in CATEGORIES.items()}
        others |= {"v": -2 if record["v"] > 0 else 2, "t": 0.5 if record["t"] > 4 else 12.0, "d": 1 - record["d"]}
        found.loc[row] = pd.Series(dict.fromkeys(others) if erased else others)
    return found.assign(id=[f"p{number:03d}" for number in range(ROWS)])


@dataclass(frozen=True)
class Task:
    """A private question to `a`.

    Attributes
    ----------
    steps : int
        How many steps of its relation of neighbours apart the tables are; of what Gaussian noise loses, the square.
    divided : bool
        Whether stations debit parts of the budget, which add up.
    central : str
        Where central runs.
    """

    method: str
    function: str
    arguments: Mapping[str, Any]
    spread: Spread = field(default_factory=lambda: COLUMNS)
    steps: int = 1
    divided: bool = False
    central: str = "a"

    @property
    def budget(self) -> tuple[float, float]:
        """The epsilon and delta that are stated."""
        return EPSILON, float(self.arguments.get("delta", DELTA if self.method == "verticox" else 0.0))

    def files(self, place: int) -> dict[str, str | None]:
        """Return what every party has of a table, in an order of its own."""
        whole = table(place, self.arguments.get("neighbors") == "zero_out")
        return {
            name: part and whole[["id", *part[0]]].iloc[part[1]].sample(frac=1, random_state=at).to_csv(index=False)
            for at, (name, part) in enumerate(self.spread.items())
        }


def _of(*names: str) -> dict[str, Any]:
    return {name: DOMAIN[name] for name in names}


JOINED = {"id_column": "id", "epsilon": EPSILON}
ERASED = {"neighbors": "zero_out"}
CONDITIONS = {"conditions": [{"column": name, "op": "==", "value": "1"} for name in "zw"], **JOINED}
TABLE = {"columns": ["x", "z", "w"], "domain": _of("x", "z", "w"), **JOINED}
GAIN = {"label": "y", "columns": ["x", "z"], "domain": _of("x", "z", "y"), **JOINED}
NETWORK = {"columns": ["x", "z", "w", "y"], "domain": _of("x", "z", "w", "y"), **JOINED}
DRAWN = {**NETWORK, "structure": "private", "delta": DELTA}
GIVEN = {**NETWORK, "structure": [["z", "x"], ["x", "y"]]}
K2 = {**NETWORK, "structure": "k2", "label": "y", "max_parents": 2}
UNION = {"split": "hybrid"}
COX = {
    "time": "t",
    "event": "d",
    "features": ["v", "w"],
    "domain": _of("v", "w"),
    "times": [2.0, 5.0, 9.0],
    "honest_fraction": 1.0,
    **JOINED,
}
BAYES = {"label": "y", "domain": _of("x", "z", "w", "y"), "epsilon": EPSILON}
RECORDS = {**BAYES, "records": [{"x": "1", "z": "0"}, {"x": "0"}], "modulus_bits": 2048}
DESCRIBED = {"domain": _of("x", "z", "v"), "epsilon": EPSILON}
NONE = {"helper": "none"}
TASKS = {
    "count": Task("scalar_product", "count", CONDITIONS),
    "count alone": Task("scalar_product", "count", {**CONDITIONS, **NONE}, ALONE),
    "table": Task("scalar_product", "contingency", TABLE),
    "table erased": Task("scalar_product", "contingency", {**TABLE, **ERASED}, steps=2),
    "table alone": Task("scalar_product", "contingency", {**TABLE, **NONE}, ALONE),
    "gain": Task("scalar_product", "information_gain", GAIN),
    "private": Task("vertibayes", "fit", DRAWN),
    "private alone": Task("vertibayes", "fit", {**DRAWN, **NONE}, ALONE),
    "private erased": Task("vertibayes", "fit", {**DRAWN, **ERASED}, steps=2),
    "given": Task("vertibayes", "fit", GIVEN),
    "k2": Task("vertibayes", "fit", {**K2, "delta": DELTA}),
    "union private": Task("vertibayes", "fit", {**DRAWN, **UNION}, UNITED),
    "union given": Task("vertibayes", "fit", {**GIVEN, **UNION}, UNITED),
    "union erased": Task("vertibayes", "fit", {**GIVEN, **UNION, **ERASED}, UNITED, steps=2),
    "union k2": Task("vertibayes", "fit", {**K2, **UNION}, UNITED),
    "bayes": Task("secure_naive_bayes", "fit", {**BAYES, "split": "vertical"}, LABELLED, steps=2, divided=True),
    "classify": Task("secure_naive_bayes", "classify", RECORDS, LABELLED, steps=2, divided=True),
    "describe": Task("vertibayes", "describe", DESCRIBED, steps=2),
}
"""All private tasks over linked records, by name, but Cox fits (`changed_cox`)."""
