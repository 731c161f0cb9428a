"""A central that has one network of its own making tested as every station's member: of sums over all but one station each station's own part follows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import test_members_asked
from harness.inprocess import InProcess

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station
from v6_bayesian_ensemble import local
from v6_bayesian_ensemble.own_members import OTHERS

FIT = {**test_members_asked.FIT, "weights": "score"}
PARTIES = "abcd"


def files() -> dict[str, str]:
    draws = {party: np.random.default_rng(place) for place, party in enumerate(PARTIES)}
    return {
        party: pd.DataFrame(
            {name: draw.choice(test_members_asked.BINARY["categories"], 60) for name in FIT["domain"]}
        ).to_csv(index=False)
        for party, draw in draws.items()
    }


def one_network(request: Any) -> Any:
    """The first station's network under the names of all."""
    first, *_ = request.model["members"]
    kept = ("name", "stations", "weight")
    members = [{**first, **{name: one[name] for name in kept}} for one in request.model["members"]]
    return replace(request, model={**request.model, "members": members})


def one_count_more(request: Any) -> Any:
    """Every network with one record more of one configuration."""
    members = [{**one, "rows": one["rows"] + 1} for one in request.model["members"]]
    return replace(request, model={**request.model, "members": members})


def exchanged(request: Any) -> Any:
    """What the first two stations sealed, each for the other."""
    first, second, *_ = request.seals
    return replace(request, seals={**request.seals, first: request.seals[second], second: request.seals[first]})


def unsealed(request: Any) -> Any:
    return replace(request, seals={})


def sums_of(change: Callable[[Any], Any], *more: Any) -> tuple[list[Any], dict[int, Any]]:
    """Return the sums that central makes of a fit in which it asks so, and each station's part of them."""
    asking, mask, summing = Federation._ask, Station.mask, Federation.secure_sum
    sums, parts = list[Any](), dict[int, Any]()

    def ask(self: Federation, asked: str, request: Any, *rest: Any) -> Any:
        return asking(self, asked, change(request) if asked == "partial_tested" else request, *rest)

    def noted(self: Station, content: Any, *rest: Any, **named: Any) -> Any:
        if self.function == "partial_tested":
            parts[self.organization] = content.value.view(np.int64).reshape(len(PARTIES), 2, 2)
        return mask(self, content, *rest, **named)

    def noted_sum(self: Federation, *rest: Any, **named: Any) -> Any:
        sums.append(summing(self, *rest, **named))
        return sums[-1]

    changes = (
        mock.patch.object(Federation, "_ask", ask),
        mock.patch.object(Station, "mask", noted),
        mock.patch.object(Federation, "secure_sum", noted_sum),
    )
    with ExitStack() as stack, InProcess("v6_bayesian_ensemble", files(), {}, "a") as running:
        for one in (*changes, *more):
            stack.enter_context(one)
        running.run("fit", FIT)
    return sums, parts


def test_members_as_they_were_told_are_tested() -> None:
    sums, parts = sums_of(lambda request: request)
    assert (np.asarray(sums[0]).view(np.int64) == sum(parts.values()).ravel()).all()


@pytest.mark.parametrize("change", [one_network, one_count_more, exchanged, unsealed])
def test_other_members_are_not(change: Callable[[Any], Any]) -> None:
    with pytest.raises(MessageError, match=OTHERS + "|a sealed message"):
        sums_of(change)


def test_control_where_nobody_looks_how_often_one_network_is_right_at_every_station_alone_is_told() -> None:
    sums, parts = sums_of(one_network, mock.patch.object(local, "check_members"), suppress(AlgorithmError))
    found = np.asarray(sums[0]).view(np.int64).reshape(len(PARTIES), 2, 2)
    alone = found.sum(axis=0) // (len(PARTIES) - 1) - found
    for place, organization in enumerate(sorted(parts)):
        another = (place + 1) % len(PARTIES)  # a station tests the members of the others, here all one network
        assert (alone[place] == parts[organization][another]).all()
        assert alone[place].any()


def test_nothing_is_sealed_where_no_member_is_tested() -> None:
    replies, rounds = list[Any](), Federation.round

    def noted(self: Federation, *asked: Any, **more: Any) -> Any:
        replies.append(rounds(self, *asked, **more))
        return replies[-1]

    with mock.patch.object(Federation, "round", noted), InProcess("v6_bayesian_ensemble", files(), {}, "a") as running:
        running.run("fit", {**FIT, "weights": "uniform"})
    assert [reply.seals for reply in replies[0].values()] == [[]] * len(PARTIES)
