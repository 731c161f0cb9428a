"""A central that judges or applies another model than the researcher's: its baseline, offset, prior or columns, or without one station's part."""

from __future__ import annotations

import functools
import io
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from test_deviating_central import NETWORK, asking, fitted, inside, twice
from test_held_to import announcing
from views_cases import COX_ROWS, JOINED, LABELLED, LIMITS, horizontal, survivors, vertical

from fedbayes.bayes.network.discretise import Bins
from fedbayes.federation.errors import MessageError, ThresholdError
from fedbayes.federation.perimeter.manifest import model_digest, outline_of
from v6_verticox.messages.folds import FoldCurves
from v6_verticox.messages.scoring import Curve

COX = {"time": "time", "event": "event", "features": ["z", "v", "w"], **JOINED}
JUDGED = {"times": [0.3, 0.9], "groups": 2}


def linked() -> InProcess:
    files = {**vertical(False), "helper": None}
    return InProcess("v6_verticox", files, {party: dict(LIMITS) for party in files}, "a")


@functools.cache
def cox() -> dict[str, Any]:
    """Return a Cox model of these records, fitted once."""
    with linked() as running:
        return dict(running.run("fit", COX)["model"])


def table() -> pd.DataFrame:
    parts = [pd.read_csv(io.StringIO(text)).set_index("id") for text in vertical(False).values() if text]
    return pd.concat(parts, axis=1, join="inner")


def based(hazard: list[float]) -> Any:
    """Return what central does to a request: another baseline in its model."""

    def change(request: Any, *_: Any) -> Any:
        return replace(request, model={**request.model, "baseline": {"time": [0.01, 0.9], "cumulative_hazard": hazard}})

    return change


CRAFTED: dict[str, Any] = {
    "another baseline": based([1.0, 2.0]),
    "another offset": lambda one, *_: replace(one, model={**one.model, "offset": one.model["offset"] + 1.0}),
    "another outcome": lambda one, *_: replace(one, model={**one.model, "event": "x"}),
    "strata": lambda one, *_: replace(one, model={**one.model, "strata": "x"}),
    "another baseline, and a digest that says so": lambda one, *_: replace(
        one, model=outline_of(based([1.0, 2.0])(one).model, baseline=True)
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CRAFTED)
def test_records_are_judged_by_the_model_of_the_manifest(name: str) -> None:
    with linked() as running:
        asked = {"model": cox(), **JOINED, **JUDGED}
        assert running.run("evaluate", asked)
        crafted = asking("partial_assess", CRAFTED[name])
        with crafted, pytest.raises(MessageError, match="none that the job's manifest names"):
            running.run("evaluate", asked)


def test_a_model_is_judged_once_in_a_job() -> None:
    """Else at other times, as many as it takes to have one event between two of them."""
    with linked() as running:
        asked = {"model": cox(), **JOINED, **JUDGED}
        with twice("partial_assess", lambda one: replace(one, times=[0.31, 0.9])) as answers:
            running.run("evaluate", asked)
        assert all("assessed once in a job" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("v6_verticox.stations.assessing.asked_once")
        with twice("partial_assess", lambda one: replace(one, times=[0.31, 0.9])) as answers, unbound:
            running.run("evaluate", asked)
        assert not any("error" in answer for answer in answers), "control"


@pytest.mark.usefixtures("fine_scores")
def test_control_unclaimed_a_crafted_baseline_tells_the_least_predictor() -> None:
    """Of all records: beside it the others' predicted survival vanishes, and Brier scores have all their digits."""
    with linked() as running:
        asked = {"model": cox(), **JOINED, **JUDGED}
        told = []
        for hazard in (30.0, 1e9):
            with (
                asking("partial_assess", based([hazard, 2e9])),
                mock.patch("v6_verticox.stations.assessing.check_claimed"),
                mock.patch("v6_verticox.stations.assessing.check_survival"),
            ):
                told.append(running.run("evaluate", asked)["metrics"]["brier_scores"][0])
    records, model = table(), asked["model"]
    coefficients = {one["feature"]: one["coefficient"] for one in model["coefficients"]}
    predictor = sum(records[name] * one for name, one in coefficients.items()) - model["offset"]
    survived = (told[1] - told[0]) * len(records) / 2.0  # the weight of a record before anybody is censored is one
    found = np.log(-np.log(survived) / 30.0)
    assert found == pytest.approx(predictor.min(), abs=0.1)


@pytest.mark.parametrize("hazard", [[-1.0, 2.0], [2.0, 1.0], [1.0, float("inf")], [1.0, float("nan")]])
def test_a_baseline_of_a_request_does_not_fall(hazard: list[float]) -> None:
    """Of one below zero predicted survival is above one, and the largest predictor is all of a score."""
    with pytest.raises(ValueError, match="does not fall"):
        FoldCurves([Curve("all", [1.0, 2.0], hazard)])


def test_held_out_records_are_judged_once_in_a_job() -> None:
    with linked() as running:
        asked = {"model": cox(), **JOINED, **JUDGED, "folds": 2}
        with twice("partial_judge", lambda one: replace(one, times=[0.31, 0.9])) as answers:
            assert running.run("evaluate", asked)
        assert all("assessed once in a job" in str(answer.get("error")) for answer in answers)


def left_out(request: Any, *_: Any) -> Any:
    """Leave the second scorer out, alike for all."""
    return replace(request, scorers=request.scorers[:1])


def test_records_are_scored_with_every_stations_part() -> None:
    """Of the sums with and without one station's part the difference is its column, record by record."""
    with linked() as running:
        asked = {"model": cox(), **JOINED}
        refused = pytest.raises(MessageError, match="not scored by all stations")
        with asking("partial_score", left_out), refused:
            running.run("predict", asked)
        held_out = {**asked, "folds": 2, **JUDGED}
        with asking("partial_held_out", left_out), refused:
            running.run("evaluate", held_out)


def test_control_unchecked_the_difference_is_one_stations_column() -> None:
    def told(running: InProcess, asked: Any) -> pd.Series[float]:
        shown = running.run("predict", asked)["predictions"]
        return pd.Series(shown["linear_predictor"], shown["identifiers"])

    with linked() as running:
        asked = {"model": cox(), **JOINED, "identifiers": True}
        whole = told(running, asked)
        with asking("partial_score", left_out), mock.patch("v6_verticox.stations.scoring._check_asked"):
            part = told(running, asked)
    named = {one["feature"]: one["coefficient"] for one in asked["model"]["coefficients"]}
    column = table()["w"]
    assert ((whole - part) / named["w"])[column.index].to_numpy() == pytest.approx(column.to_numpy(), abs=1e-5)


def test_records_are_scored_once_by_a_cox_model() -> None:
    with linked() as running:
        asked = {"model": cox(), **JOINED}
        with twice("partial_score", lambda one: replace(one, identify=one.scorers[-1])) as answers:
            running.run("predict", asked)
        assert sum("scored once in a job" in str(answer.get("error")) for answer in answers) == len(answers)


@pytest.mark.parametrize("unclaimed", [False, True], ids=["held", "control"])
def test_whole_records_are_judged_by_the_baseline_of_the_model(unclaimed: bool) -> None:
    def change(request: Any, *_: Any) -> Any:
        step = {"time": [0.1], "cumulative_hazard": [7.0]}
        return replace(request, judged=replace(request.judged, model={**request.judged.model, "baseline": step}))

    files = survivors(False)
    with (
        InProcess("v6_verticox", files, {party: dict(LIMITS) for party in files}, "a") as running,
        ExitStack() as open_,
    ):
        asked = {
            "model": running.run("fit", dict(COX_ROWS.arguments))["model"],
            "groups": 2,
            "times": [3.0, 7.0],
        }
        honest = running.run("evaluate", asked)["metrics"]
        if unclaimed:
            open_.enter_context(mock.patch("v6_verticox.horizontal.judging.partials.check_claimed"))
        refused = pytest.raises(MessageError, match="none that the job's manifest names")
        with asking("partial_measures", change), nullcontext() if unclaimed else refused:
            assert running.run("evaluate", asked)["metrics"]["brier_scores"] != honest["brier_scores"]


def test_a_prior_is_that_of_the_model() -> None:
    """A tally is asked for by no prior of central's: it follows from the model that the scores were computed by."""
    with inside("vertibayes") as running:
        asked = {"model": fitted(running), "id_column": "id", "method": "records"}
        requests = []
        with asking("partial_tally", lambda one, *_: requests.append(one) or one):  # type: ignore[func-returns-value]
            assert running.run("evaluate", asked)["model"]
    assert NETWORK["label"] == "ill"
    assert all({"setup", "sealed", "rows"} == set(type(one).__dataclass_fields__) for one in requests)


def test_an_outline_has_a_baseline_whole_or_by_its_digest() -> None:
    model = {
        "coefficients": [{"feature": "age", "coefficient": 0.5}],
        "features": ["age"],
        "offset": 1.0,
        "baseline": {"time": [1.0], "cumulative_hazard": [0.2]},
    }
    whole, short = outline_of(model, baseline=True), outline_of(model)
    assert whole["baseline"] == model["baseline"]
    assert "baseline" not in short
    assert model_digest(model) == model_digest(whole) == model_digest(short)
    other = {**whole, "baseline": {"time": [1.0], "cumulative_hazard": [0.3]}}
    assert model_digest(other) != model_digest(model)
    assert model_digest({**other, "digests": whole["digests"]}) != model_digest(model)
    assert model_digest({**short, "offset": 2.0}) != model_digest(model)


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_a_researchers_own_baseline_tells_no_predictor(split: str) -> None:
    """At nodes that know no seals a model is anybody's; each has its own limits for what it makes of few records."""
    files = survivors(False) if split == "horizontal" else {**vertical(False), "helper": None}
    limits = {party: {**LIMITS, "minimum_count": 5 if split == "vertical" else 20} for party in files}
    asked = {**dict(COX_ROWS.arguments), "split": "horizontal"} if split == "horizontal" else COX
    with InProcess("v6_verticox", files, limits, "a") as running:
        model = running.run("fit", asked)["model"]
        step = {"time": [0.01, 8.0], "cumulative_hazard": [60.0, 2e9]}
        given = {**model, "baseline": {"strata": [{"stratum": "", **step}]} if model.get("strata") else step}
        question = {
            **({} if split == "horizontal" else JOINED),
            "times": [3.0, 7.0] if split == "horizontal" else [0.3, 0.9],
        }
        with pytest.raises(ThresholdError, match="next to no survival is predicted for all records"):
            running.run("evaluate", {"model": given, **question})
        assert running.run("evaluate", {"model": model, **question})


AGED = {
    "label": "ill",
    "features": ["age", "sex"],
    "id_column": "id",
    "weights": "score",
    "members": "party",
    "folds": 4,
}


def aged() -> dict[str, str | None]:
    draw = np.random.default_rng(5)
    ids = [f"p{row:03d}" for row in range(120)]
    parts = {
        "a": {"age": np.arange(120) + 0.5},
        "b": {"ill": draw.choice(["no", "yes"], 120)},
        "c": {"sex": draw.choice(["m", "f"], 120)},
    }
    files = {name: str(pd.DataFrame({"id": ids, **part}).to_csv(index=False)) for name, part in parts.items()}
    return {**files, "h": None}


def aimed(request: Any, *_: Any) -> Any:
    """Have the members of the station with ages read them by points around one person."""

    def around(node: dict[str, Any]) -> dict[str, Any]:
        if node["cuts"] is None:
            return node
        cuts = [57.0, 58.0, *(200.0 + place for place in range(len(node["cuts"]) - 2))]
        rest = node["states"][len(cuts) + 1 :]
        return {**node, "cuts": cuts, "states": [*Bins(tuple(cuts)).labels, *rest]}

    def crafted(member: dict[str, Any]) -> dict[str, Any]:
        nodes = {name: around(node) for name, node in member["network"]["nodes"].items()}
        return {**member, "network": {**member["network"], "nodes": nodes}}

    return replace(request, model={**request.model, "members": [*map(crafted, request.model["members"])]})


@pytest.mark.parametrize("unchecked", [False, True], ids=["held", "control"])
def test_members_that_a_fit_tests_read_columns_as_the_job_does(unchecked: bool) -> None:
    limits = {name: {"minimum_rows": 5} for name in "abc"}
    with InProcess("v6_bayesian_ensemble", aged(), limits, "c") as running, ExitStack() as open_:
        assert running.run("fit", AGED)
        open_.enter_context(asking("partial_predicted", aimed))
        if unchecked:
            open_.enter_context(mock.patch("v6_bayesian_ensemble.partial.check_opened"))
        with nullcontext() if unchecked else pytest.raises(MessageError, match="not those of the job"):
            running.run("fit", AGED)


def personal(running: InProcess, **more: Any) -> Any:
    return running.run("fit", {**LABELLED, "rounds": 2, "personalize": True, **more})


def crafted_weights(request: Any) -> Any:
    return replace(request, model={**request.model, "personal_iterations": 0})


def test_a_fit_is_evaluated_once_and_where_it_announced_that() -> None:
    """At nodes that know seals it is the only exact answer about a model without one: central could ask about any, as often as it likes."""
    files = horizontal(False)
    with InProcess("v6_discriminative_naive_bayes", files, {party: dict(LIMITS) for party in files}, "a") as running:
        assert personal(running)
        with twice("partial_evaluate", crafted_weights) as answers:
            personal(running)
        assert all("evaluated once in a job" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("fedbayes.federation.horizontal.tallying.asked_once")
        with twice("partial_evaluate", crafted_weights) as answers, unbound:
            personal(running)
        assert not any("error" in answer for answer in answers), "control"
        for kept in (lambda name: name != "partial_evaluate", lambda name: False):
            silent = announcing(lambda one, kept=kept: replace(one, functions=[*filter(kept, one.functions)]))
            with silent, pytest.raises(MessageError, match="none of the functions that the job announced"):
                personal(running)


SHOWN: dict[str, tuple[str, str, dict[str, Any], Any]] = {
    "predictors": ("verticox", "partial_score", JUDGED, lambda one, *_: replace(one, receiver=0)),
    "predictors with identifiers": (
        "verticox",
        "partial_score",
        JUDGED,
        lambda one, *_: replace(one, identify=one.scorers[0]),
    ),
    "scores": ("vertibayes", "partial_scores", {"method": "records"}, lambda one, *_: replace(one, holder=None)),
    "votes": ("bayesian_ensemble", "partial_votes", {}, lambda one, *_: replace(one, holders=[])),
}
FITS: dict[str, dict[str, Any]] = {
    "verticox": COX,
    "vertibayes": NETWORK,
    "bayesian_ensemble": {
        "label": "ill",
        "features": ["sex", "weight", "secret", "old"],
        "id_column": "id",
        "members": "party",
    },
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SHOWN)
def test_an_evaluation_tells_central_of_no_single_record(name: str) -> None:
    method, function, more, change = SHOWN[name]
    with linked() if method == "verticox" else inside(method) as running:
        asked = {"model": running.run("fit", FITS[method])["model"], **JOINED, **more}
        assert running.run("evaluate", asked)
        with asking(function, change), pytest.raises(MessageError, match="central is told of single records"):
            running.run("evaluate", asked)
        with asking(function, change), mock.patch("fedbayes.federation.guards.announced.SHOWING", ("evaluate",)):
            try:  # the control: stations answer, and honest central may find nothing sealed to go on with
                running.run("evaluate", asked)
            except Exception as problem:
                assert "central is told" not in str(problem)  # noqa: PT017


def test_held_out_records_are_predicted_for_the_holder_of_the_outcome() -> None:
    with linked() as running:
        asked = {"model": cox(), **JOINED, **JUDGED, "folds": 2}
        other = asking("partial_held_out", lambda one, *_: replace(one, receiver=one.scorers[-1]))
        with other, pytest.raises(MessageError, match="for somebody else than drew the folds"):
            running.run("evaluate", asked)


def test_coefficients_of_an_evaluation_are_held_to_a_callers_limits_whatever_central_says() -> None:
    """What a job is, its manifest says; a request has no word for whose coefficients it asks at."""

    def far_out(request: Any, *_: Any) -> Any:
        return replace(request, coefficients=[30.0 * one for one in request.coefficients]) if request.step else request

    with linked() as running:
        asked = {"model": cox(), **JOINED, "reveal": "aggregates"}
        assert running.run("evaluate", asked)
        with asking("partial_enter", far_out), pytest.raises(ThresholdError, match="weigh more in the answer"):
            running.run("evaluate", asked)
