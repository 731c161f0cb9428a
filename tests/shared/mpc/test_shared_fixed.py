"""Products of shared fixed-point vectors: exactness, additivity, uniform views."""

import numpy as np
import pytest

from fedbayes.mpc.relayed_sums import Form, relayed
from fedbayes.mpc.shared_fixed import Dealer, Party
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share

ROWS = 200


class Roles:
    """A dealer and parties that run the same calls."""

    def __init__(self, parties):
        rng = np.random.default_rng()
        keys = [rng.bytes(32) for _ in range(parties)]
        self.dealer = Dealer(keys)
        self.parties = [Party(i, parties, keys[i], self.dealer.corrections) for i in range(parties)]
        self.engines = [self.dealer, *self.parties]
        self.seen = []

    def enter(self, name, owner, values, bits):
        public = self.parties[owner].enter(name, Wide.encode(values, bits))
        self.seen.append(public)
        return [self._entered(engine, name, owner, public, values.shape, bits) for engine in self.engines]

    def _entered(self, engine, name, owner, public, shape, bits):
        return engine.entered(name, owner, None if engine is self.dealer else public, shape, bits)

    def call(self, method, name, *wires):
        return [
            getattr(engine, method)(name, *arguments) for engine, *arguments in zip(self.engines, *wires, strict=True)
        ]

    def product(self, name, *wires):
        return [engine.product(name, list(own)) for engine, *own in zip(self.engines, *wires, strict=True)]

    def multiplied(self, name, bits, *wires):
        """Return the product, opened and cut to `bits`, as the sum of the wire's parts."""
        shares = self.product(name, *wires)
        return self.value(self.open(f"{name}/opened", shares, shares[0].frac_bits - bits))

    def value(self, wires):
        total = wires[1].public
        for wire in wires[1:]:
            total = total + wire.mask
        return total.decode(wires[1].frac_bits)

    def reveal(self, shares):
        total = shares[1]
        for share in shares[2:]:
            total = total + share
        return total.value.decode(total.frac_bits)

    def open(self, name, shares, dropped):
        sent = [engine.open_with(name, share) for engine, share in zip(self.engines, shares, strict=True)]
        bits, shape = shares[0].frac_bits - dropped, shares[0].shape
        whole = sent[1]
        for part in sent[2:]:
            whole = whole + part
        self.seen += [whole, *sent[1:]]
        form, mask = Form(bits, dropped), sent[0]
        public = form.public(form.cut(relayed([form.part(one) for one in sent[1:]])))
        return [
            engine.wire(name, None, shape, bits, dropped, mask)
            if engine is self.dealer
            else engine.wire(name, public, shape, bits, dropped)
            for engine in self.engines
        ]


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_products_of_two_and_three(parties):
    rng = np.random.default_rng(1)
    x, y, z = (rng.normal(size=(ROWS, columns)) for columns in (1, 3, 3))
    roles = Roles(parties)
    a, b, c = (
        roles.enter(name, owner % parties, value, 30) for name, owner, value in (("x", 0, x), ("y", 1, y), ("z", 2, z))
    )
    np.testing.assert_allclose(roles.multiplied("xy", 30, a, b), x * y, atol=1e-7)
    np.testing.assert_allclose(roles.multiplied("xyz", 30, a, b, c), x * y * z, atol=1e-6)
    np.testing.assert_allclose(roles.reveal(roles.call("inner", "inner", b, c)), y.T @ z, atol=1e-5)


@pytest.mark.parametrize("parties", [2, 4])
def test_opening_cuts_bits_and_goes_on(parties):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(ROWS, 1)), rng.normal(size=(ROWS, 1))
    roles = Roles(parties)
    a, b = roles.enter("x", 0, x, 30), roles.enter("y", 1, y, 30)
    opened = roles.open("xy", roles.product("p", a, b), 30)
    again = roles.multiplied("again", 30, opened, a, b)
    np.testing.assert_allclose(again, (x * y) ** 2, atol=1e-6)
    suffix = [wire.apply(Wide.suffix) for wire in opened]
    lifted = [engine.lifted(wire) for engine, wire in zip(roles.engines, suffix, strict=True)]
    np.testing.assert_allclose(roles.reveal(lifted), np.cumsum((x * y)[::-1], axis=0)[::-1], atol=1e-6)


def bits_of(array):
    return np.unpackbits(array.to_words().reshape(-1).view(np.uint8))


def test_what_parties_see_is_uniform():
    roles = Roles(3)
    rows = 4000
    a, b = roles.enter("x", 0, np.ones((rows, 1)), 30), roles.enter("y", 1, np.zeros((rows, 1)), 30)
    roles.open("xy", roles.product("p", a, b), 30)
    views = [*roles.seen, *roles.dealer.corrections.values()]
    for view in views:
        ones = bits_of(view).reshape(-1, 128)
        if len(ones) == rows:
            assert np.all(np.abs(ones.mean(axis=0) - 0.5) < 6 * 0.5 / np.sqrt(rows))
    assert len(views) == 2 + 4 + 1


def test_fresh_sharing_hides_how_a_sum_is_split():
    roles = Roles(3)
    wire = roles.enter("x", 2, np.full((ROWS, 1), 7.0), 10)
    lifted = [engine.lifted(own) for engine, own in zip(roles.engines, wire, strict=True)]
    hidden = [engine.hidden("fresh", share) for engine, share in zip(roles.engines, lifted, strict=True)]
    np.testing.assert_allclose(roles.reveal(hidden), 7.0)
    ones = np.concatenate([bits_of(share.value) for share in hidden[1:]])
    assert abs(ones.mean() - 0.5) < 0.02


def test_misuse_is_refused():
    roles = Roles(2)
    roles.dealer.deal("once", (1,), lambda: Wide.zeros((1,)))
    with pytest.raises(ValueError, match="once only"):
        roles.dealer.deal("once", (1,), lambda: Wide.zeros((1,)))
    with pytest.raises(ValueError, match="missing"):
        roles.parties[-1].deal("never dealt", (1,), lambda: Wide.zeros((1,)))
    with pytest.raises(ValueError, match="shape"):
        roles.parties[-1].deal("once", (2,), lambda: Wide.zeros((2,)))
    share = Share(Wide.zeros((2,)), (2,), 4)
    with pytest.raises(ValueError, match="precision"):
        share + Share(Wide.zeros((2,)), (2,), 5)


@pytest.mark.parametrize("size", [2.0**-20, 1.0, 1e3])
def test_a_wire_is_cut_without_a_message(size):
    values = size * np.random.default_rng(3).normal(size=(ROWS, 2))
    roles = Roles(3)
    wires = roles.enter("x", 1, values, 50)
    cut = [engine.cut("cut", wire, 20) for engine, wire in zip(roles.engines, wires, strict=True)]
    np.testing.assert_allclose(roles.value(cut), values, atol=2.0**-29)


def test_a_square_is_dealt_once():
    values = np.random.default_rng(4).normal(size=(ROWS, 1))
    roles = Roles(2)
    a, b = roles.enter("x", 0, values, 30), roles.enter("y", 1, values, 30)
    np.testing.assert_allclose(roles.multiplied("p", 30, a, b, b), values**3, atol=1e-6)
    assert len(roles.dealer.corrections) == 2 + 1


def test_openings_travel_in_as_few_bytes_as_hold_them():
    rng = np.random.default_rng(5)
    words = Wide.from_words(rng.integers(0, 2**63, (7, 3, 2)).astype(np.uint64))
    for bits in (64, 72, 104, 128):
        packed = words.to_bytes(bits)
        assert packed.shape == (7, 3, bits // 8)
        again = Wide.from_bytes(packed)
        np.testing.assert_array_equal(again.to_words(), words.low_bits(bits).to_words())
