"""Questions about vertically split records, and their pooled answers."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Difference, Outcome, close, judge, same
from .records import (
    WHOLE,
    Refusals,
    check_states,
    expected_cuts,
    is_numeric,
    number,
    owner_of,
    place_of,
    pooled_table,
    roles,
    unknown_columns,
)
from .states import drawn_states, entry_of, few, is_covered, is_private, known, state_refusals
from .tables import joined, population, vertical
from .told import check_association, check_chance

ALGORITHM = "scalar_product"
LARGEST_EPSILON = 1000.0


@st.composite
def _federation(draw: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    people = draw(population(**options, crowd=True))
    return people, draw(vertical(people, (1, 8) if draw(st.integers(0, 9)) == 9 else (2, 5)))


@st.composite
def _who(draw: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Draw `helper` and `organizations`."""
    chosen: dict[str, Any] = {}
    names = [entry["name"] for entry in place["organizations"]]
    helpers = [entry["name"] for entry in place["organizations"] if entry["columns"] is None]
    helper = draw(st.sampled_from(["left out", "left out", "named", "none"]))
    if helper == "none":
        chosen["helper"] = "none"
    elif helper == "named" and helpers:
        chosen["helper"] = draw(st.sampled_from(helpers))
    if draw(st.integers(0, 5)) == 5:
        chosen["organizations"] = (
            draw(st.lists(st.sampled_from(names), min_size=2, max_size=len(names), unique=True))
            if len(names) > 1
            else names
        )
    return chosen


def _case(function: str, place: dict[str, Any], arguments: dict[str, Any], **facts: Any) -> Case:
    return Case(ALGORITHM, function, place["organizations"], place["central"], [[function, arguments]], None, facts)


@st.composite
def _condition(draw: Any, column: str, cells: list[Any], kind: str) -> dict[str, Any]:
    present = sorted({cell for cell in cells if cell is not None}) or ["0"]
    if kind == "number":
        operator = draw(st.sampled_from(["<", "<=", ">", ">=", "between", "missing", "=="]))
        values = sorted(float(cell) for cell in present)
        value: Any = draw(st.sampled_from(values))
        if value == int(value) and abs(value) < 2**53 and draw(st.booleans()):
            value = int(value)
        if operator == "between":
            value = sorted([value, draw(st.sampled_from(values))])
    else:
        operator = draw(st.sampled_from(["==", "!=", "in", "missing"]))
        value = draw(st.sampled_from(present))
        if operator == "in":
            value = draw(st.lists(st.sampled_from([*present, "not there"]), min_size=1, max_size=3, unique=True))
    return {"column": column, "op": operator} | ({} if operator == "missing" else {"value": value})


@st.composite
def _noise(draw: Any) -> dict[str, Any]:
    if draw(st.integers(0, 3)):
        return {}
    drawn = {"epsilon": LARGEST_EPSILON, "honest_fraction": draw(st.sampled_from([0.5, 1.0]))}
    return drawn | draw(st.sampled_from([{}, {"neighbors": "zero_out"}]))


@st.composite
def count_cases(draw: Any) -> Case:
    people, place = draw(_federation(tame=draw(st.booleans())))
    names = draw(st.lists(st.sampled_from(list(people["columns"])), min_size=1, max_size=5))
    conditions = [draw(_condition(name, people["columns"][name], people["kinds"][name])) for name in names]
    protocol = draw(st.sampled_from(["masked_tables", "masked_tables", "thesis"]))
    arguments = {"conditions": conditions, "id_column": place["id_column"]} | draw(_who(place))
    if protocol == "thesis":
        arguments["protocol"] = protocol
    else:
        arguments |= draw(_noise())
    return _case("count", place, arguments)


def _singled_out(case: Case, tests: list[dict[str, Any]]) -> Refusals:
    """Return a refusal where the conditions on one station's columns hold, or fail, for a few of its records."""
    found: Refusals = []
    for name, station in case.stations().items():
        own = [test for test in tests if owner_of(case, test["column"]) == name]
        rows = len(station[case.id_column])
        inside = sum(all(_satisfies(station[test["column"]][row], test) for test in own) for row in range(rows))
        if own and few((inside, rows - inside), case):
            found.append(("ThresholdError", "conditions single out a few records of a station"))
    return found


def _stands_near(case: Case, tests: list[dict[str, Any]], records: list[Any], minimum: int) -> bool:
    """Whether few records fail the conditions of one station and satisfy those of all others; of two stations also whether few fail both."""
    owners = sorted({str(owner_of(case, test["column"])) for test in tests})
    failing = Counter(
        frozenset(str(owner_of(case, test["column"])) for test in tests if not _satisfies(record[test["column"]], test))
        for record in records
    )
    near = [frozenset([owner]) for owner in owners] + [frozenset(owners)] * (len(owners) == 2)
    return any(failing[some] < minimum for some in near)


def _satisfies(cell: str | None, condition: dict[str, Any]) -> bool:
    operator, value = condition["op"], condition.get("value")
    if operator == "missing" or cell is None:
        return cell is None and operator == "missing"
    if operator in ("==", "!=", "in"):
        from .records import equal

        inside = any(equal(wanted, cell) for wanted in (value if operator == "in" else [value]))
        return inside != (operator == "!=")
    seen = number(cell)
    if seen is None:
        return False
    if operator == "between":
        return bool(value[0] <= seen <= value[1])
    return {"<": seen < value, "<=": seen <= value, ">": seen > value, ">=": seen >= value}[operator]


def _identifying(case: Case, columns: set[str]) -> Refusals:
    found: Refusals = []
    for column in columns:
        cells = case.stations().get(owner_of(case, column) or "", {}).get(column, [])
        if len({cell for cell in cells if cell is not None}) * 2 > len(cells):
            found.append(("PolicyError", "an exact match on a column that tells records apart"))
    return found


def check_count(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    tests = arguments["conditions"]
    columns = [test["column"] for test in tests]
    refuse = roles(case, case.id_column) + unknown_columns(case, columns)
    may = _identifying(case, {test["column"] for test in tests if test["op"] in ("==", "!=", "in")})
    thesis = arguments.get("protocol") == "thesis"
    if thesis and arguments.get("helper") == "none":
        refuse.append(("ArgumentError", "the published protocol needs a helper"))
    owners = {owner_of(case, column) for column in columns}
    if thesis and not 2 <= len(owners) <= 5:
        refuse.append(("ArgumentError", "the published protocol is for 2 to 5 stations"))
    if len(owners) > 8:
        refuse.append(("ArgumentError", "too many stations"))
    if refuse:
        may += [("ThresholdError", "a station may see few records first")]
        return judge(case, outcome, refuse, lambda _: None, may)
    texts = [test["column"] for test in tests if test["op"] in ("<", "<=", ">", ">=", "between")]
    for column in texts:
        if not is_private(case) and not is_numeric(case.stations()[owner_of(case, column) or ""][column]):
            refuse.append(("DataProblem", "numbers asked of text"))
    if refuse:
        return judge(case, outcome, refuse, lambda _: None, may)
    if is_covered(case):
        may = []
    else:
        refuse += _singled_out(case, tests)
    records = joined(case.stations(), case.id_column)
    wanted = sum(all(_satisfies(record[test["column"]], test) for test in tests) for record in records.values())
    minimum = case.limit("minimum_count", 5)
    if not is_covered(case) and min(wanted, len(records) - wanted) < minimum:
        refuse.append(("ThresholdError", "the count or its complement is small"))
    if not is_covered(case) and _stands_near(case, tests, list(records.values()), minimum):
        refuse.append(("ThresholdError", "what counts with fewer conditions differ by is small"))

    def compare(result: Any) -> None:
        same("count", result["count"], wanted)
        same("records", result["records"], len(records))
        same("model", result["model"], {"count": wanted, "records": len(records)})

    judge(case, outcome, refuse, compare, may)


# -- tables ------------------------------------------------------------------------------------------------------------


@st.composite
def contingency_cases(draw: Any) -> Case:
    people, place = draw(_federation())
    names = draw(st.lists(st.sampled_from(list(people["columns"])), min_size=1, max_size=3, unique=True))
    arguments = (
        {"columns": names, "id_column": place["id_column"]} | draw(_who(place)) | draw(drawn_states(people, names))
    )
    arguments |= draw(_noise())
    if draw(st.booleans()):
        arguments["missing_state"] = draw(st.booleans())
    return _case("contingency", place, arguments)


def check_contingency(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    columns = arguments["columns"]
    refuse = roles(case, case.id_column) + unknown_columns(case, columns)
    states = state_refusals(case, columns)
    refuse += states if not refuse or is_private(case) else []
    records = joined(case.stations(), case.id_column) if not refuse else {}

    def compare(result: Any) -> None:
        same("columns of the axes", [axis["column"] for axis in result["axes"]], columns)
        for axis in result["axes"]:
            check_states(case, axis["column"], axis["labels"], axis["cuts"], entry_of(case, axis["column"])[1])
        table = pooled_table(known(case, records, result["axes"]), result["axes"])
        same("records", result["records"], len(records))
        if int(table.sum()) != len(records):
            raise Difference("the pooled table loses records: a value has no state")
        found = np.array(result["counts"], dtype=object)
        same("shape", list(found.shape), list(table.shape))
        minimum = 0 if is_covered(case) else case.limit("minimum_count", 5)
        for place in np.ndindex(*table.shape):
            if found[place] is None:
                if minimum <= 1 or not bool((table < minimum).any()):
                    raise Difference(f"cell {place} is hidden though no cell is small")
            elif found[place] != int(table[place]):
                raise Difference(f"cell {place}: {found[place]} instead of {int(table[place])}")
            elif minimum > 1 and int(table[place]) < minimum and not _no_gap(table, place, result["axes"]):
                raise Difference(f"cell {place} is shown though it is small")
        same("model", result["model"]["counts"], result["counts"])
        whole = len(columns) == 2 and "epsilon" not in arguments and not (found == None).any()  # noqa: E711
        check_association(result["association"], table, result["axes"], whole)

    judge(case, outcome, refuse, compare, states)


def _no_gap(table: Any, place: tuple[int, ...], axes: list[dict[str, Any]]) -> bool:
    """Return whether a cell is in a state "missing" that no record has, which is shown as empty."""
    return any(
        axes[axis]["labels"][at] is None and not np.take(table, at, axis=axis).any() for axis, at in enumerate(place)
    )


@st.composite
def information_gain_cases(draw: Any) -> Case:
    people, place = draw(_federation(fewest=2))
    names = draw(st.lists(st.sampled_from(list(people["columns"])), min_size=2, max_size=4, unique=True))
    arguments = {"label": names[0], "columns": names[1:], "id_column": place["id_column"]}
    arguments |= draw(_who(place)) | draw(drawn_states(people, names)) | draw(_noise())
    if draw(st.booleans()):
        arguments["missing_state"] = draw(st.booleans())
    return _case("information_gain", place, arguments)


def _pooled_states(case: Case, column: str) -> list[Any]:
    """Return the state of every cell of a column, by identifier: text, bin number, or None."""
    arguments = case.arguments
    cells = case.stations()[owner_of(case, column) or ""][column]
    entry, rule = entry_of(case, column)
    named = isinstance(arguments.get("bins"), dict) and column in arguments["bins"]
    values = [number(cell) for cell in cells]
    if "categories" in entry and is_private(case):
        known = entry["categories"]
        return [None if place_of(cell, known, None) is None else place_of(cell, known, None) for cell in cells]
    few = len({_meaning(cell) for cell in cells if cell is not None}) <= 10
    if "categories" in entry or (not entry and not named and (few or not is_numeric(cells) or _truth(cells))):
        return [None if cell is None else _meaning(cell) for cell in cells]
    bounds = entry.get("bounds")
    cuts = expected_cuts(rule, values, bounds, len(cells))
    if cuts is None:
        cuts = expected_cuts("quantile", values, bounds, len(cells))
    return [None if value is None else sum(cut <= value for cut in cuts or []) for value in values]


def _truth(cells: list[Any]) -> bool:
    return {cell.strip() for cell in cells if cell is not None} <= {"true", "false"}


def _meaning(cell: str) -> Any:
    seen = int(cell) if WHOLE.fullmatch(cell.strip()) else number(cell)
    return cell.strip() if seen is None or cell.strip() in ("true", "false") or not math.isfinite(seen) else seen


def check_information_gain(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    names = [arguments["label"], *arguments["columns"]]
    refuse = roles(case, case.id_column) + unknown_columns(case, names)
    states = state_refusals(case, names)
    refuse += states if not refuse or is_private(case) else []

    def compare(result: Any) -> None:
        stations = {name: dict(columns) for name, columns in case.stations().items()}
        for column in names:
            stations[owner_of(case, column) or ""][column] = _pooled_states(case, column)
        records = list(joined(stations, case.id_column).values())
        same("records", result["records"], len(records))
        same("columns", sorted(result["information_gain"]), sorted(arguments["columns"]))
        for column in arguments["columns"]:
            pairs = [(record[names[0]], record[column]) for record in records]
            found = result["information_gain"][column]
            if found is None:
                if not _may_hide(case, names[0], column, pairs):
                    raise Difference(f"no information gain of {column!r}, though no cell is small")
                continue
            if _must_hide(case, pairs):
                raise Difference(f"the information gain of {column!r} tells a small cell")
            close(f"information gain of {column!r}", found, _gain(*map(list, zip(*pairs, strict=True))), 1e-9)
            if "epsilon" not in arguments:
                check_chance(column, result["null_level"][column], pairs)

    may: Refusals = [] if is_covered(case) else [("ThresholdError", "every table may have a small cell")]
    judge(case, outcome, refuse, compare, may + states)


def _must_hide(case: Case, pairs: list[tuple[Any, Any]]) -> bool:
    """Return whether a cell of states that occur, other than missing, is small."""
    if is_covered(case) or case.limit("minimum_count", 5) <= 1:
        return False
    rows, columns = ({repr(pair[side]) for pair in pairs} for side in (0, 1))
    counts = Counter((repr(first), repr(second)) for first, second in pairs)
    return any(counts[row, column] < case.limit("minimum_count", 5) for row in rows for column in columns)


def _may_hide(case: Case, target: str, column: str, pairs: list[tuple[Any, Any]]) -> bool:
    """Return whether a cell is small, or a state that was given may have no record."""
    if is_covered(case) or _must_hide(case, pairs):
        return not is_covered(case)
    for side, name in enumerate((target, column)):
        entry, rule = entry_of(case, name)
        seen = {repr(pair[side]) for pair in pairs}
        anywhere = {repr(state) for state in _pooled_states(case, name)}
        if "bounds" in entry or isinstance(rule, list) or len(entry.get("categories", seen)) > len(seen - {"None"}):
            return True
        if anywhere - seen:  # a state that only records have which are not common
            return True
    return False


def _gain(target: list[Any], column: list[Any]) -> float:
    def bits(values: list[Any]) -> float:
        texts = [repr(value) for value in values]
        shares = np.unique(texts, return_counts=True)[1] / len(texts)
        return float(-(shares * np.log2(shares)).sum())

    return bits(target) + bits(column) - bits(list(zip(target, column, strict=True)))


@st.composite
def scalar_product_cases(draw: Any) -> Case:
    people, place = draw(
        _federation(kinds=("number", "number", "number", "category"), gaps=(0.0, 0.0, 0.0, 0.0, 0.1), tame=True)
    )
    names = draw(st.lists(st.sampled_from(list(people["columns"])), min_size=1, max_size=5, unique=True))
    arguments = {"columns": names, "id_column": place["id_column"]} | draw(_who(place))
    return _case("scalar_product", place, arguments)


def check_scalar_product(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    columns = arguments["columns"]
    refuse = roles(case, case.id_column) + unknown_columns(case, columns)
    may: Refusals = []
    for column in columns:
        cells = case.stations().get(owner_of(case, column) or "", {}).get(column, [])
        if not is_numeric(cells) or _truth(cells):
            (refuse if not _truth(cells) else may).append(("DataProblem", f"{column!r} holds text"))
        if None in cells:
            refuse.append(("DataProblem", f"{column!r} has gaps"))
    for name, station in case.stations().items():
        own = [column for column in columns if owner_of(case, column) == name]
        if own and not refuse:
            products = [
                math.prod(number(station[column][row]) or 0.0 for column in own) for row in range(len(station[own[0]]))
            ]
            minimum = case.limit("minimum_count", 5)
            if sum(value != 0.0 for value in products) < minimum or _stands_out(products, minimum):
                refuse.append(("ThresholdError", "the columns are zero nearly everywhere"))
    may += _weighed(case, columns)
    if not refuse:
        may += _small_group(case, columns) + _decoded(case, columns)

    def compare(result: Any) -> None:
        records = list(joined(case.stations(), case.id_column).values())
        products = [math.prod(number(record[column]) or 0.0 for column in columns) for record in records]
        same("records", result["records"], len(records))
        bound = result["diagnostics"]["largest_error"]
        size = math.fsum(abs(value) for value in products)
        close("scalar_product", result["scalar_product"], math.fsum(products), 1e-9, bound + 1e-12 * size)
        cells = [case.stations()[owner_of(case, column) or ""][column] for column in columns]
        largest = math.prod(max(abs(number(cell) or 0.0) for cell in own) for own in cells)
        if largest and bound > 1e-2 * largest * len(records):
            raise Difference(f"largest_error {bound} says nothing about a sum of products up to {largest}")

    judge(case, outcome, refuse, compare, may)


def _stands_out(products: list[float], minimum: int) -> bool:
    """Return whether all but a few rows have one value, or a few hold nearly all of the sum."""
    others = len(products) - Counter(products).most_common(1)[0][1]
    ranked = sorted((abs(value) for value in products), reverse=True)
    return minimum > 1 and (0 < others < minimum or sum(ranked[minimum - 1 :]) < 0.02 * sum(ranked))


def _weighed(case: Case, columns: list[str]) -> Refusals:
    """Return a refusal where a recode of the task gives a column other numbers than 0 and 1, by its owner, if that allows no formulae."""
    entries = case.facts.get("dictionary", {}).get("columns", {})
    allowed = {entry["name"]: entry["policy"].get("allow_formulas") == "true" for entry in case.organizations}
    return [
        ("PolicyError", f"{column!r} is numbers that the task chose")
        for column in columns
        if not set(entries.get(column, {}).get("recode", {}).values()) <= {0.0, 1.0}
        and not allowed.get(owner_of(case, column) or "")
    ]


def _decoded(case: Case, columns: list[str]) -> Refusals:
    """Return a refusal where a station's numbers, multiplied by another's few values, would tell whose these are: they are mixed less than 60 bits."""
    own: dict[str | None, list[str]] = {}
    for column in columns:
        own.setdefault(owner_of(case, column), []).append(column)
    records = list(joined(case.stations(), case.id_column).values())
    mixed = []
    for names in own.values():
        values = Counter(math.prod(number(record[name]) or 0.0 for name in names) for record in records)
        bits = sum(count * math.log2(len(records) / count) for count in values.values())
        mixed.append((len(values), bits))
    told = len(mixed) < 2 or case.limit("minimum_count", 5) <= 1 or all(bits > 60.5 for _, bits in mixed)
    return [] if told else [("ThresholdError", "the digits of the product tell a column of few values")]


def _small_group(case: Case, columns: list[str]) -> Refusals:
    """Return a refusal where few common records count in the product, or, of codes, all but a few."""
    records = list(joined(case.stations(), case.id_column).values())
    minimum = case.limit("minimum_count", 5)
    inside = sum(all(number(record[column]) for column in columns) for record in records)
    codes = any(
        len({number(cell) for cell in case.stations()[owner_of(case, column) or ""][column]}) <= 10
        for column in columns
    )
    owners = sorted({str(owner_of(case, column)) for column in columns})
    failing = Counter(
        frozenset(str(owner_of(case, column)) for column in columns if not number(record[column])) for record in records
    )
    near = [failing[frozenset([owner])] for owner in owners] + [failing[frozenset(owners)]] * (len(owners) == 2)
    small = inside < minimum or (codes and (len(records) - inside < minimum or min(near) < minimum))
    two_values = any(len({record[column] for record in records}) <= 2 for column in columns)
    return [("ThresholdError", "few records count in the product")] if small or two_values else []


FUNCTIONS = {
    "count": (count_cases, check_count),
    "contingency": (contingency_cases, check_contingency),
    "information_gain": (information_gain_cases, check_information_gain),
    "scalar_product": (scalar_product_cases, check_scalar_product),
}
