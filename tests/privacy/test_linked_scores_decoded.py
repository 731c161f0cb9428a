"""What exact scores over linked records, and of networks, tell of a person whom the model singles out."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, by_rows
from scores_kit import CERTAIN, LABEL, MINIMUM, ROWS, STATES, View, belief, likelihood, made_for, someone, table, view

from fedbayes.bayes.evaluation import coarse
from fedbayes.bayes.evaluation.tallies import tally
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.inference import posteriors
from v6_bayesian_ensemble.ensemble import Ensemble
from v6_vertibayes import evaluation
from v6_vertibayes.budget import Budget
from v6_vertibayes.validation import assess_counts

SPLIT = {"a": ["town"], "b": ["job"], "c": ["age", "ill"]}
METHODS = ["secure_naive_bayes", "bayesian_ensemble", "vertibayes"]
BINS = dict(zip(METHODS, [64, 512, 512], strict=True))
Asked = tuple[dict[str, Any], Any, dict[str, Any]]
"""A model, its log-probabilities of all records, and further arguments."""


def linked() -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    frame = table().assign(id=[f"p{row}" for row in range(ROWS)])
    return frame, by_columns(frame, SPLIT)


def running(tables: dict[str, pd.DataFrame], **limits: Any) -> OneProcess:
    return OneProcess(tables, ["h"], {name: {"allow_predictions": True, **limits} for name in tables})


def network_for(
    person: pd.Series, columns: list[str], prior: float, alike_no: float, other_yes: float
) -> dict[str, Any]:
    """Return a network by hand that says "yes" of whoever has this person's values, and "no" of everybody else.

    Of those with "no" so many are like the person in a column, of those with "yes" so many are not.
    """
    tables = {"ill": {"parents": [], "probabilities": [1.0 - prior, prior]}}
    for name in columns:
        alike = np.array([state == person[name] for state in STATES[name]])
        of_no = np.where(alike, alike_no, (1.0 - alike_no) / (len(alike) - 1))
        of_yes = np.where(alike, 1.0 - other_yes, other_yes / (len(alike) - 1))
        tables[name] = {"parents": ["ill"], "probabilities": [of_no.tolist(), of_yes.tolist()]}
    states = {"ill": LABEL["categories"], **{name: STATES[name] for name in columns}}
    return {
        "nodes": {name: {"states": own, "cuts": None} for name, own in states.items()},
        "edges": [["ill", name] for name in columns],
        "tables": tables,
        "label": "ill",
    }


def of_naive_bayes(federation: OneProcess, frame: pd.DataFrame, person: pd.Series) -> Asked:
    model = made_for(person)
    return model, NaiveBayes.from_dict(model).predict_log_proba(frame[list(STATES)]), {"split": "vertical"}


def of_a_network(federation: OneProcess, frame: pd.DataFrame, person: pd.Series) -> Asked:
    model = network_for(person, list(STATES), 1e-18, 1e-9, 1e-18)
    network = BayesianNetwork.from_dict(model)
    rows = network.encode({name: frame[name].tolist() for name in network.nodes})
    logs = np.log(np.maximum(posteriors(network, rows, "ill"), 1e-300))
    return model, logs, {"split": "vertical", "method": "records", "helper": "h"}


def of_an_ensemble(federation: OneProcess, frame: pd.DataFrame, person: pd.Series) -> Asked:
    asked = {"label": "ill", "features": list(STATES), "id_column": "id"}
    model = copy.deepcopy(federation.run("bayesian_ensemble", "fit", asked)["model"])
    model["bound"] = 0.0
    for member in model["members"]:
        columns = [name for name in member["columns"] if name != "ill"]
        member["network"] = network_for(person, columns, 0.5, 0.01, 1e-50)
    return model, Ensemble.read(model).predict_log_proba(frame, len(frame)), {}


MODELS = dict(zip(METHODS, [of_naive_bayes, of_an_ensemble, of_a_network], strict=True))


def asked_by_hand(method: str, label: str) -> tuple[Any, list[View]]:
    """Return the answer about a model by hand, and the two worlds of who knows all of all records but one label."""
    frame, tables = linked()
    person = someone(frame, label)
    with running(tables) as federation:
        model, logs, more = MODELS[method](federation, frame, person)
        found = federation.run(method, "evaluate", {"model": model, "id_column": "id", **more})
    scores = found["model"] or found
    confusion = scores.get("confusion") or found["diagnostics"]["confusion"]
    assert confusion == [[None, None], [None, None]], "the table hides it"
    worlds = []
    for one in range(2):
        truth = (frame["ill"] == "yes").to_numpy(dtype=np.int64)
        truth[person.name] = one
        worlds.append(view(one, tally(truth, logs, BINS[method])))
    answer = {"diagnostics": {**found["diagnostics"], "confusion": confusion}, "log_loss": scores["log_loss"]}
    return {**answer, "n": ROWS}, worlds


@pytest.mark.parametrize("label", ["no", "yes"])
@pytest.mark.parametrize("method", METHODS)
def test_a_model_by_hand_does_not_tell_the_label_of_whom_it_names(method, label):
    found, worlds = asked_by_hand(method, label)
    assert 0.1 < belief([worlds], [found], curves=False) < 0.9
    assert found["diagnostics"]["log_loss_error"] * ROWS > 4.0, "records that are missed add up to 30 each"


@pytest.mark.audit
@pytest.mark.parametrize("label", ["no", "yes"])
@pytest.mark.parametrize("method", METHODS)
def test_control_exact_scores_of_a_model_by_hand_tell_it(method, label, exact_scores):
    found, worlds = asked_by_hand(method, label)
    no, yes = (abs(found["log_loss"] - world.scores["log_loss"]) for world in worlds)
    assert no < 0.1 * yes if label == "no" else yes < 0.1 * no


@pytest.mark.parametrize("method", METHODS)
def test_the_same_question_has_the_same_answer_and_another_one_another(method):
    """Though records have another order in every job."""
    frame, tables = linked()
    told = []
    with running(tables) as federation:
        for person in (someone(frame, "no"), someone(frame, "no"), someone(frame, "yes")):
            model, _, more = MODELS[method](federation, frame, person)
            found = federation.run(method, "evaluate", {"model": model, "id_column": "id", **more})
            told.append((found["model"] or found)["log_loss"])
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("method", METHODS)
def test_nodes_that_let_single_records_be_told_tell_exact_scores(method):
    """A helper's own minimum, which is 5, does not count: it has no records."""
    frame, tables = linked()
    with running(tables, minimum_count=1) as federation:
        model, _, more = MODELS[method](federation, frame, someone(frame, "no"))
        found = federation.run(method, "evaluate", {"model": model, "id_column": "id", **more})
    assert "log_loss_error" not in found["diagnostics"]
    assert "one record's part" not in found["privacy"]["reason"]
    assert None not in np.ravel((found["model"] or found).get("confusion") or found["diagnostics"]["confusion"])


def test_one_station_that_hides_is_enough():
    frame, tables = linked()
    limits = {name: {"allow_predictions": True, "minimum_count": 1 + 4 * (name == "a")} for name in tables}
    with OneProcess(tables, ["h"], limits) as federation:
        model, _, more = of_an_ensemble(federation, frame, someone(frame, "no"))
        found = federation.run("bayesian_ensemble", "evaluate", {"model": model, "id_column": "id", **more})
    assert found["diagnostics"]["log_loss_error"] * ROWS > 4.0


# -- networks by counts ----------------------------------------------------------------------------------------------------

CELLS = {(0, 0): [52, 9], (0, 1): [11, 8], (1, 0): [7, 33]}
"""Records of a and b by label; one more has 1 and 1, whose label is asked for."""
COLUMNS = ("a", "b", "ill")


def network() -> BayesianNetwork:
    """Return a network of whom "a" tells more than "b" does, so that "b" decides no prediction."""
    states = {"ill": tuple(LABEL["categories"]), "a": ("0", "1"), "b": ("0", "1")}
    tables = {"ill": [0.5, 0.5], "a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.5, 0.5]]}
    parents = {"ill": (), "a": ("ill",), "b": ("ill",)}
    return BayesianNetwork(states, parents, {name: np.array(table) for name, table in tables.items()})


def counted(label: int, others: Mapping[tuple[int, int], list[int]] = CELLS) -> np.ndarray:
    table = np.zeros((2, 2, 2), dtype=np.int64)
    for cell, own in others.items():
        table[cell] = own
    table[1, 1, label] = 1
    return table


def scored(table: np.ndarray, seed: int = 1, budget: Budget | None = None) -> dict[str, Any]:
    """Return all that an evaluation tells, with the errors."""
    tables = [table.sum(axis=(0, 1)), table.sum(axis=1).T, table.sum(axis=0).T, table]
    source = mock.Mock(return_value=tables, seed=seed, minimum_count=MINIMUM, budget=budget or Budget())
    scores, errors = evaluation.by_counts(mock.Mock(network=network()), "ill", source)
    return {**scores, **errors}


def seen(table: np.ndarray) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    """Return what is told as it is of a world, and what is told with a draw: the exact number, and what is added."""
    drawn = {}

    def captured(exact: float, part: float, seed: int, name: str) -> tuple[float, float]:
        drawn[name] = exact, part
        return exact, part

    with mock.patch.object(coarse, "blurred", captured):
        told = scored(table)
    return {name: told[name] for name in ("accuracy", "confusion", "calibration", "roc", "rows")}, drawn


def sure_of_counts(told: dict[str, Any], worlds: Sequence[tuple[int, Any]]) -> float:
    """Return how sure the best reader is of "yes" who knows how many records have each values of a and b, and nearly how many of these are of a label."""
    weights = [0.0, 0.0]
    for label, (counts, drawn) in worlds:
        if all(repr(told[name]) == repr(value) for name, value in counts.items()):
            rows = told["rows"]
            losses = tuple(number / rows for number in drawn["log_loss"])
            weight = likelihood(told["log_loss"], told["log_loss_error"], losses, rows, np.inf)
            weight *= likelihood(told["auc"], told["auc_error"], drawn["auc"], 1.0, 1.0)
            total, part = drawn["log_likelihood"]
            error = told["log_likelihood_error"]
            weight *= likelihood(-told["criteria"]["log_likelihood"], error, (-total, part), 1.0, np.inf)
            weights[label] += weight
    return weights[1] / sum(weights)


def thinkable() -> list[tuple[int, Any]]:
    """What the reader thinks possible: up to three records of every cell more or less are of a label."""
    found = []
    for label in range(2):
        for moves in itertools.product(range(-3, 4), repeat=3):
            others = {cell: [no - by, yes + by] for by, (cell, (no, yes)) in zip(moves, CELLS.items(), strict=True)}
            found.append((label, seen(counted(label, others))))
    return found


def test_a_network_by_counts_does_not_tell_the_label_of_the_only_one_with_two_values():
    """Groups of predictions have enough records each, so curves are counts of many; families, of which the likelihood is, have others than these."""
    worlds = thinkable()
    sure = [sure_of_counts(scored(counted(label), seed), worlds) for label in range(2) for seed in range(15)]
    of_true = [one if place >= 15 else 1.0 - one for place, one in enumerate(sure)]
    assert max(of_true) < 0.95
    assert np.mean(of_true) < 0.75


@pytest.mark.audit
@pytest.mark.parametrize("label", [0, 1])
def test_control_exact_scores_of_a_network_by_counts_tell_it(label):
    with mock.patch.object(coarse, "PART", 1e-6):
        sure = sure_of_counts(scored(counted(label)), thinkable())
    assert (sure > CERTAIN, sure < 1.0 - CERTAIN) == (label == 1, label == 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("label", [0, 1])
def test_control_so_does_the_exact_likelihood_beside_coarse_scores(label):
    with (
        mock.patch.object(coarse, "LEAST_LOSS", 0.0),
        mock.patch.object(evaluation.result, "moved_by_one", return_value=1e-6),
    ):
        sure = sure_of_counts(scored(counted(label)), thinkable())
    assert (sure > CERTAIN, sure < 1.0 - CERTAIN) == (label == 1, label == 0)


def test_beside_noise_that_hides_nobody_no_draw_can_be_repeated():
    """Stations give no seed then, and the network is known."""
    told = [scored(counted(1), budget=Budget(epsilon=1000.0))["criteria"]["log_likelihood"] for _ in range(20)]
    assert len(set(told)) > 1


def test_of_records_without_a_label_the_likelihood_is_told_as_coarsely():
    table = np.zeros((2, 2, 3), dtype=np.int64)
    table[:, :, 2] = 10
    tables = [table.sum(axis=(0, 1)), table.sum(axis=1).T, table.sum(axis=0).T, table]
    source = mock.Mock(return_value=tables, seed=1, minimum_count=MINIMUM, budget=Budget())
    _, errors = evaluation.by_counts(mock.Mock(network=network()), "ill", source)
    assert errors["log_likelihood_error"] >= 0.5


def one_label_among_records_without(label: int, without: int = 20) -> tuple[dict[str, Any], dict[str, float]]:
    """Return what is told where 49 records of a pattern are "no", and one of another pattern has a label beside others that have none."""
    table = np.zeros((2, 2, 3), dtype=np.int64)
    table[0, 0, 0], table[1, 1, 2] = 49, without
    table[1, 1, label] = 1
    unlikely = {"ill": [1 - 1e-12, 1e-12], "a": [[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]}
    sure = BayesianNetwork(
        network().states,
        network().parents,
        {name: np.array(unlikely.get(name, unlikely["a"])) for name in network().nodes},
    )
    return assess_counts(sure, COLUMNS, table, "ill", MINIMUM)


def test_a_group_has_enough_labels_so_that_an_error_tells_none():
    """Its loss would be that of one record, and the error follows from the largest."""
    (no, of_no), (yes, of_yes) = (one_label_among_records_without(label) for label in range(2))
    assert max(of_no["log_loss_error"], of_yes["log_loss_error"]) < 4.0 / 50
    assert abs(no["log_loss"] - yes["log_loss"]) < 4.0 / 50


def by_counts(label: int, split: str) -> dict[str, Any]:
    cells = np.repeat(np.argwhere(counted(label) >= 0), counted(label).ravel(), axis=0).astype(str)
    frame = pd.DataFrame(cells, columns=list(COLUMNS)).replace({"ill": {"0": "no", "1": "yes"}})
    frame["id"] = [f"p{row}" for row in range(len(frame))]
    model = {**network().to_dict(), "label": "ill"}
    tables, asked = by_columns(frame, {"u": ["a"], "v": ["b"], "w": ["ill"]}), {"id_column": "id", "helper": "h"}
    if split == "horizontal":
        tables, asked = by_rows(frame.sample(frac=1.0, random_state=1), "uvw"), {"split": split}
    with OneProcess(tables, ["h"]) as federation:
        return federation.run("vertibayes", "evaluate", {"model": model, "method": "counts", **asked})


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_counts_have_the_same_answer_to_the_same_question(split):
    first, again, other = by_counts(1, split), by_counts(1, split), by_counts(0, split)
    assert first["model"] == again["model"]
    assert first["model"]["log_loss"] != other["model"]["log_loss"]
    cells = counted(1)[counted(1) > 0]
    logs = [np.log(network().tables[name]) for name in ("ill", "a", "b")]
    own = [logs[0][ill] + logs[1][ill, a] + logs[2][ill, b] for a, b, ill in np.argwhere(counted(1) > 0)]
    standard_error = np.sqrt(cells.sum()) * np.std(np.repeat(own, cells))
    assert 0.5 <= first["diagnostics"]["log_likelihood_error"] < 0.25 * standard_error
    assert "one record's part" in first["privacy"]["reason"]
