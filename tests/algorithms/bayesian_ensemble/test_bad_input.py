"""Every refusal names the argument and the remedy, and no data value."""

import pytest
from one_process import OneProcess

from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError, ThresholdError

NAME = "bayesian_ensemble"
GIVEN = {"label": "ill", "id_column": "id"}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"label": "nothing"}, "label"),
        ({"label": 5}, "label"),
        ({"target": "ill"}, "now called .label."),
        ({"id_column": None}, "id_column"),
        ({"features": ["ill", "age"]}, "features"),
        ({"features": ["id"]}, "id_column"),
        ({"features": ["height"]}, "height"),
        ({"split": "diagonal"}, "split"),
        ({"vote": "loudest"}, "vote"),
        ({"weights": "heavy"}, "weights"),
        ({"structure": "star"}, "structure"),
        ({"structure": [["age", "age"]], "features": ["age"]}, "structure"),
        ({"structure": [["age", "cough"]], "features": ["age", "cough"]}, "structure"),
        ({"structure": [["age", "smoke"]]}, "features"),
        ({"max_parents": 0}, "max_parents"),
        ({"pseudocount": float("nan")}, "pseudocount"),
        ({"order": ["age"]}, "order"),
        ({"members": []}, "members"),
        ({"members": [[]]}, "members"),
        ({"members": "everyone"}, "members"),
        ({"members": [["station0", "station1"], ["station1"]]}, "members"),
        ({"members": [["station0", "atlantis"]]}, "members"),
        ({"members": [["helper"]]}, "members"),
        ({"members": [["station0"]], "split": "horizontal"}, "members"),
        ({"split": "hybrid", "missing": "category"}, "missing"),
        ({"secret": True}, "secret"),
        ({"secret": "yes"}, "secret"),
        ({"minimum_count": -1}, "minimum_count"),
        ({"bound": 0.7}, "bound"),
        ({"domain": {"age": 5}, "features": ["age", "smoke"]}, "domain: column .age"),
        ({"domain": {"age": {"categories": 5}}, "features": ["age", "smoke"]}, "domain: column .age"),
        ({"bound": float("nan")}, "bound"),
        ({"bins": {"agee": 3}, "features": ["age"]}, "bins names .agee"),
    ],
)
def test_fit_refuses(federation, arguments, names) -> None:
    with pytest.raises(ArgumentError, match=names) as caught:
        federation.run(NAME, "fit", {**GIVEN, **arguments})
    assert "p0" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (None, "model"),
        ({}, "model"),
        ({"members": []}, "members"),
        ({"members": [{}], "label": "ill", "classes": ["no", "yes"], "vote": "mean", "weights": "uniform"}, "model"),
    ],
)
@pytest.mark.parametrize("function", ["evaluate", "classify"])
def test_a_model_that_is_none_is_refused(federation, function, model, names) -> None:
    with pytest.raises(ArgumentError, match=names):
        federation.run(NAME, function, {"model": model, "id_column": "id"})


@pytest.fixture(scope="module")
def fitted(federation):
    return federation.run(NAME, "fit", {**GIVEN, "features": ["fever"], "structure": "naive"})


def test_classify_names_what_it_takes_where_nothing_identifies_records(federation, fitted) -> None:
    with pytest.raises(ArgumentError, match="or give records") as refusal:
        federation.run(NAME, "classify", {"model": fitted["model"]})
    assert "rows_aligned" not in str(refusal.value)


@pytest.mark.few(2)
@pytest.mark.parametrize("records", [{}, {"age": []}, {"age": [1], "smoke": []}, {"age": "old"}, [1]])
def test_malformed_records_are_refused(federation, fitted, records) -> None:
    with pytest.raises(ArgumentError, match="records"):
        federation.run(NAME, "classify", {"model": fitted["model"], "records": records})


def test_label_at_two_stations_is_refused(table, kit) -> None:
    parts = [table[["id", "smoke", "ill"]], table[["id", "cough", "ill"]]]
    with (
        OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation,
        pytest.raises(ArgumentError, match="'ill' is at two stations"),
    ):
        federation.run(NAME, "fit", GIVEN)


def test_no_common_class_and_no_members_and_few_rows(table, kit) -> None:
    ill = table["ill"]
    apart = [table[ill == "no"], table[ill == "yes"], table[ill == "no"]]
    shared = {**GIVEN, "split": "horizontal"}
    with OneProcess(parties=kit.shuffled(apart), policies=kit.limits) as federation:
        with pytest.raises(ArgumentError, match="class in common"):
            federation.run(NAME, "fit", shared)
        with pytest.raises(ArgumentError, match="features"):
            federation.run(NAME, "fit", {**shared, "features": ["height"]})
    few = [table.iloc[:3], table.iloc[3:300], table.iloc[300:]]
    with (
        OneProcess(parties=kit.shuffled(few), policies=kit.limits) as federation,
        pytest.raises(ThresholdError, match="rows"),
    ):
        federation.run(NAME, "fit", shared)


def test_a_vote_over_zero_members_is_refused(federation, fitted) -> None:
    (member,) = fitted["model"]["members"]
    silent = {**fitted["model"], "members": [{**member, "weight": 0.0}]}
    for function in ("evaluate", "classify"):
        with pytest.raises(ArgumentError, match="weight 0; a vote needs at least one member"):
            federation.run(NAME, function, {"model": silent, "id_column": "id"})
        elsewhere = {"model": fitted["model"], "id_column": "id", "organizations": ["station0", "station1", "helper"]}
        with pytest.raises(ArgumentError, match="no members: a vote needs at least one"):
            federation.run(NAME, function, elsewhere)
    with pytest.raises(ArgumentError, match="members must name organizations that hold features"):
        federation.run(NAME, "fit", {**GIVEN, "features": ["age"], "members": [["station1"], ["station2"]]})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "change", [{"bound": -0.1}, {"bound": "much"}, {"bound": None}, {"classes": ["yes"]}, {"vote": "x"}]
)
def test_a_model_that_was_spoilt_is_refused(federation, fitted, change) -> None:
    with pytest.raises(ArgumentError, match="model must be the model that fit returned"):
        federation.run(NAME, "evaluate", {"model": {**fitted["model"], **change}, "id_column": "id"})


def test_a_label_of_one_class_or_at_some_stations_only_is_refused(table, kit) -> None:
    shared = {**GIVEN, "split": "horizontal"}
    alike = [part.assign(ill="yes") for part in (table.iloc[:200], table.iloc[200:400], table.iloc[400:])]
    with (
        OneProcess(parties=kit.shuffled(alike), policies=kit.limits) as federation,
        pytest.raises(ArgumentError, match="fewer than two classes"),
    ):
        federation.run(NAME, "fit", shared)
    lacking = [table.iloc[:200], table.iloc[200:400], table.iloc[400:].drop(columns="ill")]
    with (
        OneProcess(parties=kit.shuffled(lacking), policies=kit.limits) as federation,
        pytest.raises(DataProblem, match=r"station2.*ill"),
    ):
        federation.run(NAME, "fit", shared)


@pytest.mark.parametrize("given", [{"label": "il"}, {"label": "ill", "features": ["smoke", "caugh"]}])
def test_a_column_at_no_station_is_answered_with_the_nearest_of_the_dictionary(federation, given) -> None:
    columns = {name: {"type": "category", "categories": ["no", "yes"]} for name in ("ill", "smoke", "cough")}
    near = "ill" if given["label"] == "il" else "cough"
    with pytest.raises(ArgumentError, match=rf"is at no station .*\(did you mean '{near}'\?\)"):
        federation.run(NAME, "fit", {**given, "id_column": "id", "dictionary": {"columns": columns}})


def test_whole_records_warn_of_features_that_a_station_lacks(table, kit) -> None:
    parts = [table.iloc[:200], table.iloc[200:400], table.iloc[400:].drop(columns=["xray", "fever"])]
    without = "features: station2 lacks 'xray', 'fever', so its member votes without"
    with OneProcess(parties=kit.shuffled(parts), policies=kit.limits) as federation:
        given = {"label": "ill", "split": "horizontal", "structure": "naive"}
        named = federation.run(NAME, "fit", {**given, "features": ["smoke", "xray", "fever", "caugh"]})
        every = federation.run(NAME, "fit", given)
        shared = federation.run(NAME, "fit", {**given, "features": ["smoke", "cough"]})
    nowhere = "features: no station has 'caugh', so no member uses it; check how it is written"
    assert named["warnings"] == [nowhere, without]
    assert every["warnings"] == [without]
    assert shared["warnings"] == []
    assert shared["diagnostics"]["minimum_count"] is None  # of central; each station has its own


def test_nodes_that_forbid_predictions_are_obeyed(table, kit) -> None:
    policies = {"*": {**kit.limits["*"], "allow_predictions": False}}
    parties = kit.vertical(table)
    with OneProcess(parties=parties, helpers=["helper"], policies=policies) as federation:
        fitted = federation.run(NAME, "fit", GIVEN)
        for function in ("classify", "evaluate"):
            with pytest.raises(PolicyError, match="predicted"):
                federation.run(NAME, function, {"model": fitted["model"], "id_column": "id"})


def test_secret_members_need_a_folder(rows_federation) -> None:
    with pytest.raises((PolicyError, DataProblem), match="LEDGER"):
        rows_federation.run(NAME, "fit", {**GIVEN, "split": "horizontal", "secret": True})
