"""Data as wild as a hospital's, beside the tame data of `tables`; drawn where `WILD` is set (`make differential WILD=1`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

WILD = bool(os.environ.get("WILD"))
"""Whether questions are about such data."""


def more(tame: Any, wild: Any) -> Any:
    """Return what may be drawn: also what is wild, if that is wanted."""
    return [*tame, *wild] if WILD else tame


NAMES = ["time", "event", "label", "model", "missing", "__class__", "self", "?", "count", "all", "id_column", "%(x)s"]
NAMES += [
    "50 %",
    "\\n",
    "'\"`'",
    "y" * 199,
    "日本語 " * 20,
    "a  b",
    "inf",
    "1e5",
    "C(x)",
    "x:y",
    "x[1]",
    "~",
    "#",
    "😷",
]
NAMES += [f"feature {place}" for place in range(20)]
MANY_STATES = [f"icd {place:03d}" for place in range(200)]
STATES = [
    MANY_STATES,
    ["NaN", "None", "True"],
    ["1E3", "2e3", "1e-5"],
    ["-0", "1"],
    ["0.1", "0.30000000000000004"],
    ["١", "٢", "٣"],
    ["²", "³", "½"],
    ["１２", "３"],
    ["a;b", "c\td", "e\rf"],
    ["__class__", "%d", "{0}", "${x}"],
    ["x\u00a0y", "x y", "x\u200by"],
    ["👩‍⚕️", "🩺"],
    ["1.234,56", "7,8", "0,1"],
    ["31.12.2020", "1.1.2021"],
    ["12345678901234567890", "12345678901234567891"],
    ["!", "*", "other"],
    ["Infinity", "-inf", "1"],
    ["`", "'", '"'],
]


def _one_apart(values: Any, random: np.random.Generator, other: float) -> Any:
    values[int(random.integers(len(values)))] = other
    return values


NUMBERS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "lognormal": lambda people, random: np.exp(random.normal(0, 4, people)),
    "cauchy": lambda people, random: random.standard_cauchy(people),
    "any size": lambda people, random: random.choice([-1.0, 1.0], people) * 10.0 ** random.uniform(-12, 12, people),
    "nearly constant": lambda people, random: 5.0 + 1e-9 * random.normal(0, 1, people),
    "hardly constant": lambda people, random: 5.0 + 1e-11 * random.integers(0, 9, people),
    "one apart": lambda people, random: _one_apart(np.full(people, 3.0), random, 4.0),
    "outlier": lambda people, random: _one_apart(random.normal(50, 12, people), random, 999999999.0),
    "seconds": lambda people, random: 2e9 + random.integers(0, 1000, people),
    "far": lambda people, random: 2e9 + 1e-3 * np.round(random.normal(0, 1, people), 2),
    "days": lambda people, random: random.integers(20200101, 20201231, people),
    "beyond 2^53": lambda people, random: 2**53 + random.integers(0, 40, people),
    "beyond 2^60": lambda people, random: 2**60 + random.integers(0, 1000, people),
    "signed zeros": lambda people, random: random.choice([-0.0, 0.0, 1.0], people),
    "denormal": lambda people, random: random.choice([5e-324, 1e-310, 0.0, 1.0], people),
    "largest": lambda people, random: random.choice([9e58, -9e58, 1e58], people),
    "mostly zero": lambda people, random: np.where(random.random(people) < 0.97, 0.0, random.exponential(1e6, people)),
    "two values": lambda people, random: random.choice([1e9, 1e9 + 1], people),
    "tied": lambda people, random: np.round(random.exponential(2.0, people)),
}
ACCENTS = ("e\u0301", "é")
IDENTIFIERS: dict[str, Callable[[int], str]] = {
    "float": lambda i: f"{i}.0",
    "mixed": lambda i: f"{i}" if i % 2 else f"p{i}",
    "beyond": lambda i: str(2**63 + i),
    "negative": lambda i: f"-{i + 1}",
    "case": lambda i: f"{'aA'[i % 2]}{i // 2}",
    "accents": lambda i: ACCENTS[i % 2] + str(i),
    "dates": lambda i: f"{1900 + i // 300}-{1 + i // 25 % 12:02d}-{1 + i % 25:02d}",
    "percent": lambda i: f"%{i}s, \"x\"; '{{{i}}}'",
    "words": lambda i: ("None", "nan", "true", "NA", "null")[i] + "x" if i < 5 else f"inf{i}",
    "exponents": lambda i: f"{i + 1}E5",
    "versions": lambda i: f"1.{i}1",
    "long text": lambda i: "x" * 300 + str(i),
}
NARROWEST = 1e-11
"""Of bounds, as a part of the larger one."""
GAPS = (0.9, 0.98, 0.5)
MOST_STATIONS = 12
MANY_COLUMNS = 12
STATION_NAMES = [f"clinic {place}" for place in range(MOST_STATIONS)]


def texts(kind: str, people: int, random: np.random.Generator) -> list[str]:
    """Return a numeric column as text, whole numbers with all their digits."""
    return [repr(value.item()) for value in NUMBERS[kind](people, random)]


def nearly(draw: Any, cells: list[str | None], random: np.random.Generator) -> list[str | None]:
    """Return a column, or, now and then, one that is as good as its double."""
    values = np.array([np.nan if cell is None else float(cell) for cell in cells])
    if not WILD or not draw(st.booleans()) or np.nanmax(np.abs(values), initial=0.0) > 1e15:
        return cells
    made = 2.0 * values + 1e-7 * (np.nanstd(values) if len(values) > 1 else 1.0) * random.normal(0, 1, len(cells))
    return [None if np.isnan(value) else repr(float(value)) for value in made]


def sizes(
    draw: Any, people: tuple[int, int], fewest: int, most: int, gaps: tuple[float, ...]
) -> tuple[tuple[int, int], int, tuple[float, ...]]:
    """Return how many people and columns there may be, and which part of cells is missing: now and then very few, or very many."""
    if not WILD:
        return people, most, gaps
    low, high = people
    people = draw(st.sampled_from([people, people, people, (1, low), (4 * high, 6 * high)]))
    most = draw(st.sampled_from([most, most, most, 1, max(most, MANY_COLUMNS)]))
    return people, max(most, fewest), gaps + GAPS if max(gaps) > 0 and draw(st.booleans()) else gaps


def stations(draw: Any, usual: tuple[int, int]) -> tuple[int, int]:
    """Return how many stations there may be: now and then up to twelve."""
    if not WILD or usual[0] == usual[1] or draw(st.integers(0, 7)) < 7:
        return usual
    return (usual[1], MOST_STATIONS)


def outcome(
    draw: Any, cells: list[str], event: Any, random: np.random.Generator, far: bool = True
) -> tuple[list[str], Any]:
    """Return times and events: now and then all at one time, none or one event, no censoring; `far`: also in other units."""
    if not WILD:
        return cells, event
    kind = draw(st.sampled_from(["usual", "usual", "one time", "none", "one", "all", "few", *FAR * far]))
    if kind in ("none", "one", "all", "few"):
        event = np.full(len(cells), kind == "all")
        event[: {"one": 1, "few": 8}.get(kind, 0)] |= True
        return cells, random.permutation(event)
    times = np.array([float(cell) for cell in cells])
    made = {
        "one time": lambda: np.full(len(cells), 2.5),
        "seconds": lambda: 2e9 + times,
        "tiny": lambda: times * 1e-9,
        "huge": lambda: times * 1e12,
        "heavy": lambda: 10.0 ** np.clip(times - 10, -9, 9),
        "negative": lambda: times - 5.0,
    }
    return [repr(float(value)) for value in made[kind]()] if kind in made else cells, event


FAR = ["seconds", "tiny", "huge", "heavy", "negative"]


def weights(draw: Any, tame: list[float]) -> list[float]:
    """Return which case weights there are: now and then some that are a millionth of others."""
    return [1e-3, 1.0, 1e3] if WILD and draw(st.booleans()) else tame
