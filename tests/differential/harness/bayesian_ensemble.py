"""Ensembles of networks: every member against a pooled network over its columns, votes against those of the members' JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import networks
from .cases import Case, Difference, Outcome, close, judge, same
from .records import check_states, not_aligned
from .rows import LABEL, compare_scores
from .states import drawn_states
from .tables import categories, joined, population, vertical
from .vertibayes import codes_of, posterior

ALGORITHM = "bayesian_ensemble"


@st.composite
def _placed(draw: Any, stations: tuple[int, int] = (2, 4)) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    people = draw(population(fewest=2, most=4, people=(30, 120), gaps=(0.0, 0.0, 0.0, 0.2)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = draw(st.sampled_from([["a", "b"], ["low", "mid", "high"], ["0", "1"], ["None", "Some"]]))
    people["columns"][LABEL] = categories(states, people["people"], random, draw(st.sampled_from([1.0, 0.3])))
    people["kinds"][LABEL], people["states"][LABEL] = "category", states
    fixed = {"minimum_organizations": 1, "minimum_rows": 1, "minimum_count": 0}
    place = draw(vertical(people, stations, fixed, helpers=(1, 2)))
    helpers = [entry["name"] for entry in place["organizations"] if entry["columns"] is None]
    place["central"] = draw(st.sampled_from([e["name"] for e in place["organizations"] if e["name"] != helpers[0]]))
    place["helper"] = helpers[0]
    return people, place, [name for name in people["columns"] if name != LABEL]


def fit_arguments(draw: Any, people: dict[str, Any], place: dict[str, Any], features: list[str]) -> dict[str, Any]:
    """Draw the arguments of a vertical fit."""
    arguments: dict[str, Any] = {"label": LABEL, "id_column": place["id_column"], "helper": place["helper"]}
    arguments |= draw(drawn_states(people, [*features, LABEL]))
    if draw(st.booleans()):
        arguments["features"] = features
    if draw(st.booleans()):
        arguments["structure"] = draw(st.sampled_from(["k2", "naive", "augmented"]))
    if draw(st.booleans()):
        arguments |= {"max_parents": draw(st.integers(1, 3)), "score": draw(st.sampled_from(["k2", "bic", "bdeu"]))}
    if draw(st.booleans()):
        arguments["order"] = draw(st.sampled_from(["information", "columns"]))
    if draw(st.booleans()):
        arguments["missing"] = draw(st.sampled_from(["drop", "category"]))
    if draw(st.booleans()):
        arguments |= {"pseudocount": draw(st.sampled_from([0.1, 2.0])), "minimum_count": draw(st.sampled_from([0, 5]))}
    if draw(st.booleans()):
        arguments |= {
            "vote": draw(st.sampled_from(["log_pool", "mean", "majority"])),
            "bound": draw(st.sampled_from([0.0, 0.01, 0.2])),
        }
    if draw(st.booleans()):
        arguments["weights"] = draw(st.sampled_from(["uniform", "rows", "score", "dynamic"]))
        if arguments["weights"] == "score":
            arguments["folds"] = 3
    if draw(st.integers(0, 5)) == 5:
        arguments["members"] = "party"
    if draw(st.integers(0, 5)) == 5:
        arguments |= {"split": "vertical", "secret": False}
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    people, place, features = draw(_placed())
    arguments = fit_arguments(draw, people, place, features)
    if draw(st.integers(0, 5)) == 5:
        arguments["organizations"] = [entry["name"] for entry in place["organizations"]]
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def useless(case: Case) -> list[tuple[str, str]]:
    """Return why a fit may be refused: a column without a value, or a label of one class."""
    found = []
    for table in case.stations().values():
        for name, cells in table.items():
            if name != case.id_column and all(cell is None for cell in cells):
                found.append(("DataProblem", f"{name!r} has no value"))
    records = list(joined(case.stations(), case.id_column).values())
    if len({record[LABEL] for record in records}) < 2:
        found += [(kind, "one class") for kind in ("DataProblem", "ArgumentError", "ThresholdError")]
    return found


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    records = list(joined(case.stations(), case.id_column).values())

    def compare(result: Any) -> None:
        members = result["model"]["members"]
        columns = {name for member in members for name in member["columns"]} - {LABEL}
        same("columns of the members", columns, set(arguments.get("features") or _features(case)))
        weights = [member["weight"] for member in members]
        if arguments.get("weights", "uniform") == "uniform" and len(set(np.round(weights, 9))) > 1:
            raise Difference(f"uniform weights differ: {weights}")
        for member in members:
            _compare_member(case, member["network"], records)

    judge(case, outcome, not_aligned(case), compare, useless(case))


def _features(case: Case) -> list[str]:
    identifier = case.id_column
    return [name for table in case.stations().values() for name in table if name not in (identifier, LABEL)]


def _compare_member(case: Case, network: Any, records: list[dict[str, Any]]) -> None:
    arguments = case.arguments
    names = list(network["nodes"])
    for name in names:
        node = network["nodes"][name]
        labels = [state for state in node["states"] if state != "?"]
        check_states(case, name, labels, node.get("cuts"), arguments.get("bins", "published"))
    codes, sizes = codes_of({"nodes": {n: {"cuts": None, **network["nodes"][n]} for n in names}}, records, names)
    gaps = {name: arguments.get("missing", "drop") == "category" and bool((codes[name] < 0).any()) for name in names}
    codes = {name: np.where(codes[name] < 0, sizes[name], codes[name]) if gaps[name] else codes[name] for name in names}
    widths = {name: sizes[name] + gaps[name] for name in names}
    minimum = max(arguments.get("minimum_count", 0), case.limit("minimum_count", 5))
    for name in names:
        table = network["tables"][name]
        cells = networks.counts(codes, widths, [*table["parents"], name])
        found = np.array(table["probabilities"])
        same(f"shape of {name!r}", list(found.shape), list(cells.shape))
        rows = networks.table(cells, arguments.get("pseudocount", 0.5))
        margin = networks.table(cells.reshape(-1, cells.shape[-1]).sum(axis=0), 0.0)
        for place in np.ndindex(*cells.shape[:-1]):
            near = np.abs(found[place] - rows[place]).max() < 1e-9
            if not near and not (minimum and np.abs(found[place] - margin).max() < 1e-9):
                raise Difference(f"table of {name!r}{list(place)}: {found[place]} instead of {rows[place]}")


@st.composite
def _used(draw: Any, function: str) -> Case:
    people, place, features = draw(_placed((3, 4)))
    fit = fit_arguments(draw, people, place, features)
    arguments: dict[str, Any] = {"model": {"$model": 0}, "id_column": place["id_column"], "helper": place["helper"]}
    if draw(st.integers(0, 3)) == 3:
        arguments["organizations"] = [entry["name"] for entry in place["organizations"]]
    if function == "evaluate" and draw(st.booleans()):
        arguments["scoring"] = draw(st.sampled_from(["labelled", "published"]))
    if function == "classify" and draw(st.booleans()):
        stations = [entry["name"] for entry in place["organizations"] if entry["columns"] is not None]
        arguments["identify"] = draw(st.sampled_from(stations))
    return Case(ALGORITHM, function, place["organizations"], place["central"], [["fit", fit], [function, arguments]])


def votes(model: Any, records: list[dict[str, Any]]) -> Any:
    """Return log P(class | record) of an ensemble as its page defines votes; records must be complete."""
    added = behind = None
    for member in model["members"]:
        network = {
            **member["network"],
            "nodes": {n: {"cuts": None, **v} for n, v in member["network"]["nodes"].items()},
        }
        codes, _ = codes_of(network, records, list(network["nodes"]))
        states = network["nodes"][LABEL]["states"]
        beliefs = posterior(network, codes, LABEL)
        if set(states) == set(model["classes"]):
            beliefs = beliefs[:, [states.index(name) for name in model["classes"]]]
        classes = beliefs.shape[1]
        beliefs = (1 - model["bound"]) * beliefs + model["bound"] / classes
        weight = np.full(len(records), float(member["weight"]))
        if model.get("weights") == "dynamic":
            with np.errstate(divide="ignore", invalid="ignore"):
                entropy = -np.nansum(np.where(beliefs > 0, beliefs * np.log(beliefs), 0.0), axis=1)
            weight = weight * (1 - entropy / np.log(classes))
        if model["vote"] == "majority":
            best = beliefs >= beliefs.max(axis=1, keepdims=True) - 1e-12
            beliefs = best / best.sum(axis=1, keepdims=True)
        value = np.log(np.maximum(beliefs, np.exp(-30.0))) if model["vote"] == "log_pool" else beliefs
        added = (0 if added is None else added) + value * weight[:, None]
        behind = (0 if behind is None else behind) + weight[:, None]
    average = added / behind
    if model["vote"] == "log_pool":
        average = np.exp(average - average.max(axis=1, keepdims=True))
    return np.log(np.maximum(average / average.sum(axis=1, keepdims=True), 1e-14))


def _simple(model: Any, records: list[dict[str, Any]]) -> bool:
    """Whether the twin's votes hold: complete records, every class known to all members."""
    used = {name for member in model["members"] for name in member["network"]["nodes"]}
    complete = all(record[name] is not None for record in records for name in used)
    return complete and all(
        len(member["classes"]) == len(model["members"][0]["network"]["nodes"][LABEL]["states"])
        for member in model["members"]
    )


def check_classify(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model, shown = outcome.results[0]["model"], result["model"]
        records = joined(case.stations(), case.id_column)
        same("identifiers", sorted(shown["identifiers"]), sorted(records))
        chosen = [records[identifier] for identifier in shown["identifiers"]]
        if _simple(model, chosen):
            close("probabilities", shown["probabilities"], np.exp(votes(model, chosen)).tolist(), 0.0, 1e-5)

    judge(case, outcome, [], compare)


def check_evaluate(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model = outcome.results[0]["model"]
        records = list(joined(case.stations(), case.id_column).values())
        labels = model["classes"]
        truth = np.array([labels.index(str(r[LABEL])) if r[LABEL] in labels else -1 for r in records])
        if (truth < 0).any():
            return
        same("n", result["n"], len(records))
        if _simple(model, records):
            compare_scores(
                {**result, "calibration": None, "auc": result["auc_by_scoring"]["labelled"]},
                votes(model, records),
                truth,
                1e-4,
                2e-3,
            )

    judge(case, outcome, [], compare)


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "evaluate": (lambda: _used("evaluate"), check_evaluate),
    "classify": (lambda: _used("classify"), check_classify),
}
