"""Shares add up only if everyone was sent the same: openings, orders, descriptions of factors, questions."""

import dataclasses
import hashlib

import numpy as np
import pytest

from fedbayes.federation.questions.factor_info import FactorInfo
from fedbayes.federation.vertical.agreement import CHECK_WORDS, bound, with_check
from fedbayes.federation.vertical.messages import Delivery, Setup

ROWS = 12
SETUP = Setup(9, [1, 2, 3], "id", False, {}, "quantile", False)
INFOS = {
    "a": FactorInfo("a", ["a"], [1], 2, True, 32, 0, [1]),
    "b": FactorInfo("b", ["b"], [2], 1, True, 32, 0, [2]),
    "ab": FactorInfo("ab", ["a", "b"], [1, 2], 2, True, 32, 1, [1, 2, 9], True, "", ["a", "b"], [3, 2]),
}


class Workspace:
    """What `bound` asks of an organization; `sent` says what differs here."""

    def __init__(self, own, setup, sent):
        self.own, self.setup, self.is_helper = own, setup, own == 9
        self._sent = sent

    def key(self, peer, purpose):
        return hashlib.sha256(f"{min(self.own, peer)}|{max(self.own, peer)}|{purpose}".encode()).digest()

    def seen(self, what, sender, stage):
        if self.is_helper:
            assert sender == 9, "the helper is sent no openings"
        return self._sent.get((sender, stage), f"{what}{sender}{stage}".encode())

    def order_of(self, party):
        return self._sent.get("order", {}).get(party, np.arange(ROWS))


def total(differing=0, infos=INFOS, question="q", setup=SETUP, sent=None):
    """Return the sum of everybody's shares, of which organization `differing` was sent something else."""
    shares = []
    members = [*setup.stations, *([setup.helper] if setup.helper else [])]
    for own in members:
        other = own == differing
        described = list((infos if other else INFOS).values())
        delivery = Delivery(setup, ROWS, described, [], None, [], [])
        workspace = Workspace(own, setup, (sent or {}) if other else {})
        values = with_check(np.full(5, own, dtype=np.uint16))
        shares.append(bound(workspace, delivery, ["ab"], question if other else "q", values, members))
    return sum(shares[1:], shares[0])


@pytest.mark.parametrize("setup", [SETUP, dataclasses.replace(SETUP, helper=0, stations=[1, 2, 3, 4])])
def test_shares_add_up_where_everyone_was_sent_the_same(setup):
    expected = sum(setup.stations) + setup.helper
    assert total(setup=setup).tolist() == [expected] * 5 + [0] * CHECK_WORDS


@pytest.mark.parametrize(
    "difference",
    [
        {"differing": 2, "sent": {(1, 0): b"other"}},
        {"differing": 3, "sent": {(9, 1): b"other"}},
        {"differing": 1, "sent": {"order": {2: np.arange(ROWS)[::-1]}}},
        {"differing": 9, "sent": {"order": {2: np.arange(ROWS)[::-1]}}},
        {"differing": 2, "question": "another"},
        {"differing": 9, "question": "another"},
        {"differing": 3, "infos": {**INFOS, "b": dataclasses.replace(INFOS["b"], complete=False, width=2)}},
    ],
)
def test_one_that_was_sent_something_else_spoils_every_number(difference):
    spoilt = total(**difference)
    assert spoilt[-CHECK_WORDS:].any()
    assert (spoilt[:5] != 15).sum() >= 4
