"""Naive Bayes by encrypted sums, and by encrypted products over vertically split rows, against pooled counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedbayes.bayes.values.encoding import canonical_text

from .cases import PERSON, Case, Outcome, close, judge, same
from .dp_naive_bayes import check_evaluate, evaluate_step
from .records import Refusals, owner_of
from .rows import (
    HUGE_EPSILON,
    LABEL,
    classified,
    code,
    compare_model,
    compare_scores,
    encoded,
    limits,
    log_posterior,
    on_an_edge,
    table_of,
    who,
)
from .tables import IDENTIFIERS, identifiers, joined

ALGORITHM = "secure_naive_bayes"
SMALL_KEYS = 2048


def fit_arguments(draw: Any, domain: dict[str, Any]) -> dict[str, Any]:
    """Draw the arguments of a horizontal fit whose noise vanishes."""
    features = [name for name in domain if name != LABEL]
    arguments: dict[str, Any] = {"label": LABEL, "domain": domain, "modulus_bits": SMALL_KEYS}
    kind = draw(st.sampled_from(["none", "left out", "polya", "diluted_geometric"]))
    if kind == "none":
        arguments["noise"] = "none"
    else:
        arguments["epsilon"] = HUGE_EPSILON
        if kind != "left out":
            arguments["noise"] = kind
        if kind == "diluted_geometric":
            arguments["delta"] = 1e-6
        if draw(st.booleans()):
            arguments["honest_fraction"] = draw(st.sampled_from([0.5, 1.0]))
    if draw(st.booleans()):
        arguments["features"] = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    if draw(st.booleans()):
        arguments["bins"] = draw(st.sampled_from([1, 4]))
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    if draw(st.integers(0, 2)) == 2:
        return draw(_vertical_fit())
    _, place, domain = draw(classified())
    arguments = fit_arguments(draw, domain) | who(draw, place)
    if draw(st.integers(0, 4)) == 4:
        arguments["split"] = "horizontal"
    if draw(st.integers(0, 4)) == 4:
        arguments["keys"] = draw(st.sampled_from(["dealerless", "dealer"]))
    if draw(st.integers(0, 4)) == 4 and "epsilon" in arguments:
        arguments |= {"unit": "party", "maximum_records": 1000}
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


@st.composite
def aligned(
    draw: Any, fixed: dict[str, Any] | None = None, spread: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw labelled people whose features are at several stations, the rows in one order everywhere, the label at each."""
    people, place, domain = draw(classified(stations=(1, 1), fixed=fixed))
    count = draw(st.integers(3 if spread else 2, 4))
    policy = place["organizations"][0]["policy"]
    columns = people["columns"]
    homes = {name: draw(st.integers(0, count - 1)) for name in columns if name != LABEL}
    homes = {name: number % count for number, name in enumerate(homes)} if spread else homes
    entries: list[dict[str, Any]] = [
        {
            "name": f"part {number}",
            "columns": {LABEL: columns[LABEL], **{n: columns[n] for n, home in homes.items() if home == number}},
            "policy": policy,
        }
        for number in range(count)
    ]
    for number in range(draw(st.sampled_from([0, 0, 1, 2]))):
        entries.append({"name": f"helper{number}", "columns": None, "policy": policy})
    return {"organizations": entries, "central": draw(st.sampled_from([e["name"] for e in entries]))}, domain


@st.composite
def _vertical_fit(draw: Any) -> Case:
    place, domain = draw(aligned())
    arguments: dict[str, Any] = {
        "label": LABEL,
        "domain": domain,
        "split": "vertical",
        "bins": draw(st.sampled_from([2, 20])),
    }
    arguments |= {"epsilon": HUGE_EPSILON} if draw(st.booleans()) else {"noise": "none"}
    return Case(
        ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]], facts={"vertical": True}
    )


def united(case: Case) -> dict[str, Any]:
    """Return the aligned parts as one table; an Excel sheet lacks the rows below its last value."""
    columns = {name: cells for table in case.stations().values() for name, cells in table.items()}
    rows = max(map(len, columns.values()))
    return {"all": {name: [*cells, *[None] * (rows - len(cells))] for name, cells in columns.items()}}


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    label, domain = arguments["label"], arguments["domain"]
    features = arguments.get("features") or [name for name in domain if name != label]
    vertical = case.facts.get("vertical", False)
    refuse = limits(case, False)
    may: Refusals = []
    if vertical:
        refuse += _vertical_refusals(case)
        owners = [name for name, table in case.stations().items() if any(f in table for f in features)]
        if len(owners) < max(2, case.limit("minimum_organizations", 3)):
            may += [
                ("ThresholdError", "too few stations hold features"),
                ("PlacementError", "one has it all"),
                ("ArgumentError", "one has it all"),
            ]
        may.append(("ThresholdError", "a small count, exact or all but exact"))
    elif len(case.stations()) < case.limit("minimum_organizations", 3):
        may.append(("ThresholdError", "helpers do not count in an encrypted sum"))
    if arguments.get("keys") == "dealer":
        free = [name for name in case.helpers() if name != case.central]
        if not free:
            refuse += [("PlacementError", "nobody can deal"), ("ArgumentError", "nobody can deal")]
        if len(case.stations()) < 2:
            refuse += [("ThresholdError", "one station alone"), ("ArgumentError", "one station alone")]
    if arguments.get("unit") == "party":
        refuse.append(("ArgumentError", "rows are drawn anew, and next to no noise hides which"))

    def compare(result: Any) -> None:
        tables = united(case) if vertical else case.used()
        compare_model(result["model"], tables, label, features, domain, arguments.get("bins", 20))

    judge(case, outcome, refuse, compare, may)


def _vertical_refusals(case: Case) -> Refusals:
    if len(case.stations()) < 2:
        return [("ThresholdError", "vertical needs two stations"), ("ArgumentError", "vertical needs two stations")]
    return []


@st.composite
def classify_cases(draw: Any) -> Case:
    place, domain = draw(aligned())
    chosen: dict[str, Any] = who(draw, place)
    features = [name for name in domain if name != LABEL]
    if draw(st.integers(0, 2)) == 2:
        features = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
        chosen["features"] = features
    if draw(st.integers(0, 2)) == 2:
        chosen["tables"] = draw(st.sampled_from(["fresh", "kept", "renewed"]))
    if draw(st.integers(0, 2)) == 2:
        chosen["keys"] = draw(st.sampled_from(["dealerless", "dealer", "dealer"]))
    records = []
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for _ in range(draw(st.integers(1, 4))):
        record: dict[str, Any] = {}
        for name in features:
            entry = domain[name]
            if random.random() < 0.2:
                record |= {} if random.random() < 0.5 else {name: None}
            elif "categories" in entry:
                record[name] = entry["categories"][int(random.integers(len(entry["categories"])))]
            else:
                record[name] = float(random.uniform(*entry["bounds"]))
        records.append(record)
    arguments: dict[str, Any] = {"label": LABEL, "domain": domain, "records": records, "modulus_bits": SMALL_KEYS}
    arguments["bins"] = draw(st.sampled_from([2, 5]))
    if draw(st.integers(0, 9)):
        arguments["epsilon"] = HUGE_EPSILON
    return Case(ALGORITHM, "classify", place["organizations"], place["central"], [["classify", arguments | chosen]])


def _classify_refusals(case: Case, features: list[str]) -> Refusals:
    """Return why a classification must be refused."""
    refuse = limits(case, False) + _vertical_refusals(case)
    if case.arguments.get("epsilon") is None:
        refuse.append(("ArgumentError", "an epsilon is needed"))
    if any(owner_of(case, feature) is None for feature in features):
        refuse.append(("ArgumentError", "a feature is at nobody who takes part"))
    if len({owner_of(case, feature) for feature in features}) < 2:
        refuse += [("PlacementError", "one has it all"), ("ArgumentError", "one has it all")]
    if case.arguments.get("keys") == "dealer":
        if len(case.helpers()) != 1:
            refuse.append(("ArgumentError", "not exactly one can deal"))
        if case.central in case.helpers():
            refuse.append(("PlacementError", "the dealer runs central"))
    return refuse


def check_classify(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    label, domain = arguments["label"], arguments["domain"]
    features = arguments.get("features") or [name for name in domain if name != label]
    refuse = _classify_refusals(case, features)
    may: Refusals = [("ThresholdError", "a small count, or too few stations with features, all but exact")]

    def compare(result: Any) -> None:
        data = encoded(united(case), domain, [*features, label])
        classes = len(domain[label]["categories"])
        same("states", result["model"]["states"], [canonical_text(name) for name in domain[label]["categories"]])
        made = result["diagnostics"]["tables"]
        same("stations that made tables", set(made), {owner_of(case, feature) for feature in features})
        same("tables of an earlier job", [name for name in made if made[name]["reused"]], [])
        logs = np.zeros((len(arguments["records"]), classes))
        counts = np.array([(data[label] == place).sum() for place in range(classes)], dtype=float)
        tables, doubtful = {}, False
        for name in features:
            tables[name], borderline = table_of(data[label], data[name], classes, domain[name], arguments["bins"])
            doubtful |= borderline > 0
        if doubtful:
            return
        for row, record in enumerate(arguments["records"]):
            cells = {"one": {name: [_text(record.get(name))] for name in features}}
            here = encoded(cells, domain, features)
            logs[row] = np.log(np.maximum(counts, 1.0))
            for name in features:
                values, _ = table_of(
                    np.arange(classes), np.repeat(here[name], classes), classes, domain[name], arguments["bins"]
                )
                place = values[0].argmax()
                if place < tables[name].shape[1] - 1:
                    logs[row] += np.log(np.maximum(tables[name][:, place], 1.0)) - np.log(np.maximum(counts, 1.0))
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        close("probabilities", result["model"]["probabilities"], shares.tolist(), 0.0, 1e-6)

    judge(case, outcome, refuse, compare, may)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@st.composite
def _vertical_evaluation(draw: Any) -> Case:
    """A model of released tables, scored on the records of which every station holds some columns."""
    fixed = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": draw(st.sampled_from([0, 0, 5]))}
    place, domain = draw(aligned(fixed, draw(st.integers(0, 4)) < 4))
    fit = {
        "label": LABEL,
        "domain": domain,
        "split": "vertical",
        "noise": "none",
        "bins": draw(st.sampled_from([2, 6])),
    }
    asked: dict[str, Any] = {"model": {"$model": 0}, "split": "vertical"} | who(draw, place)
    tables = [entry["columns"] for entry in place["organizations"] if entry["columns"] is not None]
    rows, random = len(tables[0][LABEL]), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wrong = draw(st.integers(0, 7)) == 7 and rows > 1
    if draw(st.booleans()):
        asked["rows_aligned"] = True
        if wrong:
            for name in tables[0]:
                tables[0][name] = tables[0][name][1:]
    else:
        asked["id_column"] = PERSON
        texts = identifiers(draw(st.sampled_from(IDENTIFIERS)), rows + 1)
        for table in tables:
            order = [int(row) for row in random.permutation(rows)]
            for name in table:
                table[name] = [table[name][row] for row in order]
            table[PERSON] = [texts[row] for row in order]
        if wrong:
            tables[0][PERSON][0] = texts[-1]
    return Case(
        ALGORITHM,
        "evaluate",
        place["organizations"],
        place["central"],
        [["fit", fit], ["evaluate", asked]],
        facts={"vertical": True},
    )


def check_either_evaluation(case: Case, outcome: Outcome) -> None:
    if not case.facts.get("vertical"):
        return check_evaluate(case, outcome)
    domain = case.steps[0][1]["domain"]
    features = [name for name in domain if name != LABEL]
    owners = {owner_of(case, feature) for feature in features}
    stations = {name: table for name, table in case.stations().items() if name in owners}
    refuse = limits(case, False)
    if None in owners or len(owners) < 3:
        refuse.append(("ArgumentError", "three stations must hold features, each at one"))
    records = list(joined(stations, case.id_column).values()) if stations else []
    if any(len(table[LABEL]) != len(records) for table in stations.values()):
        refuse.append(("DataProblem", "other records"))
    if not any(code(record[LABEL], domain[LABEL]["categories"]) >= 0 for record in records):
        refuse.append(("DataProblem", "no row has a known label"))
    values = [len(domain[name].get("categories") or range(case.steps[0][1]["bins"])) + 1 for name in features]
    may: Refusals = []
    if np.prod(values, dtype=float) * (len(domain[LABEL]["categories"]) + 1) > 2**12:
        may.append(("ArgumentError", "too many combinations"))

    def compare(result: Any) -> None:
        model, step = outcome.results[0]["model"], result["diagnostics"]["step"]
        pooled = {"all": {name: [record[name] for record in records] for name in [*features, LABEL]}}
        data = encoded(pooled, domain, [*features, LABEL])
        if on_an_edge(model, data):
            return
        logs = log_posterior(model, {name: data[name] for name in model["features"]})
        if step and np.ptp(logs) > 40.0:
            return  # the grid ends there
        rounding = 1.01 * step * len(owners)
        compare_scores(result, logs, data[LABEL], bins=64, off=rounding, loss_margin=1e-3, minimum=case.least_told)

    judge(case, outcome, refuse, compare, may)


@st.composite
def evaluate_cases(draw: Any) -> Case:
    if draw(st.integers(0, 2)) == 2:
        return draw(_vertical_evaluation())
    _, place, domain = draw(classified(stations=(2, 6), fixed={"minimum_organizations": 1, "minimum_rows": 1}))
    fit = fit_arguments(draw, domain) | {"noise": "none"}
    fit.pop("epsilon", None), fit.pop("delta", None), fit.pop("honest_fraction", None)
    steps = [["fit", fit], evaluate_step(draw, place)]
    if draw(st.integers(0, 3)) == 3:
        steps[1][1]["split"] = "horizontal"
    return Case(ALGORITHM, "evaluate", place["organizations"], place["central"], steps)


@st.composite
def _member_cases(draw: Any, function: str) -> Case:
    _, place, domain = draw(classified(stations=(3, 6), fixed={"minimum_organizations": 1, "minimum_rows": 1}))
    stations = [entry["name"] for entry in place["organizations"] if entry["columns"] is not None]
    part = stations if function == "leave" else stations[:-1]
    fit = {"label": LABEL, "domain": domain, "noise": "none", "modulus_bits": SMALL_KEYS, "organizations": part}
    change = {"membership": {"$membership": 0}, "organization": stations[-1], "modulus_bits": SMALL_KEYS}
    if draw(st.booleans()):
        change["keys"] = "dealerless"
    return Case(ALGORITHM, function, place["organizations"], place["central"], [["fit", fit], [function, change]])


def check_member(case: Case, outcome: Outcome) -> None:
    moved = case.arguments["organization"]
    stations = [entry["name"] for entry in case.organizations if entry["columns"] is not None]

    def compare(result: Any) -> None:
        text = str(result["membership"])
        number = [entry["name"] for entry in case.organizations].index(moved) + 1
        known = {str(key) for part in result["membership"].values() if isinstance(part, dict) for key in part}
        expected = len(stations) - (case.function == "leave")
        if known:
            same(f"members in {text}", len(known), expected)
            same(f"{moved} in {text}", str(number) in known or moved in known, case.function == "join")

    left = len(stations) - 1 if case.function == "leave" else len(stations)
    may = [("ThresholdError", "too few are left")] if left < 3 else []
    may += [("PlacementError", "central leaves"), ("ArgumentError", "central leaves")] if moved == case.central else []
    judge(case, outcome, [], compare, may)


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "classify": (classify_cases, check_classify),
    "evaluate": (evaluate_cases, check_either_evaluation),
    "join": (lambda: _member_cases("join"), check_member),
    "leave": (lambda: _member_cases("leave"), check_member),
}
