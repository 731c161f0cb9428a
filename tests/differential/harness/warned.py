"""Whether a result's warnings are true: what one says holds, and where its condition holds it is there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import cox_warned
from .cases import Case, Difference, Outcome, same
from .cox_warned import Said, maybe
from .rows import encoded
from .states import entry_of, is_private
from .wrong import declared

NEARLY_ALL, HALF, MUCH = 0.9, 0.5, 0.05
"""Of a column's values: so many that are not understood are told; of categories half; of a description so many outside the domain."""
EDGE = 1e-6
"""So near a limit rounding decides."""
RARE = 1.0
"""Rows of a class up to which a model without noise calls it rare."""
MODELS = ("dp_naive_bayes", "smooth_naive_bayes", "secure_naive_bayes", "discriminative_naive_bayes")


def check_warnings(case: Case, outcome: Outcome) -> None:
    """Hold every warning of an answer against what the twins know of it."""
    if outcome.error is not None or "warnings" not in outcome.result:
        return
    texts = outcome.result["warnings"]
    same("warnings, each once", len(set(texts)), len(texts))
    rules = [*_anywhere(case, texts), *_of(case, outcome)]
    for text in texts:
        known = [holds for pattern, holds in rules if re.match(pattern, text, re.DOTALL)]
        if not known:
            raise Difference(f"a warning that no twin knows: {text}")
        if False in known and True not in known:
            raise Difference(f"a warning that is not true: {text}")
    for pattern, holds in rules:
        if holds and not any(re.match(pattern, text, re.DOTALL) for text in texts):
            raise Difference(f"no warning {pattern!r}, though it would be true")


def _of(case: Case, outcome: Outcome) -> Iterable[Said]:
    if case.function == "describe":
        return _of_description(outcome.result)
    made = {
        "scalar_product": _of_tables,
        "vertibayes": _of_network,
        "bayesian_ensemble": _of_ensemble,
        "verticox": cox_warned.said,
        **dict.fromkeys(MODELS, _of_model),
    }[case.algorithm]
    return [*made(case, outcome), *_of_noise(case)]


def _anywhere(case: Case, texts: list[str]) -> Iterable[Said]:
    """Return what may be said of any answer: an argument without an effect is one that was given, and no default."""
    known = declared(case.algorithm, case.function)
    for text in texts:
        found = re.match(r"(\w+) (?:has no effect|is not spent)", text)
        if found:
            name = found[1]
            given = case.arguments.get(name, known[name].default) != known[name].default
            yield re.escape(found[0]), given


def _of_noise(case: Case) -> Iterable[Said]:
    """Return what is said of noise alone, which no twin draws; nothing of an exact answer."""
    noisy = any(arguments.get("epsilon") is not None for _, arguments in case.steps)
    yield "the noise dominates: ", None if noisy else False
    yield "epsilon leaves more noise", None if noisy else False
    yield "the noise is larger than the mean count of a class", None if noisy else False
    yield "noise alone moves about", None if noisy else False
    yield "the area under the curve is known to within ", maybe(case.function in ("evaluate", "fit"))


def _of_description(result: Any) -> Iterable[Said]:
    for name, told in result["model"]["columns"].items():
        start = rf"column '{re.escape(name)}'"
        outside, missing, records = told["outside"], told["missing"], told["records"]
        if None in (outside, missing):
            yield f"{start}(?: is nearly empty|: )", None
            continue
        alien, empty = outside > NEARLY_ALL * (records - missing), missing > NEARLY_ALL * records
        yield f"{start}: nearly all its values are outside", alien
        yield f"{start} is nearly empty", empty and not alien
        much = not (alien or empty) and outside > MUCH * records
        yield rf"{start}: {outside / max(records, 1):.0%} of its values are outside", much
        yield f"{start}: the noise is larger", maybe("noise" in result["diagnostics"])


# -- vertical tables -----------------------------------------------------------------------------------------------------


def _columns_of(case: Case) -> list[str]:
    """Return the columns that a question about linked records names."""
    arguments = case.arguments
    named = [test["column"] for test in arguments.get("conditions", [])] + list(arguments.get("columns", []))
    return named + ([arguments["label"]] if case.function == "information_gain" else [])


def _idle(case: Case) -> Iterable[Said]:
    """Return which stations hold none of the columns."""
    columns = _columns_of(case)
    for name, table in case.stations().items():
        yield rf"{re.escape(name)} holds none of the columns", not set(columns) & set(table) if columns else None


def _found_states(case: Case) -> Iterable[Said]:
    """Return of which columns states are told that were found in the data."""
    found = []
    for column in dict.fromkeys(_columns_of(case)):
        entry, rule = entry_of(case, column)
        public = "categories" in entry or isinstance(rule, list)
        if not public and not ("bounds" in entry and (rule in (None, "width") or isinstance(rule, int))):
            found.append(column)
    text = re.escape(f"states or bins were found in the data and are revealed: {', '.join(sorted(found))};")
    if found and not is_private(case):
        yield text, True
    yield "states or bins were found in the data", False


def _of_tables(case: Case, outcome: Outcome) -> Iterable[Said]:
    result = outcome.result
    yield from _idle(case)
    if case.function in ("contingency", "information_gain"):
        yield from _found_states(case)
    if case.function == "contingency":
        cells = np.array(result["counts"], dtype=object).ravel()
        hidden = sum(cell is None for cell in cells)
        some = hidden > sum(cell is not None and cell > 0 for cell in cells)
        yield f"{hidden} of {len(cells)} cells are hidden", some
    if case.function == "information_gain":
        gone = ", ".join(name for name, gain in result["information_gain"].items() if gain is None)
        yield re.escape(f"no information gain for {gone}: "), bool(gone)
    if case.function == "scalar_product":
        error = re.escape(f"{result['diagnostics']['largest_error']:.1g}")
        yield f"columns: the product is only sure to within {error},", None


def _of_network(case: Case, outcome: Outcome) -> Iterable[Said]:
    arguments, result = case.arguments, outcome.result
    yield from _idle(case) if arguments.get("split") != "horizontal" else []
    if case.function != "fit":
        return
    if arguments.get("split") != "horizontal":
        yield from _found_states(case)
    shares = result["diagnostics"]["missing"]
    empty = sorted(name for name, share in shares.items() if share is not None and share > NEARLY_ALL)
    yield re.escape(f"nearly no value was understood in: {', '.join(empty)};"), bool(empty)
    exact = arguments.get("epsilon") is None
    yield "no record, or hardly one, has values of a column and of all its parents", maybe(exact)


def _of_ensemble(case: Case, outcome: Outcome) -> Iterable[Said]:
    yield from _idle(case)
    if case.function != "fit":
        model = outcome.results[0]["model"]
        there = {str(at + 1) for at, entry in enumerate(case.organizations) if entry["name"] in case.stations()}
        gone = [member["name"] for member in model["members"] if not set(member["stations"]) <= there]
        given = case.arguments.get("records") is not None
        yield (
            re.escape(f"members without a vote, as their stations do not take part: {', '.join(gone)}"),
            (None if given else bool(gone)),
        )
        yield "without a vote, as nothing in the group's network depends on the label", None
        yield "states or bins were found in the data", None
        return
    members, wanted = outcome.result["model"]["members"], case.arguments.get("features") or []
    held = {name for member in members for name in member["columns"]}
    nowhere = [name for name in wanted if name not in held]
    by_rows = case.arguments.get("split") == "horizontal"  # else a column that nobody has is refused
    yield "features: no station has ", by_rows and bool(nowhere)
    for member in members:
        lacks = any(name in held and name not in member["columns"] for name in wanted or held)
        yield rf"features: {re.escape(member['name'])} lacks ", by_rows and lacks
    cut = [member["name"] for member in members if member["weight"] <= 0]
    yield (
        re.escape(f"without a vote, as they are far worse than the others on held-out records: {', '.join(cut)}"),
        bool(cut),
    )
    yield "states or bins were found in the data", None


# -- rows ----------------------------------------------------------------------------------------------------------------


def _of_model(case: Case, outcome: Outcome) -> Iterable[Said]:
    arguments, result = case.arguments, outcome.result
    if case.function == "update":
        begin = case.steps[0][1]["organizations"]
        again = sorted(set(begin) & set(arguments["organizations"]))
        yield re.escape(f"{', '.join(again)} contributed before"), bool(again)
    if case.function == "fit" and case.algorithm == "discriminative_naive_bayes":
        yield "the weights had not converged after", result["diagnostics"].get("converged") is False
        yield 'prior="published" is for reproducing', arguments.get("prior") == "published"
    if case.function not in ("fit", "update"):
        return
    yield (
        "statistics='gaussian' only costs a query more without a numeric feature",
        maybe(arguments.get("statistics") == "gaussian"),
    )
    yield "outside='refuse'|outside=.refuse", maybe(arguments.get("outside") == "refuse")
    yield (
        r"aggregation='\w+' tolerates no wrong station|.* has too few rows of a class for its noise",
        maybe("aggregation" in arguments),
    )
    yield from _of_gaps(case, result)


def _of_gaps(case: Case, result: Any) -> Iterable[Said]:
    """Return what is said of columns of which hardly anything is understood, and of classes without a row; a twin knows it where noise is next to nothing."""
    sure = _is_counted(case)
    fit = case.steps[0][1]
    domain, label = fit["domain"], fit["label"]
    features = fit.get("features") or [name for name in domain if name != label]
    data = encoded(_tables(case), domain, [*features, label])
    known = data[label] >= 0
    rows = int(known.sum())
    yield "HARDLY ANY ROW HAS A LABEL", (rows <= 1) if sure and "discriminative" not in case.algorithm else None
    for name in features:
        gaps = (np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0)[known]
        share = float(gaps.mean()) if rows else 0.0
        near = min(abs(share - NEARLY_ALL), abs(share - HALF)) < EDGE or not sure or rows <= 1
        nearly, half = share > NEARLY_ALL, HALF < share < NEARLY_ALL and "categories" in domain[name]
        column, part = re.escape(repr(name)), f"{share:.0%}" if sure else r"\d+%"
        yield rf"COLUMN {column} WAS NOT UNDERSTOOD: {part} of the rows", None if near else nearly
        yield rf"column {column}: {part} of the rows", None if near else half
    sizes = np.bincount(data[label][known], minlength=len(domain[label]["categories"]))
    rare = True if sizes.min() == 0 else False if sizes.min() > RARE else None
    told = case.algorithm in ("dp_naive_bayes", "smooth_naive_bayes") and sure
    yield "a class has too few rows to stand out of the noise", rare if told and "dp" in case.algorithm else None
    yield "the rows of class", rare if told and "smooth" in case.algorithm else None
    yield "the noise in the means of|the spread of ", maybe(case.algorithm == "smooth_naive_bayes")
    yield "the tables' numbers of rows differ", maybe(bool(case.facts.get("vertical")))


def _is_counted(case: Case) -> bool:
    """Whether the model's counts are those of the rows: next to no noise, and no rule that takes another one's."""
    usual = {"aggregation": ("sum", "gossip"), "sensitivity": ("bounds", "smooth", "global"), "unit": ("row", "record")}
    plain = all(fit.get(name, known[0]) in known for _, fit in case.steps for name, known in usual.items())
    return plain and not case.arguments.get("delta") and not case.facts.get("vertical") and _exact_tables(case)


def _exact_tables(case: Case) -> bool:
    """Whether weighted naive Bayes counts its tables together, and without noise."""
    arguments = case.arguments
    if case.algorithm != "discriminative_naive_bayes":
        return True
    own = arguments.get("tables", "secure_sum") == "local" or arguments.get("continuous") == "gaussian"
    return not own and "epsilon" not in arguments


def _tables(case: Case) -> dict[str, Any]:
    """Return the tables that a model counts: of an update those of both steps, a station that gives its rows twice twice."""
    if case.facts.get("vertical"):
        rows: dict[str, Any] = {}
        for table in case.stations().values():
            rows |= table
        most = max(map(len, rows.values()))
        return {"all": {name: [*cells, *[None] * (most - len(cells))] for name, cells in rows.items()}}
    if case.function != "update":
        return case.used()
    twice = [*case.steps[0][1]["organizations"], *case.arguments["organizations"]]
    tables = {entry["name"]: entry["columns"] for entry in case.organizations}
    return {f"{place}": tables[name] for place, name in enumerate(twice)}
