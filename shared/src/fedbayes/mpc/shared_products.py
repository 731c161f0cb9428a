"""Products of private columns with a commodity server: open once, then answer any contingency table.

A *factor* is a matrix (rows x states) that nobody knows in the clear: an indicator matrix or a fixed-point
column of one party, or the row-wise product of such factors. Its mask is the sum of pseudo-random matrices,
one for each *holder*; a holder's matrix follows from the key that it shares with the helper, so the helper
knows the whole mask without a message. What the data parties see is the *opening*: the factor minus its mask.

For factors X and Y with openings x, y and masks R, S: X'Y = x'y + x'S + R'y + R'S. The parties compute the
first three terms, each adding a pseudo-random pad; the helper returns R'S (its size does not depend on the
rows) minus the pads. Only the sum of all shares, which is the answer, can be read. A row-wise product is
opened in the same way, so tables over k columns take ceil(log2 k) - 1 further openings. Alternatively the
helper deals row-wise shares of the products of masks (*subset shares*), and a table over k factors is
answered without a further opening, at 2^k - k - 2 corrections.

**Reveals** to the data parties nothing but the number of rows; to the helper the names and sizes of factors
and the list of questions; to whoever adds the shares of a table that table alone.
**Assumes** that the helper colludes with no data party and with no one who sees openings or shares.

References
----------
.. [1] D. Beaver, "Commodity-based cryptography", STOC 1997.
.. [2] W. Du and Z. Zhan, "Building decision tree classifier on private data", 2002.
.. [3] F. van Daalen et al., "Privacy Preserving n-Party Scalar Product Protocol", IEEE TPDS 34(4), 2023.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fedbayes.mpc import ring
from fedbayes.mpc.factors import Factor, expanded, inner_product, pair_products, row_products, travelling
from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray
from fedbayes.mpc.subset_shares import Correction, Table, correction_pad

from ..typing import Integers


class DataSide:
    """What one data party computes. Arrays are (rows, states) in the common row order and one ring.

    Parameters
    ----------
    own : int
        This party.
    parties : sequence of int
        All data parties.
    key : bytes
        The key of this party and the helper.
    factors : mapping of str to Factor
        Every factor that questions may name.
    openings, masks : mapping of str to ndarray
        Complete openings of all factors; this party's mask parts of those that it holds.
    corrections : mapping of Table to ndarray
        What the helper dealt to this party: (rows, states of the subset).
    dealt : mapping of Table to Correction
        Who pads and who received each subset (`corrections_for` of all tables that were dealt for).
    """

    def __init__(
        self,
        own: int,
        parties: Sequence[int],
        key: bytes,
        factors: Mapping[str, Factor],
        openings: Mapping[str, RingArray],
        masks: Mapping[str, RingArray],
        corrections: Mapping[Table, RingArray] | None = None,
        dealt: Mapping[Table, Correction] | None = None,
    ) -> None:
        self.own = own
        self.parties = tuple(sorted(parties))
        self._key = key
        self._factors = factors
        self._openings = openings
        self._masks = masks
        self._corrections = corrections or {}
        self._dealt = {} if dealt is None else dealt

    def _leads(self, name: str) -> bool:
        return self._factors[name].holders[0] == self.own

    def _with_own(self, name: str, leads: bool) -> RingArray | None:
        """Return [leads] * opening + own mask part, or None where both are absent."""
        mask = self._masks.get(name)
        if not leads:
            return mask
        return self._openings[name] if mask is None else self._openings[name] + mask

    def row_share(self, name: str) -> RingArray | None:
        """Return this party's additive share of a factor's rows, (rows, states), or None where it is zero.

        **Reveals** nothing while it stays here; a linear function of it may leave under a further mask only.
        """
        return self._with_own(name, self._leads(name))

    def answers(self, tables: Sequence[Table], batch: str) -> RingArray:
        """Return this party's padded shares of all tables, flat, in order (C order within a table).

        **Reveals** nothing without the other shares: the pad is uniform and known to the helper alone.
        """
        blocks = self._pair_blocks(_pairs(tables))
        dtype = next(iter(self._openings.values())).dtype
        flat = [self._flat(blocks, table) for table in tables]
        shares = np.concatenate(flat).astype(dtype, copy=False)
        padded: RingArray = shares + answer_pad(self._key, f"{batch}|{_digest(tables)}", len(shares), dtype)
        return padded

    def _pair_blocks(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], RingArray]:
        """Return this party's unpadded shares of tables over two factors."""
        lefts, rights = dict.fromkeys(left for left, _ in pairs), dict.fromkeys(right for _, right in pairs)
        # [leads] x'(y + S) + R'y + [not leads] x'S is x'S and one product more, with y.
        shares = {name: share for name in lefts if (share := self.row_share(name)) is not None}
        held = {name: self._masks[name] for name in rights if name in self._masks}
        openings = {name: self._openings[name] for name in lefts}, {name: self._openings[name] for name in rights}
        return pair_products(pairs, [(openings[0], held), (shares, openings[1])])

    def _flat(self, blocks: Mapping[tuple[str, str], RingArray], table: Table) -> RingArray:
        return (blocks[table[0], table[1]] if len(table) == 2 else self._share(table)).reshape(-1)

    def _share(self, table: Table) -> RingArray:
        """Return the unpadded share of a table over one factor, or over three or more with subset shares."""
        if len(table) == 1:
            part = self._with_own(table[0], self._leads(table[0]))
            width = self._factors[table[0]].states
            dtype = self._openings[table[0]].dtype
            return np.zeros(width, dtype) if part is None else part.sum(axis=0, dtype=dtype)
        sizes = tuple(self._factors[name].states for name in table)
        total = np.zeros(sizes, dtype=self._openings[table[0]].dtype)
        for size in range(len(table)):
            for subset in combinations(table, size):
                share = self._mask_share(subset, table)
                if share is not None:
                    total += self._term(table, subset, share)
        return total

    def _mask_share(self, subset: Table, table: Table) -> RingArray | None:
        if not subset:
            return (
                np.ones((len(self._openings[table[0]]), 1), self._openings[table[0]].dtype)
                if (self._leads(table[0]))
                else None
            )
        if len(subset) == 1:
            return self._masks.get(subset[0])
        dealt = self._dealt[subset]
        if dealt.padder == self.own:
            return correction_pad(self._key, subset, self._shape(subset), self._openings[subset[0]].dtype)
        return self._corrections[subset] if dealt.receiver == self.own else None

    def _shape(self, subset: Table) -> tuple[int, int]:
        width = int(np.prod([self._factors[name].states for name in subset]))
        return len(self._openings[subset[0]]), width

    def _term(self, table: Table, subset: Table, share: RingArray) -> RingArray:
        """Return the sum over rows of (openings outside the subset) x share, axes in the table's order."""
        outside = [name for name in table if name not in subset]
        block = inner_product(row_products([self._openings[name] for name in outside]), share)
        names = [*outside, *subset]
        sizes = [self._factors[name].states for name in names]
        return np.transpose(block.reshape(sizes), [names.index(name) for name in table])

    def product_part(self, factor: Factor, left: str, right: str) -> RingArray:
        """Return this party's part of the opening of the row-wise product `factor`, (rows, width).

        **Reveals** nothing: a holder's part is masked by its share of the new mask.
        """
        x, y = self._openings[left], self._openings[right]
        part = -expanded(self._key, f"mask|{factor.name}", (len(x), factor.width), x.dtype)
        right_side = self._with_own(right, self._leads(left))
        if right_side is not None:
            part += travelling(x, right_side, factor)
        if left in self._masks:
            part += travelling(self._masks[left], y, factor)
        part -= expanded(self._key, f"pad|{factor.name}", part.shape, part.dtype)
        return part


class HelperSide:
    """What the commodity server computes: masks, and never anything that depends on data.

    Parameters
    ----------
    keys : mapping of int to bytes
        The key shared with every data party.
    factors : mapping of str to Factor
        Every factor that questions may name.
    masks : mapping of str to ndarray
        Whole masks, (rows, states), in the common row order.
    """

    def __init__(
        self, keys: Mapping[int, bytes], factors: Mapping[str, Factor], masks: Mapping[str, RingArray]
    ) -> None:
        self._keys = dict(sorted(keys.items()))
        self._factors = factors
        self._masks = masks

    def answers(self, tables: Sequence[Table], batch: str) -> RingArray:
        """Return the helper's shares of all tables, flat: products of masks minus everyone's pads."""
        blocks = pair_products(_pairs(tables), [(self._masks, self._masks)])
        dtype = next(iter(self._masks.values())).dtype
        flat = [blocks[table[0], table[1]].reshape(-1) if len(table) == 2 else self._whole(table) for table in tables]
        shares = np.concatenate(flat).astype(dtype, copy=False)
        answered = f"{batch}|{_digest(tables)}"
        for key in self._keys.values():
            shares = shares - answer_pad(key, answered, len(shares), dtype)
        return shares

    def _whole(self, table: Table) -> RingArray:
        mask = self._masks[table[0]]
        if len(table) == 1:
            return np.zeros(mask.shape[1], dtype=mask.dtype)
        rest = row_products([self._masks[name] for name in table[1:]])
        return inner_product(mask, rest).reshape(-1)

    def correction(self, correction: Correction) -> RingArray:
        """Return what the receiver of row-wise shares is sent: uniform without the padder's key."""
        whole = row_products([self._masks[name] for name in correction.subset])
        pad = correction_pad(self._keys[correction.padder], correction.subset, whole.shape, whole.dtype)
        sent: RingArray = whole - pad
        return sent

    def product_part(self, factor: Factor, left: str, right: str) -> RingArray:
        """Return the helper's part of the opening of a row-wise product, padded by every holder's pad."""
        part = travelling(self._masks[left], self._masks[right], factor)
        for holder in factor.holders:
            part += expanded(self._keys[holder], f"pad|{factor.name}", part.shape, part.dtype)
        return part


def answer_pad(key: bytes, answered: str, size: int, dtype: npt.DTypeLike) -> RingArray:
    """Return the pad of one party's answers to a batch: bound to the round and to the questions."""
    return expand(key, f"answers|{answered}", size, dtype)


def _digest(tables: Sequence[Table]) -> str:
    """Return the digest of questions, in order."""
    return hashlib.sha256(repr(list(tables)).encode()).hexdigest()


def split_answers(total: RingArray, tables: Iterable[Table], factors: Mapping[str, Factor]) -> list[Integers]:
    """Return the tables of a flat sum of shares as signed integers, one axis a factor."""
    lifted, start, answers = ring.lift(total), 0, []
    states = {name: one.states for name, one in factors.items()}
    for table in tables:
        sizes = tuple([states[name] for name in table])
        stop = start + math.prod(sizes)
        answers.append(lifted[start:stop].reshape(sizes))
        start = stop
    return answers


def _pairs(tables: Sequence[Table]) -> list[tuple[str, str]]:
    return [(table[0], table[1]) for table in tables if len(table) == 2]
