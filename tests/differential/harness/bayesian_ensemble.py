"""Ensembles of networks: every member against a pooled network over its columns, votes against those of the members' JSON."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import networks, united
from .cases import Case, Difference, Outcome, close, judge, same
from .network_fit import codes_of
from .records import check_states, equal, not_aligned, place_of
from .rows import LABEL, compare_scores
from .states import drawn_states
from .tables import categories, joined, population, vertical

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
def _by_rows(draw: Any, split: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Draw people, a placement and a fit for records that are split by rows, or united."""
    people, _, features = draw(_placed())
    place = draw(united.spread(people, split))
    place["helper"] = "helper0"
    arguments = {**fit_arguments(draw, people, place, features), "split": split}
    for name in ("domain", "bins", "secret"):
        arguments.pop(name, None)
    arguments |= united.public_states(draw, people)
    if split == "horizontal":
        if "features" in arguments and draw(st.booleans()):
            arguments.pop("id_column")
        arguments.pop("helper")
        arguments.pop("folds", None)
        return people, place, arguments
    arguments.pop("missing", None)
    if arguments.get("weights") == "score":
        arguments["weights"] = "dynamic"
        arguments.pop("folds")
    if draw(st.booleans()):
        arguments["hybrid"] = draw(st.sampled_from(["local", "shared"]))
    return people, place, arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    split = draw(st.sampled_from(["vertical", "vertical", "horizontal", "hybrid"]))
    if split != "vertical":
        _, place, arguments = draw(_by_rows(split))
        facts = {"identifier": place["id_column"]}
        steps = [["fit", arguments]]
        return Case(ALGORITHM, "fit", place["organizations"], place["central"], steps, facts=facts)
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
    if case.arguments.get("split", "vertical") != "vertical":
        return judge(case, outcome, [], partial(_compare_parties, case), united.refusals(case, case.arguments))
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
            _compare_states(case, member["network"])
            _compare_member(case, member["network"], records)

    judge(case, outcome, not_aligned(case), compare, useless(case))


def _compare_parties(case: Case, result: Any) -> None:
    """Hold every party's member against the records that it may learn from."""
    members = {member["name"]: member for member in result["model"]["members"]}
    wanted = united.learned_from(case, case.steps[0][1])
    same("parties", set(members), set(wanted))
    for name, (columns, records) in wanted.items():
        network = members[name]["network"]
        same(f"columns of {name!r}", set(network["nodes"]), columns | {LABEL})
        _compare_member(case, network, records)
        present = {record[LABEL] for record in records} - {None}
        seen = {state for state in network["nodes"][LABEL]["states"] if any(equal(state, cell) for cell in present)}
        same(f"classes of {name!r}", set(members[name]["classes"]), seen - {"?"})


def _features(case: Case) -> list[str]:
    identifier = case.id_column
    return [name for table in case.stations().values() for name in table if name not in (identifier, LABEL)]


def _compare_states(case: Case, network: Any) -> None:
    for name, node in network["nodes"].items():
        labels = [state for state in node["states"] if state != "?"]
        check_states(case, name, labels, node.get("cuts"), case.arguments.get("bins", "published"))


def _compare_member(case: Case, network: Any, records: list[dict[str, Any]]) -> None:
    arguments = case.steps[0][1]
    names = list(network["nodes"])
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
    if function == "evaluate" and draw(st.integers(0, 2)) == 2:
        for entry in place["organizations"]:
            entry["policy"]["minimum_count"] = 5
    fit = fit_arguments(draw, people, place, features)
    arguments: dict[str, Any] = {"model": {"$model": 0}, "id_column": place["id_column"], "helper": place["helper"]}
    if draw(st.integers(0, 3)) == 3:
        arguments["organizations"] = [entry["name"] for entry in place["organizations"]]
    if function == "evaluate" and draw(st.booleans()):
        arguments["scoring"] = draw(st.sampled_from(["labelled", "published"]))
    if function == "classify" and draw(st.booleans()):
        stations = [entry["name"] for entry in place["organizations"] if entry["columns"] is not None]
        arguments["identify"] = draw(st.sampled_from(stations))
    if function == "classify" and draw(st.integers(0, 2)) == 2:
        arguments = {"model": {"$model": 0}, "records": draw(_outside(people))}
    return Case(ALGORITHM, function, place["organizations"], place["central"], [["fit", fit], [function, arguments]])


@st.composite
def _used_by_rows(draw: Any, function: str) -> Case:
    """Draw a question to an ensemble of records that are split by rows, or united."""
    split = draw(st.sampled_from(["horizontal", "hybrid"]))
    people, place, fit = draw(_by_rows(split))
    for entry in place["organizations"]:
        entry["policy"]["minimum_count"] = 0
    arguments: dict[str, Any] = {"model": {"$model": 0}}
    if split == "hybrid" or function == "classify":
        arguments["id_column"] = place["id_column"]
    if split == "hybrid":
        arguments["helper"] = place["helper"]
    if function == "classify" and draw(st.integers(0, 2)) == 2:
        arguments = {"model": {"$model": 0}, "records": draw(_outside(people))}
    facts = {"identifier": place["id_column"]}
    steps = [["fit", fit], [function, arguments]]
    return Case(ALGORITHM, function, place["organizations"], place["central"], steps, facts=facts)


@st.composite
def _outside(draw: Any, people: dict[str, Any]) -> dict[str, list[Any]]:
    """Draw records that the researcher gives: people as they are, with gaps, with values that nobody has, without some columns."""
    columns: dict[str, list[Any]] = {}
    rows = draw(st.lists(st.integers(0, people["people"] - 1), min_size=1, max_size=12))
    gaps = draw(st.sampled_from([0.0, 0.3]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from(list(people["columns"])), min_size=1, unique=True))
    for name in names if draw(st.booleans()) else list(people["columns"]):
        values: list[Any] = [people["columns"][name][row] for row in rows]
        if people["kinds"][name] == "number":
            values = [None if value is None else float(value) for value in values]
            strange: Any = 1e15
        else:
            strange = "nobody has this"
        columns[name] = [
            None if random.random() < gaps else strange if random.random() < gaps / 6 else value for value in values
        ]
    if draw(st.integers(0, 3)) == 3:
        columns["a column that no member knows"] = [1] * len(rows)
    return columns


def known_codes(network: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the codes of records over a network's nodes; what is missing or unknown is the state "?", else -1, as is a column that is not there."""
    codes = {}
    for name, node in network["nodes"].items():
        labels = [state for state in node["states"] if state != "?"]
        gap = len(labels) if "?" in node["states"] else -1
        places = [
            place_of(record[name], labels, node.get("cuts")) if record.get(name) is not None else None
            for record in records
        ]
        unknown = [gap if name in record else -1 for record in records]
        codes[name] = np.array([u if place is None else place for place, u in zip(places, unknown, strict=True)], int)
    return codes


def votes(model: Any, records: list[dict[str, Any]], seen: dict[str, list[Any]] | None = None) -> Any:
    """Return log P(class | record) of an ensemble as its page defines votes.

    What a record lacks is summed over, and a member says nothing of classes that it has not seen. `seen`: what each member's
    party has of the records, None where it lacks one; a member votes on what its party has. NaN where a member holds a record
    for impossible whatever its class: nothing says what it votes then.
    """
    classes = list(model["classes"])
    added, behind = np.zeros((2, len(records), len(classes)))
    unsaid = np.zeros(len(records), dtype=bool)
    for member in model["members"]:
        network = member["network"]
        own = records if seen is None else seen[member["name"]]
        beliefs = networks.belief(network, known_codes(network, [record or {} for record in own]), LABEL)
        states = network["nodes"][LABEL]["states"]
        known = np.array([name in member["classes"] for name in classes])
        if known.sum() < 2 or member["weight"] <= 0:
            continue
        beliefs = np.stack(
            [beliefs[:, states.index(c)] if c in member["classes"] else 0 * beliefs[:, 0] for c in classes], 1
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            beliefs = beliefs / beliefs.sum(axis=1, keepdims=True)
        unsaid |= np.isnan(beliefs).any(axis=1) & np.array([record is not None for record in own])
        beliefs = (1 - model["bound"]) * beliefs + model["bound"] * known / known.sum()
        weight = np.array([0.0 if record is None else float(member["weight"]) for record in own])
        if model.get("weights") == "dynamic":
            with np.errstate(divide="ignore", invalid="ignore"):
                entropy = -np.nansum(np.where(beliefs > 0, beliefs * np.log(beliefs), 0.0), axis=1)
            weight = weight * (1 - entropy / np.log(len(classes)))
        if model["vote"] == "majority":
            best = beliefs >= beliefs.max(axis=1, keepdims=True) - 1e-12
            beliefs = best / best.sum(axis=1, keepdims=True)
        value = np.log(np.maximum(beliefs, np.exp(-30.0))) if model["vote"] == "log_pool" else beliefs
        added += value * weight[:, None] * known
        behind += weight[:, None] * known
    with np.errstate(divide="ignore", invalid="ignore"):
        average = np.where(behind > 4e-9, added / behind, -np.inf if model["vote"] == "log_pool" else 0.0)
    if model["vote"] == "log_pool":
        top = average.max(axis=1, keepdims=True)
        average = np.where(np.isfinite(top), np.exp(average - np.where(np.isfinite(top), top, 0.0)), 0.0)
    total = average.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, average / np.where(total > 0, total, 1.0), 1.0 / len(classes))
    return np.where(unsaid[:, None], np.nan, np.log(np.maximum(shares, 1e-14)))


def _with_values(model: Any, records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return what each member's party has of given records: in a hybrid split, and of a group, None where it knows no value of one."""
    seen: dict[str, list[Any]] = {}
    for member in model["members"]:
        codes = known_codes(member["network"], records)
        told = np.any([codes[name] >= 0 for name in member["network"]["nodes"] if name != LABEL], axis=0)
        always = model["split"] != "hybrid" and len(member["stations"]) == 1
        seen[member["name"]] = [r if always or there else None for r, there in zip(records, told, strict=True)]
    return seen


def _as_cells(records: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return records from outside as those of a file."""
    cells = {
        name: [None if v is None else repr(v) if isinstance(v, float) else str(v) for v in values]
        for name, values in records.items()
    }
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _simple(model: Any, records: list[dict[str, Any]]) -> bool:
    """Whether the twin's votes hold: complete records, every class known to all members."""
    used = {name for member in model["members"] for name in member["network"]["nodes"]}
    complete = all(record[name] is not None for record in records for name in used)
    return complete and all(
        len(member["classes"]) == len(model["members"][0]["network"]["nodes"][LABEL]["states"])
        for member in model["members"]
    )


def _seen(case: Case, model: Any, names: list[str]) -> dict[str, list[Any]]:
    """Return what each member's party has of the records of a split by rows, or partly by rows."""
    own = united.own_records(case)
    if case.steps[0][1]["split"] == "horizontal":
        rows = {name: record for records in own.values() for name, record in records.items()}
        return {member["name"]: [rows[name] for name in names] for member in model["members"]}
    return {member["name"]: [own[member["name"]].get(name) for name in names] for member in model["members"]}


def _compare_named(case: Case, model: Any, shown: Any) -> None:
    """Hold the predictions of records of a split by rows, those that have a name, against the members' votes."""
    found = {
        name: line
        for name, line in zip(shown["identifiers"], shown["probabilities"], strict=True)
        if name not in ("", None)
    }
    everything = united.union(case)
    same("identifiers", set(found) - set(everything), set())
    if case.steps[0][1]["split"] == "horizontal":
        same("number of records", len(found), len(everything))
    names = list(found)
    wanted = np.exp(votes(model, [everything[name] for name in names], _seen(case, model, names)))
    said = np.isfinite(wanted).all(axis=1)
    lines = [found[name] for name, sure in zip(names, said, strict=True) if sure]
    close("probabilities", lines, wanted[said].tolist(), 0.0, 1e-5)


def check_classify(case: Case, outcome: Outcome) -> None:
    given = case.arguments.get("records")
    if given is None and "identifier" in case.facts:

        def compare_named(result: Any) -> None:
            _compare_named(case, outcome.results[0]["model"], result["model"])

        subset = "subset" in case.facts.get("dictionary", {})
        may = [("PolicyError", "a subset chooses the records that are linked")] if subset else []
        return judge(case, outcome, [], compare_named, may)

    def compare(result: Any) -> None:
        model, shown = outcome.results[0]["model"], result["model"]
        if given is None:
            records = joined(case.stations(), case.id_column)
            same("identifiers", sorted(shown["identifiers"]), sorted(records))
            chosen = [records[identifier] for identifier in shown["identifiers"]]
        else:
            chosen = [{**record, LABEL: None} for record in _as_cells(given)]
        if given is not None or _simple(model, chosen):
            wanted = np.exp(votes(model, chosen, None if given is None else _with_values(model, chosen)))
            firm = np.isfinite(wanted).all(axis=1)
            same("records", len(shown["probabilities"]), len(wanted))
            found = [line for line, sure in zip(shown["probabilities"], firm, strict=True) if sure]
            close("probabilities", found, wanted[firm].tolist(), 0.0, 1e-5)

    judge(case, outcome, [], compare)


def check_evaluate(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model = outcome.results[0]["model"]
        if "identifier" in case.facts:
            everything = united.union(case)
            names = [name for name, record in everything.items() if record[LABEL] in model["classes"]]
            truth = np.array([model["classes"].index(everything[name][LABEL]) for name in names])
            logs = votes(model, [everything[name] for name in names], _seen(case, model, names))
            if np.isnan(logs).any():
                return same("n", result["n"], len(names))
            scores = {**result, "calibration": None, "auc": result["auc_by_scoring"]["labelled"]}
            return compare_scores(scores, logs, truth, 1e-4, 2e-3, loss_margin=2e-5, minimum=case.least_told)
        records = list(joined(case.stations(), case.id_column).values())
        labels = model["classes"]
        truth = np.array([labels.index(str(r[LABEL])) if r[LABEL] in labels else -1 for r in records])
        if (truth < 0).any():
            return
        same("n", result["n"], len(records))
        logs = votes(model, records)
        if _simple(model, records) and not np.isnan(logs).any():
            scores = {**result, "calibration": None, "auc": result["auc_by_scoring"]["labelled"]}
            compare_scores(scores, logs, truth, 1e-4, 2e-3, loss_margin=2e-5, minimum=case.least_told)

    judge(case, outcome, [], compare)


def _any_split(function: str) -> Any:
    return st.one_of(_used(function), _used(function), _used_by_rows(function))


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "evaluate": (lambda: _any_split("evaluate"), check_evaluate),
    "classify": (lambda: _any_split("classify"), check_classify),
}
