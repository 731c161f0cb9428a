"""Whoever matches records chooses which belong together: two people exchanged at one station change no row that counts, and no number of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import MessageError, StationError
from fedbayes.federation.guards.member import Member
from fedbayes.mpc import alignment

ROWS = 120
PEOPLE = {"sex": ["1", "2"], "ill": ["1", "2"]}
DOMAIN = {name: {"categories": list(values)} for name, values in PEOPLE.items()}
COX = {"time": "time", "event": "event", "features": ["age", "dose"]}
TABLE = {"columns": ["sex", "ill"]}
SICK = [{"column": name, "op": "==", "value": "1"} for name in PEOPLE]
QUESTIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "table": ("scalar_product", "contingency", TABLE),
    "noisy table": ("scalar_product", "contingency", {**TABLE, "domain": DOMAIN, "epsilon": 1.0}),
    "table of three": ("scalar_product", "contingency", {"columns": ["sex", "ill", "where"]}),
    "published count": ("scalar_product", "count", {"conditions": SICK, "protocol": "thesis"}),
    "network": ("vertibayes", "fit", {**TABLE, "structure": [["sex", "ill"]]}),
    "scores": (
        "vertibayes",
        "fit",
        {
            **TABLE,
            "structure": "k2",
            "label": "ill",
            "columns": ["sex", "ill", "where", "age"],
            "validation": "svdg",
            "folds": 2,
        },
    ),
    "network of the label": ("vertibayes", "fit", {**TABLE, "structure": "naive", "label": "ill"}),
    "votes": ("bayesian_ensemble", "fit", {"label": "ill", "features": ["sex", "where"], "members": "party"}),
    "survival": ("verticox", "fit", COX),
    "survival, seen": ("verticox", "fit", {**COX, "solver": "bfgs"}),
    "survival, noisy": (
        "verticox",
        "fit",
        {
            **COX,
            "epsilon": 3.0,
            "times": [0.5, 1.0, 2.0],
            "domain": {"age": {"bounds": [-4, 4]}, "dose": {"bounds": [-4, 4]}},
        },
    ),
    "without a helper": ("scalar_product", "contingency", {**TABLE, "helper": "none"}),
}


def tables() -> dict[str, pd.DataFrame]:
    """Return columns of three organizations of the same people, each in an order of its own."""
    draw = np.random.default_rng(4)
    ids = [f"p{row:03d}" for row in range(ROWS)]
    sex, ill, where, event = (draw.choice(["1", "2"], ROWS) for _ in range(4))
    a = {"sex": sex, "age": draw.normal(size=ROWS)}
    b = {"ill": ill, "time": draw.exponential(size=ROWS), "event": (event == "1").astype(int)}
    c = {"where": where, "dose": draw.normal(size=ROWS)}
    return {
        name: pd.DataFrame({"id": ids, **part}).sample(frac=1.0, random_state=place)
        for place, (name, part) in enumerate({"a": a, "b": b, "c": c}.items())
    }


def federation(central: str = "a") -> OneProcess:
    limits = {name: {"minimum_count": 1, "allow_predictions": True} for name in tables()}
    return OneProcess(tables(), helpers=["helper"], policies=limits, aggregator=central)


@contextlib.contextmanager
def exchanging() -> Iterator[None]:
    """Whoever matches exchanges two records of the first station: the same rows count, each once."""
    places_in = alignment.places_in

    def exchanged(left: Any, right: Any) -> Any:
        places = places_in(left, right)
        places[:2] = places[1::-1].copy()
        return places

    with mock.patch.object(alignment, "places_in", exchanged):
        yield


def asked(running: OneProcess, question: str) -> Any:
    method, function, arguments = QUESTIONS[question]
    return running.run(method, function, {"id_column": "id", **arguments})


APPLIED = {
    "survival": [
        ("verticox", "predict", {}),
        ("verticox", "evaluate", {}),
        ("verticox", "evaluate", {"folds": 2}),
        ("verticox", "evaluate", {"reveal": "aggregates"}),
        ("verticox", "baseline", {}),
    ],
    "votes": [("bayesian_ensemble", "classify", {}), ("bayesian_ensemble", "evaluate", {})],
    "network of the label": [("vertibayes", "classify", {}), ("vertibayes", "evaluate", {})],
}
"""What is asked of models: of each record a sum over the stations, which central or the holder of the outcome sees."""


@pytest.mark.few(6)
@pytest.mark.parametrize("question", QUESTIONS)
def test_records_of_two_people_are_not_put_together(question: str) -> None:
    with federation() as running:
        assert asked(running, question)
        with exchanging(), pytest.raises((MessageError, StationError), match="same records linked"):
            asked(running, question)


@pytest.mark.few(1)
@pytest.mark.parametrize("question", sorted(APPLIED))
def test_nor_by_a_model_in_use(question: str) -> None:
    with federation() as running:
        model = asked(running, question)["model"]
        for method, function, more in APPLIED[question]:
            arguments = {"id_column": "id", "model": model, **more}
            assert running.run(method, function, arguments)
            with exchanging(), pytest.raises((MessageError, StationError), match="same records linked"):
                running.run(method, function, arguments)


def test_the_error_says_that_records_may_be_linked_otherwise() -> None:
    with federation() as running, exchanging(), pytest.raises(StationError, match="same records linked"):
        asked(running, "table")


def test_control_unbound_the_difference_of_two_tables_is_two_people() -> None:
    """One pair in four differs in both columns; the order is another one in every job."""
    with federation() as running, mock.patch.object(Member, "link"):
        told = asked(running, "table")["counts"]
        for _ in range(100):
            with exchanging():
                difference = np.subtract(asked(running, "table")["counts"], told)
            if difference.any():
                break
    assert sorted(difference.ravel()) == [-1, -1, 1, 1]
