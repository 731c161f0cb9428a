"""Arithmetic on fixed-point vectors that no party sees: additive shares over Z/2^128 with a commodity dealer.

Roles: k parties that hold shares and never collude all together, and a dealer without data. The dealer and each
party share one key; random vectors are expansions of these keys, so dealing costs no message except *corrections*, which
one party receives, whichever (the last one if nothing else is said): to it they are uniform, for want of the other parties' keys.

A `Wire` is a value that has been opened under a mask: value = public + mask, where everyone among the parties knows
`public`, which is uniform over the ring, and the mask is additively shared and known to the dealer alone. Sums,
prefix sums and public multiples of wires are wires. A product of wires is a `Share` that each party computes without any message, because the dealer
deals shares of the products of the masks (this generalises Beaver's triples). `open_with` masks a share; the sum of all
parties' openings is public, and dropping its low bits truncates the value. So one opening is paid per multiplicative level.

Nothing is dealt for the product of all masks of a `product` or `bilinear`: the parties leave that term out, so that their openings sum up to the value under
a mask that is smaller by it. That mask is uniform too, and the dealer knows it. So these shares are to be opened, never to be revealed as they are.

An opening needs the low bits only that the value and the guard against wrapping take (`RING_GUARD`): openings travel modulo a smaller power of two.
Whoever relays them may add them and send one array back (`relayed_sums`, where parties see that nothing was changed): of what it
relays it learns the public part, which every party learns too, and the single openings, which are uniform given their sum.

**Reveals** to a party: openings, each masked by a fresh uniform vector, hence uniform and independent of all data. To the dealer: nothing but shapes.
**Assumes** semi-honest parties, at least one of which keeps its shares, and a dealer that colludes with nobody.
Dropping bits is exact to one unit unless the mask wraps: probability 2^-(128 - bits of the value) per element, in
the applications here below 2^-20 for a whole fit, and then the result is visibly absurd.

References
----------
Beaver, Efficient multiparty protocols using circuit randomization, CRYPTO 1991; Mohassel and Zhang, SecureML, S&P
2017, section 4.1 (truncation); Ben-Efraim, Nielsen, Omri, Turbospeedz, ACNS 2019 (masked wires).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import mul

import numpy as np

from .wide import Wide
from .wires import Share, Wire, added, expand_wide, ring_bits


class Engine(ABC):
    """What the dealer and a party have in common: the same program runs at both.

    Parameters
    ----------
    parties : int
        Number of share holders.
    """

    parties: int
    leads: bool = False

    @abstractmethod
    def random(self, name: str, shape: tuple[int, ...]) -> Wide:
        """Return a uniform shared vector: a party's share, or the whole at the dealer."""

    @abstractmethod
    def deal(self, name: str, shape: tuple[int, ...], compute: Callable[[], Wide]) -> Wide:
        """Share what only the dealer can compute; every name once."""

    @abstractmethod
    def entered(self, name: str, owner: int, public: Wide | None, shape: tuple[int, ...], frac_bits: int) -> Wire:
        """Return the wire of a value that one party entered (see `enter`)."""

    def wire(
        self,
        name: str,
        public: Wide | None,
        shape: tuple[int, ...],
        frac_bits: int,
        dropped: int = 0,
        opened: Wide | None = None,
    ) -> Wire:
        """Return the wire of an opening of this name.

        Parameters
        ----------
        name : str
            The name given to `open_with`.
        public : Wide or None
            At a party: the sum of the parties' openings, reduced and cut (`relayed_sums.Form`).
        shape : tuple of int
            Shape of the value.
        frac_bits : int
            Fractional bits after the cut.
        dropped : int
            Bits that are cut.
        opened : Wide or None
            At the dealer: the mask of the openings' sum, from `open_with`.
        """
        if not dropped:
            return Wire(public, -(self.random(name, shape) if opened is None else opened), frac_bits)
        bits = ring_bits(frac_bits, dropped)

        def cut() -> Wide:
            assert opened is not None
            return opened.low_bits(bits).shift_right(dropped)

        return Wire(public, -self.deal(f"{name}/cut", shape, cut), frac_bits)

    def cut(self, name: str, wire: Wire, dropped: int) -> Wire:
        """Return a wire without its `dropped` lowest bits; local, only the shares of the new mask are dealt.

        As `wire` cuts an opening: the public part is uniform over (nearly) the whole ring, so the difference of both parts after the cut is the
        value after the cut, to one unit.
        """
        mask = self.deal(name, wire.shape, lambda: (-wire.mask).shift_right(dropped))
        public = None if wire.public is None else wire.public.shift_right(dropped)
        return Wire(public, -mask, wire.frac_bits - dropped)

    def bilinear(
        self, left: Wire, right: Wire, operation: Callable[[Wide, Wide], Wide], shape: tuple[int, ...]
    ) -> Share:
        """Return the share of a bilinear map of two wires, to be opened; nothing is dealt."""
        frac_bits = left.frac_bits + right.frac_bits
        if left.public is None or right.public is None:
            return Share(operation(left.mask, right.mask), shape, frac_bits)
        factor = right.public + right.mask if self.leads else right.mask
        return Share(operation(left.public, factor) + operation(left.mask, right.public), shape, frac_bits)

    def lifted(self, wire: Wire) -> Share:
        """Return the share of a wire's value."""
        if wire.public is None:
            return Share(Wide.zeros(wire.shape), wire.shape, wire.frac_bits)
        return Share(wire.public + wire.mask if self.leads else wire.mask, wire.shape, wire.frac_bits)

    def product(self, name: str, wires: Sequence[Wire], complete: bool = False) -> Share:
        """Multiply wires element by element (numpy broadcasting); local, without a message.

        The product of (public + mask) over the wires is expanded; the dealer gives shares of every product of two or
        more masks, each once where a wire comes twice; of the product of all masks only if `complete`: if the parties bring the rows into an
        order that the dealer does not know before they open them, or reveal them.
        """
        count, total, frac_bits = len(wires), None, sum(wire.frac_bits for wire in wires)
        shape = np.broadcast_shapes(*(wire.shape for wire in wires))
        dealt_for: dict[tuple[int, ...], Wide] = {}
        for size in range(2, count + complete):
            for chosen in combinations(range(count), size):
                masks = [wires[position].mask for position in chosen]
                part = np.broadcast_shapes(*(mask.shape for mask in masks))
                same = tuple(id(wires[position]) for position in chosen)
                if same not in dealt_for:
                    dealt_for[same] = self.deal(f"{name}/{chosen}", part, lambda masks=masks: reduce(mul, masks))  # type: ignore[misc]
                dealt = dealt_for[same]
                rest = [wire.public for position, wire in enumerate(wires) if position not in chosen]
                if any(public is None for public in rest) or isinstance(self, Dealer):
                    continue
                term = reduce(mul, [*[public for public in rest if public is not None], dealt])
                total = term if total is None else total + term
        if isinstance(self, Dealer):
            left_out = Wide.zeros(shape) if complete else reduce(mul, [wire.mask for wire in wires])
            return Share(left_out, shape, frac_bits)
        return Share(self._first_order(wires, total, shape), shape, frac_bits)

    def _first_order(self, wires: Sequence[Wire], total: Wide | None, shape: tuple[int, ...]) -> Wide:
        """Add the terms with one mask or none."""
        publics = [wire.public for wire in wires if wire.public is not None]
        result = Wide.zeros(shape) if total is None else total + Wide.zeros(shape)
        for position, wire in enumerate(wires):
            result = result + reduce(mul, [*publics[:position], wire.mask, *publics[position + 1 :]])
        return result + reduce(mul, publics) if self.leads else result

    def complete(
        self, name: str, left: Wire, right: Wire, operation: Callable[[Wide, Wide], Wide], shape: tuple[int, ...]
    ) -> Share:
        """Return the share of a bilinear map of two wires with the product of the masks dealt: it may be reordered, or revealed."""
        share = self.bilinear(left, right, operation, shape)
        dealt = self.deal(name, shape, lambda: share.held)  # at the dealer, the product of the masks
        return Share(Wide.zeros(shape) if isinstance(self, Dealer) else share.held + dealt, shape, share.frac_bits)

    def inner(self, name: str, left: Wire, right: Wire) -> Share:
        """Return the share of left' right, to be revealed, for matrices with the same rows; only one small matrix is dealt."""
        share = self.complete(name, left, right, Wide.transposed_product, (left.shape[1], right.shape[1]))
        return Share(None if isinstance(self, Dealer) else share.value, share.shape, share.frac_bits)

    def hidden(self, name: str, share: Share) -> Share:
        """Return a fresh sharing of the same secret, so that revealing all shares reveals the sum alone."""
        zero = self.deal(name, share.shape, lambda: Wide.zeros(share.shape))
        return share if share.value is None else Share(share.value + zero, share.shape, share.frac_bits)

    def open_with(self, name: str, share: Share) -> Wide:
        """Return what this party sends to the others; at the dealer, the mask of their sum."""
        mask = self.random(name, share.shape)
        if share.value is None:
            raise ValueError("a share that is to be revealed cannot be opened")
        return mask - share.value if isinstance(self, Dealer) else share.value + mask


class Party(Engine):
    """A share holder.

    Parameters
    ----------
    index : int
        Position among the parties; the first one leads (adds public terms).
    parties : int
    key : bytes
        32 bytes shared with the dealer, for this job.
    corrections : mapping of str to Wide, optional
        What the dealer sent to the party that receives corrections.
    taker : int, optional
        Position of that party.
    """

    def __init__(
        self,
        index: int,
        parties: int,
        key: bytes,
        corrections: Mapping[str, Wide] | None = None,
        taker: int | None = None,
    ) -> None:
        self.index, self.parties, self.leads = index, parties, index == 0
        self.takes = index == (parties - 1 if taker is None else taker)
        self._key, self._corrections = key, {} if corrections is None else corrections

    def random(self, name: str, shape: tuple[int, ...]) -> Wide:
        """Return this party's share of a uniform vector."""
        return expand_wide(self._key, f"random/{name}", shape)

    def correction(self, name: str) -> Wide:
        """Return a correction of the dealer.

        Raises
        ------
        ValueError
            When it is missing.
        """
        if name not in self._corrections:
            raise ValueError("a correction of the dealer is missing")
        return self._corrections[name]

    def enter(self, name: str, value: Wide) -> Wide:
        """Return this party's own value less a mask that the dealer knows too: what it sends to the others."""
        return value - expand_wide(self._key, f"enter/{name}", value.shape)

    def entered(self, name: str, owner: int, public: Wide | None, shape: tuple[int, ...], frac_bits: int) -> Wire:
        """Return the wire: the owner holds the mask, the others' shares are zero."""
        own = owner == self.index
        return Wire(public, expand_wide(self._key, f"enter/{name}", shape) if own else Wide.zeros(shape), frac_bits)

    def deal(self, name: str, shape: tuple[int, ...], compute: Callable[[], Wide]) -> Wide:
        """Return this party's share of what the dealer computes."""
        if not self.takes:
            return expand_wide(self._key, f"deal/{name}", shape)
        correction = self.correction(name)
        if correction.shape != shape:
            raise ValueError("a correction of the dealer has another shape than it must")
        return correction


class Dealer(Engine):
    """The dealer: it runs the parties' program on the masks alone.

    Parameters
    ----------
    keys : sequence of bytes
        One key per party, in their order.
    taker : int, optional
        Position of the party that receives corrections; the last one if nothing is said.

    Attributes
    ----------
    corrections : dict of str to Wide
        To be sent, sealed, to that party.
    """

    def __init__(self, keys: Sequence[bytes], taker: int | None = None) -> None:
        self.parties, self._keys = len(keys), list(keys)
        self._taker = (self.parties - 1 if taker is None else taker) % self.parties
        self.corrections: dict[str, Wide] = {}

    def random(self, name: str, shape: tuple[int, ...]) -> Wide:
        """Return the sum of all parties' shares."""
        return added(expand_wide(key, f"random/{name}", shape) for key in self._keys)

    def entered(self, name: str, owner: int, public: Wide | None, shape: tuple[int, ...], frac_bits: int) -> Wire:
        """Return the owner's mask as a wire without public part."""
        return Wire(None, expand_wide(self._keys[owner], f"enter/{name}", shape), frac_bits)

    def deal(self, name: str, shape: tuple[int, ...], compute: Callable[[], Wide]) -> Wide:
        """Share a vector: the share of the party that takes corrections goes into `corrections`."""
        if name in self.corrections:
            raise ValueError("a name is dealt once only")
        value = compute()
        rest = value
        for key in (key for index, key in enumerate(self._keys) if index != self._taker):
            rest = rest - expand_wide(key, f"deal/{name}", shape)
        self.corrections[name] = rest
        return value
