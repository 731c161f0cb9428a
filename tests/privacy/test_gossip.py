"""Gossip under a central that deviates: it learns the total alone, whatever it has stations do, though every station's noise would cover its own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness.inprocess import InProcess
from test_asked_again import ASKED, files

from fedbayes.federation.rounds import Federation
from v6_dp_naive_bayes import gossip, partial
from v6_dp_naive_bayes.messages import GossipReply

STATIONS = (1, 2, 3)
Ask = Callable[..., Any]
ANYTHING = gossip.Move(None, None, False, True)
"""What a central would have a station do that tells it anything."""


def seen_by(deviate: Callable[[Ask, Federation, Any], Any]) -> list[Any]:
    """Return the answers to what a central that deviates asks first in a fit, in place of the first step of gossip."""
    asking, answers = Federation._ask, list[Any]()

    def ask(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == "partial_gossip" and not answers:
            answers.extend(deviate(lambda *asked: asking(self, function, *asked, *rest), self, request).values())
            raise StopIteration
        return asking(self, function, request, organizations, *rest)

    party = InProcess("v6_dp_naive_bayes", files(), {}, "a")
    with mock.patch.object(Federation, "_ask", ask), party, pytest.raises(Exception, match="unexpected"):
        party.run("fit", ASKED)
    return answers


def vectors(answers: list[Any]) -> list[Any]:
    """Return the vectors that answers hold in the open."""
    return [
        answer["reply"]["vector"]
        for answer in answers
        if "reply" in answer and answer["reply"].get("vector") is not None
    ]


def first(ask: Ask, federation: Federation, requests: Any) -> Any:
    """The first step, as it should be."""
    return ask(requests, STATIONS)


def alone(ask: Ask, federation: Federation, requests: Any) -> Any:
    """One station, as if there were no others: the first step is the last one then."""
    return ask({1: requests[1]}, (1,))


def two(ask: Ask, federation: Federation, requests: Any) -> Any:
    """Two of them: the total of two."""
    ask({member: requests[member] for member in (1, 2)}, (1, 2))
    return ask({member: replace(requests[member], step=1) for member in (1, 2)}, (1, 2))


def at_once(ask: Ask, federation: Federation, requests: Any) -> Any:
    """The last step after the first one, and nothing of the others: what the first station then tells is its own."""
    ask(requests, STATIONS)
    last = len(gossip.schedule(STATIONS))
    for step in range(1, last):
        ask({member: replace(requests[member], step=step) for member in STATIONS}, STATIONS)
    return ask({member: replace(requests[member], step=last) for member in STATIONS}, STATIONS)


@pytest.mark.parametrize("deviate", [first, alone, two, at_once], ids=lambda one: one.__name__)
def test_central_sees_no_stations_own_statistics(deviate: Any) -> None:
    assert not vectors(seen_by(deviate))


def test_what_central_deviates_by_is_named() -> None:
    assert all("some are not asked" in str(answer["error"]) for answer in [*seen_by(alone), *seen_by(two)])
    errors = [str(answer.get("error")) for answer in seen_by(at_once)]
    assert "earlier round" in errors[0], "what it skipped was refused, so that it holds nothing to tell"
    assert "lacks the vector" in errors[2]


def test_control_stations_that_do_what_central_says_tell_their_own() -> None:
    with mock.patch.object(partial, "_move", return_value=ANYTHING):
        told = vectors(seen_by(first))
    assert len(told) == len(STATIONS)
    assert len({str(np.asarray(one).tolist()) for one in told}) > 1


def test_a_vector_of_another_station_is_not_added() -> None:
    """Letters of the wrong sender, or none, leave no step undone unnoticed."""
    for member in STATIONS:
        for step in range(len(gossip.schedule(STATIONS)) + 1):
            move = gossip.move_of(STATIONS, member, step)
            assert (move.sender is None) == (step == 0 or member not in gossip.schedule(STATIONS)[step - 1].values()), (
                "a station takes exactly what the step before sent it"
            )
            assert move.tells == (member == 1 and step == len(gossip.schedule(STATIONS)))
    with pytest.raises(ValueError, match="no such step"):
        gossip.move_of(STATIONS, 1, 9)
    assert set(GossipReply.__dataclass_fields__) == {"sealed", "digest", "vector"}
