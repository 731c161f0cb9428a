"""The same questions in other words: other kinds of files, files that are aligned instead of matched, identifiers instead of rows as the unit of a promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import PERSON, Case, to_last_value
from .files import by_semicolons, texts_of_numbers
from .records import is_numeric
from .tables import IDENTIFIERS, identifiers, joined
from .wrong import declared


@st.composite
def maybe_other_files(draw: Any, right: Any) -> Case:
    """A question whose stations have CSV files; now and then some have Excel or parquet files, or had other ones when a model was fitted."""
    wanted = draw(st.sampled_from([False, True, False, False, False]))
    case: Case = draw(right())
    early = len(case.steps) > 1 and draw(st.booleans())
    for entry in case.organizations if wanted else ():
        if entry["columns"] is not None and draw(st.booleans()):
            kinds = ["excel", "excel typed", "excel by cell", "parquet"]
            kinds += ["semicolons", "semicolons"] * by_semicolons(entry.get("written") or entry["columns"])
            if case.algorithm == "verticox" and any(map(texts_of_numbers, entry["columns"].values())):
                kinds.remove("parquet")  # there `008` is a text, and so a category
            entry["file"] = draw(st.sampled_from(kinds))
            if early and to_last_value(entry) == entry["columns"]:
                entry["early"] = {"file": draw(st.sampled_from(["csv", *kinds]))}
    return case


@st.composite
def maybe_unseen(draw: Any, right: Any) -> Case:
    """A question about a Cox model of linked records; now and then one of these has a category by then that the fit did not know."""
    wanted = draw(st.sampled_from([False, False, False, True]))
    case: Case = draw(right())
    features = case.steps[0][1].get("features") or []
    if not wanted or case.arguments.get("folds") or case.steps[0][1].get("split") == "horizontal":
        return case
    common = joined(case.stations(), case.id_column)
    places = [
        (entry, name, row)
        for entry in case.organizations
        for name in features
        if name in (entry["columns"] or {}) and not entry.get("written") and not is_numeric(entry["columns"][name])
        for row, person in enumerate(case.stations()[entry["name"]][case.id_column])
        if person in common and entry["columns"][name][row] is not None
    ]
    if not places:
        return case
    entry, name, row = draw(st.sampled_from(places))
    cells = list(entry["columns"][name])
    cells[row] = "never seen before"
    entry["early"] = {**entry.get("early", {}), "columns": entry["columns"]}
    entry["columns"] = {**entry["columns"], name: cells}
    case.facts["unseen"] = name
    return case


@st.composite
def maybe_aligned(draw: Any, right: Any) -> Case:
    """A question about records that are matched by an identifier; now and then all files hold the same records in the same order instead."""
    wanted = draw(st.sampled_from([False, True, False, False]))
    case: Case = draw(right())
    asked = [function for function, arguments in case.steps if arguments.get("id_column")]
    name = next((arguments["id_column"] for _, arguments in case.steps if arguments.get("id_column")), None)
    tables = [entry["columns"] for entry in case.organizations if entry["columns"] is not None]
    bare = any(len(table) < 2 for table in tables) and case.algorithm == "bayesian_ensemble"
    if not wanted or bare or not all("rows_aligned" in declared(case.algorithm, function) for function in asked):
        return case
    if name is None or any(arguments.get("split") == "hybrid" for _, arguments in case.steps):
        return case
    common = [text for text in tables[0][name] if all(text in table[name] for table in tables)]
    if not common:
        return case
    ragged = draw(st.integers(0, 7)) == 7 and len(common) > 1 and len(tables) > 1
    for number, table in enumerate(tables):
        rows = [table[name].index(text) for text in common][int(ragged and number == 0) :]
        for column in list(table):
            table[column] = [table[column][row] for row in rows]
        if len(table) > 1:
            del table[name]
    for _, arguments in case.steps:
        if arguments.pop("id_column", None) is not None:
            arguments["rows_aligned"] = True
    return case


@st.composite
def maybe_by_identifier(draw: Any, right: Any) -> Case:
    """A question about rows; now and then the promise is for all rows of an identifier, of which a station uses so many at most.

    Which rows of one that has more is the station's secret choice, so these are alike here.
    """
    wanted = draw(st.sampled_from([False, True, False]))
    case: Case = draw(right())
    if not wanted or any("unit" in arguments or arguments.get("split") == "vertical" for _, arguments in case.steps):
        return case
    most = draw(st.integers(1, 4))
    crowded, random = draw(st.booleans()), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(IDENTIFIERS))
    for entry in case.organizations:
        if entry["columns"] is not None:
            _group(entry["columns"], kind, most, crowded, random)
    for function, arguments in case.steps:
        if function in ("fit", "update", "evaluate"):
            arguments |= {"unit": "identifier", "id_column": PERSON, "max_rows_per_identifier": most}
    return case


def _group(columns: dict[str, Any], kind: str, most: int, crowded: bool, random: np.random.Generator) -> None:
    """Give rows their persons, some none; where one has more rows than are used, they are copies."""
    rows = len(next(iter(columns.values())))
    texts = identifiers(kind, rows + 1)
    person: list[str | None] = [None] * rows
    places = [int(row) for row in random.permutation(rows)]
    while places:
        size = int(random.integers(1, most + (4 if crowded else 1)))
        group, places = places[:size], places[size:]
        if random.random() < 0.1:
            continue
        name = texts.pop()
        for row in group:
            person[row] = name
            if len(group) > most:
                for cells in columns.values():
                    cells[row] = cells[group[0]]
    columns[PERSON] = person
