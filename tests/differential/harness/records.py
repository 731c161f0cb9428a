"""Pooled answers about records whose columns lie at several stations: what may be refused, states, counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .cases import POSITION, Case, Difference, close
from .tables import joined

Refusals = list[tuple[str, str]]
WHOLE = re.compile(r"-?[0-9]+")


def roles(case: Case, id_column: str, union: bool = False) -> Refusals:
    """Return why the placement, the limits or the identifiers demand a refusal."""
    stations, helpers, helper = case.stations(), case.helpers(), case.arguments.get("helper")
    found: Refusals = []
    if len(stations) < 2:
        found.append(("ThresholdError", "private products need two stations"))
    if len(case.members()) < case.limit("minimum_organizations", 3):
        found.append(("ThresholdError", "a node demands more organizations"))
    if not stations:
        found.append(("StationError", "nobody has data"))
    if helper == "none":
        if len(stations) < 3:
            found.append(("ThresholdError", "without a helper there must be three stations"))
        if union:
            found.append(("ArgumentError", "a union needs a helper"))
    elif helper is None:
        free = [name for name in helpers if name != case.central]
        if not free and helpers:
            found.append(("PlacementError", "the helper would run central"))
        elif not free:
            found.append(("ArgumentError", "nobody is without data"))
    elif helper in stations or helper == case.central:
        found.append(("PlacementError", "the helper holds data or runs central"))
    smallest = min((len(columns[id_column]) for columns in stations.values()), default=0)
    if smallest < case.limit("minimum_rows", 10):
        found.append(("ThresholdError", "a table has fewer rows than a node demands"))
    found += not_aligned(case)
    if stations and not union:
        common = len(joined(stations, id_column))
        if not common:
            found.append(("DataProblem", "no record in common"))
        if common < case.limit("minimum_rows", 10):
            found.append(("ThresholdError", "fewer records in common than a node demands"))
    return found


def not_aligned(case: Case) -> Refusals:
    """Return a refusal for files that are said to be aligned and have different numbers of rows."""
    sizes = {len(columns[POSITION]) for columns in case.stations().values()} if case.id_column == POSITION else set()
    return [("DataProblem", "files that are not aligned")] if len(sizes) > 1 else []


def owner_of(case: Case, column: str) -> str | None:
    """Return the one station that has the column, or None if none or several have it."""
    owners = [name for name, columns in case.stations().items() if column in columns]
    return owners[0] if len(owners) == 1 else None


def unknown_columns(case: Case, columns: Sequence[str]) -> Refusals:
    """Return a refusal for columns that nobody, or more than one station, has."""
    wrong = [column for column in columns if owner_of(case, column) is None]
    return (
        [(kind, f"column {wrong[0]!r} is not at one station") for kind in ("DataProblem", "ArgumentError")]
        if wrong
        else []
    )


def number(cell: str | None) -> float | None:
    """Return a cell as a number, None where it is missing or none."""
    if cell is None:
        return None
    text = cell.strip()
    if "_" in text:  # digits that are grouped so are numbers to Python alone
        return None
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return None


def is_numeric(cells: Sequence[str | None]) -> bool:
    """Whether all values of a column are finite numbers."""
    found = [number(cell) for cell in cells if cell is not None]
    return all(value is not None and math.isfinite(value) for value in found)


def equal(left: Any, right: Any) -> bool:
    """Whether a label means the same value as a cell: the same text, number or truth value."""
    if left is None or right is None:
        return left is right
    left, right = (str(value).lower() if isinstance(value, bool) else str(value).strip() for value in (left, right))
    if left == right:
        return True
    if left.lower() == right.lower() and left.lower() in ("true", "false"):
        return True
    one, other = number(left), number(right)
    if {left.lower(), right.lower()} & {"true", "false"}:
        return False
    if WHOLE.fullmatch(left) and WHOLE.fullmatch(right):  # a float would round them
        return int(left) == int(right)
    return one is not None and one == other


def place_of(cell: str | None, labels: Sequence[Any], cuts: Sequence[float] | None) -> int | None:
    """Return the state of a cell, None where no state is its."""
    if cell is not None and cuts is not None:
        value = number(cell)
        return None if value is None else sum(cut <= value for cut in cuts)
    found = [place for place, label in enumerate(labels) if equal(label, cell)]
    return found[0] if found else None


def expected_cuts(rule: Any, values: Sequence[float], bounds: Sequence[float] | None, rows: int) -> list[float] | None:
    """Return the cut points of a numeric column by a rule, or None where the rule says nothing."""
    present = np.sort(np.asarray([value for value in values if value is not None], dtype=float))
    if bounds is not None:
        present = np.clip(present, *bounds)
    if isinstance(rule, list):
        return [float(cut) for cut in rule]
    if rule == "published":
        return _rounded(_published(present, rows), present)
    if rule == "width" or (bounds is not None and (rule is None or isinstance(rule, int))):
        if bounds is None:
            return None
        count = rule if isinstance(rule, int) else 5
        low, high = (Fraction(str(bound)) for bound in bounds)  # as people write them: a third of -14.1 to 2.4 is -3.1
        return [float(low + (high - low) * part / count) for part in range(1, count)]
    count = rule if isinstance(rule, int) else 5
    if not len(present):
        return []
    places = [min(math.ceil(part / count * (len(present) - 1) - 1e-9), len(present) - 1) for part in range(1, count)]
    return _rounded(sorted({float(present[place]) for place in places} - {float(present[0])}), present)


def _rounded(cuts: Sequence[float], present: Any) -> list[float]:
    """Return numbers of the fewest digits that part the same values."""
    found = []
    for cut in cuts:
        below = float(present[present < cut].max())
        texts = (f"{math.floor(Fraction(repr(cut)) / Fraction(10) ** power)}e{power}" for power in range(310, -330, -1))
        found.append(next((float(text) for text in texts if below < float(text) <= cut), cut))
    return found


def _published(present: Any, rows: int) -> list[float]:
    needed = max(10.0, 0.1 * rows)
    cuts: list[float] = []
    inside, left = 0, len(present)
    for value, count in sorted(Counter(present.tolist()).items()):
        if inside >= needed and left >= needed:
            cuts.append(value)
            inside = 0
        inside, left = inside + count, left - count
    return cuts


def check_states(case: Case, column: str, labels: Sequence[Any], cuts: Any, rule: Any = "quantile") -> None:
    """Hold the states that a result shows against those of the column, as its owner has it."""
    cells = case.stations()[owner_of(case, column) or ""][column]
    entry = (case.arguments.get("domain") or {}).get(column)
    present = {cell for cell in cells if cell is not None}
    plain = [label for label in labels if label is not None]
    if isinstance(rule, dict):
        rule = rule.get(column)
    if cuts is None:
        wanted = entry["categories"] if entry and "categories" in entry else _distinct(sorted(present))
        if len(plain) != len(wanted) or not all(any(equal(label, value) for value in wanted) for label in plain):
            raise Difference(f"states of {column!r}: {plain!r:.300} instead of {wanted!r:.300}")
        return
    found = expected_cuts(rule, [number(cell) for cell in cells], entry and entry.get("bounds"), len(cells))
    if found is not None:
        close(f"cut points of {column!r}", list(cuts), found, 1e-9)
    if len(plain) != len(cuts) + 1:
        raise Difference(f"{len(plain)} bins of {column!r} for {len(cuts)} cut points")


def _distinct(cells: Sequence[str]) -> list[str]:
    """Return the cells of which none is the same category as an earlier one, such as "-0.0" after "0.0"."""
    return [cell for place, cell in enumerate(cells) if not any(equal(earlier, cell) for earlier in cells[:place])]


def pooled_table(records: dict[str, dict[str, str | None]], axes: Sequence[dict[str, Any]]) -> Any:
    """Return the counts of pooled records over axes ``{"column", "labels", "cuts"}``; records outside all states are left out."""
    table = np.zeros([len(axis["labels"]) for axis in axes], dtype=np.int64)
    for record in records.values():
        places = [place_of(record[axis["column"]], axis["labels"], axis["cuts"]) for axis in axes]
        if None not in places:
            table[tuple(places)] += 1
    return table
