"""Central asks what stations of linked records add up, or show under one mask, in a second round of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness.inprocess import InProcess
from one_process import OneProcess
from test_asked_again import DOMAIN, files
from test_deviating_central import twice
from test_linked_alike import COX, SICK, federation, tables
from views_cases import (
    ENSEMBLE,
    JOINED,
    LIMITS,
    NETWORK,
    SECURE_VERTICAL,
    Question,
    arguments_of,
    question_files,
)

from fedbayes.federation.errors import ConvergenceError, MessageError
from fedbayes.federation.rounds import Federation
from v6_scalar_product import partial as chained
from v6_scalar_product.messages import ChainSumReply
from v6_verticox.messages.seen import MOST_ITERATIONS, AdmmRequest, AuxiliaryRequest
from v6_verticox.messages.setup import Plan

COUNT = {"conditions": SICK, "protocol": "thesis", "id_column": "id"}


def read_by_two_sums(running: OneProcess, monkeypatch: pytest.MonkeyPatch, placed: int) -> int:
    """Return the difference of two sums, of which the second is with the other letter."""
    honest, letter, told = Federation.secure_sum, chained.Chain.letter, list[int]()
    made: dict[int, Any] = {}

    def lettered(self: Any, receiver: int) -> bytes:
        plain = letter(self, receiver)
        if self.own == 2 and receiver == 1:
            words = np.frombuffer(plain, dtype="<u4").copy()
            words[placed] += 1
            made[1] = self.station.seal(1, words.tobytes(), chained.PURPOSE)
        return plain

    def secure_sum(self: Any, function: str, requests: Any, members: Any, reply: Any, **more: Any) -> Any:
        if reply is not ChainSumReply:
            return honest(self, function, requests, members, reply, **more)
        told.append(int(honest(self, function, requests, members, reply)[0]))
        changed = {**requests, 1: replace(requests[1], sealed={**requests[1].sealed, 2: made[1]})}
        total = honest(self, function, changed, members, reply, **more)
        told.append(int(total[0]))
        return total

    monkeypatch.setattr(chained.Chain, "letter", lettered)
    monkeypatch.setattr(Federation, "secure_sum", secure_sum)
    running.run("scalar_product", "count", COUNT)
    return (told[1] - told[0]) % 2**32


def test_terms_of_a_published_count_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a station that sends other openings the second time reads whether one record of the first station satisfies the condition."""
    with federation("b") as running, pytest.raises(MessageError, match="added up once"):
        read_by_two_sums(running, monkeypatch, 0)


@pytest.mark.audit
def test_control_twice_they_tell_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chained, "added_once", lambda *_: None)
    found = []
    with federation("b") as running:
        for placed in range(12):
            with monkeypatch.context() as patch:
                found.append(read_by_two_sums(running, patch, placed))
    assert set(found) == {0, 1}
    assert (tables()["a"]["sex"] == "1").any()


def test_a_published_count_is_of_those_who_opened() -> None:
    with federation("b") as running:
        honest = Federation.secure_sum

        def secure_sum(self: Any, function: str, requests: Any, *rest: Any, **more: Any) -> Any:
            fewer = {member: replace(one, owners=[1, 3]) for member, one in requests.items()}
            return honest(self, function, fewer, *rest, **more)

        with (
            mock.patch.object(Federation, "secure_sum", secure_sum),
            pytest.raises(MessageError, match="with other contents"),
        ):
            running.run("scalar_product", "count", COUNT)


def test_residuals_of_a_step_are_shown_once() -> None:
    """Under one mask: of other residuals, as by the other treatment of ties when a request said which, the difference is that of records."""
    with federation("a") as running:
        asked = {**COX, "solver": "bfgs", "id_column": "id"}
        with twice("partial_residuals", lambda one: one) as answers:
            running.run("verticox", "fit", asked)
        assert answers
        assert all("asked for twice" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("v6_verticox.stations.seen.asked_once")
        with twice("partial_residuals", lambda one: one) as answers, unbound:
            running.run("verticox", "fit", asked)
        assert not any("error" in answer for answer in answers), "control"


def test_the_predictor_at_the_mean_is_told_once() -> None:
    """By other coefficients it is the exact mean of any column."""
    with federation("a") as running:
        asked = {**COX, "id_column": "id"}
        with twice("partial_finish", lambda one: replace(one, coefficients=[1.0] * len(one.coefficients))) as answers:
            running.run("verticox", "fit", asked)
        assert answers
        assert all("asked for twice" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("v6_verticox.stations.private.asked_once")
        with twice("partial_finish", lambda one: one) as answers, unbound:
            running.run("verticox", "fit", asked)
        assert not any("error" in answer for answer in answers), "control"


def test_coefficients_of_the_published_solver_are_told_once() -> None:
    """What each station got of the outcome holder is known to all of them: coefficients at as many steps as there are records are a station's columns."""
    honest, answers = Federation._ask, list[Any]()

    def ask(self: Federation, asked: str, requests: Any, *rest: Any) -> Any:
        replies = honest(self, asked, requests, *rest)
        each = requests if isinstance(requests, dict) else dict.fromkeys(rest[0], requests)
        if asked == "partial_admm" and each[3].report:
            before = {3: replace(each[3], step=each[3].step - 1, stages=[])}
            answers.append(honest(self, asked, before, [3], *rest[1:])[3])
        return replies

    with federation("a") as running, mock.patch.object(Federation, "_ask", ask):
        running.run("verticox", "fit", CONSENSUS)
        assert "asked for twice" in str(answers.pop().get("error"))
        with mock.patch("v6_verticox.stations.consensus.asked_once"):
            running.run("verticox", "fit", CONSENSUS)
        assert "error" not in answers.pop(), "control"


CONSENSUS = {**COX, "solver": "admm", "id_column": "id", "max_rounds": 400, "tolerance": 0.05}
OTHER_PATHS: dict[str, Callable[[Any], Any]] = {
    "sums over events": lambda one: replace(one, observed=[2.0 * number + 1.0 for number in one.observed]),
    "rho": lambda one: replace(one, rho=2.0 * one.rho),
    "update": lambda one: replace(one, update="published"),
}
"""What a central that deviates says from the second iteration on: with it the next coefficients, whose likelihood is told, are where it likes."""


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
@pytest.mark.parametrize("other", OTHER_PATHS)
def test_central_chooses_no_point_of_the_published_solver(other: str, held: bool) -> None:
    refused, later = list[str](), list[int]()

    def elsewhere(one: Any, *_: Any) -> Any:
        return OTHER_PATHS[other](one) if one.step > 1 and not one.report and one.observed else one

    honest = Federation._ask

    def ask(self: Federation, asked: str, requests: Any, *rest: Any) -> Any:
        if asked != "partial_admm":
            return honest(self, asked, requests, *rest)
        answers = honest(self, asked, {member: elsewhere(one) for member, one in requests.items()}, *rest)
        if any(one.step > 1 for one in requests.values()):
            later.append(1)
            refused.extend(str(answer["error"]) for answer in answers.values() if "error" in answer)
            raise MessageError("central has what it wants")
        return answers

    unheld = nullcontext() if held else mock.patch("v6_verticox.stations.consensus.asked_once")
    with federation("a") as running, mock.patch.object(Federation, "_ask", ask), unheld, suppress(MessageError):
        running.run("verticox", "fit", CONSENSUS)
    assert later
    assert bool(refused) is held
    assert all("were others before" in one for one in refused)


def test_the_published_solver_has_so_many_iterations_and_no_more() -> None:
    plan = Plan([1, 2], [1, 1], 3, 100, [100], 100, [], 0, True)
    for step in (0, MOST_ITERATIONS + 1):
        with pytest.raises(ValueError, match="more steps than it may take"):
            AdmmRequest(plan, step, 0.25, [0.0], None, False, "standard", [])
        with pytest.raises(ValueError, match="more steps than it may take"):
            AuxiliaryRequest(plan, step, 0.25, [0.0], {}, "standard")
    assert AdmmRequest(plan, MOST_ITERATIONS, 0.25, [0.0], None, False, "standard", [])


def test_central_asks_for_no_more_iterations_than_stations_answer() -> None:
    with (
        federation("a") as running,
        mock.patch("v6_verticox.solvers.consensus.MOST_ITERATIONS", 2),
        pytest.raises(ConvergenceError, match="2 iterations; raise the tolerance"),
    ):
        running.run("verticox", "fit", {**CONSENSUS, "tolerance": 1e-9})


@pytest.mark.audit
def test_records_of_a_cross_validation_are_cut_once() -> None:
    """Other numbers of folds tell of other groups how many events and rows they have; central at a share holder knows whose, and so solves for each record."""
    with federation("a") as running:
        asked = {
            "model": running.run("verticox", "fit", {**COX, "id_column": "id"})["model"],
            "id_column": "id",
            "folds": 2,
        }
        with twice("partial_split", lambda one: replace(one, folds=3)) as answers:
            running.run("verticox", "evaluate", asked)
        assert answers
        assert all("cut into folds once" in str(answer.get("error")) for answer in answers)
        unbound, untold = (mock.patch(f"v6_verticox.stations.folds.{name}") for name in ("asked_once", "note_told"))
        with twice("partial_split", lambda one: replace(one, folds=3)) as answers, unbound, untold:
            running.run("verticox", "evaluate", asked)
        assert not any("error" in answer for answer in answers), "control"


JUDGED: dict[str, tuple[str, str, dict[str, Any], Callable[[Any], Any]]] = {
    "secure_naive_bayes": (
        "v6_secure_naive_bayes.grading",
        "partial_scores",
        {"split": "vertical", **JOINED},
        lambda one: replace(one, plan=replace(one.plan, counters=one.plan.counters[::-1])),
    ),
    "bayesian_ensemble": (
        "v6_bayesian_ensemble.partial",
        "partial_tally",
        JOINED,
        lambda one: replace(one, vote="log_pool"),
    ),
    "bayesian_ensemble again": ("v6_bayesian_ensemble.partial", "partial_tally", JOINED, lambda one: one),
    "vertibayes again": (
        "v6_vertibayes.partial",
        "partial_tally",
        {"label": "y", "method": "records", **JOINED},
        lambda one: one,
    ),
}
"""Evaluations of linked records: case -> (where it is held, the function that tells, arguments, another question)."""
MODELS = {"secure_naive_bayes": SECURE_VERTICAL, "bayesian_ensemble": ENSEMBLE, "vertibayes": NETWORK}


@pytest.mark.parametrize("case", JUDGED)
@pytest.mark.parametrize("held", [True, False])
def test_linked_records_are_judged_once_and_as_the_model_says(case: str, held: bool) -> None:
    """Else by any column of a holder as the label, or another rule of the votes, in one task: each is another table of predictions."""
    module, function, more, change = JUDGED[case]
    fit = MODELS[case.split()[0]]
    question = Question(fit.method, "evaluate", more, fit.tables, model=fit)
    tables_of = question_files(question, False)
    with ExitStack() as stack:
        for name in () if held else ("scored_once", "asked_once"):
            stack.enter_context(mock.patch(f"{module}.{name}"))
        limits = {party: dict(LIMITS) for party in tables_of}
        running = stack.enter_context(InProcess(f"v6_{fit.method}", tables_of, limits, "a"))
        answers = stack.enter_context(twice(function, change))
        with suppress(MessageError):
            running.run("evaluate", arguments_of(question))
    assert answers
    errors = [str(one["error"]) for one in answers if "error" in one]
    assert len(errors) == (len(answers) if held else 0)
    assert all("once in a job" in text or "for twice" in text for text in errors)


@pytest.mark.parametrize("held", [True, False])
def test_a_classifier_of_whole_records_is_evaluated_by_one_label(held: bool) -> None:
    with InProcess("v6_dp_naive_bayes", files(), {}, "a") as running:
        model = running.run("fit", {"label": "ill", "features": ["sex"], "domain": DOMAIN, "noise": "none"})["model"]
        unheld = nullcontext() if held else mock.patch("fedbayes.federation.horizontal.tallying.asked_once")
        by_another = twice("partial_evaluate", lambda one: replace(one, label="old"))
        with unheld, by_another as answers, suppress(MessageError):
            running.run("evaluate", {"model": model})
    assert len(answers) == 3
    assert all(("one label and unit" in str(one.get("error"))) is held for one in answers)
