"""Chapter 6: errors and times of vertical Cox regression on SEER records."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from test_verticox import fitted

from v6_verticox.cox import likelihood
from v6_verticox.cox.survival import concordance
from verticox import pooled

from .. import core
from ..core import Item
from .thesis_products import known

RHO, SEED, MOST = 0.25, 1, 500  # penalty and iterations of the thesis; any seed
NUMERIC = ["Age", "Tumor Size", "Regional Node Examined", "Reginol Node Positive"]
MEASURES = ("mse", "sad", "mad")


@cache
def seer(records: int, features: int) -> tuple[pd.DataFrame, list[str]]:
    """Return so many records, drawn at a fixed seed, with the numeric columns first and then dummies of a fifth to four fifths of them, standardised."""
    frame = core.table("seer_breast").drop(columns=["6th Stage"])
    dummies = pd.get_dummies(frame.drop(columns=["time", "event"]), drop_first=True, dtype=float)
    dummies = dummies[[*NUMERIC, *(name for name in dummies if name not in NUMERIC)]]
    chosen = np.random.default_rng(SEED).permutation(len(frame))[:records]
    values = dummies.iloc[chosen].reset_index(drop=True)
    frequent = [name in NUMERIC or 0.2 <= values[name].mean() <= 0.8 for name in values]
    values = values.loc[:, frequent].iloc[:, :features]
    made = (values - values.mean()) / values.std(ddof=0)
    made.columns = [f"x{index}" for index in range(made.shape[1])]
    names = list(made.columns)
    made["time"] = frame["time"].iloc[chosen].to_numpy(dtype=float)
    made["event"] = frame["event"].iloc[chosen].to_numpy(dtype=int)
    return made, names


class Published:
    """The published iteration on some records with the columns of so many parties, beside a pooled fit."""

    def __init__(self, records: int, features: int, parties: int) -> None:
        self.frame, names = seer(records, features)
        self.values = self.frame[names].to_numpy()
        self.risk = likelihood.RiskSets.of(self.frame["time"].to_numpy(), self.frame["event"].to_numpy())
        self.blocks = np.array_split(self.values, parties, axis=1)
        self.expected = likelihood.fit(self.risk, self.values, names).coefficients

    def run(self, iterations: int) -> tuple[np.ndarray, float]:
        """Return the coefficients and the seconds."""
        began = time.perf_counter()
        made = pooled.fit(self.blocks, self.risk, rho=RHO, iterations=iterations, update="published")
        return np.concatenate(made.coefficients), time.perf_counter() - began

    def errors(self, coefficients: np.ndarray) -> dict[str, float]:
        """Return the thesis' three distances to the pooled coefficients."""
        away = coefficients - self.expected
        return {"mse": float(np.mean(away**2)), "sad": float(np.abs(away).sum()), "mad": float(np.abs(away).max())}

    def concordance(self, coefficients: np.ndarray) -> float:
        """Return the concordance of the records that were fitted."""
        event = self.frame["event"].to_numpy()
        return float(concordance(self.frame["time"].to_numpy(), event, self.values @ coefficients))


@cache
def private(records: int, features: int, parties: int) -> tuple[float, float]:
    """Return the largest error of a coefficient and the seconds of `private_newton` over the embedded federation."""
    frame, names = seer(records, features)
    began = time.perf_counter()
    _, error, _ = fitted(frame.copy(), names, "private_newton", "breslow", parties)
    return error, time.perf_counter() - began


def errors(quick: bool) -> tuple[Item, Item]:
    """Return table 6.4 (theirs: the original Verticox) and figure 6.1 (theirs: Verticox+)."""
    table, figure = Item("table-6.4"), Item("figure-6.1")
    theirs = known("verticox")
    with table.timed():
        for parties in (2,) if quick else (2, 3, 4, 5):
            own = Published(100, 6, parties)
            for iterations in (100, 500) if quick else (100, 500, 1000, 1500, 2000):
                add_errors(table, figure, theirs, own, parties, iterations)
    return table, figure


def add_errors(
    table: Item, figure: Item, theirs: dict[str, float], own: Published, parties: int, iterations: int
) -> None:
    """Add the rows of one number of parties and iterations to both."""
    coefficients, _ = own.run(iterations)
    cell = f"100|6|{iterations}|{parties}"
    for measure, value in own.errors(coefficients).items():
        default = private(100, 6, parties)[0] if measure == "mad" else None
        table.add((parties, iterations, measure), theirs[f"Verticox|{cell}|{measure}"], value, default)
        figure.add((parties, iterations, measure), theirs[f"Verticox+|{cell}|{measure}"], value, default)
    scores = [own.concordance(coefficients), own.concordance(own.expected)]
    for kind, value in zip(("c_index", "c_index_central"), scores, strict=True):
        table.add((parties, iterations, kind), theirs[f"Verticox|{cell}|{kind}"], value)


def preparation(name: str, axis: str, values: tuple[int, ...]) -> Item:
    """Return figure 6.2 or 6.5: seconds of the preparation; ours has none apart, so the whole private fit stands beside it."""
    item, theirs = Item(name), known("verticox")
    with item.timed():
        for value in values:
            records, parties = (100, value) if axis == "parties" else (value, 3)
            for kind in ("Verticox", "Verticox+") if axis == "parties" else ("Verticox+",):
                key = f"{kind}|{records}|6|{MOST}|{parties}|prep_s"
                item.add((value, kind), theirs[key], None, private(records, 6, parties)[1])
    return item


def convergence(name: str, cells: list[tuple[int, int, int]], axis: int) -> Item:
    """Return figure 6.3, 6.4 or 6.6: seconds until convergence by parties, iterations or records."""
    item, theirs = Item(name, 3), known("verticox")
    with item.timed():
        for records, iterations, parties in cells:
            own = Published(records, 6, parties)
            seconds = [own.run(iterations)[1] for _ in range(item.repetitions)]
            for kind in ("Verticox", "Verticox+"):
                key = f"{kind}|{records}|6|{iterations}|{parties}|converge_s"
                if key in theirs:
                    row: Any = ((records, iterations, parties)[axis], kind)
                    item.add(row, theirs[key], seconds, private(records, 6, parties)[1])
    return item


def reproduce(quick: bool) -> list[Item]:
    """Return the chapter's items."""
    parties, records = ((2,), (50,)) if quick else ((2, 3, 4, 5), (50, 100, 500, 1000))
    iterations = (100, 500) if quick else (100, 500, 1000, 1500, 2000)
    return [
        *errors(quick),
        preparation("figure-6.2", "parties", parties),
        convergence("figure-6.3", [(100, MOST, number) for number in parties], 2),
        convergence("figure-6.4", [(100, number, 2 if quick else 3) for number in iterations], 1),
        preparation("figure-6.5", "records", records),
        convergence("figure-6.6", [(number, MOST, 3) for number in records], 0),
    ]
