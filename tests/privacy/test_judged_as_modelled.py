"""A Cox model of whole records is judged by its own outcome and columns: by others it would be another question than the one on record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import ask
from test_grid_of_the_tally import TASK, asking, records

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from v6_verticox.horizontal.grid import Tally
from v6_verticox.horizontal.judging import partials

OTHERWISE = "a model is judged by another outcome, or other columns or bounds"
QUESTIONS: dict[str, dict[str, Any]] = {
    "event": {"event": "hiv"},
    "time": {"time": "since"},
    "bounds": {"domain": {"age": {"bounds": [61.5, 62.5]}, "bmi": {"bounds": [15, 40]}}},
    "gaps": {"missing": "complete"},
    "strata": {"strata": {"hiv": {"categories": ["0"]}}, "missing": "complete"},
}


@cache
def table() -> pd.DataFrame:
    draw, frame = np.random.default_rng(3), records()
    return frame.assign(hiv=draw.integers(0, 2, len(frame)), since=draw.permutation(frame["time"]))


@cache
def model() -> dict[str, Any]:
    return dict(ask(table(), TASK)["model"])


def otherwise(name: str) -> Callable[[Any], Any]:
    def changed(request: Any) -> Any:
        judged = request.judged
        return replace(request, judged=replace(judged, question=replace(judged.question, **QUESTIONS[name])))

    return changed


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_a_model_is_evaluated_by_its_own_outcome_and_columns(name: str, held: bool) -> None:
    task, expected = {"model": model()}, pytest.raises(MessageError, match=OTHERWISE)
    guarded = (expected,) if held else (suppress(AlgorithmError), mock.patch.object(partials, "_check_model"))
    with asking("partial_predictors", otherwise(name)) as answered, ExitStack() as stack:
        for one in guarded:
            stack.enter_context(one)  # type: ignore[arg-type]
        ask(table(), task, function="evaluate")
    assert ("partial_predictors" in answered) is not held


def test_control_bounds_of_its_own_tell_central_how_many_have_one_age() -> None:
    asked, honest = list[Any](), Federation.round

    def round_(self: Federation, function: str, request: Any, *more: Any, **others: Any) -> Any:
        replies = honest(self, function, request, *more, **others)
        if function == "partial_predictors":
            total = np.sum([reply.vector.value for reply in replies.values()], axis=0, dtype=np.uint64).view(np.int64)
            question = otherwise("bounds")(request).judged.question
            asked.append(Tally.read(total[: sum(Tally.widths(question))], question))
        return replies

    task, unheld = {"model": model()}, mock.patch.object(partials, "_check_model")
    with (
        mock.patch.object(Federation, "round", round_),
        asking("partial_predictors", otherwise("bounds")),
        unheld,
        suppress(AlgorithmError),
    ):
        ask(table(), task, function="evaluate")
    (tally,) = asked
    assert tally.records - tally.low[0] - tally.high[0] == (table()["age"] == 62).sum()


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_a_baseline_has_the_case_weights_of_the_model(held: bool) -> None:
    def weighted(request: Any) -> Any:
        return replace(request, question=replace(request.question, weights="w"))

    task, expected = {"model": model()}, pytest.raises(MessageError, match=OTHERWISE)
    guard = expected if held else mock.patch.object(partials, "_check_model")
    with asking("partial_hazard", weighted) as answered, asking("partial_tally", weighted), guard:  # type: ignore[attr-defined]
        ask(table(), task, function="baseline")
    assert ("partial_hazard" in answered) is not held


def test_models_with_formulae_strata_and_weights_are_asked_as_they_are() -> None:
    formula = {
        "formula": "age * hiv + bs(bmi, df=3)",
        "features": None,
        "strata": "ward",
        "weights": "w",
        "missing": "complete",
    }
    domain = {"age": {"bounds": [20, 90]}, "bmi": {"bounds": [15, 40]}, "hiv": {"categories": [0, 1]}}
    frame = pd.concat([table().assign(ward="n"), table().assign(ward="s")], ignore_index=True)
    known = {**domain, "ward": {"categories": ["n", "s"]}}
    task = {name: value for name, value in {**TASK, **formula, "domain": known}.items() if value is not None}
    fitted = ask(frame, task)["model"]
    assert ask(frame, {"model": fitted}, function="baseline")["baseline"]
    with suppress(AlgorithmError):  # too few events, but by its own question
        ask(frame, {"model": {**fitted, "weights": None}}, function="evaluate")
