"""What columns hold, asked of any method's image, against pooled counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import wild
from .cases import PERSON, Case, Difference, Outcome, judge, same
from .records import Refusals, number
from .rows import HUGE_EPSILON, classified, code, edges_of, who
from .states import MOST_EPSILON, is_covered
from .tables import population, vertical

UNDERSTOOD = 1e-9
"""Above it an answer counts as exact."""
NOBODYS = "nobody's column"


@st.composite
def describe_cases(draw: Any, method: str) -> Case:
    """Columns of rows, or of records, that some stations have."""
    if draw(st.booleans()):
        _, place, domain = draw(classified(crowd=True))
        unit = draw(st.booleans())
    else:
        people = draw(population(gaps=(0.0, 0.1, 0.95, 1.0), crowd=True))
        place, unit = draw(vertical(people)), False
        domain = {name: _entry(draw, people, name) for name in people["columns"]}
    if draw(st.integers(0, 9)) == 9:
        domain[NOBODYS] = {"bounds": [0, 1]}
    arguments: dict[str, Any] = {"domain": domain} | who(draw, place)
    if not _have_data(place, arguments):
        del arguments["organizations"]
    if draw(st.booleans()):
        arguments["columns"] = draw(st.lists(st.sampled_from(list(domain)), min_size=1, unique=True))
    if draw(st.booleans()):
        arguments["bins"] = draw(st.sampled_from([1, 7, {name: 3 for name in _numeric(arguments)}]))
    if draw(st.booleans()):
        arguments |= {"epsilon": HUGE_EPSILON, "neighbors": draw(st.sampled_from(["add_remove", "replace_one"]))}
        arguments |= {"honest_fraction": draw(st.sampled_from([0.3, 1.0])), "delta": 0.0}
    if unit and draw(st.booleans()):
        arguments |= {"unit": "identifier", "id_column": PERSON, "max_rows_per_identifier": 1}
        for entry in place["organizations"]:
            columns = entry["columns"]
            if columns is not None:
                columns[PERSON] = [f"{row}" if row % 5 else None for row in range(len(next(iter(columns.values()))))]
    return Case(method, "describe", place["organizations"], place["central"], [["describe", arguments]])


def _have_data(place: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether one of those that are asked has data; that nobody has is an error of the platform's kind, with tests of its own."""
    holders = {entry["name"] for entry in place["organizations"] if entry["columns"] is not None}
    return bool(holders & set(arguments.get("organizations", holders)))


def _entry(draw: Any, people: dict[str, Any], name: str) -> dict[str, Any]:
    cells = [cell for cell in people["columns"][name] if cell is not None]
    if people["kinds"][name] == "number":
        values = [float(cell) for cell in cells] or [0.0, 1.0]
        width = max(max(values) - min(values) or 1.0, wild.NARROWEST * max(map(abs, values)))
        return {"bounds": [min(values) - 0.5 * width, max(values) - draw(st.sampled_from([-0.1, 0.3])) * width]}
    listed = people["states"][name] or sorted(set(cells)) or ["a"]
    return {"categories": listed[draw(st.integers(0, 1)) if len(listed) > 1 else 0 :]}


def _numeric(arguments: dict[str, Any]) -> list[str]:
    names = arguments.get("columns", list(arguments["domain"]))
    return [name for name in names if "bounds" in arguments["domain"][name]]


def _refusals(case: Case, names: list[str]) -> Refusals:
    stations, found, least = case.stations(), [], case.limit("minimum_organizations", 3)
    if len(case.members()) < max(2, least):
        found.append(("ThresholdError", "a node demands more organizations"))
    if (case.arguments.get("epsilon") or math.inf) > MOST_EPSILON:
        if len(stations) < 2:
            found.append(("ThresholdError", "one organization alone holds data"))
        if any(1 < sum(name in columns for columns in stations.values()) < least for name in names):
            found.append(("ThresholdError", "fewer organizations have a column than a node demands"))
    if not stations:
        found.append(("StationError", "nobody has data"))
    holders = [columns for columns in stations.values() if set(names) & set(columns)]
    rows = [len(next(iter(columns.values()))) for columns in holders]
    if min(rows, default=10**9) < case.limit("minimum_rows", 10):
        found.append(("ThresholdError", "a table has fewer rows than a node demands"))
    if any(all(name not in columns for columns in stations.values()) for name in names):
        found.append(("DataProblem", "nobody has a column"))
    return found


def check_describe(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    names = arguments.get("columns", list(arguments["domain"]))
    minimum = 0 if is_covered(case) else case.limit("minimum_count", 5)

    def compare(result: Any) -> None:
        same("columns", list(result["model"]["columns"]), names)
        for name, told in result["model"]["columns"].items():
            holders = {station: columns for station, columns in case.used().items() if name in columns}
            same(f"who has {name!r}", sorted(told["organizations"]), sorted(holders))
            cells = [cell for columns in holders.values() for cell in columns[name]]
            bins = arguments.get("bins", 20)
            own = bins.get(name, 20) if isinstance(bins, dict) else bins
            _compare(name, told, cells, arguments["domain"][name], own, minimum)

    judge(case, outcome, _refusals(case, names), compare)


def _compare(name: str, told: dict[str, Any], cells: list[Any], entry: dict[str, Any], bins: Any, minimum: int) -> None:
    missing = sum(cell is None for cell in cells)
    same(f"records of {name!r}", told["records"], len(cells))
    slack = 0
    if "categories" in entry:
        same(f"categories of {name!r}", told["categories"]["values"], entry["categories"])
        codes = [code(cell, entry["categories"]) for cell in cells if cell is not None]
        values = [codes.count(place) for place in range(len(entry["categories"]))]
        found, outside = told["categories"]["counts"], codes.count(-1)
    else:
        numbers = np.array([number(cell) for cell in cells if cell is not None], dtype=float)
        low, high = entry["bounds"]
        inside = numbers[(numbers >= low) & (numbers <= high)]
        outside = len(numbers) - len(inside)
        edges = np.array(told["bins"]["edges"])
        _check_edges(name, edges, edges_of(entry["bounds"], bins), minimum)
        values, found = np.histogram(inside, edges)[0].tolist(), told["bins"]["counts"]
        slack = int(sum(np.abs(edges - value).min() < _margin(edges) for value in inside))
        if minimum > 1 and len(values) > 1 and min(values) + slack < minimum:
            raise Difference(f"{name!r}: a bin with {min(values)} records is told apart")
        if minimum > 1 and not slack:
            every = edges_of(entry["bounds"], bins)
            _check_fineness(name, edges, every, np.histogram(inside, every)[0], minimum)
        _check_quantiles(name, told, inside, slack)
    shown = [*zip(found, values, strict=True), (told["outside"], outside), (told["missing"], missing)]
    small = any(count < minimum for count in values) or any(0 < count < minimum for count in (outside, missing))
    for cell, count in shown:
        if cell is None and not small:
            raise Difference(f"{name!r}: a cell is hidden though none is small")
        if cell is not None and abs(cell - count) > slack:
            raise Difference(f"{name!r}: {cell} instead of {count}")
        if cell is not None and 0 < count < minimum and not slack:
            raise Difference(f"{name!r}: a small count is shown")


def _margin(edges: Any) -> float:
    """Return how far edges may be from where they should be: they are told with 15 digits."""
    return float(UNDERSTOOD * (edges[-1] - edges[0]) + 6e-15 * np.abs(edges).max())


def _check_edges(name: str, edges: Any, all_edges: Any, minimum: int) -> None:
    known = [np.abs(all_edges - edge).min() <= _margin(all_edges) for edge in edges]
    if not all(known) or (minimum <= 1 and len(edges) != len(all_edges)):
        raise Difference(f"edges of {name!r}: {edges.tolist()} of {all_edges.tolist()}")


def _check_fineness(name: str, edges: Any, every: Any, counts: Any, minimum: int) -> None:
    """Where both halves of bins hold enough there is a border, however few are elsewhere: united bins are no wider than small counts ask for."""
    parts = [(0, len(counts))]
    while parts:
        low, high = parts.pop()
        middle = (low + high) // 2
        sides = [(low, middle), (middle, high)] if high - low > 1 else []
        enough = [side for side in sides if counts[slice(*side)].sum() >= minimum]
        if len(enough) == 2 and np.abs(edges - every[middle]).min() > _margin(every):
            raise Difference(f"{name!r}: no border at {every[middle]}, where both halves hold enough")
        parts += enough


def _check_quantiles(name: str, told: dict[str, Any], inside: Any, slack: int) -> None:
    """A quantile lies in the bin in which the pooled one lies."""
    counts, edges = told["bins"]["counts"], told["bins"]["edges"]
    if told["quantiles"] is None:
        if sum(count or 0 for count in counts) > 0:
            raise Difference(f"{name!r}: no quantiles")
        return
    if slack or None in counts:
        return
    for level, value in told["quantiles"].items():
        pooled = float(np.quantile(inside, float(level), method="inverted_cdf"))
        place = min(int(np.searchsorted(edges, pooled, side="right")), len(edges) - 1)
        margin = _margin(edges)
        if not edges[place - 1] - margin <= value <= edges[place] + margin:
            raise Difference(f"{name!r}: quantile {level} is {value}, pooled {pooled}")
