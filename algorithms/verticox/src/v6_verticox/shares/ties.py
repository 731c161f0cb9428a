"""Efron's ties at the cost of Breslow's: the risk sets of d tied events as linear maps of the rows' sums.

Rows are in the secret order, tied events before the censored records of their time. V(i) is the sum from row i to the end of the stratum. The
risk set of the l-th of d tied events whose rows begin at f is S - (l/d) T = (1 - l/d) V(f) + (l/d) V(f + d), l = 0, ..., d - 1, and belongs to row f + l.
Every event is a risk set of its own, and rows do not grow with ties.

- **Large ties**, of at least `minimum_count` events, are public: a node reveals such counts. The map is then a public one, and costs nothing. Blank rows
  (risk zero) hide how many rows lie between two of them: every gap is filled up to a multiple of `minimum_count`, and what is left of a constant
  number of blank rows is put in front.
- **Small ties** stay secret: the outcome holder enters the difference of that map from the identity, K = ((1 - l/d) - [m >= l]), masked, by diagonals
  (row, place of m less place of l). The corrections K w, K (w x) and K' q are products of two wires, opened beside what is opened anyway.

References
----------
Efron, The efficiency of Cox's likelihood function for censored data, JASA 72, 1977, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.wide import Wide
from fedbayes.typing import Floats, Indices

TIE_BITS = 20  # of l / d: exact for ties of a power of two, else to 1e-6 of one tied event
MEAN_BITS = 40  # of 1 / d, where tied events have their mean: to 1e-9 of it for ties of a thousand
BLANK = -1  # where no record is: no place is negative


@dataclass(frozen=True)
class Rows:
    """The rows of a stratum after another, in the secret order.

    Parameters
    ----------
    record : ndarray of int, (rows,)
        The record of each row; `BLANK` for none.
    sizes : list of int
        Rows of each stratum.
    large : list of (int, int)
        First row and number of events of every public tie.
    small : list of (int, int)
        The same of the others with two events or more.
    """

    record: Indices
    sizes: list[int]
    large: list[tuple[int, int]]
    small: list[tuple[int, int]]

    @property
    def band(self) -> int:
        """Most events of a small tie; 0 without any."""
        return max((size for _, size in self.small), default=0)


def arranged(
    order: Indices, time: Floats, event: npt.NDArray[np.int_], stratum: npt.NDArray[np.int_], limit: int
) -> Rows:
    """Lay out rows.

    Parameters
    ----------
    order : ndarray of int, (records,)
        Records by stratum, time, and events first.
    time, event, stratum : ndarray, (records,)
        In table order.
    limit : int
        Fewest events of a public tie, and the multiple that gaps are filled up to; 0: no tie is treated apart (Breslow).
    """
    if limit == 0:
        return Rows(order.astype(np.intp), np.unique(stratum, return_counts=True)[1].tolist(), [], [])
    record: list[int] = []
    sizes: list[int] = []
    large: list[tuple[int, int]] = []
    small: list[tuple[int, int]] = []
    for code in np.unique(stratum):
        own = order[stratum[order] == code]
        begins = np.flatnonzero(np.r_[True, np.diff(time[own]) > 0])
        parts = [
            (own[a:b], int(event[own[a:b]].sum())) for a, b in zip(begins, np.r_[begins[1:], len(own)], strict=True)
        ]
        laid, public, private = _laid(parts, limit)
        large += [(len(record) + first, size) for first, size in public]
        small += [(len(record) + first, size) for first, size in private]
        record += laid
        sizes.append(len(laid))
    return Rows(np.array(record, dtype=np.intp), sizes, large, small)


def _laid(
    parts: list[tuple[Indices, int]], limit: int
) -> tuple[list[int], list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the rows of one stratum, and where its large and small ties begin."""
    is_large = [limit > 0 and events >= max(limit, 2) for _, events in parts]
    blanks = (limit - 1) * (sum(is_large) + 1) if any(is_large) else 0
    rows: list[int] = []
    large: list[tuple[int, int]] = []
    small: list[tuple[int, int]] = []
    gap: list[int] = []
    waiting: list[tuple[int, int]] = []

    def fill() -> None:
        nonlocal blanks, gap, waiting
        missing = -len(gap) % limit if gap and any(is_large) else 0
        blanks -= missing
        start = len(rows) + missing
        small.extend((start + position, size) for position, size in waiting)
        rows.extend([BLANK] * missing + gap)
        gap, waiting = [], []

    for (members, events), public in zip(parts, is_large, strict=True):
        if public:
            fill()
            large.append((len(rows), events))
            rows.extend(int(row) for row in members[:events])
            gap.extend(int(row) for row in members[events:])
            continue
        if limit and events > 1:
            waiting.append((len(gap), events))
        gap.extend(int(row) for row in members)
    fill()
    shifted = [[(first + blanks, size) for first, size in ties] for ties in (large, small)]
    return [BLANK] * blanks + rows, shifted[0], shifted[1]


def diagonals(rows: int, small: Sequence[tuple[int, int]], band: int, flat: bool = False) -> Floats:
    """Return K by diagonals, (rows, 2 band - 1); column band - 1 is the main one. `flat`: Breslow's risk sets."""
    shares = np.zeros((rows, max(2 * band - 1, 0)))
    for first, size in small:
        row, other = np.divmod(np.arange(size * size), size)
        shares[first + row, band - 1 + other - row] = (1.0 if flat else 1.0 - row / size) - (other >= row)
    return shares


def _shifted(values: Wide, steps: int) -> Wide:
    """Return row i + steps at row i, zeros beyond the ends."""
    if steps == 0:
        return values
    kept = values[steps:] if steps > 0 else values[:steps]
    zeros = Wide.zeros((abs(steps), *values.shape[1:]))
    return Wide.concatenate([kept, zeros] if steps > 0 else [zeros, kept], axis=0)


def corrected(bands: Wide, values: Wide) -> Wide:
    """Return K times values, (rows, columns)."""
    middle, total = bands.shape[1] // 2, Wide.zeros(values.shape)
    for column in range(bands.shape[1]):
        total = total + bands[:, [column]] * _shifted(values, column - middle)
    return total


def corrected_back(bands: Wide, values: Wide) -> Wide:
    """Return K' times values, (rows, columns)."""
    middle, total = bands.shape[1] // 2, Wide.zeros(values.shape)
    for column in range(bands.shape[1]):
        total = total + _shifted(bands[:, [column]] * values, middle - column)
    return total


def less_next(values: Wide) -> Wide:
    """Return every row less the one behind it.

    Of K v that is what small ties add to v where tied events have their mean: row l of K less row l + 1, which is none behind the tie, is 1/d - [m = l].
    """
    return values - _shifted(values, 1)


@dataclass(frozen=True)
class PublicTies:
    """The public map of large ties, times 2^TIE_BITS, and its transpose.

    Parameters
    ----------
    ties : sequence of (int, int)
        First row and size.
    rows : int
    ends : tuple of int
        One past the last row of each stratum.
    flat : bool
        Breslow's risk sets: every tied event has that of the first.
    """

    ties: Sequence[Sequence[int]]
    rows: int
    ends: tuple[int, ...]
    flat: bool = False

    @cached_property
    def _places(self) -> tuple[Indices, Indices, Indices, Wide, Wide]:
        """Row of every tied event, first row of its tie, the row behind the tie (`rows` if the stratum ends), both factors."""
        sizes = np.array([size for _, size in self.ties], dtype=np.intp)
        first = np.repeat([start for start, _ in self.ties], sizes).astype(np.intp)
        rank = np.concatenate([np.arange(size) for size in sizes]) if len(sizes) else np.zeros(0, dtype=np.intp)
        behind = first + np.repeat(sizes, sizes)
        behind = np.where(np.isin(behind, self.ends), self.rows, behind).astype(np.intp)
        share = np.zeros(len(rank)) if self.flat else rank / np.repeat(sizes, sizes)
        lower = np.rint(share * 2.0**TIE_BITS).astype(np.uint64)[:, None]
        upper = np.uint64(2**TIE_BITS) - lower
        return first + rank, first, behind, Wide(np.zeros_like(upper), upper), Wide(np.zeros_like(lower), lower)

    def risk(self, sums: Wide) -> Wide:
        """Return the risk-set sums of every row, from the sums V; TIE_BITS more fractional bits."""
        event, first, behind, upper, lower = self._places
        padded = Wide.concatenate([sums, Wide.zeros((1, *sums.shape[1:]))], axis=0)
        result = sums.times(1 << TIE_BITS)
        tied = padded[first] * upper + padded[behind] * lower
        result.high[event], result.low[event] = tied.high, tied.low
        return result

    def averaged(self, values: Wide) -> Wide:
        """Return values of the rows in which tied events have their mean; MEAN_BITS more fractional bits."""
        result = values.times(1 << MEAN_BITS)
        for start, size in self.ties:
            mean = values[start : start + size].total().times(round(2.0**MEAN_BITS / size))
            result.high[start : start + size], result.low[start : start + size] = mean.high, mean.low
        return result

    def back(self, values: Wide) -> Wide:
        """Return the transposed map before it is summed from the first row on; TIE_BITS more fractional bits."""
        event, _, behind, upper, lower = self._places
        result = values.times(1 << TIE_BITS)
        result.high[event], result.low[event] = np.uint64(0), np.uint64(0)
        padded = Wide.concatenate([result, Wide.zeros((1, *values.shape[1:]))], axis=0)
        own, begin = values[event], 0
        for start, size in self.ties:
            part, begin = slice(begin, begin + size), begin + size
            for target, factor in ((start, upper), (int(behind[part.start]), lower)):
                summed = padded[target] + (own[part] * factor[part]).total()
                padded.high[target], padded.low[target] = summed.high, summed.low
        return padded[: self.rows]
