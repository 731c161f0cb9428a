"""Labelled people whose records are split by rows, or partly by rows and partly by columns; and what each party has of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case
from .records import Refusals
from .rows import LABEL
from .states import cut_in_study, few_beside
from .tables import IDENTIFIERS, STATION_NAMES, identifiers

Record = dict[str, str | None]
POLICY = {"minimum_organizations": 1, "minimum_rows": 1, "allow_predictions": "true"}


@st.composite
def spread(draw: Any, people: dict[str, Any], split: str) -> dict[str, Any]:
    """Spread people over stations: one kind has the label, and for a hybrid split the other kind does not; no cell is at two stations."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    texts = identifiers(draw(st.sampled_from(IDENTIFIERS)), people["people"])
    identifier = draw(st.sampled_from(["id", "Patient Nr."]))
    features = [name for name in people["columns"] if name != LABEL]
    far = draw(st.integers(1, len(features) - 1)) if split == "hybrid" else 0
    kinds = [[LABEL, *features[far:]]] + ([features[:far]] if far else [])
    policy = POLICY | {"minimum_count": draw(st.sampled_from([0, 0, 3]))}
    entries: list[dict[str, Any]] = []
    for kind in kinds:
        count = draw(st.integers(1 if split == "hybrid" else 2, 3))
        rows = [int(row) for row in random.permutation(people["people"])]
        rows = rows[: len(rows) - draw(st.sampled_from([0, 0, 7]))]
        ends = np.linspace(0, len(rows), count + 1).astype(int)
        for number in range(count):
            part = rows[ends[number] : ends[number + 1]]
            lacking = kind[-1] if len(kind) > 2 and draw(st.integers(0, 3)) == 3 else None
            columns = {name: [people["columns"][name][row] for row in part] for name in kind if name != lacking}
            columns[identifier] = [texts[row] for row in part]
            entries.append({"name": STATION_NAMES[len(entries)], "columns": columns, "policy": policy})
    entries += [{"name": f"helper{number}", "columns": None, "policy": policy} for number in range(2)]
    return {"organizations": entries, "central": draw(st.sampled_from(["helper1", "a"])), "id_column": identifier}


def public_states(draw: Any, people: dict[str, Any]) -> dict[str, Any]:
    """Draw `domain` and `bins` that name the states of every column."""
    domain, cuts = {}, {}
    for name, cells in people["columns"].items():
        if people["kinds"][name] == "category":
            domain[name] = {"categories": people["states"][name] or sorted({cell for cell in cells if cell})}
            continue
        values = [float(cell) for cell in cells if cell is not None] or [0.0]
        cuts[name] = sorted(
            {float(np.quantile(values, share)) for share in draw(st.sampled_from([(0.5,), (0.3, 0.7)]))}
        )
    return ({"domain": domain} if domain else {}) | ({"bins": cuts} if cuts else {})


def own_records(case: Case) -> dict[str, dict[str, Record]]:
    """Return each station's records by identifier."""
    found = {}
    for station, columns in case.stations().items():
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        found[station] = {str(row.pop(identifier_of(case))): row for row in rows}
    return found


def identifier_of(case: Case) -> str:
    """Return the column of identifiers; with a horizontal split no argument need name it."""
    named = case.id_column
    return named or str(case.facts["identifier"])


def union(case: Case) -> dict[str, Record]:
    """Return the records of all stations, each with what any of them has of it."""
    found: dict[str, Record] = {}
    for records in own_records(case).values():
        for name, record in records.items():
            kept = found.setdefault(name, {})
            kept |= {column: cell for column, cell in record.items() if kept.get(column) is None}
    every = {column for record in found.values() for column in record} | {LABEL}
    return {name: dict.fromkeys(every) | record for name, record in found.items()}


def learned_from(case: Case, arguments: dict[str, Any]) -> dict[str, tuple[set[str], list[Record]]]:
    """Return, of each party that has a member, the member's columns and the records that it is learned from."""
    own = own_records(case)
    wanted = arguments.get("features")
    columns = {
        station: {name for name in case.stations()[station] if name != identifier_of(case)}
        for station in case.stations()
    }
    chosen = {at: {n for n in names if n != LABEL and (wanted is None or n in wanted)} for at, names in columns.items()}
    united = list(union(case).values())
    found = {}
    for station, features in chosen.items():
        local = arguments["split"] == "horizontal" or arguments.get("hybrid", "local") == "local"
        if local and LABEL in columns[station]:
            found[station] = (features, list(own[station].values()))
        elif local:
            only = {name for name in features if sum(name in other for other in columns.values()) == 1}
            found[station] = (only, united)
        else:
            found[station] = (features, united)
    return {station: entry for station, entry in found.items() if entry[0]}


def refusals(case: Case, arguments: dict[str, Any]) -> Refusals:
    """Return why the fit may be refused: a column without a value or that nobody has, cut points around few records, a label of one class."""
    there = {name for columns in case.stations().values() for name in columns}
    gone = sorted({*(arguments.get("features") or [])} - there)
    found: Refusals = [("ArgumentError", f"nobody has {gone[0]!r}")] if gone else []
    for columns in case.stations().values():
        for name, cells in columns.items():
            present = [cell for cell in cells if cell is not None]
            if not present:
                found.append(("DataProblem", f"{name!r} has no value"))
            cuts = (arguments.get("bins") or {}).get(name)
            if cuts:
                places = np.array([sum(cut <= float(cell) for cut in cuts) for cell in present], dtype=int)
            if cut_in_study(case, name, cells) or (cuts and few_beside(places, len(cuts), case)):
                found.append(("ThresholdError", f"the cut points of {name!r} leave few records on a side"))
    labels = {record[LABEL] for record in union(case).values()} - {None}
    if len(labels) < 2:
        found += [(kind, "one class") for kind in ("DataProblem", "ArgumentError", "ThresholdError")]
    return found
