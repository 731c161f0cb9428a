"""A central that asks a station anew for what one debit has paid: noisy answers to one question, drawn twice, would tell what the noise hides."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from io import StringIO
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.horizontal import CountNoise
from fedbayes.federation.perimeter.opening import Relation
from fedbayes.federation.rounds import Federation
from v6_discriminative_naive_bayes import partial
from v6_discriminative_naive_bayes.messages import StepRequest

DOMAIN = {"sex": {"categories": ["f", "m"]}, "ill": {"categories": ["no", "yes"]}, "old": {"categories": ["no", "yes"]}}
ASKED = {
    "label": "ill",
    "features": ["sex"],
    "domain": DOMAIN,
    "epsilon": 1.0,
    "aggregation": "gossip",
    "noise": "local",
}

OTHER = {name: DOMAIN[name] for name in ("ill", "old")}
OTHERS = "the noise of a release is for others"


def of_rows(noise: CountNoise, tables: str) -> Relation:
    """Noise of whole stations taken for that of rows."""
    return noise.relation


def files() -> dict[str, str]:
    draw = np.random.default_rng(5)
    columns = {name: draw.choice(entry["categories"], 200) for name, entry in DOMAIN.items()}
    return dict.fromkeys("abc", pd.DataFrame(columns).to_csv(index=False))


@contextmanager
def again(function: str, change: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """Central asks every station once more, in a round of its own, before it goes on; yields what they answer."""
    asking, answers = Federation._ask, list[Any]()

    def ask_twice(self: Federation, asked: str, request: Any, organizations: Any, timeout: float, last: bool) -> Any:
        twice = asked == function and not answers
        found = asking(self, asked, request, organizations, timeout, last and not twice)
        if twice:
            each = request if isinstance(request, dict) else dict.fromkeys(organizations, request)
            changed = {member: change(each[member]) for member in organizations}
            answers.extend(asking(self, asked, changed, organizations, timeout, last).values())
        return found

    with mock.patch.object(Federation, "_ask", ask_twice):
        yield answers


def run(change: Callable[[Any], Any]) -> list[Any]:
    """Return what stations answer to a second question about statistics that go round by gossip."""
    party = InProcess("v6_dp_naive_bayes", files(), {}, "a")
    with again("partial_gossip", change) as answers, party as running, suppress(MessageError):
        running.run("fit", ASKED)  # what goes on after a step too many adds up to something else
    return answers


def other_columns(request: Any) -> Any:
    plan, columns = request.plan, request.plan.columns
    return replace(request, plan=replace(plan, columns=replace(columns, features=["old"], domain=OTHER)))


@pytest.mark.parametrize("change", [lambda one: one, other_columns], ids=["noise", "columns"])
def test_statistics_that_are_paid_once_are_drawn_once(change: Callable[[Any], Any]) -> None:
    assert all("spent in this job" in str(answer["error"]) for answer in run(change))


def test_control_the_next_step_is_answered() -> None:
    answers = run(lambda one: replace(one, step=1))
    assert ["error" in answer for answer in answers] == [True, False, False], (
        "a adds what c sends it, which it lacks here"
    )


def halved(change: Callable[[Any], Any]) -> list[Any]:
    """Return what stations answer to a second question after the first step of a fit whose tables had half of the budget."""
    asked = {"label": "ill", "features": ["sex"], "domain": DOMAIN, "epsilon": 1.0, "tables": "dp", "rounds": 2}
    party = InProcess("v6_discriminative_naive_bayes", files(), {}, "a")
    with again("partial_step", change) as answers, party as running, suppress(MessageError):
        running.run("fit", {**asked, "optimizer": "fedavg"})
    return answers


def of_all(request: Any) -> Any:
    """The next step, as if no tables had been told."""
    domain = {name: DOMAIN[name] for name in ("sex", "ill")}
    shape = replace(request.shape, tables="local", columns=replace(request.shape.columns, domain=domain))
    return replace(request, shape=shape, counts=None, step=2)


@pytest.mark.parametrize("held", [True, False], ids=["relation", "division"])
def test_steps_have_no_whole_budget_beside_tables(held: bool) -> None:
    """Such steps are for whole stations, which the job did not announce; if they were not, the division of the budget would refuse them."""
    unheld = mock.patch.object(partial, "relation_of", of_rows)
    with nullcontext() if held else unheld:
        answers = halved(of_all)
    assert all((OTHERS if held else "spent in this job") in str(answer["error"]) for answer in answers)


def test_control_the_step_itself_is_answered() -> None:
    assert all("error" not in answer for answer in halved(lambda request: replace(request, step=2)))


EXACT: dict[str, tuple[dict[str, Any], str, Callable[[Any], Any]]] = {
    "dp_naive_bayes": ({"features": ["sex"], "noise": "none"}, "partial_statistics", other_columns),
    "dp_naive_bayes as published": (
        {
            "features": ["sex"],
            "sensitivity": "published",
            "epsilon": 1.0,
            "noise": "local",
            "statistics": "gaussian",
            "delta": 0.0,
        },
        "partial_statistics",
        lambda one: one,
    ),
    "smooth_naive_bayes again": (
        {"features": ["sex"], "sensitivity": "published", "epsilon": 1.0},
        "partial_release",
        lambda one: one,
    ),
    "smooth_naive_bayes": (
        {"features": ["sex"], "sensitivity": "published", "epsilon": 1.0},
        "partial_release",
        lambda one: replace(one, columns=replace(one.columns, features=["old"], domain=OTHER)),
    ),
    "vertibayes": (
        {"columns": ["ill", "sex"], "split": "horizontal"},
        "partial_counts",
        lambda one: replace(one, domain={**one.domain, "sex": {"categories": ["f", "x"]}}),
    ),
    "secure_naive_bayes": (
        {"features": ["sex"], "noise": "none", "modulus_bits": 2048},
        "partial_counts",
        lambda one: replace(one, columns=replace(one.columns, features=["old"], domain=OTHER)),
    ),
}
"""Fits to whole records: method -> (arguments, the function that tells, another question)."""


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("held", [True, False])
def test_a_fit_without_a_promise_asks_one_question(method: str, held: bool) -> None:
    """Else a row of all stations that one table counts and another one does not is told in one task, without the researcher."""
    more, function, change = EXACT[method]
    asked = {"label": "ill", "domain": {name: DOMAIN[name] for name in ("sex", "ill")}, **more}
    method = method.split()[0]
    module = importlib.import_module(f"v6_{method}.partial")
    unheld = nullcontext() if held else mock.patch.object(module, "asked_once")
    party = InProcess(f"v6_{method}", files(), {}, "a")
    with unheld, again(function, change) as answers, party as running, suppress(MessageError):
        running.run("fit", asked)
    assert len(answers) == 3
    assert all(("asks one question" in str(answer.get("error"))) is held for answer in answers)


def by_columns() -> dict[str, str]:
    """Return the label beside one feature at each of three stations."""
    table = pd.read_csv(StringIO(files()["a"])).assign(rich=lambda all_of: all_of["old"])
    owned = zip("abc", ("sex", "old", "rich"), strict=True)
    return {name: table[["ill", feature]].to_csv(index=False) for name, feature in owned}


def of_fewer(request: Any) -> Any:
    """Tables of those who are ill or not, of whom one state is known of the feature."""
    (feature,) = request.columns.features
    domain = request.columns.domain
    known = {"categories": domain[feature]["categories"][:1]}
    return replace(request, columns=replace(request.columns, domain={**domain, feature: known}))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("more", [{"noise": "none"}, {"epsilon": 1e5}], ids=["exact", "next to no noise"])
def test_a_fit_to_columns_without_a_promise_asks_one_question(more: dict[str, Any], held: bool) -> None:
    """Each station shows its own tables: those of two domains may differ by a row."""
    asked = {"label": "ill", "domain": {**DOMAIN, "rich": DOMAIN["old"]}, "split": "vertical", **more}
    module = importlib.import_module("v6_secure_naive_bayes.partial")
    unheld = nullcontext() if held else mock.patch.object(module, "asked_once")
    party = InProcess("v6_secure_naive_bayes", by_columns(), {}, "a")
    with unheld, again("partial_tables", of_fewer) as answers, party as running, suppress(MessageError):
        running.run("fit", asked)
    assert len(answers) == 3
    assert all(("asks one question" in str(answer.get("error"))) is held for answer in answers)


def of_fewer_edges(request: Any) -> Any:
    return replace(request, columns=["sex"], minimum_count=2.0)


def as_it_is(request: Any) -> Any:
    return request


ENSEMBLES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "member": ("partial", of_fewer_edges),
    "tested": ("local", as_it_is),
}


@pytest.mark.parametrize("asked_of", ENSEMBLES)
@pytest.mark.parametrize("held", [True, False])
def test_an_ensemble_of_whole_records_asks_one_question(asked_of: str, held: bool) -> None:
    """Two networks of one station's rows, or how often members are right that differ in a row, would tell of it."""
    named, change = ENSEMBLES[asked_of]
    module = importlib.import_module(f"v6_bayesian_ensemble.{named}")
    unheld = nullcontext() if held else mock.patch.object(module, "asked_once")
    party = InProcess("v6_bayesian_ensemble", files(), {}, "a")
    with unheld, again(f"partial_{asked_of}", change) as answers, party as running, suppress(MessageError):
        running.run("fit", {"label": "ill", "domain": DOMAIN, "split": "horizontal", "weights": "score"})
    assert len(answers) == 3
    assert all(("asks one question" in str(answer.get("error"))) is held for answer in answers)


def test_members_that_are_tested_are_one_of_each_station() -> None:
    """Each more would be another count of the rows that it predicts otherwise."""
    asking, answers = Federation._ask, list[Any]()

    def twice(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == "partial_tested":
            members = request.model["members"]
            request = replace(request, model={**request.model, "members": [*members, members[0]]})
            answers.extend(asking(self, function, request, organizations, *rest).values())
            raise MessageError("central has what it wants")
        return asking(self, function, request, organizations, *rest)

    party = InProcess("v6_bayesian_ensemble", files(), {}, "a")
    with mock.patch.object(Federation, "_ask", twice), party as running, suppress(MessageError):
        running.run("fit", {"label": "ill", "domain": DOMAIN, "split": "horizontal", "weights": "score"})
    assert len(answers) == 3
    assert all("not one of each station" in str(answer["error"]) for answer in answers)


@pytest.mark.parametrize("held", [True, False])
def test_columns_are_described_once(held: bool) -> None:
    """Central sees sums over all stations before small ones are hidden: those of two domains may differ by a row."""
    unheld = nullcontext() if held else mock.patch("fedbayes.federation.remote.looking.asked_once")
    party = InProcess("v6_dp_naive_bayes", files(), {}, "a")
    change = again("partial_describe", lambda one: replace(one, domain={**one.domain, "sex": {"categories": ["f"]}}))
    with unheld, change as answers, party as running, suppress(MessageError):
        running.run("describe", {"domain": OTHER | {"sex": DOMAIN["sex"]}})
    assert len(answers) == 3
    assert all(("asks one question" in str(answer.get("error"))) is held for answer in answers)


def by_stations(held: bool) -> list[Any]:
    """Return what stations answer to a step under their own tables, for whole stations, in a fit that announced noise for rows, before any tables."""
    asked = {"label": "ill", "features": ["sex"], "domain": DOMAIN, "epsilon": 1.0, "rounds": 1, "optimizer": "fedavg"}
    asking, answers = Federation._ask, list[Any]()

    def step(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if name == "partial_counts":
            shape = replace(request.shape, tables="local")
            weights = np.ones((1, shape.layout.parameters))
            first = StepRequest(shape, weights, None, 5, 0.0, False, request.noise, 1.0, 1, 1)
            answers.extend(asking(self, "partial_step", first, organizations, *rest).values())
        return asking(self, name, request, organizations, *rest)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Federation, "_ask", step))
        if not held:
            stack.enter_context(mock.patch.object(partial, "relation_of", of_rows))
        running = stack.enter_context(InProcess("v6_discriminative_naive_bayes", files(), {}, "a"))
        with suppress(MessageError):
            running.run("fit", asked)
    return answers


def test_noise_for_whole_stations_is_none_for_their_rows() -> None:
    """One row can turn an improvement round: under noise for stations that come or go it loses up to twice the epsilon."""
    assert all(OTHERS in str(answer["error"]) for answer in by_stations(held=True))


def test_control_unchecked_the_step_for_stations_is_answered() -> None:
    assert all("error" not in answer for answer in by_stations(held=False))
