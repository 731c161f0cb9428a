"""Every bad argument and file is refused by name, with the remedy, and without a data value."""

import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import (
    ArgumentError,
    BudgetError,
    DataProblem,
    PlacementError,
    PolicyError,
    ThresholdError,
)
from v6_vertibayes.arguments import Fit

SECRET = "p0007"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"structure": [["smoke", "ill"], ["ill", "smoke"]]}, "structure: .*cycle"),
        ({"structure": [["smoke", "nothing"]]}, "'nothing', which is not a node"),
        ({"structure": [["smoke"]]}, r"structure\[0\] must be an edge"),
        ({"structure": "naive"}, "needs a label"),
        ({"structure": "tan"}, "structure must be one of"),
        ({"order": ["smoke", "age"]}, "order must name every column"),
        ({"required_edges": [["a", "ill"]]}, "not a node"),
        ({"required_edges": [["smoke", "ill"]], "forbidden_edges": [["smoke", "ill"]]}, "required and forbidden"),
        (
            {"required_edges": [["ill", "smoke"]], "order": ["smoke", "age", "cough", "xray", "ill"]},
            "contradicts the order",
        ),
        ({"required_edges": [["ill", "smoke"]]}, "order, required_edges: .*move ill forward"),
        ({"label": "wealth"}, "label 'wealth' is not among the columns"),
        ({"columns": ["smoke"]}, "columns must be a list of at least 2"),
        ({"columns": ["smoke", "smoke"]}, "columns must not name anything twice"),
        ({"max_parents": 1.5}, "max_parents must be a whole number"),
        ({"max_parents": True}, "max_parents"),
        ({"epsilon": float("nan")}, "epsilon must be a number"),
        ({"epsilon": 1.0, "structure": "hill_climb"}, "hill climbing"),
        ({"structure": "private"}, "give epsilon, and delta"),
        ({"structure": "private", "epsilon": 1.0}, "give epsilon, and delta"),
        ({"structure": "private", "delta": 1e-6}, "give epsilon, and delta"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be a number"),
        ({"epsilon": 1.0, "delta": float("nan")}, "delta must be a number"),
        ({"structure": "private", "epsilon": 1.0, "delta": 1e-6, "required_edges": [["smoke", "ill"]]}, "undirected"),
        ({"structure": "private", "epsilon": 1.0, "delta": 1e-6, "forbidden_edges": [["smoke", "ill"]]}, "undirected"),
        ({"structure": "private", "epsilon": 1.0, "delta": 1e-6, "bins": "mdl", "label": "ill"}, "mdl"),
        ({"validation": "public", "label": "ill"}, "public_records"),
        ({"validation": "scv"}, "validation needs a label"),
        ({"public_records": {"ill": ["no"], "age": []}, "validation": "public", "label": "ill"}, "public_records"),
        ({"missing": "guess"}, "missing must be one of"),
        ({"pseudocount": -1}, "pseudocount must be"),
    ],
)
def test_arguments_are_refused_by_name(kit, given, arguments, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        Fit.read("fit", {**kit.defaults, **given, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"structure": [["smoke", "ill"], ["ill", "smoke"]]}, "structure: .*cycle"),
        ({"bins": {"age": "best"}}, "bins must be"),
        ({"bins": "mdl"}, "needs a label"),
        ({"bins": {"age": [3, 1]}}, "cut points are finite and increase"),
        ({"bins": {"agee": 3}}, r"bins names 'agee', which is no column of the task \(did you mean 'age'"),
        ({"bins": {"age": 3}, "domain": {"age": {"categories": [1, 2]}}}, "bins names 'age', which has categories"),
        ({"split": "diagonal"}, "split must be one of"),
        ({"split": "horizontal", "validation": "svdg", "label": "ill"}, "svdg"),
        ({"split": "horizontal"}, "need public states"),
        ({"id_column": None}, "id_column: name the column .* rows_aligned"),
        ({"columns": ["smoke", "id"]}, "columns must not hold the id_column"),
        ({"columns": ["smoke", "wealth"]}, "column 'wealth' is at no station"),
        ({"helper": "nobody"}, "helper"),
    ],
)
def test_arguments_of_a_task_are_refused_by_name(federation, given, arguments, message) -> None:
    with pytest.raises(ArgumentError, match=message) as refusal:
        federation.run("vertibayes", "fit", {**given, **arguments})
    assert SECRET not in str(refusal.value)


def run(parties: dict[str, pd.DataFrame], arguments, helpers=("helper",), limits=None):
    policies = {"*": {"minimum_rows": 5, **(limits or {})}}
    with OneProcess(parties=parties, helpers=list(helpers), policies=policies) as embedded:
        return embedded.run("vertibayes", "fit", arguments)


@pytest.fixture
def halves(table) -> dict[str, pd.DataFrame]:
    return {"a": table[["id", "smoke", "age"]], "b": table[["id", "xray", "ill"]]}


def assert_refused(kind, message, parties, given, **more) -> None:
    arguments = {**given, "columns": ["smoke", "ill"], "structure": [["smoke", "ill"]], **more.pop("arguments", {})}
    with pytest.raises(kind, match=message) as refusal:
        run(parties, arguments, **more)
    assert SECRET not in str(refusal.value)


def test_bad_files_are_refused(halves, given) -> None:
    repeated = {**halves, "a": pd.concat([halves["a"], halves["a"].head(3)])}
    assert_refused(DataProblem, "a: column 'id': some rows repeat", repeated, given)
    gaps = {**halves, "b": halves["b"].assign(id=halves["b"]["id"].mask(halves["b"].index < 2))}
    assert_refused(DataProblem, "b: column 'id': some rows have no identifier", gaps, given)
    strangers = {**halves, "b": halves["b"].assign(id=[f"q{i}" for i in range(len(halves["b"]))])}
    assert_refused(DataProblem, "no record in common", strangers, given)
    doubled = {**halves, "b": halves["b"].assign(smoke="no")}
    assert_refused(ArgumentError, r"column 'smoke' is at two stations \(a, b\)", doubled, given)
    empty = {**halves, "b": halves["b"].assign(ill=None)}
    assert_refused(DataProblem, "column 'ill' has no value in any row", empty, given)
    few = {**halves, "b": halves["b"].head(3)}
    assert_refused(ThresholdError, "fewer rows than the node demands", few, given)


def test_unseen_states_are_refused(halves, given) -> None:
    domain = {"smoke": {"categories": ["no"]}}
    assert_refused(DataProblem, "column 'smoke' holds a value outside", halves, given, arguments={"domain": domain})


def test_placement_and_budgets_are_respected(halves, given) -> None:
    assert_refused(PlacementError, "holds data", halves, given, arguments={"helper": "b"})
    assert_refused(
        ArgumentError,
        "helper: no organization without data",
        halves,
        given,
        helpers=(),
        limits={"minimum_organizations": 2},
    )
    assert_refused(PolicyError, "differentially private", halves, given, limits={"allow_non_private": False})
    domain = {name: {"categories": ["no", "yes"]} for name in ("smoke", "ill")}
    costly = {"epsilon": 3.0, "domain": domain}
    assert_refused(
        (PolicyError, BudgetError),
        "epsilon",
        halves,
        given,
        limits={"maximum_epsilon": 1.0},
        arguments=costly,
    )


def test_too_many_states_are_refused_before_tables_are_asked(given) -> None:
    people = 400
    many = {name: pd.DataFrame({"id": range(people), name: [f"s{i % 66}" for i in range(people)]}) for name in "abcd"}
    arguments = {**given, "columns": list("abcd"), "structure": [["a", "d"], ["b", "d"], ["c", "d"]]}
    with pytest.raises(ArgumentError, match="too many cells"):
        run(many, arguments)


def test_a_constant_column_is_learned_with_one_state(halves, given) -> None:
    files = {**halves, "a": halves["a"].assign(smoke="no")}
    arguments = {**given, "columns": ["smoke", "ill"], "structure": "k2"}
    model = run(files, arguments)["model"]
    assert model["nodes"]["smoke"]["states"] == ["no"]
    assert model["tables"]["smoke"]["probabilities"] == [1.0]
    assert model["edges"] == []
