"""A central that has values refused in a job that announced private answers only: what a refusal tells would cost nothing, and count as nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from test_held_to import announcing

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards import announced
from fedbayes.federation.messages.codec import Message
from fedbayes.federation.rounds import Federation
from v6_verticox.horizontal.requests import TallyRequest

Asking = Callable[[dict[int, Any]], dict[int, Any]]
"""Asks each member, in a round of its own, and returns what they answer."""
PRIVATE_ONLY = "the job announced private answers only"
HIGHEST = 1e6
HALVINGS = 30  # of a million, to a thousandth
DOMAIN = {"income": {"bounds": [0, HIGHEST]}, "ill": {"categories": ["no", "yes"]}}
ASKED = {"label": "ill", "features": ["income"], "domain": DOMAIN, "epsilon": 0.1}
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "dp_naive_bayes": ("partial_statistics", ASKED),
    "secure_naive_bayes": ("partial_counts", ASKED),
    "discriminative_naive_bayes": ("partial_counts", {**ASKED, "tables": "dp", "rounds": 1}),
}
COX = {
    "time": "time",
    "event": "event",
    "features": ["income"],
    "domain": {"income": {"bounds": [0, HIGHEST]}},
    "split": "horizontal",
    "times": [1, 2, 3, 4, 5],
    "epsilon": 1.0,
    "delta": 1e-6,
}
LIMITS = {"maximum_epsilon": 1}


@cache
def incomes() -> dict[str, pd.DataFrame]:
    draw, found = np.random.default_rng(1), {}
    for name in "abc":
        columns = {"income": draw.lognormal(10, 1, 100).round(2), "ill": draw.choice(["no", "yes"], 100)}
        outcome = {"time": draw.integers(1, 6, 100), "event": draw.integers(0, 2, 100)}
        found[name] = pd.DataFrame({**columns, **outcome})
    return found


def running(method: str) -> InProcess:
    files = {name: table.to_csv(index=False) for name, table in incomes().items()}
    return InProcess(f"v6_{method}", files, dict.fromkeys(files, LIMITS), "a")


def refusing_above(value: Any, bound: float) -> Any:
    """Return a request of which values above a bound are to be refused, and for next to no epsilon."""
    if isinstance(value, Message):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}  # type: ignore[arg-type]
        told = {name: refusing_above(one, bound) for name, one in fields.items()}
        told |= (
            {"outside": "refuse", "domain": {**DOMAIN, "income": {"bounds": [0, bound]}}} if "outside" in told else {}
        )
        told |= {"epsilon": 1e-9} if "honest_fraction" in told else {}
        return replace(value, **told)  # type: ignore[type-var]
    return value


def asked_before(function: str, more: Callable[[Asking, dict[int, Any]], None]) -> Any:
    """Central asks other questions, as many as it likes, before the honest one."""
    honest, done = Federation._ask, list[bool]()

    def ask(self: Federation, asked: str, request: Any, members: Any, timeout: float, last: bool) -> Any:
        if asked == function and not done:
            done.append(True)
            each = request if isinstance(request, dict) else dict.fromkeys(members, request)
            more(lambda changed: honest(self, asked, changed, members, timeout, False), each)
        return honest(self, asked, request, members, timeout, last)

    return mock.patch.object(Federation, "_ask", ask)


def searched(method: str, halvings: int) -> tuple[dict[str, float], set[str], float]:
    """Return the largest value of each station that central finds by halving, what stations say, and their debits for it."""
    function, asked = FITS[method]
    low, high = dict.fromkeys((1, 2, 3), 0.0), dict.fromkeys((1, 2, 3), HIGHEST)
    said, spent = set[str](), list[float]()

    def search(ask: Asking, each: dict[int, Any]) -> None:
        for _ in range(halvings):
            middle = {member: (low[member] + high[member]) / 2.0 for member in each}
            answers = ask({member: refusing_above(request, middle[member]) for member, request in each.items()})
            for member, answer in answers.items():
                kind, words = answer.get("error", ("answered", ""))
                said.add(f"{kind}: {words}")
                spent.append(answer["spent"]["epsilon"])
                (low if kind == "DataProblem" else high)[member] = middle[member]

    with asked_before(function, search), running(method) as party, suppress(MessageError):
        party.run("fit", asked)  # the encryption of what follows is of another round
    return dict(zip("abc", high.values(), strict=True)), said, sum(spent)


@pytest.mark.parametrize("method", FITS)
def test_no_value_is_refused_in_a_job_that_announced_private_answers(method: str) -> None:
    _, said, spent = searched(method, 2)
    assert len(said) == 1
    assert PRIVATE_ONLY in said.pop()
    assert not spent


def test_control_where_it_is_the_largest_value_of_every_station_is_told_for_nothing() -> None:
    with mock.patch.object(announced, "check_exact"):
        found, _, spent = searched("dp_naive_bayes", HALVINGS)
    assert all(abs(found[name] - table["income"].max()) < 0.01 for name, table in incomes().items())
    assert spent < 1e-6


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_no_exact_sum_is_refused_there_for_its_values(held: bool) -> None:
    """Rows are read before an exact number is made: who has a category that a question leaves out would say so in other words than who has not."""
    said = list[set[str]]()

    def tally(ask: Asking, each: dict[int, Any]) -> None:
        del ask
        question = next(iter(each.values())).asked.question
        for categories in (["no", "yes"], ["no"]):
            strata = {"ill": {"categories": categories}}
            grids = {"times": question.times * len(categories), "sizes": [len(question.times)] * len(categories)}
            other = TallyRequest(replace(question, strata=strata, **grids))
            answers = Federation._ask(federations[0], "partial_tally", other, sorted(each), 60.0, False)
            said.append({str(answer.get("error")) for answer in answers.values()})

    federations = list[Federation]()
    opening = Federation.open_channel

    def opened(self: Federation, *asked: Any) -> Any:
        federations.append(self)
        return opening(self, *asked)

    announced_more = announcing(lambda one: replace(one, functions=(*one.functions, "partial_tally")))
    unheld = nullcontext() if held else mock.patch.object(announced, "check_exact")
    deviating = (mock.patch.object(Federation, "open_channel", opened), announced_more, unheld)
    with ExitStack() as stack, running("verticox") as party, suppress(MessageError):
        for change in (*deviating, asked_before("partial_outline", tally)):
            stack.enter_context(change)
        party.run("fit", COX)
    assert (said[0] == said[1]) is held
    assert any(PRIVATE_ONLY in words for words in said[1]) is held
