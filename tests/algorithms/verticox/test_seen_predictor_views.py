"""Solver "bfgs": what leaves a station and the dealer is uniform, and adds up to what is meant."""

import hashlib

import numpy as np
import pytest

from fedbayes.federation import Exact, Masked, Sealed
from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.mpc.secure_sum import pairwise_mask
from fedbayes.mpc.wide import Wide
from v6_verticox.messages.scoring import SUM_BITS
from v6_verticox.messages.setup import Plan
from v6_verticox.rounds.stages import sealed_parts
from v6_verticox.stations.holder import ShareHolder
from v6_verticox.stations.seen import _dealt, masked_predictor, total_predictor
from v6_verticox.stations.sums import masked_for

ROWS = 5000
MEMBERS = (1, 2, 3, 4)
PLAN = Plan([1, 2, 3], [2, 3, 1], 4, ROWS, [ROWS], ROWS, [], 0, True)


class StubChannel:
    def __init__(self, own):
        self.own = own

    def key(self, peer, purpose):
        return hashlib.sha256(f"{sorted((self.own, peer))}{purpose}".encode()).digest()


class StubStation:
    """A station whose seals are readable, and whose masks are those of the channel."""

    def __init__(self, organization, has_data=True):
        self.organization, self.has_data, self.aggregator, self.session = organization, has_data, 1, "job"
        self.channel, self._kept = StubChannel(organization), {}

    def further(self, value):
        return Exact(value)

    def mask(self, content, topic="", alike=True):
        keys = {peer: self.channel.key(peer, "mask") for peer in MEMBERS if peer != self.organization}
        own = content.value.astype(np.uint64)
        return Masked(own + pairwise_mask(self.organization, keys, topic, own.shape), np.zeros(1, dtype=np.uint64))

    def require_asked(self, members):
        assert set(members) <= set(MEMBERS)

    def seal(self, receiver, payload, topic):
        return Sealed(receiver, f"{self.organization}>{receiver}|{topic}|".encode() + payload)

    def unseal(self, sender, sealed, topic):
        head = f"{sender}>{self.organization}|{topic}|".encode()
        assert sealed.content.startswith(head)
        return sealed.content[len(head) :]

    def keep(self, name, **arrays):
        self._kept.setdefault(name, arrays)

    def kept(self, name):
        return self._kept[name]

    def once(self, name, content):
        return self._kept.setdefault(name, content)


def assert_uniform(words):
    ones = np.unpackbits(words.reshape(-1, words.shape[-1]).view(np.uint8), axis=1)
    assert np.all(np.abs(ones.mean(axis=0) - 0.5) < 7 * 0.5 / np.sqrt(len(ones)))


def test_predictors_are_masked_and_only_their_sum_is_seen():
    """Stations with features, the outcome holder and the helper take part in the masks, the last two with zeros."""
    first, second = np.linspace(-3, 3, ROWS), np.ones(ROWS)
    holder = ShareHolder(StubStation(3), PLAN)
    sealed = {
        member: masked_predictor(ShareHolder(StubStation(member), PLAN), 1, own)
        for member, own in ((1, first), (2, second))
    }
    sealed[4] = masked_for(StubStation(4), 3, np.zeros(ROWS), "predictor|1")
    assert masked_for(holder.station, 3, np.zeros(ROWS), "predictor|1") is None
    parts = sealed_parts(sealed)
    for member, payload in parts.items():
        words = np.frombuffer(holder.station.unseal(member, payload, "predictor|1"), dtype="<u8")
        assert_uniform(words.astype(np.uint64)[:, None])
    total = total_predictor(holder, 1, parts)
    np.testing.assert_allclose(total, first + second, atol=2.0 ** (2 - SUM_BITS))
    with pytest.raises(MessageError, match="missing"):
        total_predictor(holder, 1, {1: parts[1]})


def test_predictors_out_of_range_are_refused():
    with pytest.raises(DataProblem, match="range"):
        masked_predictor(ShareHolder(StubStation(1), PLAN), 1, np.full(ROWS, np.nan))


def test_the_dealer_sends_uniform_numbers_and_needs_no_data():
    dealt = _dealt(StubStation(4, has_data=False), PLAN, 39)
    many = np.concatenate([_dealt(StubStation(4, has_data=False), PLAN, step).reshape(-1, 2) for step in range(1, 12)])
    assert dealt.shape == (5, 40, 2)
    assert_uniform(many)
    with pytest.raises(MessageError, match="no data"):
        _dealt(StubStation(4), PLAN, 1)


def test_opened_columns_are_uniform():
    from fedbayes.mpc.wires import expand_wide

    values = Wide.encode(np.zeros((ROWS, 2)), 28) - expand_wide(b"k" * 32, "columns", (ROWS, 2))
    assert_uniform(values.to_words())
