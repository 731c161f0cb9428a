"""Random small federations in which one group of records is odd.

A federation has columns by which few records differ from others: another column that says the same of all of them but the odd ones, two wards of which one
record is in both, a number from another zero, an identifier that two people have exchanged, a station that lacks one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd


@dataclass
class Drawn:
    """A federation; records are known by `id`.

    Attributes
    ----------
    tables : dict of str to DataFrame
        What stations hold.
    odd : frozenset of str
        The records that are odd: fewer than a node's minimum, or those of one station.
    secret : str
        The column of which somebody wants to know what the odd records have.
    holders : dict of str to list of str
        Station -> columns of which tasks are made.
    same : tuple of tuple of str
        Columns that take one another's place.
    """

    tables: dict[str, pd.DataFrame]
    odd: frozenset[str]
    secret: str
    holders: dict[str, list[str]]
    same: tuple[tuple[str, ...], ...]
    kinds: dict[str, str] = field(default_factory=dict)
    by_rows: bool = False
    lacking: str = ""

    def world(self, values: dict[str, Any]) -> dict[str, pd.DataFrame]:
        """Return the tables in which records have these values of the secret column."""
        return {
            name: table.assign(**{self.secret: table["id"].map(values)}) if self.secret in table else table
            for name, table in self.tables.items()
        }

    def values(self) -> dict[str, Any]:
        """Return what every record has of the secret column."""
        parts = [table for table in self.tables.values() if self.secret in table]
        return {name: value for part in parts for name, value in zip(part["id"], part[self.secret], strict=True)}

    def of(self, name: str, record: str) -> Any:
        """Return a cell."""
        parts = (table.loc[table["id"] == record, name] for table in self.tables.values() if name in table)
        return next((part.iloc[0] for part in parts if len(part)), 0)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for names in self.holders.values() for name in names))


def federation(random: np.random.Generator, by_rows: bool) -> Drawn:
    """Draw a federation."""
    return _whole_records(random) if by_rows else _linked(random)


def _people(random: np.random.Generator, rows: int, odd: int) -> pd.DataFrame:
    """Return columns of one table, in twos that differ in the odd record."""
    frame = pd.DataFrame({"id": [f"p{row:02d}" for row in range(rows)]})
    here = frame.index == odd
    frame["number"] = [f"n{row:02d}" for row in range(rows)]
    for name in ("x", "y", "z", "sex"):
        frame[name] = random.integers(0, 2, rows)
    frame["g"] = random.choice(list("abc"), rows)
    frame["age"] = random.integers(25, 75, rows)
    frame["dose"] = random.gamma(4.0, 5.0, rows).round(2)
    frame["ill"] = random.integers(0, 2, rows)
    frame["time"], frame["event"] = random.permutation(rows) + 1.0, (random.random(rows) < 0.8).astype(int)
    frame["x2"], frame["g2"] = (
        frame["x"].where(~here, 1 - frame["x"]),
        frame["g"].where(~here, "a" if random.random() < 0.5 else None),
    )
    frame["sex2"], frame["later"] = (
        frame["sex"].where(~here, 1 - frame["sex"]),
        (frame["age"] + 5).where(~here, frame["age"] + 19),
    )
    frame["site"] = np.where(here, None, "one")
    frame["town"] = random.integers(0, max(rows // 3, 2), rows)
    frame["village"] = ("v" + frame["town"].astype(str)).where(~here, "v0")
    frame["weight"] = random.integers(1, 4, rows)
    frame["weight2"] = frame["weight"].where(~here, 4 - frame["weight"] % 3)
    for name in ("ill", "event"):
        frame[f"{name}2"] = frame[name].where(~here, 1 - frame[name])
    frame["time2"], frame["grams"] = (
        frame["time"].where(~here, frame["time"] + 7.5),
        (1000 * frame["dose"]).where(~here, 900.0).round(),
    )
    part = random.permutation(rows)[: rows // 2]
    for name, some in (("ward", part[: rows // 4]), ("hall", part[rows // 4 :])):
        frame[name] = (np.isin(frame.index, some) | here).astype(int)
    frame["both"] = np.maximum(frame["ward"], frame["hall"])
    return frame


ALIKE = (("x", "x2"), ("g", "g2"), ("age", "later"), ("sex", "sex2"), ("id", "number"), ("ward", "hall", "both"))
ALIKE += (
    ("town", "village"),
    ("weight", "weight2"),
    ("ill", "ill2"),
    ("event", "event2"),
    ("time", "time2"),
    ("dose", "grams"),
)
"""Columns that say the same of all records but the odd one, in one unit or two; of two wards it alone is in both."""
KINDS = {
    "age": "number",
    "later": "number",
    "dose": "number",
    "grams": "number",
    "time": "number",
    "time2": "number",
    "town": "text",
    "village": "text",
    "g": "text",
    "g2": "text",
    "site": "text",
}


def _linked(random: np.random.Generator) -> Drawn:
    rows = int(random.integers(40, 61))
    odd, other = (int(row) for row in random.choice(rows, 2, replace=False))
    frame = _people(random, rows, odd)
    exchanged = bool(random.random() < 0.25)
    secret = "dose" if random.random() < 0.4 else "ill"
    own = {
        "a": [
            "x",
            "x2",
            "y",
            "g",
            "g2",
            "age",
            "later",
            "ward",
            "hall",
            "both",
            "site",
            "sex",
            "sex2",
            "town",
            "village",
        ],
        "b": ["ill", "dose", "time", "event", "sex", "sex2", "weight", "weight2", "ill2", "event2", "time2", "grams"],
        "c": ["z", "sex", "sex2"],
    }
    tables = {name: frame[["id", "number", *columns]].copy() for name, columns in own.items()}
    if exchanged:
        numbers = tables["b"]["number"].to_numpy().copy()
        numbers[[odd, other]] = numbers[[other, odd]]
        tables["b"]["number"] = numbers
    lacks = bool(random.random() < 0.4)
    if lacks:
        tables["c"] = tables["c"][tables["c"].index != odd]
    names = frozenset([f"p{odd:02d}", f"p{other:02d}"] if exchanged else [f"p{odd:02d}"])
    return Drawn(tables, names, secret, own, ALIKE, KINDS, lacking="c" if lacks else "")


def _whole_records(random: np.random.Generator) -> Drawn:
    parts = int(random.integers(3, 5))
    rows = 16 * parts
    odd = int(random.integers(rows))
    frame = _people(random, rows, odd)
    frame["number"] = frame["number"].where(frame.index != odd)
    own = ["x", "y", "g", "age", "ill", "z"]
    kept = ["id", "number", *own, "time", "event", "x2", "later"]
    tables = {"abcd"[part]: frame.iloc[part::parts][kept] for part in range(parts)}
    station = bool(random.random() < 0.4)
    names = frozenset(tables["abcd"[odd % parts]]["id"]) if station else frozenset([f"p{odd:02d}"])
    return Drawn(
        tables,
        names,
        "ill",
        dict.fromkeys(tables, own),
        (("id", "number"),),
        KINDS,
        by_rows=True,
        lacking="abcd"[odd % parts],
    )
