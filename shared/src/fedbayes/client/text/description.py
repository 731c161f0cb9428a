"""What columns hold (`describe`), in words: one row a column, and one row a cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from ..formats import number

HEADING = ("column", "records", "missing", "outside", "holds", "at")
MOST_VALUES = 4  # of a column in one cell of a table


def rows(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for every column: records, shares that are missing and outside the domain, its values, who has it."""
    return [
        (
            str(name),
            number(entry["records"]),
            _share(entry["missing"], entry["records"]),
            _share(entry["outside"], entry["records"]),
            holds(entry),
            ", ".join(str(name) for name in entry["organizations"]),
        )
        for name, entry in model["columns"].items()
    ]


def holds(entry: Mapping[str, Any]) -> str:
    """Return the commonest categories with their shares, or median and quartiles."""
    if "categories" not in entry:
        quantiles = entry.get("quantiles")
        if not quantiles:
            return "–"
        quartiles = [float(quantiles[level]) for level in ("0.25", "0.5", "0.75")]
        edges = [float(edge) for edge in entry["bins"]["edges"]]
        unit = f" {entry['unit']}" if entry.get("unit") else ""
        whole = [_whole_number(value, edges) if entry.get("whole") else None for value in quartiles]
        within = next(
            ((low, high) for low, high in pairwise(edges) if low <= quartiles[0] and quartiles[2] <= high), None
        )
        if within is not None and whole[1] is None:
            return (
                f"half of them or more in {number(within[0], 3)} to {number(within[1], 3)}{unit}; finer bins tell more"
            )
        apart = quartiles[2] - quartiles[0]
        low, middle, high = (
            _place(value, edges, apart) if only is None else number(only)
            for value, only in zip(quartiles, whole, strict=True)
        )
        return f"median {middle}, quartiles {low} {'to' if max(len(low.split()), len(high.split())) == 1 else 'and'} {high}{unit}"
    categories = entry["categories"]
    counted = [
        (value, count)
        for value, count in zip(categories["values"], categories["counts"], strict=True)
        if count is not None
    ]
    common = sorted(counted, key=lambda pair: -pair[1])[:MOST_VALUES]
    parts = [f"{value}: {_share(count, entry['records'])}" for value, count in common]
    more = len(categories["values"]) - len(common)
    return ", ".join([*parts, *([f"{more} more"] if more else [])])


def _place(value: float, edges: list[float], quartiles_apart: float) -> str:
    """Return a quantile, or the bin that holds it, where that is wider than the quartiles are apart: a number would be of the bin, not of data."""
    low, high = next((pair for pair in pairwise(edges) if pair[0] <= value <= pair[1]), (value, value))
    return f"in {number(low, 3)} to {number(high, 3)}" if high - low > quartiles_apart else number(value, 3)


def _whole_number(value: float, edges: list[float]) -> int | None:
    """Return the whole number that is a quantile of whole numbers: the nearest one where noise put it in a bin without any; None where its bin has several."""
    for position, (low, high) in enumerate(pairwise(edges)):
        if low <= value <= high:
            first, last = math.ceil(low), math.floor(high) if position == len(edges) - 2 else math.ceil(high) - 1
            return None if first < last else first if first == last else round(value)
    return None


def cells(model: Mapping[str, Any]) -> Iterator[tuple[str, str, int | None]]:
    """Yield (column, value or bin, count) of every cell, ``outside`` and ``missing`` last; None where a count is hidden."""
    for name, entry in model["columns"].items():
        for value, count in zip(values_of(entry), counts_of(entry), strict=True):
            yield str(name), value, count
        yield str(name), "(outside)", entry["outside"]
        yield str(name), "(missing)", entry["missing"]


def values_of(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of a column's categories or bins."""
    if "categories" in entry:
        return [str(value) for value in entry["categories"]["values"]]
    edges = [float(edge) for edge in entry["bins"]["edges"]]
    ends = [")"] * (len(edges) - 2) + ["]"]
    return [f"[{low:g}, {high:g}{end}" for low, high, end in zip(edges, edges[1:], ends, strict=False)]


def counts_of(entry: Mapping[str, Any]) -> list[int | None]:
    """Return the counts of a column's categories or bins."""
    return list(entry["categories" if "categories" in entry else "bins"]["counts"])


def _share(count: Any, records: Any) -> str:
    """Return a count as a share of the records, never below 0 or above 1 though noise may be; a dash where it is hidden."""
    if count is None:
        return "–"
    return f"{min(max(count / records, 0.0), 1.0):.1%}" if records > 0 else "–"
