"""Cox models by a formula: drawn in a plain form, and the pooled design by patsy."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import patsy
from hypothesis import strategies as st

from .cases import Case
from .records import Refusals, is_numeric, number, owner_of

FACTOR = re.compile(
    r"(C|bs|)\(?`([^`]*)`(?:, df=3, lower_bound=([^,]+), upper_bound=([^,)]+))?(?:, reference='([^']*)')?\)?"
)
MOST_CATEGORIES = 50


def drawn(draw: Any, people: dict[str, Any], place: dict[str, Any], chosen: list[str]) -> str:
    """Draw a formula over these columns: C or bs of some numbers, now and then a product, also across stations."""
    texts = {name: _factor(draw, people["columns"][name], name) for name in chosen}
    terms = list(texts.values())
    for first, second in pairwise(chosen):
        near = place["homes"][first] == place["homes"][second]
        if draw(st.integers(0, 9)) < (5 if near else 2):
            terms.append(f"{texts[first]}:{texts[second]}")
            if draw(st.integers(0, 3)) == 3 and len(terms) > 2:
                terms.remove(texts[second])
    return "~ " + " + ".join(terms)


def _factor(draw: Any, cells: list[Any], name: str) -> str:
    present = sorted({cell for cell in cells if cell is not None})
    kind = draw(st.sampled_from(["", "", "C", "bs"]))
    values = [number(cell) for cell in present]
    if kind == "bs" and is_numeric(present) and None not in values and max(map(abs, values), default=1e9) < 1e6:  # type: ignore[arg-type]
        low, high = int(min(values)) - 1, int(max(values)) + 1  # type: ignore[type-var, arg-type]
        return f"bs(`{name}`, df=3, lower_bound={low}, upper_bound={high})"
    plain = [text for text in present if text.isalpha()]
    if kind == "C" and plain and len(plain) == len(present) and draw(st.booleans()):
        return f"C(`{name}`, reference={draw(st.sampled_from(plain)).strip()!r})"
    return f"C(`{name}`)" if kind and len(present) <= 10 else f"`{name}`"


def used(arguments: dict[str, Any]) -> list[str]:
    """Return the columns of a fit's features or formula."""
    if arguments.get("features") is not None:
        return list(arguments["features"])
    return list(dict.fromkeys(match[2] for match in FACTOR.finditer(arguments["formula"])))


def _factors(arguments: dict[str, Any]) -> dict[str, re.Match[str]]:
    return {match[2]: match for match in FACTOR.finditer(arguments["formula"])}


def _terms(arguments: dict[str, Any]) -> list[list[str]]:
    """Return the columns of each term, products last."""
    text, found = arguments["formula"].removeprefix("~ "), []
    ends = [match.end() for match in FACTOR.finditer(text)]
    for match, end in zip(FACTOR.finditer(text), ends, strict=True):
        if match.start() and text[match.start() - 1] == ":":
            found[-1].append(match[2])
        else:
            found.append([match[2]])
        assert end <= len(text)
    return sorted(found, key=len)


def _canonical(cell: str) -> str:
    if re.fullmatch(r"-?[0-9]+", cell.strip()):  # wholly, also where a float would round it
        return str(int(cell))
    text = cell.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    value = number(cell)
    if value is None or not np.isfinite(value):
        return text
    return str(int(value)) if value == int(value) else repr(value)


def is_category(case: Case, arguments: dict[str, Any], name: str) -> bool:
    """Say whether a column is a factor."""
    own = case.stations()[owner_of(case, name) or ""][name]
    return not is_numeric(own) or ("features" not in arguments and _factors(arguments)[name][1] == "C")


def design(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, list[str]]:
    """Return the pooled design matrix, by patsy, and its columns' names."""
    factors, table, written, levels = _factors(arguments), {}, {}, {}
    for place, (name, match) in enumerate(factors.items()):
        cells, short = [record[name] for record in records], f"c{place}"
        if is_category(case, arguments, name):
            texts = [_canonical(cell) for cell in cells]
            first = match[5] or case.facts.get("references", {}).get(name)
            known = sorted(set(texts), key=lambda text: (text != first, text))
            table[short] = [f"k{known.index(text):03}" for text in texts]
            written[name], levels[short] = short, (name, known)
        else:
            table[short] = [float(number(cell) or 0.0) for cell in cells]
            bounds = f"lower_bound={match[3]}, upper_bound={match[4]}"
            written[name] = f"bs({short}, df=3, {bounds})" if match[1] == "bs" else short
            plain = name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name}`"
            label = f"bs({plain}, df=3)" if match[1] == "bs" else name
            levels[written[name]] = (label, [])
    formula = " + ".join(":".join(written[name] for name in term) for term in _terms(arguments))
    found = patsy.dmatrix(formula, pd.DataFrame(table))
    return np.asarray(found)[:, 1:], [_named(label, levels) for label in found.design_info.column_names[1:]]


def _named(label: str, levels: dict[str, tuple[str, list[str]]]) -> str:
    parts = []
    for part in label.split(":"):
        match = re.fullmatch(r"(c\d+)\[(?:T\.)?k(\d+)\]", part)
        if match:
            name, known = levels[match[1]]
            parts.append(f"{name}={known[int(match[2])]}")
        else:
            base, _, place = part.partition("[")
            parts.append(levels[base][0] + (f"[{place}" if place else ""))
    return ":".join(parts)


def refusals(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Refusals, Refusals]:
    """Return why a formula must be refused, and why it may be."""
    refuse: Refusals = []
    may: Refusals = []
    factors, limit = _factors(arguments), case.limit("minimum_count", 5)
    for term in _terms(arguments):
        if len({owner_of(case, name) for name in term}) > 1:
            _refuse_across(case, arguments, term, records, refuse, may)
        parts = [name for name in term if is_category(case, arguments, name)]
        cells = [tuple(record[name] for name in parts) for record in records]
        if parts and min((cells.count(cell) for cell in set(cells)), default=0) < limit:
            refuse.append(("DataProblem", "a small cell"))
        for name in term:
            own = [record[name] for record in records]
            if factors[name][1] == "bs":
                may.append(("DataProblem", "a spline's column rests on few records"))
            if is_category(case, arguments, name) and len(set(own)) > MOST_CATEGORIES:
                refuse.append(("DataProblem", "too many categories"))
            if factors[name][5] is not None and factors[name][5] not in own:
                may.append(("DataProblem", "a reference that is not there"))
    return refuse, may


def _refuse_across(
    case: Case,
    arguments: dict[str, Any],
    term: list[str],
    records: list[dict[str, Any]],
    refuse: Refusals,
    may: Refusals,
) -> None:
    """Add why a product of two stations' columns must be refused, and why it may be."""
    if arguments.get("solver", "private_newton") != "private_newton" or arguments.get("missing") == "complete":
        refuse.append(("ArgumentError", "a product across stations, with another solver or gaps"))
    if any(_factors(arguments)[name][1] == "bs" for name in term):
        refuse.append(("DataProblem", "a spline in a product across stations"))
        return
    groups = []
    for name in term:
        values = [record[name] for record in records]
        if not is_category(case, arguments, name):
            numbers = [number(cell) or 0.0 for cell in values]
            two = len(set(numbers)) == 2
            groups.append([str(value) if two else str(value != 0.0) for value in numbers])
        else:
            groups.append([_canonical(cell) for cell in values])
    chooses = [
        is_category(case, arguments, name) or {number(record[name]) for record in records} <= {0.0, 1.0}
        for name in term
    ]
    if not any(chooses):
        refuse.append(("ArgumentError", "numbers of two stations"))
    cells = list(zip(*groups, strict=True))
    if min((cells.count(cell) for cell in set(cells)), default=0) < case.limit("minimum_count", 5):
        marked = all(is_category(case, arguments, name) for name in term)
        (refuse if marked else may).append(("ThresholdError", "a small cell of a product across stations"))
    may.append(("ArgumentError", "categories of a product that are no terms, or too many combinations"))
    may.append(("DataProblem", "a column far from zero"))
    may.append(("ThresholdError", "too few records for the product's columns"))
