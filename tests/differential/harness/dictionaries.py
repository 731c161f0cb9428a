"""The same questions by a data dictionary: files hold codes, recoded categories and the parts of derived columns, the pooled twin what they mean.

What a file holds is made backwards from what is meant, so the twin needs no dictionary and no formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import PERSON, Case
from .records import number
from .wrong import declared

Cells = list[str | None]
CODES = ["-99999", ".", "not known", "9.75e77"]
FIXED = {"verticox": ("time of event", "stratum", "case weight", "entered", "family")}
"""Columns that files hold as they are."""


@st.composite
def maybe_dictionary(draw: Any, right: Any) -> Case:
    """A question; now and then its files are written in other ways, which a data dictionary explains."""
    wanted = draw(st.sampled_from([False, True, False]))
    case: Case = draw(right())
    if not wanted or any("records" in arguments for _, arguments in case.steps):
        return case
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    domain = next((a["domain"] for _, a in case.steps if isinstance(a.get("domain"), dict)), {})
    names = {name: None for entry in case.organizations for name in entry["columns"] or ()}
    order = [name for name in [*domain, *(name for name in names if name not in domain)] if name in names]
    skipped = {case.id_column, PERSON, *FIXED.get(case.algorithm, ())}
    for entry in case.organizations:
        entry["written"] = None if entry["columns"] is None else dict(entry["columns"])
    columns: dict[str, Any] = {}
    for name in order:
        if name not in skipped:
            columns |= _column(draw, case, name, domain.get(name), random)
        elif name in domain:
            columns[name] = dict(domain[name])
    identified = [f for f, arguments in case.steps if arguments.get("id_column")]
    gives = _given(draw, case, domain, columns)
    if identified and all("rows_aligned" in declared(case.algorithm, f) for f in identified) and draw(st.booleans()):
        columns[case.id_column] = {"type": "identifier"}
        gives.append("id_column")
    if not columns:
        return case
    subset = _subset(draw, case, random)
    if subset or any("derive" in entry for entry in columns.values()):
        _allow(draw, case)
    case.facts |= {"dictionary": {"columns": columns} | subset, "gives": gives}
    return case


def _subset(draw: Any, case: Case, random: np.random.Generator) -> dict[str, Any]:
    """Add rows to files that are no part of the study; return the condition that leaves them out, {} where there is none."""
    linked = any(
        "rows_aligned" in declared(case.algorithm, f) and arguments.get("split") != "horizontal"
        for f, arguments in case.steps
    )
    if linked or not _may_derive(case) or not draw(st.booleans()):
        return {}
    condition, inside, outside = draw(st.sampled_from(SUBSETS))
    for entry in case.organizations:
        table = entry["written"]
        if table is None:
            continue
        rows = len(next(iter(table.values())))
        more = [int(random.integers(rows)) for _ in range(draw(st.sampled_from([0, ENOUGH, 40]))) if rows]
        for name, cells in table.items():
            table[name] = cells + [cells[row] for row in more]
        marks = [inside[int(random.integers(len(inside)))] for _ in range(rows)]
        table[PART] = marks + [outside[int(random.integers(len(outside)))] for _ in more]
    return {"subset": condition}


def _allow(draw: Any, case: Case) -> None:
    """Let nodes answer exactly about derived columns; seldom one does not."""
    without = draw(st.sampled_from([False] * 9 + [True]))
    for entry in case.organizations:
        allowed = "false" if without and entry["columns"] is not None else "true"
        entry["policy"] = {**entry["policy"], "allow_formulas": allowed}


def _given(draw: Any, case: Case, domain: dict[str, Any], columns: dict[str, Any]) -> list[str]:
    """Return ``["domain"]`` where the dictionary may give it in place of the argument."""
    asked = [arguments["domain"] for _, arguments in case.steps if "domain" in arguments]
    whole = all(set(entry) <= {"categories", "bounds"} and name in columns for name, entry in domain.items())
    if not (asked and whole and all(one == domain for one in asked) and draw(st.booleans())):
        return []
    return ["domain", *_given_bins(draw, case, domain, columns)]


def _given_bins(draw: Any, case: Case, domain: dict[str, Any], columns: dict[str, Any]) -> list[str]:
    """Have the dictionary give the bins, where it can: of numbers with bounds, by number, edges or a scale."""
    asked = [arguments["bins"] for _, arguments in case.steps if "bins" in arguments]
    numeric = [name for name, entry in domain.items() if "bounds" in entry]
    if not asked or not numeric or any(one != asked[0] for one in asked) or not draw(st.booleans()):
        return []
    if not isinstance(asked[0], dict) and any(
        e.get("type") == "number" and n not in domain for n, e in columns.items()
    ):
        return []  # one number is for these, too, and a dictionary gives bins beside bounds alone
    bins = asked[0] if isinstance(asked[0], dict) else dict.fromkeys(numeric, asked[0])
    if not set(bins) <= set(numeric) or any(isinstance(value, str) for value in bins.values()):
        return []
    for name, value in bins.items():
        columns[name] = {**columns[name], "bins": value}
    return ["bins"]


def _column(draw: Any, case: Case, name: str, known: Any, random: np.random.Generator) -> dict[str, Any]:
    """Write a column in another way at all stations that have it; return its entry of the dictionary."""
    tables = [entry for entry in case.organizations if entry["columns"] is not None and name in entry["columns"]]
    cells = [cell for entry in tables for cell in entry["columns"][name] if cell is not None]
    values = [number(cell) for cell in cells]
    numeric = "categories" not in (known or {}) and all(v is not None and math.isfinite(v) for v in values)
    texts = [cell.strip().lower() for cell in cells]
    if not cells or (numeric and {"true", "false"} & set(texts)):
        return {}
    states = sorted(set(cells))
    listed = (known or {}).get("categories")
    made = (
        _numeric(draw, case, name, tables, states) if numeric else _category(draw, case, name, tables, states, listed)
    )
    if known:
        made |= known
    if None in [cell for entry in tables for cell in entry["written"].get(name, ())] and draw(st.booleans()):
        taken = {number(cell) for cell in cells} | {
            number(cell) for cell in (known or {}).get("categories", ()) if isinstance(cell, str)
        }
        code = draw(st.sampled_from([code for code in CODES if number(code) is None or number(code) not in taken]))
        made["missing"] = [code]
        for entry in tables:
            entry["written"][name] = [
                code if c is None and random.random() < 0.7 else c for c in entry["written"][name]
            ]
    return {name: made}


def _category(
    draw: Any, case: Case, name: str, tables: list[Any], states: list[str], listed: list[str] | None
) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "category"}
    states = sorted({state.strip() for state in states})
    if case.algorithm == "verticox" and draw(st.booleans()):
        listed = made["categories"] = list(listed or draw(st.permutations(states)))
        made["reference"] = draw(st.sampled_from(listed))
        case.facts.setdefault("references", {})[name] = made["reference"]
    if _may_derive(case) and listed and set(states) <= set(listed) and len(listed) > 1 and draw(st.booleans()):
        return made | _cut(draw, name, tables, listed)
    codes = {state: draw(st.sampled_from([f"code {place}", str(7001 + place)])) for place, state in enumerate(states)}
    known = [state for state in states if listed is None or state in listed]
    chosen = draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    for entry in tables:
        entry["written"][name] = [codes[c.strip()] if c and c.strip() in chosen else c for c in entry["columns"][name]]
    if chosen:
        made["recode"] = {codes[state]: state for state in chosen}
    return made


def _cut(draw: Any, name: str, tables: list[Any], listed: list[str]) -> dict[str, Any]:
    """Write a number in place of a category: one on the cut point below it, or between the points around it."""
    part, inside = _part(name), draw(st.sampled_from([0.0, 0.25, 0.999]))
    for entry in tables:
        del entry["written"][name]
        cells = entry["columns"][name]
        entry["written"][part] = [None if c is None else repr(listed.index(c.strip()) + inside) for c in cells]
    return {"categories": listed, "cut": {"column": part, "at": list(range(1, len(listed)))}}


def _may_derive(case: Case) -> bool:
    """Whether the question names its columns: an ensemble of all columns has the parts of derived ones too, and what a subset looks at."""
    return case.algorithm != "bayesian_ensemble" or any(arguments.get("features") for _, arguments in case.steps)


def _part(name: str) -> str:
    """Return the name of the column of which another one is made."""
    return f"part of {name}"[:60] + str(len(name))


def _numeric(draw: Any, case: Case, name: str, tables: list[Any], states: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["plain", "recode", *["derive"] * (2 * _may_derive(case))]))
    made: dict[str, Any] = {"type": "number"}
    if kind == "recode":
        state = draw(st.sampled_from(states))
        made["recode"] = {"as usual": float(state)}
        for entry in tables:
            entry["written"][name] = ["as usual" if c == state else c for c in entry["columns"][name]]
    if kind == "derive":
        forward = (
            case.algorithm == "verticox" and name != "event" and not any("formula" in one for _, one in case.steps)
        )
        formula, change = draw(st.sampled_from(FORWARD if forward and draw(st.booleans()) else FORMULAE))
        part = _part(name)
        made["derive"] = formula.replace("$", f"column({part!r})")
        for entry in tables:
            cells = [None if cell is None else float(cell) for cell in entry["columns"][name]]
            changed = [None if value is None else repr(float(change(value))) for value in cells]
            del entry["written"][name]
            if formula in dict(FORWARD):
                entry["written"][part], entry["columns"][name] = entry["columns"][name], changed
            else:
                entry["written"][part] = changed
    return made


PART, ENOUGH = "part of the study", 6
"""The column that a subset looks at; rows left out that suffice for every limit that is drawn."""
SUBSETS = [
    (f"column({PART!r}) == 1", ["1", "1.0", "true"], ["0", None, "2", "no"]),
    (f"column({PART!r}) >= 18", ["18", "90.5", "1e3"], ["17.99", None, "0", "-40"]),
    (f"column({PART!r}) in ['yes', 'maybe']", ["yes", "maybe", " yes "], ["no", None, "Yes"]),
    (f"not column({PART!r}) == 'no'", ["yes", "x"], ["no", None]),
    (
        f"1 < column({PART!r}) and column({PART!r}) / 2 <= 4 or column({PART!r}) == 99",
        ["2", "8", "99"],
        ["1", "9", None],
    ),
]
"""Conditions, what fulfils them, and what does not."""
FORMULAE = [
    ("$ / 2", lambda value: value * 2),
    ("4 * $", lambda value: value / 4),
    ("-$", lambda value: -value),
    ("$ * 2 ** 3", lambda value: value / 8),
    ("max($, -1e290) + 0", lambda value: value),
    ("min($ / 4, $ / 4)", lambda value: value * 4),
    ("($ >= 0) * abs($) - ($ < 0) * abs($)", lambda value: value),
]
"""Formulae and what undoes them to the last bit."""
FORWARD = [
    ("log(abs($) + 1)", lambda value: np.log(abs(value) + 1)),
    ("sqrt(abs($))", lambda value: np.sqrt(abs(value))),
    ("floor($ / 10)", lambda value: np.floor(value / 10)),
    ("min($, 40)", lambda value: min(value, 40)),
    ("exp(-abs($) / 50)", lambda value: np.exp(-abs(value) / 50)),
    ("$ > 45 or $ < 0", lambda value: value > 45 or value < 0),
    ("round($ / 7) * 7 - $", lambda value: np.round(value / 7) * 7 - value),
    ("not $ in [1, 2, 3]", lambda value: value not in (1, 2, 3)),
]
"""Formulae and what they mean in numpy."""
