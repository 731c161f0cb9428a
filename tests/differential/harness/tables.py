"""Strategies: people, their columns, and how these are spread over organizations. Everything is text, as in a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import wild

NAMES = ["x", "age", "Größe", "a,b", 'say "x"', "two words", "None", "1", "true", "x" * 150, "a=b", "NA", "ſ", "Ωmega"]
NAMES += [
    "index",
    "0",
    "a.b",
    "X",
    "Unnamed: 0",
    "caf\u00e9",
    "level_0",
    "{x}",
    "%s",
    "it's",
    "a\\b",
    "-x",
]
"""Column names, some differ by case or by how an accent is written; control characters are refused by name, so none is here."""
STATES = [
    ["a", "b", "c"],
    ["yes", "no"],
    ["true", "false"],
    ["0", "1"],
    ["1", "2", "3", "10"],
    ["1.0", "2.0"],
    ["007", "008", "010"],
    ["None", "Mild", "Severe"],
    ["NA", "EU", "US"],
    ["NULL", "n/a", "nan"],
    ["one, two", 'the "third"', "four\nlines"],
    ["ä", "Ü", "ß"],
    ["long " + "z" * 295, "short"],
    ["-1", "0.5", "1e3"],
    ["only"],
    ["A", "a"],
    ["male", "female", "inf"],
    ["caf\u00e9", "cafe", "Cafe"],
    ["stra\u00dfe", "STRASSE", "strasse"],
    ["two words", "two  words"],
    ["2020-01-31", "2021-12-01", "31/12/2021"],
    ["2020-01-31", "1999-12-01"],
    ["True", "False"],
    ["+", "-", "%"],
    ["=1+1", "@x", "#N/A!"],
    ["1_000", "2_000"],
    ["9007199254740993", "9007199254740995"],
    ["<NA>", "#N/A", "1.#IND"],
    ["0x10", "0b1", "1j"],
    ["10:30", "1 000", "1,5"],
]
NAMES = wild.more(NAMES, wild.NAMES)
TAME = STATES[:5]
STATES = wild.more(STATES, wild.STATES)
if os.environ.get("TAME"):  # to look for what remains while the reading of files is known to be wrong
    STATES = TAME
IDENTIFIERS = wild.more(["number", "zeros", "text", "spaces", "unicode", "long", "decimal"], wild.IDENTIFIERS)
NUMBERS = ["normal", "whole", "few", "constant", "huge", "tiny", "binary", "negative", "skewed"]
NUMBERS += ["1e12", "1e-12", "digits", "shifted", "padded"]
NUMBERS = wild.more(NUMBERS, wild.NUMBERS)
CROWD = 250
"""Columns beside the others of people of whom there are hundreds."""


def identifiers(kind: str, people: int) -> list[str]:
    """Return distinct identifiers."""
    made = {
        "number": lambda i: str(i),
        "zeros": lambda i: f"{i:05d}",
        "text": lambda i: f"p{i}",
        "spaces": lambda i: f"p {i} of {people}",
        "unicode": lambda i: f"Ärztin-{i}-日本",
        "long": lambda i: str(10**17 + i),
        "decimal": lambda i: f"{i}.5",
        **wild.IDENTIFIERS,
    }[kind]
    return [made(i) for i in range(people)]


def numbers(kind: str, people: int, random: np.random.Generator) -> list[str]:
    """Return a numeric column as text."""
    if kind in wild.NUMBERS:
        return wild.texts(kind, people, random)
    values: Any = {
        "normal": lambda: np.round(random.normal(50, 12, people), 2),
        "whole": lambda: random.integers(18, 90, people),
        "few": lambda: random.integers(0, 4, people),
        "constant": lambda: np.full(people, 3),
        "huge": lambda: np.round(random.normal(0, 1, people) * 1e9, 0),
        "tiny": lambda: np.round(random.normal(0, 1, people), 4) * 1e-6,
        "binary": lambda: random.integers(0, 2, people),
        "negative": lambda: np.round(random.normal(-5, 3, people), 1),
        "skewed": lambda: np.round(np.exp(random.normal(0, 1.5, people)), 3),
        "1e12": lambda: np.round(random.normal(0, 1, people) * 1e12, 0),
        "1e-12": lambda: np.round(random.normal(0, 1, people), 4) * 1e-12,
        "digits": lambda: random.normal(0, 1, people),
        "shifted": lambda: 1e6 + np.round(random.normal(0, 1, people), 2),
        "padded": lambda: random.integers(0, 50, people),
    }[kind]()
    if kind == "padded":
        return [f"{value:05d}" for value in values]
    return [repr(value.item()) for value in values]


def categories(states: list[str], people: int, random: np.random.Generator, balance: float) -> list[str]:
    """Return a column of states; a small `balance` makes one of them rare."""
    weights = np.full(len(states), 1.0)
    weights[0] = balance
    return [states[place] for place in random.choice(len(states), people, p=weights / weights.sum())]


def with_gaps(cells: list[str], share: float, random: np.random.Generator) -> list[str | None]:
    """Return the column with missing cells."""
    return [None if random.random() < share else cell for cell in cells]


@st.composite
def population(
    draw: Any,
    fewest: int = 1,
    most: int = 6,
    people: tuple[int, int] = (12, 120),
    kinds: tuple[str, ...] = ("category", "number"),
    gaps: tuple[float, ...] = (0.0, 0.0, 0.1, 0.4),
    tame: bool = False,
    crowd: bool = False,
) -> dict[str, Any]:
    """Draw people: ``{"people", "columns": {name: cells}, "kinds": {name: kind}, "states": {name: states}}``.

    With `crowd` they have, now and then, hundreds of columns.
    """
    people, most, gaps = wild.sizes(draw, people, fewest, most, gaps)
    count = draw(st.integers(*people))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=fewest, max_size=most, unique=True))
    columns: dict[str, list[str | None]] = {}
    found: dict[str, Any] = {"people": count, "columns": columns, "kinds": {}, "states": {}}
    for name in names:
        kind = draw(st.sampled_from(kinds))
        if kind == "category":
            states = draw(st.sampled_from(TAME if tame else STATES))
            cells = categories(states, count, random, draw(st.sampled_from([1.0, 1.0, 0.1, 0.01])))
            truths = all(state.lower() in ("true", "false") for state in states)
            if (
                draw(st.integers(0, 9)) == 9 and not truths
            ):  # blanks around a cell are no part of it; of truth values texts
                cells = [f"{cell} " if random.random() < 0.3 else cell for cell in cells]
            found["states"][name] = states
        else:
            cells = numbers(draw(st.sampled_from(NUMBERS)), count, random)
        same = [other for other in columns if found["kinds"][other] == kind]
        if same and draw(st.integers(0, 9)) == 9:
            columns[name] = list(columns[same[0]])
            found["states"][name] = found["states"].get(same[0])
            found["kinds"][name] = kind
            if kind == "number":
                columns[name] = wild.nearly(draw, columns[name], random)
            continue
        columns[name] = with_gaps(cells, draw(st.sampled_from(gaps)), random)
        found["kinds"][name] = kind
    if crowd and draw(st.integers(0, 24)) == 24:
        for place in range(CROWD):
            columns[f"column {place}"] = [str(value) for value in random.integers(0, 3, count)]
            found["kinds"][f"column {place}"], found["states"][f"column {place}"] = "category", ["0", "1", "2"]
    return found


LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 0, "allow_predictions": "true"}


@st.composite
def limits(draw: Any, **fixed: Any) -> dict[str, Any]:
    """Draw a node's limits."""
    drawn = {
        "minimum_rows": draw(st.sampled_from([1, 1, 5, 10])),
        "minimum_organizations": draw(st.sampled_from([1, 1, 2, 3])),
        "minimum_count": draw(st.sampled_from([0, 0, 1, 3, 5])),
        "allow_predictions": "true",
    }
    return drawn | fixed


STATION_NAMES = wild.more(["a", "St. Mary's", "Köln", "b,c", "1x", "d", "e", "f g"], wild.STATION_NAMES)


@st.composite
def vertical(
    draw: Any,
    population: dict[str, Any],
    stations: tuple[int, int] = (2, 5),
    fixed: dict[str, Any] | None = None,
    helpers: tuple[int, ...] = (1, 1, 1, 0, 2),
    homes: dict[str, int] | None = None,
    id_name: str | None = None,
    misfits: bool = True,
) -> dict[str, Any]:
    """Spread columns over stations, each with its own order of rows, with people that others lack.

    Returns
    -------
    dict
        ``{"organizations", "central", "id_column", "homes": {column: station}}``
    """
    count = draw(st.integers(*wild.stations(draw, stations)))
    people = population["people"]
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(IDENTIFIERS))
    texts = identifiers(kind, people + 5 * wild.MOST_STATIONS)
    id_name = id_name or draw(st.sampled_from(["id", "Patient Nr.", "ID;x"]))
    lost = draw(st.sampled_from(wild.more([0.0, 0.0, 0.1], [0.9]))) if misfits else 0.0
    strangers = draw(st.sampled_from([0, 0, 5])) if misfits else 0
    places = {name: draw(st.integers(0, count - 1)) for name in population["columns"]} | (homes or {})
    policy = draw(limits(**(fixed or {})))
    entries: list[dict[str, Any]] = []
    for number in range(count):
        rows = [row for row in range(people) if random.random() >= lost]
        rows = [int(row) for row in random.permutation(rows)]
        extra = [texts[people + number * 5 + i] for i in range(strangers)]
        columns: dict[str, list[str | None]] = {id_name: [texts[row] for row in rows] + extra}
        for name, cells in population["columns"].items():
            if places[name] == number:
                other = [cells[int(random.integers(people))] for _ in extra]
                columns[name] = [cells[row] for row in rows] + other
        entries.append({"name": STATION_NAMES[number], "columns": columns, "policy": policy})
    for number in range(draw(st.sampled_from(helpers))):
        entries.append({"name": f"helper{number}", "columns": None, "policy": policy})
    central = draw(st.sampled_from([entry["name"] for entry in entries]))
    return {
        "organizations": entries,
        "central": central,
        "id_column": id_name,
        "homes": {name: STATION_NAMES[place] for name, place in places.items()},
    }


@st.composite
def horizontal(
    draw: Any,
    population: dict[str, Any],
    stations: tuple[int, int] = (1, 6),
    fixed: dict[str, Any] | None = None,
    helpers: tuple[int, ...] = (0, 0, 1),
    sort_by: str | None = None,
) -> dict[str, Any]:
    """Spread rows over stations, unevenly; some stations have one row or none, or lack a class."""
    count = draw(st.integers(*wild.stations(draw, stations)))
    people = population["people"]
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = [int(row) for row in random.permutation(people)]
    if sort_by is not None and draw(st.booleans()):
        rows.sort(key=lambda row: str(population["columns"][sort_by][row]))
    sizes = random.dirichlet(np.full(count, draw(st.sampled_from([0.3, 2.0, 50.0, 0.05]))))
    ends = [0, *(int(end) for end in np.round(np.cumsum(sizes) * people))]
    policy = draw(limits(**(fixed or {})))
    entries: list[dict[str, Any]] = []
    for number in range(count):
        part = rows[ends[number] : ends[number + 1]]
        columns = {name: [cells[row] for row in part] for name, cells in population["columns"].items()}
        entries.append({"name": STATION_NAMES[number], "columns": columns, "policy": policy})
    for number in range(draw(st.sampled_from(helpers))):
        entries.append({"name": f"helper{number}", "columns": None, "policy": policy})
    return {"organizations": entries, "central": draw(st.sampled_from([entry["name"] for entry in entries]))}


def joined(stations: dict[str, dict[str, list[str | None]]], id_column: str) -> dict[str, dict[str, str | None]]:
    """Return the records that every station has, as a pooled analysis would join them: identifier -> column -> cell."""
    tables = [
        {
            identifier: {name: cells[row] for name, cells in columns.items() if name != id_column}
            for row, identifier in enumerate(columns[id_column])
        }
        for columns in stations.values()
    ]
    common = [identifier for identifier in tables[0] if all(identifier in table for table in tables)]
    return {
        identifier: {name: cell for table in tables for name, cell in table[identifier].items()}
        for identifier in common
    }


def stacked(stations: dict[str, dict[str, list[str | None]]], names: list[str]) -> dict[str, list[str | None]]:
    """Return the rows of all stations one below the other."""
    return {name: [cell for columns in stations.values() for cell in columns[name]] for name in names}
