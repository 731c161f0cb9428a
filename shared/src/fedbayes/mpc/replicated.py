"""The same products without any dealer: replicated secret sharing among three computing parties.

Every factor is the sum of three shares; computing party ``c`` (0, 1 or 2) lacks share ``c`` and has the two others. A
product of two factors is then a sum of nine products of shares, each of which some computing party can form alone, so
a table over two factors needs no message at all before its answer. A row-wise product is
re-shared in one round: each computing party masks its part of it and passes it to one neighbour.

Owners of data may be any parties: they draw two shares from fresh keys and send the third one, the correction.

**Reveals** to whoever adds the answers the tables asked for; to a computing party two uniform shares of everything.
**Assumes** an honest majority of the computing parties: no two of the three collude. Two of them together read all data.

References
----------
.. [1] T. Araki et al., "High-Throughput Semi-Honest Secure Three-Party Computation with an Honest Majority",
   CCS 2016.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.factors import Factor, expanded, pair_products, travelling, with_last
from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray, negate
from fedbayes.mpc.subset_shares import Table

COMPUTING = 3  # the protocol is for three computing parties
Shares = dict[int, RingArray]
"""The two shares that a computing party has, by share number."""


def share_values(values: RingArray, factor: Factor, keys: Mapping[int, bytes]) -> RingArray:
    """Return the correction, share 0, of a factor; shares 1 and 2 follow from fresh keys.

    Parameters
    ----------
    values : ndarray (rows, width)
        The owner's values in the ring.
    factor : Factor
        Whose shares.
    keys : mapping of int to bytes
        Fresh keys of shares 1 and 2; key ``s`` goes, sealed, to both holders of share ``s`` and to no one else.

    Returns
    -------
    ndarray (rows, width)
        For computing parties 1 and 2: uniform for each of them, as each lacks one of the two keys.
    """
    correction: RingArray = values.copy()
    for share in (1, 2):
        correction -= expand_share(keys[share], factor, len(values), values.dtype)
    return correction


def expand_share(key: bytes, factor: Factor, rows: int, dtype: npt.DTypeLike) -> RingArray:
    """Return a share that follows from its key, (rows, width)."""
    return expanded(key, f"share|{factor.name}", (rows, factor.width), dtype)


def complete_share(share: int, values: RingArray, factor: Factor) -> RingArray:
    """Return a share with all states: the last state's shares sum to one minus the others."""
    if not factor.complete or factor.sides is not None:
        return values
    return with_last(values, int(share == 0))


class ComputingSide:
    """What one of the three computing parties computes.

    Parameters
    ----------
    position : int
        0, 1 or 2.
    neighbors : mapping of int to bytes
        Pairwise keys with the two other computing parties, by position.
    factors : mapping of str to Factor
        Every factor that questions may name.
    shares : mapping of str to Shares
        This party's two complete shares of every factor.
    """

    def __init__(
        self,
        position: int,
        neighbors: Mapping[int, bytes],
        factors: Mapping[str, Factor],
        shares: Mapping[str, Shares],
    ) -> None:
        self.position = position
        self._neighbors = neighbors
        self._factors = factors
        self._shares = shares

    def _sides(self, left: str, right: str) -> list[tuple[RingArray, RingArray]]:
        """Return pairs of matrices whose products add up, over the parties, to the product of the factors."""
        first, second = (self.position + 1) % COMPUTING, (self.position + 2) % COMPUTING
        x, y = self._shares[left], self._shares[right]
        return [(x[first], y[first] + y[second]), (x[second], y[first])]

    def row_share(self, name: str) -> RingArray:
        """Return an additive share of a factor's rows, (rows, states): those of the three computing parties add up to it.

        **Reveals** nothing while it stays here; a linear function of it may leave under a further mask only.
        """
        return self._shares[name][(self.position + 1) % COMPUTING]

    def _zero(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> RingArray:
        """Return this party's part of a pseudo-random sharing of zero."""
        total: RingArray = np.zeros(shape, dtype=dtype)
        for peer, key in self._neighbors.items():
            stream = expand(key, name, shape, dtype)
            total += stream if self.position < peer else negate(stream)
        return total

    def answers(self, tables: Sequence[Table], batch: str) -> RingArray:
        """Return this party's masked shares of tables over one or two factors, flat, in order.

        **Reveals** nothing without the shares of the two others: masks that cancel in the sum.
        """
        pairs = [(table[0], table[1]) for table in tables if len(table) == 2]
        blocks = self._pair_blocks(pairs) if pairs else {}
        flat = [
            (blocks[table[0], table[1]] if len(table) == 2 else self._margin(table[0])).reshape(-1) for table in tables
        ]
        shares = np.concatenate(flat)
        masked: RingArray = shares + self._zero(f"answers|{batch}|{list(tables)!r}", shares.shape, shares.dtype)
        return masked

    def _margin(self, name: str) -> RingArray:
        own = self.row_share(name)
        margin: RingArray = own.sum(axis=0, dtype=own.dtype)
        return margin

    def _pair_blocks(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], RingArray]:
        """Return shares of tables over two factors, see `_sides`."""
        first, second = (self.position + 1) % COMPUTING, (self.position + 2) % COMPUTING
        lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
        both = {name: self._shares[name][first] + self._shares[name][second] for name in rights}
        one = {name: self._shares[name][first] for name in rights}
        terms = [
            ({name: self._shares[name][first] for name in lefts}, both),
            ({name: self._shares[name][second] for name in lefts}, one),
        ]
        return pair_products(pairs, terms)

    def product_part(self, factor: Factor, left: str, right: str) -> RingArray:
        """Return the new share that this party passes to its neighbour `(place + 1) % 3`, (rows, width).

        It is share number ``(place + 2) % 3`` of the product: both know it, the third party does not.
        """
        (a, b), (c, d) = self._sides(left, right)
        part = travelling(a, b, factor) + travelling(c, d, factor)
        masked: RingArray = part + self._zero(f"product|{factor.name}", part.T.shape, part.dtype).T
        return masked
