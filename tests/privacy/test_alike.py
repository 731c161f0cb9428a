"""A central that asks one station for something else than the others: masks are bound to what is asked, so that no station's own numbers come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation

VICTIM = 1
COUNTS = {"f": 41, "m": 17}
DOMAIN = {"sex": {"categories": ["f", "m"]}}
ELSEWHERE = {"nowhere": {"categories": ["f", "m"]}}


def files() -> dict[str, str]:
    """The victim's table, and two others' with as many rows."""
    victim = pd.DataFrame({"sex": [sex for sex, count in COUNTS.items() for _ in range(count)]})
    tables = {"a": victim, "b": victim.replace({"m": "f"}), "c": victim.replace({"f": "m"})}
    return {name: table.to_csv(index=False) for name, table in tables.items()}


@contextmanager
def deviating(asked: str, others: Callable[[Any], Any]) -> Iterator[None]:
    """Central sends another request of one function to everybody but the victim."""
    asking = Federation._ask

    def ask_otherwise(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == asked:
            each = request if isinstance(request, dict) else dict.fromkeys(organizations, request)
            request = {member: each[member] if member == VICTIM else others(each[member]) for member in organizations}
        return asking(self, function, request, organizations, *rest)

    with mock.patch.object(Federation, "_ask", ask_otherwise):
        yield


def ask(others: Callable[[Any], Any]) -> Any:
    """Describe a column, with another request to everybody but the victim."""
    with deviating("partial_describe", others), InProcess("v6_dp_naive_bayes", files(), {}, "a") as running:
        return running.run("describe", {"domain": DOMAIN})


def test_a_column_that_the_others_lack_does_not_bare_one_stations_counts() -> None:
    with pytest.raises(MessageError, match="do not fit"):
        ask(lambda request: replace(request, domain=ELSEWHERE))


def test_control_the_same_request_to_all_is_answered() -> None:
    counts = ask(lambda request: request)["model"]["columns"]["sex"]["categories"]["counts"]
    assert sum(counts) == 3 * sum(COUNTS.values())


def people() -> dict[str, str | None]:
    """Records split by columns over two stations and a helper."""
    draw = np.random.default_rng(4)
    age, dose, sex = draw.normal(size=80), draw.normal(size=80), draw.integers(0, 2, 80)
    left = pd.DataFrame(
        {"id": range(80), "age": age, "sex": np.where(sex > 0, "f", "m"), "old": np.where(age > 0, "yes", "no")}
    )
    right = pd.DataFrame(
        {
            "id": range(80),
            "dose": dose,
            "much": np.where(dose + age > 0, "yes", "no"),
            "ill": np.where(age + dose + sex > 0.5, "yes", "no"),
        }
    )
    right["time"], right["event"] = draw.exponential(np.exp(-0.5 * age)).round(3), draw.integers(0, 2, 80)
    return {"a": left.to_csv(index=False), "b": right.to_csv(index=False), "h": None}


def without_effect(request: Any) -> Any:
    none = [{**entry, "coefficient": 0.0} for entry in request.model["coefficients"]]
    return replace(request, model={**request.model, "coefficients": none})


def without_votes(request: Any) -> Any:
    members = [{**member, "weight": 1e-9} for member in request.model["members"]]
    return replace(request, model={**request.model, "members": members})


def another_network(request: Any) -> Any:
    return replace(request, outline={**request.outline, "members": []})


def another_model(request: Any) -> Any:
    return replace(request, model={**request.model, "name": "another"})


COX = {"time": "time", "event": "event", "features": ["age", "dose"], "id_column": "id"}
NETWORK = {"columns": ["sex", "old", "much", "ill"], "label": "ill", "structure": "naive", "id_column": "id"}
VOTES = {"label": "ill", "features": ["sex", "old", "much"], "id_column": "id"}
QUESTIONS: dict[str, tuple[str, dict[str, Any], str, str, Callable[[Any], Any]]] = {
    "coefficients of verticox": ("verticox", COX, "predict", "partial_score", without_effect),
    "a network": ("vertibayes", NETWORK, "classify", "partial_scores", another_model),
    "weights of members": ("bayesian_ensemble", VOTES, "classify", "partial_votes", without_votes),
    "networks of members": ("bayesian_ensemble", VOTES, "classify", "partial_votes", another_network),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_model_that_the_others_did_not_get_does_not_bare_one_stations_part(name: str) -> None:
    method, fit, function, partial, others = QUESTIONS[name]
    with InProcess(f"v6_{method}", people(), {name: {"allow_predictions": "true"} for name in "ab"}, "a") as running:
        model = running.run("fit", fit)["model"]
        question = {"model": model, "id_column": "id"}
        assert running.run(function, question)
        with (
            deviating(partial, others),
            pytest.raises(MessageError, match=r"do not fit|not one of the|none that the job's manifest names"),
        ):
            running.run(function, question)


def test_control_masks_that_are_bound_to_the_function_alone_fit_whatever_was_asked() -> None:
    method, fit, function, partial, others = QUESTIONS["a network"]
    with InProcess(f"v6_{method}", people(), {name: {"allow_predictions": "true"} for name in "ab"}, "a") as running:
        model = running.run("fit", fit)["model"]
        unclaimed = mock.patch("v6_vertibayes.partial.check_claimed")
        with (
            deviating(partial, others),
            unclaimed,
            mock.patch("fedbayes.federation.station.digest_of", return_value=""),
        ):
            assert running.run(function, {"model": model, "id_column": "id"})
