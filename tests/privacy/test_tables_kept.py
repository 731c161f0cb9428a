"""A central that has a station make exact tables in a classification, whose products it may then ask for: they were kept before the refusal of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from test_deviating_central import twice

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.moduli import published_modulus
from v6_secure_naive_bayes import drawing, partial
from v6_secure_naive_bayes.keying import Keyring
from v6_secure_naive_bayes.messages import FactorsRequest

ROWS = 240
NOISY = 1e-5
"""An epsilon under which no count stays what it was."""
DOMAIN = {name: {"categories": ["no", "yes"]} for name in ("ill", "old", "rich", "tall")}
ASKED = {
    "label": "ill",
    "features": ["old", "rich", "tall"],
    "domain": DOMAIN,
    "records": [{"old": "yes", "rich": "no", "tall": "yes"}],
    "epsilon": NOISY,
    "modulus_bits": 2048,
}
EXACT = {"epsilon": 0.0, "whole": 0.0, "classes": False, "release": True}


def files() -> dict[str, str]:
    """Records split by columns over three stations, each of which has the label."""
    draw = np.random.default_rng(6)
    columns = {name: draw.choice(["no", "yes"], ROWS) for name in DOMAIN}
    owned = zip("abc", ("old", "rich", "tall"), strict=True)
    return {party: pd.DataFrame({n: columns[n] for n in ("ill", own)}).to_csv(index=False) for party, own in owned}


@contextmanager
def running() -> Iterator[InProcess]:
    """Three stations that let records be classified."""
    with InProcess("v6_secure_naive_bayes", files(), {}, "a") as federation:
        for number in (1, 2, 3):
            federation.limit(number, {"FEDBAYES_ALLOW_PREDICTIONS": "true"})
        yield federation


def answers_of(goes_on: bool) -> dict[str, list[Any]]:
    """Return what stations answer to a central that asks for exact tables first, which are refused, and then for noisy ones, or for products at once."""
    asking, answers = Federation._ask, dict[str, list[Any]]()

    def ask(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        def keep(kind: str, asked: str, changed: Any) -> Any:
            found = asking(self, asked, changed, organizations, *rest)
            answers[kind] = [found[member] for member in sorted(found)]
            return found

        if name != "partial_tables":
            return asking(self, name, request, organizations, *rest)
        keep("exact", name, {member: replace(one, **EXACT) for member, one in request.items()})
        if not goes_on:
            keep("products", "partial_factors", dict.fromkeys(organizations, product()))
        return keep("noisy", name, request)

    with mock.patch.object(Federation, "_ask", ask), running() as federation, suppress(MessageError, AlgorithmError):
        federation.run("classify", ASKED)
    return answers


def product() -> FactorsRequest:
    """The product of a station's counts of one value, by class: the counts themselves."""
    keyring = Keyring(published_modulus(2048), (1, 2, 3), products=True)
    return FactorsRequest(keyring.keying(1), np.ones((1, 1), dtype=np.int32), 2)


def refused(answers: list[Any], text: str) -> bool:
    return all(text in str(answer.get("error")) for answer in answers)


def test_nobody_multiplies_tables_that_were_refused() -> None:
    answers = answers_of(goes_on=False)
    assert refused(answers["exact"], "announced private answers only")
    assert refused(answers["products"], "an earlier round of this job is missing")


def test_noisy_tables_are_not_those_of_a_round_that_was_refused() -> None:
    answers = answers_of(goes_on=True)
    assert refused(answers["exact"], "announced private answers only")
    told = np.frombuffer(answers["noisy"][0]["reply"]["classes"]["data"], dtype="<i8")
    assert np.any(np.abs(told) > ROWS)  # noise of a scale of 400,000


def whole_budget(request: Any) -> Any:
    """A station spends alone what all stations share: the records lose as many times the epsilon as there are stations."""
    return replace(request, epsilon=request.whole / (len(request.columns.features) + request.classes))


def asked_of(function: str) -> dict[str, Any]:
    """Return the arguments of a classification, or of a fit to the same columns."""
    common = {name: ASKED[name] for name in ("label", "features", "domain", "epsilon")}
    return ASKED if function == "classify" else {**common, "split": "vertical"}


def told_instead(function: str, unheld: Any, change: Callable[[Any], Any]) -> list[Any]:
    """Return what three stations answer where a central that deviates asks for other tables; `unheld` patches a check out, None none."""
    asking, answers = Federation._ask, list[Any]()

    def ask(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if name != "partial_tables":
            return asking(self, name, request, organizations, *rest)
        found = asking(self, name, {member: change(one) for member, one in request.items()}, organizations, *rest)
        answers.extend(found[member] for member in sorted(found))
        raise MessageError("central has what it wants")

    with (
        unheld or nullcontext(),
        mock.patch.object(Federation, "_ask", ask),
        running() as federation,
        suppress(MessageError, AlgorithmError),
    ):
        federation.run(function, asked_of(function))
    assert len(answers) == 3
    return answers


def spent(answers: list[Any]) -> float:
    return sum(answer["spent"]["epsilon"] for answer in answers)


HELD = pytest.mark.parametrize("held", [True, False], ids=["held", "control"])


@pytest.mark.parametrize("function", ["classify", "fit"])
@HELD
def test_no_station_spends_alone_what_all_share(function: str, held: bool) -> None:
    answers = told_instead(function, None if held else mock.patch.object(partial, "check_part"), whole_budget)
    if held:
        assert refused(answers, "as its part of the budget")
    else:
        assert spent(answers) == pytest.approx(3 * NOISY)


@pytest.mark.parametrize("function", ["classify", "fit"])
@HELD
def test_nor_in_several_rounds(function: str, held: bool) -> None:
    """Each station debits no more than is announced, and the records lose what all of them debit."""
    with (
        nullcontext() if held else mock.patch.object(drawing, "asked_once"),
        twice("partial_tables", lambda one: one) as answers,
        running() as federation,
        suppress(MessageError, AlgorithmError),
    ):
        federation.run(function, asked_of(function))
    assert len(answers) == 3
    if held:
        assert refused(answers, "asked for twice")
    else:
        assert spent(answers) == pytest.approx(NOISY), "the whole epsilon once more"


@pytest.mark.parametrize("function", ["classify", "fit"])
@HELD
def test_class_counts_are_told_by_one_station_where_they_are_no_margins(function: str, held: bool) -> None:
    """Every station that tells them too spends as much again as on a table."""
    unheld = None if held else mock.patch.object(partial, "check_part")
    answers = told_instead(function, unheld, lambda one: replace(one, classes=True))
    if held:
        assert refused(answers[function == "classify" :], "as its part of the budget")
    else:
        assert spent(answers) > 1.4 * NOISY


@pytest.mark.parametrize("function", ["classify", "fit"])
def test_control_their_parts_they_spend(function: str) -> None:
    with running() as federation, suppress(AlgorithmError):
        result = federation.run(function, asked_of(function))
    debits = result["federation"]["debits"].values()
    assert sum(costs["epsilon"] for costs in debits) == pytest.approx(NOISY)


def test_tables_of_columns_that_no_station_was_asked_for_have_no_part() -> None:
    asked = lambda station: ["ill"]  # noqa: E731
    with (
        mock.patch.object(drawing.holding, "asked", asked),
        mock.patch.object(partial.holding, "check_alone"),
        running() as federation,
        pytest.raises(MessageError, match="as its part of the budget"),
    ):
        federation.run("classify", ASKED)
