"""Central tells a station the roles and rules of a job once: no later round has others, whoever is told them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from one_process import OneProcess
from test_linked_alike import DOMAIN, SICK, federation, tables

from fedbayes.federation.errors import AlgorithmError, MessageError, ThresholdError
from fedbayes.federation.guards import announced
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import workspace
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.messages import MatchRequest, Setup

JOINED = {"id_column": "id"}
COUNT = {"conditions": SICK, **JOINED}
NOISY = {"columns": ["sex", "ill", "where"], "domain": {**DOMAIN, "where": DOMAIN["sex"]}, "epsilon": 1.0, **JOINED}
RULES: dict[str, Callable[[Setup], Any]] = {
    "neighbors": lambda setup: "zero_out",
    "domain": lambda setup: {},
    "missing_state": lambda setup: not setup.missing_state,
    "unhidden": lambda setup: not setup.unhidden,
    "stations": lambda setup: setup.stations[::-1],
    "union": lambda setup: bool(setup.helper),
}
"""Rules of which central tells another one, where a helper matches records and where stations do."""


def told(request: Any, rule: Callable[[Setup], Setup]) -> Any:
    """Return a request with another setup."""
    if hasattr(request, "delivery"):
        return replace(request, delivery=replace(request.delivery, setup=rule(request.delivery.setup)))
    return replace(request, setup=rule(request.setup))


def otherwise(rule: Callable[[Setup], Setup], when: Callable[[str, Any], bool]) -> Any:
    """Have central tell everybody that it asks other rules in some rounds."""
    ask = Federation._ask

    def asking(self: Federation, function: str, requests: Any, organizations: Any, *rest: Any) -> Any:
        each = requests if isinstance(requests, dict) else dict.fromkeys(organizations, requests)
        changed = {at: told(one, rule) if when(function, one) else one for at, one in each.items()}
        return ask(self, function, changed, organizations, *rest)

    return mock.patch.object(Federation, "_ask", asking)


@pytest.mark.parametrize("helper", ["helper", "none"])
@pytest.mark.parametrize("name", RULES)
def test_no_later_round_has_other_rules(name: str, helper: str) -> None:
    def rule(setup: Setup) -> Setup:
        return replace(setup, **{name: RULES[name](setup)})

    if helper == "none" and name == "union":
        return  # no request says so
    later = otherwise(rule, lambda function, _: function == "partial_tables")
    with federation() as running, later, pytest.raises(MessageError, match="other roles or rules"):
        running.run("scalar_product", "contingency", {**NOISY, "helper": helper})


def alone(lying: bool = True) -> list[int]:
    """Return what is told of the records above an age, which is one person, that satisfy a condition of another station; nodes have the limits of default.

    Central says, when columns are opened, that noise will cover whom conditions single out; and when it asks, that answers are exact.
    """
    found: list[int] = []
    ask = Engine.ask

    def asked(self: Engine, *arguments: Any, **named: Any) -> Any:
        counts = ask(self, *arguments, **named)
        found.extend(int(one.sum()) for one in counts)
        return counts

    def covered(setup: Setup) -> Setup:
        return replace(setup, private=True, guarded=False, covered=True, missing_state=True)

    def opening(function: str, request: Any) -> bool:
        return lying and (function == "partial_submit" or isinstance(request, MatchRequest))

    border = float(np.sort(tables()["a"]["age"])[-2:].mean())
    question = {"conditions": [{"column": "age", "op": ">", "value": border}, *SICK[1:]], "helper": "none", **JOINED}
    with otherwise(covered, opening), mock.patch.object(Engine, "ask", asked):
        running = OneProcess(tables(), helpers=["helper"])
        with running, suppress(ThresholdError):  # central's own, which a central that deviates leaves out
            running.run("scalar_product", "count", question)
    return found


def test_columns_that_were_opened_unguarded_are_not_told_exactly() -> None:
    with pytest.raises(MessageError, match="other roles or rules"):
        alone()


def test_control_told_twice_one_person_is_counted() -> None:
    records = tables()
    eldest = records["a"].loc[records["a"]["age"].idxmax(), "id"]
    ill = records["b"].set_index("id").loc[eldest, "ill"]
    assert not alone(lying=False), "the owner of the ages refuses the condition"
    with mock.patch.object(workspace, "asked_once"):
        assert alone()[0] == int(ill == "1")


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_a_private_job_has_no_rules_by_which_values_are_refused(held: bool) -> None:
    """Else a category that somebody has and the domain lacks is refused by name, for nothing, as no debit comes before it."""

    def rule(setup: Setup) -> Setup:
        domain = {**setup.domain, "ill": {"categories": setup.domain["ill"]["categories"][:1]}}
        return replace(setup, domain=domain, private=False, guarded=False, covered=False)

    words = "announced private answers only" if held else "'ill'"
    unheld = nullcontext() if held else mock.patch.object(announced, "check_exact")
    with (
        federation() as running,
        otherwise(rule, lambda function, _: function == "partial_submit"),
        unheld,
        pytest.raises(AlgorithmError, match=words),
    ):
        running.run("scalar_product", "contingency", NOISY)
