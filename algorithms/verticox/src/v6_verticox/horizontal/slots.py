"""Places of the grid: of every stratum its times and one place beyond them; sums over who is at risk at each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fedbayes.typing import Floats, Indices


class Slots:
    """The places of `sizes` times a stratum: of one stratum after the other its times in order, then one place for what is beyond them.

    A record is at risk from its first place, the first time of the grid after its entry, to the last, the first time that is not before its own.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)

    @property
    def count(self) -> int:
        """How many places there are."""
        return sum(self.sizes) + len(self.sizes)

    @cached_property
    def starts(self) -> Indices:
        """First place of every stratum, and the end of all, (strata + 1,)."""
        return np.concatenate([[0], np.cumsum(np.array(self.sizes, dtype=np.intp) + 1)]).astype(np.intp)

    @cached_property
    def beyond(self) -> Indices:
        """Place beyond the times of every stratum, (strata,)."""
        return np.asarray(self.starts[1:] - 1)

    @cached_property
    def timed(self) -> Indices:
        """Places that are times, (times,)."""
        return np.setdiff1d(np.arange(self.count), self.beyond).astype(np.intp)

    @cached_property
    def begins(self) -> Indices:
        """First place of every place's stratum, (places,)."""
        return np.repeat(self.starts[:-1], np.diff(self.starts)).astype(np.intp)

    def parts(self, values: Floats) -> list[Floats]:
        """Return values by place, (..., places), a stratum each."""
        return np.split(values, self.starts[1:-1], axis=-1)

    def at_risk(self, values: Floats, first: Indices, last: Indices) -> Floats:
        """Return the sums over the records that are at risk at each time, (times, columns); `values` (records, columns)."""
        change = np.zeros((self.count, values.shape[1]))
        np.add.at(change, last, values)
        late = first > self.begins[first]
        np.add.at(change, first[late] - 1, -values[late])
        total = np.concatenate([np.cumsum(part[::-1], axis=0)[::-1] for part in np.split(change, self.starts[1:-1])])
        return np.asarray(total[self.timed])

    def within(self, values: Floats, last: Indices) -> Floats:
        """Return the sums over the records of each time, (times, columns)."""
        total = np.zeros((self.count, values.shape[1]))
        np.add.at(total, last, values)
        return np.asarray(total[self.timed])

    def spread(self, own: Floats) -> Floats:
        """Return what is given by time, (times, columns), by place, (places, columns); zeros beyond."""
        filled = np.zeros((self.count, own.shape[1]))
        filled[self.timed] = own
        return filled

    def during(self, own: Floats, first: Indices, last: Indices) -> Floats:
        """Return the sums over the times at which each record is at risk of what is given by time, (records, columns)."""
        by_place = self.spread(own)
        before = np.concatenate([np.cumsum(part, axis=0) for part in np.split(by_place, self.starts[1:-1])])
        return np.asarray(before[last] - before[first] + by_place[first])
