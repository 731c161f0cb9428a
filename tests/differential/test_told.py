"""The twins of what a result tells beside its numbers can fail: warnings, baselines, and networks in other programs' forms."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from harness import cox_curve, exchanged
from harness.cases import Case, Difference, Outcome, run
from harness.warned import check_warnings

from fedbayes.bayes.exchange.bif import to_bif
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.client.models.networks import to_pgmpy

POLICY = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 0}
PEOPLE = [str(person) for person in range(24)]
NETWORK: dict[str, Any] = {
    "nodes": {
        "a,b": {"states": ["[0, 1)", "1", "_1"], "cuts": None},
        "plain": {"states": ["yes", 'say "no"'], "cuts": None},
        "1": {"states": ["é", "?"], "cuts": None},
    },
    "edges": [["plain", "1"], ["a,b", "1"]],
    "tables": {
        "a,b": {"parents": [], "probabilities": [0.2, 0.3, 0.5]},
        "plain": {"parents": [], "probabilities": [0.9, 0.1]},
        "1": {
            "parents": ["plain", "a,b"],
            "probabilities": [[[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]], [[1.0, 0.0], [0.55, 0.45], [0.25, 0.75]]],
        },
    },
    "label": None,
}


@pytest.fixture(scope="module")
def answered() -> tuple[Case, Outcome]:
    columns = [{"id": PEOPLE, "x": ["a", "b"] * 12}, {"id": PEOPLE, "y": ["1", "2", "3"] * 8}, None]
    places = zip(("here", "there", "helper"), columns, strict=True)
    organizations = [{"name": name, "columns": table, "policy": POLICY} for name, table in places]
    asked = {"columns": ["x", "y"], "id_column": "id"}
    case = Case("scalar_product", "contingency", organizations, "here", [["contingency", asked]])
    outcome = run(case)
    assert outcome.error is None
    return case, outcome


def told(outcome: Outcome, *texts: str, without: str = "^$") -> Outcome:
    """Return the outcome with other warnings."""
    kept = [text for text in outcome.result["warnings"] if not re.search(without, text)]
    return Outcome([{**outcome.result, "warnings": [*kept, *texts]}])


def test_warnings_that_are_true_pass(answered: tuple[Case, Outcome]) -> None:
    check_warnings(*answered)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nobody would say this", "no twin knows"),
        ("here holds none of the columns; only records that it has too are counted", "not true"),
        ("states or bins were found in the data and are revealed: x; to avoid it", "not true"),
        ("the noise dominates: its standard deviation", "not true"),
        ("missing_state has no effect without gaps", "not true"),
    ],
)
def test_a_warning_that_is_not_true_is_a_difference(answered: tuple[Case, Outcome], text: str, says: str) -> None:
    case, outcome = answered
    with pytest.raises(Difference, match=says):
        check_warnings(case, told(outcome, text))


def test_a_warning_that_is_not_there_is_a_difference(answered: tuple[Case, Outcome]) -> None:
    case, outcome = answered
    with pytest.raises(Difference, match="no warning"):
        check_warnings(case, told(outcome, without="states or bins were found"))


def changed() -> dict[str, Any]:
    """Return the network with two columns of a table exchanged."""
    other = copy.deepcopy(NETWORK)
    table = other["tables"]["1"]["probabilities"]
    table[0][0], table[0][1] = table[0][1], table[0][0]
    return other


FORMS: list[Callable[[dict[str, Any], dict[str, Any]], None]] = [
    lambda model, other: exchanged.compare_bif(model, to_bif(BayesianNetwork.from_dict(other))),
    lambda model, other: exchanged.compare_pgmpy(model, partial(to_pgmpy, other)),
]


@pytest.mark.parametrize("compare", FORMS, ids=["bif", "pgmpy"])
def test_a_network_in_another_form_says_the_same(compare: Callable[..., None]) -> None:
    compare(NETWORK, NETWORK)
    with pytest.raises(Difference, match="given"):
        compare(NETWORK, changed())


def test_names_of_the_text_mean_those_of_the_network() -> None:
    text = to_bif(BayesianNetwork.from_dict(NETWORK))
    with pytest.raises(Difference, match="meaning"):
        exchanged.compare_bif(NETWORK, text.replace("[0, 1)", "[0, 2)"))


def test_a_baseline_is_that_of_lifelines() -> None:
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_rossi

    frame = load_rossi()[["week", "arrest", "age", "prio"]]
    wanted = CoxPHFitter(baseline_estimation_method="breslow").fit(frame, "week", "arrest")
    time, event, x = (frame[name].to_numpy(float) for name in ("week", "arrest", "age"))
    x = np.column_stack([x, frame["prio"]])
    strata, ones = np.array(["all"] * len(frame)), np.ones(len(frame))
    risk = np.exp((x - x.mean(axis=0)) @ wanted.params_.to_numpy())
    curve = wanted.baseline_cumulative_hazard_.iloc[:, 0]
    places = [float(moment) for moment in curve.index[::9]]
    baseline = {"time": places, "cumulative_hazard": [float(curve[moment]) for moment in places]}
    model = {"missing": "refuse", "ties": "breslow", "baseline": baseline}
    compare = partial(cox_curve.compare_curve, time=time, event=event, strata=strata, risk=risk, weight=ones)
    compare(model, entry=np.full(len(frame), -np.inf), stations=0)
    baseline["cumulative_hazard"][-1] *= 1.01
    with pytest.raises(Difference, match="hazard of 'all' at 4"):
        compare(model, entry=np.full(len(frame), -np.inf), stations=0)
