"""Neighbours of random federations: one row, linked record, identifier or party is another, with cells that no honest table has."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from harness.cases import POSITION, Case

from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.dp.neighbors import NEIGHBORS, OF_RECORDS

NASTY = (
    "",
    " ",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1e308",
    "1e308",
    "-0",
    "0",
    "1",
    "1.0",
    "01",
    "true",
    "True",
    "none such",
)
NASTY += (
    "NULL",
    "1,5",
    "2020-01-31",
    "31/12/2021",
    "9007199254740993",
    "5e-324",
    "\u00a01",
    "caf\u00e9",
    "cafe\u0301",
    "=1+1",
    '"',
    "x" * 400,
)
"""Cells that no honest table has, in columns of any kind."""


def neighbour(case: Case, relation: str, unit: str, random: np.random.Generator) -> Case:
    """Return a case of which one row, one linked record, one identifier's rows or one party's rows are others, in nasty ways."""
    other = copy.deepcopy(case)
    tables = [entry for entry in other.organizations if entry["columns"] is not None]
    for entry in tables:  # a file that a dictionary explains is other than the columns
        columns = entry.pop("written", None) or entry["columns"]
        entry["columns"] = {name: list(cells) for name, cells in columns.items()}
    if unit.startswith("party"):
        return _other_party(other, tables, random)
    if unit.startswith("identifier"):
        return _other_person(other, tables, case.arguments, relation, random)
    linked = case.function != "describe" and len({frozenset(entry["columns"]) for entry in tables}) > 1
    if linked:
        _other_record(tables, case.id_column, relation, random)
    else:
        _other_row(tables[int(random.integers(len(tables)))], relation, random)
    return other


def _cell(entry: dict[str, Any], cells: Sequence[str | None], random: np.random.Generator) -> str | None:
    """Return one of the column's own cells, none, or a nasty one where the file is of texts."""
    kind = random.random()
    if kind < 0.15:
        return None
    if kind < 0.55 and entry.get("file", "csv") in ("csv", "excel"):
        return str(random.choice(NASTY))
    return cells[int(random.integers(len(cells)))] if len(cells) else None


def _other_row(entry: dict[str, Any], relation: str, random: np.random.Generator) -> None:
    columns = entry["columns"]
    rows = len(next(iter(columns.values())))
    remove = rows > 0 and (relation == "replace_one" or random.random() < 0.3)
    place = int(random.integers(rows)) if remove else rows
    drawn = {name: _cell(entry, cells, random) for name, cells in columns.items()}
    for name, cells in columns.items():
        if remove:
            del cells[place]
        if relation == "replace_one" or not remove:
            cells.insert(place, drawn[name])


def _other_record(tables: list[dict[str, Any]], id_column: str, relation: str, random: np.random.Generator) -> None:
    """Other values of one record at all stations, whose identifier stays; with ``add_remove`` it goes."""
    sizes = [len(next(iter(entry["columns"].values()))) for entry in tables]
    by_place = id_column in ("", POSITION) or any(id_column not in entry["columns"] for entry in tables)
    shared = range(min(sizes)) if by_place else sorted(set(tables[0]["columns"][id_column]) - {None})
    if not len(shared):
        return
    chosen = shared[int(random.integers(len(shared)))]
    content: dict[str, str | None] = {}
    for entry in tables:
        columns = entry["columns"]
        own = [chosen] if by_place else [row for row, text in enumerate(columns[id_column]) if text == chosen]
        for name, cells in columns.items():
            if relation == "add_remove":
                columns[name] = [cell for row, cell in enumerate(cells) if row not in own]
            elif name != id_column:
                drawn = None if relation == "zero_out" else _cell(entry, cells, random)
                value = content.setdefault(name, drawn)
                for row in own:
                    cells[row] = value


def _other_person(
    other: Case, tables: list[dict[str, Any]], arguments: dict[str, Any], relation: str, random: np.random.Generator
) -> Case:
    """All rows of one identifier go, come or are others, as many as one likes."""
    entry = tables[int(random.integers(len(tables)))]
    columns, name = entry["columns"], arguments["id_column"]
    people = sorted({person for person in columns[name] if person is not None})
    person = people[int(random.integers(len(people)))] if people and random.random() < 0.7 else "a newcomer"
    kept = [
        row for row, text in enumerate(columns[name]) if text is None or canonical_text(text) != canonical_text(person)
    ]
    gone = len(kept) < len(columns[name])
    comes = 0 if gone and relation != "replace_one" and random.random() < 0.8 else int(random.integers(1, 6))
    if gone and comes and relation != "replace_one":
        comes, kept = 0, list(range(len(columns[name])))
    drawn = {column: [_cell(entry, cells, random) for _ in range(comes)] for column, cells in columns.items()}
    drawn[name] = [person] * comes
    for column, cells in columns.items():
        columns[column] = [cells[row] for row in kept] + drawn[column]
    return other


def _other_party(other: Case, tables: list[dict[str, Any]], random: np.random.Generator) -> Case:
    entry = tables[int(random.integers(len(tables)))]
    rows = int(random.integers(1, 40))
    columns = entry["columns"]
    entry["columns"] = {name: [_cell(entry, cells, random) for _ in range(rows)] for name, cells in columns.items()}
    return other


# -- tables that questions are asked of ----------------------------------------------------------------------------------


def odder(case: Case, random: np.random.Generator) -> Case:
    """Return a case as no honest federation has it: odd cells, identifiers that come twice or lack, people with many unlike rows, any relation."""
    other = copy.deepcopy(case)
    for _, arguments in other.steps:
        if "neighbors" in arguments and random.random() < 0.5:
            known = NEIGHBORS if arguments["neighbors"] in NEIGHBORS else OF_RECORDS
            arguments["neighbors"] = str(random.choice(known))
    by_person = next(
        (arguments.get("id_column", "") for _, arguments in other.steps if arguments.get("unit") == "identifier"), ""
    )
    keys = {case.id_column, by_person}
    for entry in other.organizations:
        columns = entry.get("written") or entry["columns"]
        if columns is None or entry.get("file", "csv") not in ("csv", "excel"):
            continue
        for name, cells in columns.items():
            if name == by_person:
                _crowd(cells, random)
            elif name in keys:
                _repeat(cells, random)
            else:
                _spoil(cells, random)
    return other


def _spoil(cells: list[str | None], random: np.random.Generator) -> None:
    """Write up to two nasty cells into a column in three."""
    if random.random() < 1 / 3:
        for row in random.integers(0, max(len(cells), 1), int(random.integers(1, 3)))[: len(cells)]:
            cells[row] = str(random.choice(NASTY))


def _repeat(cells: list[str | None], random: np.random.Generator) -> None:
    """Have some rows of a column in three lack their identifier, or have another row's, or its number written otherwise."""
    if random.random() < 1 / 3:
        for row in random.integers(0, max(len(cells), 1), int(random.integers(1, 4)))[: len(cells)]:
            twin = cells[int(random.integers(len(cells)))]
            cells[row] = None if random.random() < 0.3 else twin if random.random() < 0.7 else f"{twin}.0"


def _crowd(cells: list[str | None], random: np.random.Generator) -> None:
    """Give rows of some people to a few of them."""
    people = [person for person in cells if person is not None]
    few = people[: int(random.integers(1, 4))]
    for row in range(len(cells)):
        if few and random.random() < 0.3:
            cells[row] = few[int(random.integers(len(few)))]
