"""Central leaves stations out of a sum about linked records, and asks organizations in their place that have no part of it: what is left is one station's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.guards.member import Member
from fedbayes.federation.rounds import Federation

ROWS = 80
JOINED = {"id_column": "id"}
CONDITIONS = [{"column": name, "op": ">=", "value": least} for name, least in (("x", 2), ("z", 1), ("w", 1))]
COX = {"time": "time", "event": "event", "features": ["x", "z", "w"], "id_column": "id"}
TASKS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "predictions": ("verticox", "predict", "partial_score", JOINED),
    "by order": ("verticox", "predict", "partial_score", {"rows_aligned": True}),
    "scores": ("verticox", "evaluate", "partial_score", JOINED),
    "held out": ("verticox", "evaluate", "partial_held_out", {**JOINED, "folds": 2}),
    "votes": ("bayesian_ensemble", "classify", "partial_votes", JOINED),
    "the mean": ("verticox", "fit", "partial_finish", COX),
    "predictors": ("verticox", "fit", "partial_predict", {**COX, "solver": "bfgs"}),
    "consensus": ("verticox", "fit", "partial_admm", {**COX, "solver": "admm", "max_rounds": 20, "tolerance": 0.05}),
    "terms": (
        "scalar_product",
        "count",
        "partial_chain_sum",
        {"conditions": CONDITIONS, **JOINED, "protocol": "thesis"},
    ),
}
"""Case -> (method, function, the partial function that masks a part, arguments)."""
LEFT = [(1, 5, 6), (1, 2, 5), (1, 4, 5)]
"""Whom central asks, of the stations 1 to 3, the helper of the task and two organizations without data: the first one and others."""


def people() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    x, z, w = draw.integers(0, 5, ROWS), draw.integers(0, 2, ROWS), draw.integers(0, 2, ROWS)
    times = np.round(draw.exponential(np.exp(-0.4 * z - 0.1 * x)), 3) + 0.001
    ill = np.where(x + z > 2, "p", "n")
    outcome = {"time": times, "event": (draw.random(ROWS) < 0.8).astype(int), "ill": ill}
    return pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "x": x, "z": z, "w": w, **outcome})


@pytest.fixture(scope="module")
def running() -> Iterator[OneProcess]:
    split = {"a": ["x"], "b": ["z"], "c": ["w", "time", "event", "ill"]}
    limits = {"*": {"allow_predictions": "true"}}
    with OneProcess(by_columns(people(), split), ["h", "i", "j"], limits, aggregator="b") as federation:
        yield federation


@pytest.fixture(scope="module")
def models(running: OneProcess) -> dict[str, Any]:
    ensemble = running.run("bayesian_ensemble", "fit", {"label": "ill", "id_column": "id"})
    return {"verticox": running.run("verticox", "fit", COX)["model"], "bayesian_ensemble": ensemble["model"]}


@contextmanager
def leaving_out(function: str, asked: tuple[int, ...]) -> Iterator[None]:
    honest = Federation._ask

    def ask(self: Federation, named: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if named == function:
            organizations = [member for member in asked if member != 3 or 3 in organizations]
            if isinstance(request, dict):
                other = request[max(request)]
                request = {member: request.get(member, other) for member in organizations}
        return honest(self, named, request, organizations, *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield


def told(running: OneProcess, models: dict[str, Any], case: str, asked: tuple[int, ...]) -> Any:
    method, function, masking, arguments = TASKS[case]
    given = (
        arguments
        if case in ("the mean", "predictors", "consensus", "terms")
        else {"model": models[method], **arguments}
    )
    with leaving_out(masking, asked):
        return running.run(method, function, given)


@pytest.mark.few(5)
@pytest.mark.parametrize("asked", LEFT, ids=str)
@pytest.mark.parametrize("case", TASKS)
def test_nobody_is_left_out_of_a_sum(running: OneProcess, models: dict[str, Any], case: str, asked: Any) -> None:
    with pytest.raises(AlgorithmError, match=r"a.*: (a sum is not asked of all stations|one organization alone)"):
        told(running, models, case, asked)


def test_control_with_others_in_their_place_a_column_is_told(running: OneProcess, models: dict[str, Any]) -> None:
    """The first station's part of each record's predictor is its own column of it."""
    everybody = mock.patch.object(Member, "summed_over", lambda member: frozenset(member.participants))
    with mock.patch.object(Member, "require_asked"), everybody:
        found = told(running, models, "predictions", LEFT[0])
    scores, column = np.sort(found["predictions"]["linear_predictor"]), np.sort(people()["x"])
    assert max(abs(np.corrcoef(scores, one)[0, 1]) for one in (column, column[::-1])) > 1 - 1e-9
