"""A central that asks for whole noise at each station where the researcher asked for shares of it inside the sum: every station's own noisy numbers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness.inprocess import InProcess
from test_held_to import asking, rewritten
from test_honest_fraction import FILES, LABELLED

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards import announced
from fedbayes.federation.rounds import Federation
from v6_dp_naive_bayes import aggregate, partial
from v6_dp_naive_bayes.model import Plan

EPSILON = 15.0  # of which the noise of a station alone moves few counts
OWN_NUMBERS = "asks for a station's own numbers"


def of_each(federation: Federation, stations: Sequence[int], plan: Plan, rule: str) -> Any:
    return aggregate.collect_sum(
        federation, stations, replace(plan, noise=replace(plan.noise, placement="local")), rule
    )


def fitted(collect: Any, held: bool = True, **more: Any) -> tuple[list[Any], list[Any]]:
    """Return what central reads of each station, and what each counted."""
    replies, counted = list[Any](), list[Any]()
    rounds, queries = Federation.round, partial._queries

    def noted(self: Federation, *given: Any, **named: Any) -> Any:
        replies.append(rounds(self, *given, **named))
        return replies[-1]

    def noted_queries(station: Any, plan: Plan, private: bool) -> Any:
        found = queries(station, plan, private)
        counted.append(np.concatenate([query.values.ravel() for query in found]))
        return found

    with (
        mock.patch.object(Federation, "round", noted),
        mock.patch.object(partial, "_queries", noted_queries),
        mock.patch.dict(aggregate.AGGREGATIONS, sum=collect),
        nullcontext() if held else mock.patch.object(announced, "check_summed"),
        InProcess("v6_dp_naive_bayes", FILES["horizontal"](False), {}, "a") as running,
    ):
        running.run("fit", {**LABELLED, "epsilon": EPSILON, **more})
    return [reply.vector.value for reply in replies[-1].values()], counted


def test_no_station_tells_its_own_numbers_where_shares_of_noise_were_announced() -> None:
    with pytest.raises(MessageError, match=OWN_NUMBERS):
        fitted(of_each)


def test_control_unheld_each_tells_them() -> None:
    told, counted = fitted(of_each, held=False)
    assert len(told) == len(counted) == len(FILES["horizontal"](False))
    assert all(min(np.abs(own - found).mean() for found in counted) < 1.0 for own in told)


def test_where_the_researcher_asks_for_that_each_does() -> None:
    told, counted = fitted(aggregate.collect_sum, noise="local")
    assert len(told) == len(counted)


def test_nor_do_scores() -> None:
    """Sums of an evaluation, too, may have noise at each station."""
    with InProcess("v6_dp_naive_bayes", FILES["horizontal"](False), {}, "a") as running:
        model = running.run("fit", {**LABELLED, "epsilon": 1.0})["model"]
        with (
            asking(lambda one: rewritten(one, "placement", lambda _: "local")),
            pytest.raises(MessageError, match=OWN_NUMBERS),
        ):
            running.run("evaluate", {"model": model, "epsilon": 1.0})
