"""Questions about Bayesian networks, and their pooled answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Outcome, close, judge, same
from .network_fit import ALGORITHM, check_fit, codes_of, criteria, drawn_public_records, fit_cases
from .records import number, roles, unknown_columns
from .rows import HUGE_EPSILON, MOST_DRAWN, compare_scores, limits
from .states import drawn_states, few_beside, is_covered
from .tables import horizontal, joined, population, stacked, vertical

TIED = 1e-9  # probabilities of two classes that arithmetic alone tells apart


@st.composite
def _fitted(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a placement and the arguments of a fit whose network predicts something."""
    people = draw(population(fewest=2, most=4, people=(20, 120), gaps=(0.0, 0.0, 0.0, 0.2)))
    fixed = {"minimum_organizations": 1, "minimum_rows": 1, "minimum_count": 0}
    place = draw(vertical(people, (2, 4), fixed, helpers=(1, 2)))
    helpers = [entry["name"] for entry in place["organizations"] if entry["columns"] is None]
    place["central"] = draw(st.sampled_from([e["name"] for e in place["organizations"] if e["name"] != helpers[0]]))
    names = list(people["columns"])
    pairs = [[a, b] for at, a in enumerate(names) for b in names[at + 1 :]]
    arguments = {"columns": names, "id_column": place["id_column"], "label": draw(st.sampled_from(names))}
    arguments |= {"missing": "drop", "helper": helpers[0]} | draw(drawn_states(people, names))
    arguments["structure"] = draw(st.sampled_from(["naive", "k2", pairs[:3]]))
    return place, arguments


@st.composite
def _members(draw: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Draw `organizations`, now and then: with everyone, or without some."""
    if draw(st.integers(0, 2)) < 2:
        return {}
    names = [entry["name"] for entry in place["organizations"]]
    return {"organizations": draw(st.lists(st.sampled_from(names), min_size=2, max_size=len(names), unique=True))}


@st.composite
def evaluate_cases(draw: Any) -> Case:
    if draw(st.integers(0, 3)) == 3:
        return draw(_evaluate_by_rows())
    place, fit = draw(_fitted())
    _hide(draw, place)
    arguments = {"model": {"$model": 0}, "id_column": place["id_column"], "helper": fit["helper"]}
    if draw(st.booleans()):
        arguments["method"] = draw(st.sampled_from(["counts", "records"]))
    if draw(st.booleans()):
        arguments["label"] = draw(st.sampled_from(fit["columns"]))
    if draw(st.integers(0, 3)) == 3:
        arguments |= {"epsilon": HUGE_EPSILON} | draw(st.sampled_from([{}, {"neighbors": "zero_out"}]))
    if draw(st.integers(0, 5)) == 5:
        arguments["split"] = "vertical"
    arguments |= draw(_members(place))
    return Case(
        ALGORITHM, "evaluate", place["organizations"], place["central"], [["fit", fit], ["evaluate", arguments]]
    )


def _hide(draw: Any, place: dict[str, Any]) -> None:
    """Have nodes hide small counts, now and then."""
    if draw(st.integers(0, 2)) == 2:
        for entry in place["organizations"]:
            entry["policy"] = {**entry["policy"], "minimum_count": 5}


@st.composite
def _evaluate_by_rows(draw: Any) -> Case:
    """Draw a network of records that are split by rows, and whose rows it is scored on."""
    people = draw(population(fewest=2, most=4, people=(20, 120), gaps=(0.0, 0.0, 0.0, 0.2)))
    fixed = {"minimum_organizations": 1, "minimum_rows": 1, "minimum_count": 0}
    place = draw(horizontal(people, (2, 5), fixed))
    _hide(draw, place)
    names = list(people["columns"])
    pairs = [[a, b] for at, a in enumerate(names) for b in names[at + 1 :]]
    fit = {"columns": names, "split": "horizontal", "label": draw(st.sampled_from(names)), "missing": "drop"}
    fit |= {"structure": draw(st.sampled_from(["naive", "k2", pairs[:3]]))} | draw(drawn_public_records(people))
    arguments = {"model": {"$model": 0}, "split": "horizontal"} | draw(_members(place))
    if draw(st.booleans()):
        arguments["method"] = draw(st.sampled_from(["counts", "counts", "records"]))
    if draw(st.booleans()):
        arguments["label"] = draw(st.sampled_from(names))
    if draw(st.booleans()):
        arguments["epsilon"] = HUGE_EPSILON
    return Case(
        ALGORITHM, "evaluate", place["organizations"], place["central"], [["fit", fit], ["evaluate", arguments]]
    )


@st.composite
def classify_cases(draw: Any) -> Case:
    place, fit = draw(_fitted())
    arguments = {"model": {"$model": 0}, "id_column": place["id_column"], "helper": fit["helper"]}
    if draw(st.booleans()):
        arguments["label"] = draw(st.sampled_from(fit["columns"]))
    if draw(st.booleans()):
        stations = [entry["name"] for entry in place["organizations"] if entry["columns"] is not None]
        arguments["identify"] = draw(st.sampled_from(stations))
    arguments |= draw(_members(place))
    return Case(
        ALGORITHM, "classify", place["organizations"], place["central"], [["fit", fit], ["classify", arguments]]
    )


@st.composite
def sample_cases(draw: Any) -> Case:
    place, fit = draw(_fitted())
    rows = draw(st.sampled_from([1, 50, 3000]))
    steps: list[list[Any]] = [["fit", fit], ["sample", {"model": {"$model": 0}, "rows": rows}]]
    return Case(ALGORITHM, "sample", place["organizations"], place["central"], steps)


def posterior(model: dict[str, Any], codes: Any, target: str) -> Any:
    """Return P(target | the other columns) by the product of the tables that know of it; NaN where one of their values is missing."""
    families = [[*table["parents"], name] for name, table in model["tables"].items()]
    families = [family for family in families if target in family]
    around = {name for family in families for name in family} - {target}
    width = len(model["nodes"][target]["states"])
    found = np.full((len(codes[target]), width), np.nan)
    for row in range(len(found)):
        here = {name: int(codes[name][row]) for name in around}
        if min(here.values(), default=0) < 0:
            continue
        for state in range(width):
            here[target] = state
            tables = (np.array(model["tables"][family[-1]]["probabilities"]) for family in families)
            found[row, state] = np.prod([t[tuple(here[n] for n in f)] for t, f in zip(tables, families, strict=True)])
    with np.errstate(invalid="ignore", divide="ignore"):
        return found / found.sum(axis=1, keepdims=True)


def _records(case: Case) -> dict[str, dict[str, Any]]:
    return joined(case.stations(), case.id_column)


def check_classify(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model, shown = outcome.results[0]["model"], result["model"]
        target = _target(case)
        records = _records(case)
        same("identifiers", sorted(shown["identifiers"]), sorted(records))
        chosen = [records[identifier] for identifier in shown["identifiers"]]
        wanted = posterior(model, _known_codes(model, chosen), target)
        for row, line in enumerate(wanted):
            if np.isfinite(line).all():
                close(f"probabilities of record {row}", shown["probabilities"][row], line.tolist(), 0.0, 5e-5)
                best = np.sort(line)
                if len(line) > 1 and best[-1] - best[-2] > 1e-3:
                    same(f"prediction of record {row}", shown["predicted"][row], shown["states"][int(line.argmax())])

    identify = case.arguments.get("identify")
    needed = _needed(case, outcome, label=False)
    refuse = roles(case, case.id_column) + unknown_columns(case, needed)
    if identify is not None and identify not in case.stations():
        refuse.append(("ArgumentError", "the station that names the records does not take part"))
    judge(case, outcome, refuse, compare, may=_may(case, outcome))


def _known_codes(model: dict[str, Any], records: list[dict[str, Any]]) -> Any:
    """Return the codes of records over all nodes; a column that nobody who takes part has is missing."""
    names = list(model["nodes"])
    return codes_of(model, [{**dict.fromkeys(names), **record} for record in records], names)[0]


def _target(case: Case) -> str:
    return str(case.arguments.get("label", case.steps[0][1]["label"]))


def _needed(case: Case, outcome: Outcome, label: bool) -> list[str]:
    """Return the columns that predicting needs: the label's Markov blanket, with `label` the label itself too."""
    target = _target(case)
    if not outcome.results:
        return []
    edges = [tuple(edge) for edge in outcome.results[0]["model"]["edges"]]
    families = {target, *(child for parent, child in edges if parent == target)}
    around = families | {parent for parent, child in edges if child in families}
    return [name for name in case.steps[0][1]["columns"] if name in around and (label or name != target)]


def _may(case: Case, outcome: Outcome) -> list[tuple[str, str]]:
    """Return why a network may be useless: nothing but the label, or a label that has one state; or refused: few records beside one of its cut points."""
    if not outcome.results:
        return []
    beside = not is_covered(case) and _cut_by_model(case, outcome.results[0]["model"]["nodes"])
    may = [("ThresholdError", "the network's cut points leave few records of a station on a side")] if beside else []
    return may + ([("ArgumentError", "there is nothing to predict from")] if _idle(case, outcome) else [])


def _cut_by_model(case: Case, nodes: dict[str, Any]) -> bool:
    for columns in case.stations().values():
        for name in set(columns) & set(nodes):
            cuts = nodes[name]["cuts"] or []
            values = [number(cell) for cell in columns[name] if cell is not None] if cuts else []
            if few_beside(np.searchsorted(cuts, values, side="right"), len(cuts), case):
                return True
    return False


def _idle(case: Case, outcome: Outcome) -> bool:
    model = outcome.results[0]["model"]
    target = _target(case)
    return len(model["nodes"][target]["states"]) < 2 or not any(target in edge for edge in model["edges"])


def check_evaluate(case: Case, outcome: Outcome) -> None:
    by_rows = case.arguments.get("split") == "horizontal"
    epsilon = case.arguments.get("epsilon")

    def compare(result: Any) -> None:
        model, shown = outcome.results[0]["model"], result["model"]
        if by_rows:
            columns = stacked(case.stations(), list(model["nodes"]))
            records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        else:
            records = list(_records(case).values())
            same("records", result["diagnostics"]["records"], len(records))
        same("epsilon", result["privacy"]["epsilon"], epsilon)
        codes = _known_codes(model, records)
        needed = _needed(case, outcome, label=True)
        if any((codes[name] < 0).any() for name in needed):
            return  # records with gaps are scored over what is known of them
        if epsilon is None and shown.get("criteria"):
            error = result["diagnostics"].get("log_likelihood_error") or 0.0
            criteria(shown["criteria"], model, codes, MOST_DRAWN * error)
        shown = {**shown, "diagnostics": {**result["diagnostics"], "confusion": shown["confusion"]}}
        compare_evaluated(shown, model, codes, _target(case), case.least_told, "criteria" in shown)

    judge(case, outcome, _not_evaluated(case, outcome), compare, _may(case, outcome))


def _not_evaluated(case: Case, outcome: Outcome) -> list[tuple[str, str]]:
    """Return why scores must be refused."""
    arguments, needed = case.arguments, _needed(case, outcome, label=True)
    by_rows, records = arguments.get("split") == "horizontal", arguments.get("method") == "records"
    refuse: list[tuple[str, str]] = []
    if records and (by_rows or arguments.get("epsilon") is not None):
        refuse.append(("ArgumentError", "records are scored where columns are split, and exactly"))
    if by_rows:
        return refuse + limits(case, True)
    names = needed if records else case.steps[0][1]["columns"]
    return refuse + roles(case, case.id_column) + unknown_columns(case, names)


def compare_evaluated(
    shown: dict[str, Any], model: dict[str, Any], codes: Any, target: str, minimum: int = 0, counted: bool = False
) -> None:
    """Hold scores against those of the records one by one; `codes`: of all nodes, complete around the label. `counted`: of groups of predictions."""
    beliefs = posterior(model, codes, target)
    ordered = np.sort(beliefs, axis=1)
    if counted and minimum > 1 and beliefs.shape[1] > 1 and (ordered[:, -1] - ordered[:, -2] < TIED).any():
        return  # which of two classes alike is predicted decides whose neighbours few records are
    logs = np.log(np.maximum(together(beliefs, minimum) if counted else beliefs, 1e-300))
    scores = {**shown, "n": shown.get("n", len(logs)), "calibration": None}
    if len(logs) and logs.shape[1] > 1:
        compare_scores(scores, logs, codes[target], near=1e-3, auc_margin=1e-3, loss_margin=2e-5, minimum=minimum)


def together(beliefs: Any, minimum: int) -> Any:
    """Return predictions of records, those that fewer than `minimum` have as the mean of neighbours in predicted class and certainty."""
    kinds, of, sizes = np.unique(beliefs.round(12), axis=0, return_inverse=True, return_counts=True)
    groups: list[list[int]] = [[]]
    for kind in np.lexsort((kinds.max(axis=1), kinds.argmax(axis=1))):
        if sizes[groups[-1]].sum() >= max(minimum, 1):
            groups.append([])
        groups[-1].append(int(kind))
    if len(groups) > 1 and sizes[groups[-1]].sum() < minimum:
        last = groups.pop()
        groups[-1] += last
    for group in groups:
        kinds[group] = np.average(kinds[group], axis=0, weights=sizes[group])
    return kinds[of.ravel()]


def check_sample(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model, rows = outcome.results[0]["model"], case.arguments["rows"]
        drawn = result["model"]["records"]
        same("columns", sorted(drawn), sorted(model["nodes"]))
        codes = {name: [node["states"].index(value) for value in drawn[name]] for name, node in model["nodes"].items()}
        same("rows", {len(column) for column in codes.values()}, {rows})
        for name, node in model["nodes"].items():
            if not model["tables"][name]["parents"] and rows >= 3000:
                shares = np.bincount(codes[name], minlength=len(node["states"])) / rows
                close(f"shares of {name!r}", shares.tolist(), model["tables"][name]["probabilities"], 0.0, 0.06)

    judge(case, outcome, [], compare)


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "evaluate": (evaluate_cases, check_evaluate),
    "classify": (classify_cases, check_classify),
    "sample": (sample_cases, check_sample),
}
