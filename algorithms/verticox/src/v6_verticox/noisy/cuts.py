"""How far one record reaches in the sums of a step, where its columns are at several stations: cuts that each station makes alone.

The sums are those of a private fit of whole records (`horizontal.private.records`), with other cuts, since nobody sees a whole record. A record with
centred, whitened columns a = (a_1, .., a_K) at K stations has the relative risk w = w_1 .. w_K, at station k exp of its own predictor. Every station
gives it a factor of what it sees itself,

    f_k = g_k h_k,  g_k = min(1, (length_k / |a_k|)^2),  h_k = min(1, cap_k / w_k),

and the record counts by f = f_1 .. f_K in every sum. A station that lacks one of its values gives 0: the record then counts nowhere. As f follows from
features and the point alone, the expected slope stays zero at the true coefficients: to cut so costs precision and makes no bias.

**What a record adds.** Let L^2 be the sum of length_k^2, H the hazard at the end of the grid, R = H cap_1 .. cap_K, d = 1 for an event and else 0, s <= H
the hazard up to the record's time, in parts s_1, s_2, .. by group of cells. Since g_k |a_k| <= length_k, g_k |a_k|^2 <= length_k^2 and f_k w_k <= cap_k,

    slope        |f a (d - w s)|   <= L max(1, R)    d and w s are not negative: their difference is no larger than the larger one;
    missed       |f (d e - w s_.)| <= root(1 + R^2)  e the unit vector of the event's group; w s_. is not negative and adds up to at most R;
    information  |f w s a a'|      <= L^2 R          in the Frobenius norm; |f a a'| <= L^2 where all records count alike;
    drift        |f w a s_.'|      <= L R.

The numbers that are entered, a_k, f_k, f_k w_k, and the outcome holder's with d and s in them, are cut *towards zero* to multiples of a power of two, and
the ring is exact: so these bounds hold for the whole numbers that are added up, with no rounding beside. A record with other values, or one that counts
no more, changes a sum by at most twice that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Booleans, Floats

from ..horizontal.private.layout import PORTIONS, WEIGHTS, Layout
from ..horizontal.private.messages import LARGEST, SlopeRequest
from ..horizontal.private.records import HIGHEST, SMALLEST

NARROW = 1.3
"""Length of whitened columns up to which a record is kept whole at the least, in roots of their number: their mean square is 1."""
LEAST_REACH = 0.1
"""Of R: a hazard of less is taken for as much, so that no block's scale is without bound."""


@dataclass(frozen=True)
class Limits:
    """The cuts of a step, known to all.

    Parameters
    ----------
    lengths, caps : tuple of float
        Of each share holder's whitened columns, and of its factor of the relative risk.
    reach : float
        R, or a little more.
    """

    lengths: tuple[float, ...]
    caps: tuple[float, ...]
    reach: float

    @classmethod
    def of(cls, point: SlopeRequest, widths: Sequence[int]) -> Limits:
        """Return the cuts at a point, for share holders of so many columns.

        L max(1, R) is the step's clip, as near as may be: each takes a root of it. The caps share R out by the deviation of every station's
        predictor, |V_k^-T b_k| for the whitening V_k: who makes no risks needs no room for any.
        """
        end, wide = float(point.hazard[-1]), point.clip / math.sqrt(sum(widths))
        narrow = min(wide, math.sqrt(NARROW * wide))
        spreads = [_spread(point, block) for block in blocks_of(widths)]
        total = sum(spreads)
        room = math.log(max(wide / narrow, 1.0, end) / max(end, SMALLEST)) if end > 0.0 else 0.0
        caps = [math.exp(min(room * spread / total, HIGHEST)) if total > 0.0 else 1.0 for spread in spreads]
        lengths = tuple(narrow * math.sqrt(width) for width in widths)
        return cls(lengths, tuple(caps), max(end * math.prod(caps), LEAST_REACH))

    def layout(self, point: SlopeRequest) -> Layout:
        """Return the layout of the step's vector: the blocks of a fit of whole records, with these norms."""
        columns, longest, reach = len(point.coefficients), math.hypot(*self.lengths), self.reach
        matrix = longest**2 * (reach if point.weighted else 1.0)
        norms = (longest * max(1.0, reach), math.hypot(1.0, reach), matrix, longest * reach)
        sizes = (columns, len(point.groups), columns * (columns + 1) // 2, columns * len(point.periods))
        return Layout(sizes, norms, WEIGHTS[point.step - 1], PORTIONS[point.step])


@dataclass(frozen=True)
class Weighed:
    """One station's records at a point.

    Parameters
    ----------
    columns : ndarray of float, (records, columns)
        a_k, multiples of 2^-bits.
    kept, risk : ndarray of float, (records, 1)
        f_k and f_k w_k, not yet multiples of anything.
    """

    columns: Floats
    kept: Floats
    risk: Floats


def blocks_of(widths: Sequence[int]) -> list[slice]:
    """Return the places of every share holder's columns."""
    ends = np.cumsum(widths)
    return [slice(int(end - width), int(end)) for end, width in zip(ends, widths, strict=True)]


def _spread(point: SlopeRequest, block: slice) -> float:
    """Return the deviation of a station's predictor, if its whitened columns have that of 1, at most `LARGEST`; 0 without columns."""
    own = point.coefficients[block]
    if not len(own):
        return 0.0
    length = np.linalg.norm(np.linalg.lstsq(point.whitening[block, block].T, own, rcond=None)[0])
    return float(np.nan_to_num(np.minimum(length, LARGEST), nan=LARGEST))


def weighed(
    point: SlopeRequest,
    limits: Limits,
    holder: int,
    block: slice,
    columns: Floats,
    known: Booleans,
    bits: int,
) -> Weighed:
    """Return a station's records at a point.

    Parameters
    ----------
    point : SlopeRequest
        Its whitening is used inside the block alone.
    limits : Limits
        The cuts there.
    holder : int
        Position of this share holder.
    block : slice
        Places of its columns.
    columns : ndarray of float, (records, columns of the block)
        Numbers where nothing is known are anything finite.
    known : ndarray of bool, (records,)
        Whether the station has all of the record's values.
    bits : int
        Fractional bits of the columns.
    """
    centred = columns - point.centre[block]
    white = np.trunc(np.ldexp(centred @ point.whitening[block, block].T, bits))
    white = np.where(known[:, None], np.ldexp(white, -bits), 0.0)
    risk = np.exp(np.clip(centred @ point.coefficients[block], -HIGHEST, HIGHEST))
    lengths = np.maximum((white**2).sum(axis=1), SMALLEST)
    kept = np.minimum(1.0, limits.lengths[holder] ** 2 / lengths) if columns.shape[1] else np.ones(len(columns))
    kept = kept * np.minimum(1.0, limits.caps[holder] / risk) * known
    return Weighed(white, kept[:, None], np.minimum(kept * risk, limits.caps[holder])[:, None])
