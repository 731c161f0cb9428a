"""Bad input and questions that are attacks are refused, with the remedy and without a value."""

import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors

AGE = {"column": "age", "op": ">=", "value": 50}
WEIGHT = {"column": "weight", "op": "<", "value": 75}


@pytest.fixture(scope="module")
def federation(parties):
    with OneProcess(parties, helpers=["helper"]) as opened:
        yield opened


def assert_refused(federation, kind, words, function="count", **arguments):
    arguments = {"id_column": "id", **arguments}
    with pytest.raises(kind, match=words) as caught:
        federation.run("scalar_product", function, arguments)
    for value in ("p0001", "s0-1"):
        assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([], "conditions must be a list"),
        ([{"column": "age"}], r"conditions\[0\]"),
        ([{"column": "age", "op": "~", "value": 1}], "op must be one of"),
        ([AGE, {"column": "age", "op": "<", "value": "old"}], r"conditions\[1\]: value must be a number"),
        ([{"column": "age", "op": "between", "value": [3]}], "low, high"),
        ([{"column": "age", "op": "<", "value": True}], "number"),
        ([{"column": "id", "op": "==", "value": "p0001"}], "id_column"),
        ([{"column": "nowhere", "op": "==", "value": 1}], "'nowhere' is at no station .*; check the name"),
    ],
)
def test_conditions(federation, conditions, words):
    assert_refused(federation, errors.ArgumentError, words, conditions=conditions)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"protocol": "magic"}, "protocol must be one of"),
        ({"id_column": 3}, "id_column"),
        ({"helper": "nobody"}, "helper"),
    ],
)
def test_arguments(federation, arguments, words):
    assert_refused(federation, errors.ArgumentError, words, conditions=[AGE], **arguments)


@pytest.mark.parametrize(("function", "more"), [("contingency", {}), ("information_gain", {"label": "stage"})])
def test_bins_of_another_column_are_refused(federation, function, more):
    asked = {"columns": ["age", "weight"], "bins": {"wieght": 3}, **more}
    words = r"bins names 'wieght', which is no column of the task \(did you mean 'weight'"
    assert_refused(federation, errors.ArgumentError, words, function, **asked)


@pytest.mark.parametrize("other", [["u"], ["u", "v"], ["u", "v", "w", "x"]])
def test_a_column_that_two_stations_hold_is_named(other):
    frame = pd.DataFrame({"id": [f"p{k}" for k in range(80)], "group": ["u", "v"] * 40, "ill": [0, 1, 1, 0] * 20})
    shared = frame[["id"]].assign(group=(other * 80)[:80])
    parties = {"a": shared, "b": frame[["id", "group"]], "c": frame[["id", "ill"]]}
    words = r"column 'group' is at two stations \(a, b\); rename it"
    with OneProcess(parties, helpers=["helper"]) as federation:
        assert_refused(federation, errors.ArgumentError, words, "contingency", columns=["group", "ill"])


def test_text_is_not_compared_as_a_number(federation):
    assert_refused(
        federation, errors.DataProblem, "holds text", conditions=[{"column": "stage", "op": "<", "value": 3}]
    )


def test_small_answers_and_small_complements_are_refused_alike(federation):
    few, nearly_all = {"column": "age", "op": ">", "value": 89}, {"column": "age", "op": "<=", "value": 89}
    for condition in (few, nearly_all):
        assert_refused(federation, errors.ThresholdError, "answer or its complement", conditions=[condition])


def test_a_column_that_tells_people_apart_is_not_matched(parties):
    phones = [f"06-{row:06d}" for row in range(len(parties["station0"]))]
    with OneProcess({**parties, "station0": parties["station0"].assign(phone=phones)}, helpers=["helper"]) as opened:
        assert_refused(
            opened, errors.PolicyError, "phone", conditions=[{"column": "phone", "op": "==", "value": "06-000001"}]
        )


def test_helper_with_data_or_with_central_is_refused(federation, parties):
    assert_refused(federation, errors.PlacementError, "holds data", conditions=[AGE], helper="station1")
    with OneProcess(parties, helpers=["helper"], aggregator="helper") as opened:
        assert_refused(opened, errors.PlacementError, "runs central", conditions=[AGE])
        assert_refused(opened, errors.PlacementError, "runs central", conditions=[AGE], helper="helper")


def test_no_helper_at_all(parties):
    with OneProcess(parties) as opened:
        assert_refused(opened, errors.ArgumentError, "no organization without data", conditions=[AGE])


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda t: pd.concat([t, t.iloc[:3]]), errors.DataProblem, "some rows repeat"),
        (lambda t: t.assign(id=t["id"].where(t.index > 1)), errors.DataProblem, "some rows have no identifier"),
        (lambda t: t.drop(columns="id"), errors.DataProblem, "'id' is not in"),
        (lambda t: t.assign(id=[f"q{i}" for i in range(len(t))]), errors.DataProblem, "no record in common"),
        (
            lambda t: t.assign(id=[f"q{i}" for i in range(3, len(t))] + list(t["id"][:3])),
            errors.ThresholdError,
            "fewer records",
        ),
        (lambda t: t.iloc[:4], errors.ThresholdError, "fewer rows"),
        (lambda t: t.assign(age=50), errors.ArgumentError, "'age' is at two stations"),
    ],
)
def test_files(parties, change, kind, words):
    changed = change(parties["station1"].reset_index(drop=True))
    with OneProcess({**parties, "station1": changed}, helpers=["helper"]) as opened:
        assert_refused(opened, kind, words, conditions=[AGE, WEIGHT])


def test_a_value_outside_the_domain_names_the_column_only(federation):
    domain = {"stage": {"categories": ["I", "II"]}}
    assert_refused(federation, errors.DataProblem, "'stage'", "contingency", columns=["stage", "smoker"], domain=domain)


def test_missing_values_without_a_state(federation):
    assert_refused(
        federation,
        errors.DataProblem,
        "'smoker' has missing",
        "contingency",
        columns=["smoker", "stage"],
        missing_state=False,
    )


def test_too_many_states_are_refused_before_they_are_opened(federation):
    domain = {name: {"bounds": [0, 1000]} for name in ("weight", "age", "flag2")}
    arguments = {"columns": ["weight", "age", "flag2"], "domain": domain}
    arguments |= {"bins": {name: list(range(3000)) for name in domain}, "epsilon": 1.0}
    assert_refused(federation, errors.ArgumentError, "too many states", "contingency", **arguments)


def test_exact_answers_are_refused_where_only_noisy_ones_may_leave(parties):
    policies = {"station2": {"allow_non_private": False}}
    with OneProcess(parties, helpers=["helper"], policies=policies) as opened:
        assert_refused(opened, errors.PolicyError, "differentially private", conditions=[AGE, WEIGHT])
        assert (
            opened.run("scalar_product", "count", {"conditions": [AGE], "id_column": "id", "epsilon": 1.0})["count"] > 0
        )


@pytest.mark.parametrize("conditions", [[AGE], [AGE, WEIGHT]], ids=["one station's", "two stations'"])
def test_the_ledger_counts_questions_and_epsilon(parties, tmp_path, conditions):
    """One question, whatever is asked beside it to judge the answer."""
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    files = {**parties, "station0": {"default": parties["station0"], "ledger": ledger}}
    policies = {"station0": {"ledger": "ledger", "maximum_queries": 2, "budget_epsilon": 10}}
    with OneProcess(files, helpers=["helper"], policies=policies) as opened:
        for _ in range(2):
            assert opened.run("scalar_product", "count", {"conditions": conditions, "id_column": "id"})["count"] > 0
        assert_refused(opened, errors.BudgetError, "station0", conditions=conditions)


def test_a_product_of_missing_codes_says_what_to_do_and_that_helps(table, parties):
    weights = parties["station1"]["weight"]
    changed = parties["station1"].assign(weight=weights.mask(weights < 65, -9))
    entries = {"id": {"type": "identifier"}, "age": {"type": "number"}, "weight": {"type": "number"}}
    asked = {"columns": ["age", "weight"]}
    with OneProcess({**parties, "station1": changed}, helpers=["helper"]) as opened:
        declared = {"columns": {**entries, "weight": {"type": "number", "missing": [-9]}}}
        words = "missing values.*`recode`.*not under `missing`.*leave these records out"
        assert_refused(opened, errors.DataProblem, words, "scalar_product", **asked, dictionary=declared)
        recoded = {"columns": {**entries, "weight": {"type": "number", "recode": {-9: 0}}}}
        answer = opened.run("scalar_product", "scalar_product", {**asked, "id_column": "id", "dictionary": recoded})
    kept = table[table["weight"] >= 65]
    assert answer["scalar_product"] == pytest.approx(float((kept["age"] * kept["weight"]).sum()), abs=1.0)


def test_a_product_of_texts_says_what_to_do(federation):
    assert_refused(federation, errors.DataProblem, "holds text.*`recode`", "scalar_product", columns=["age", "stage"])
