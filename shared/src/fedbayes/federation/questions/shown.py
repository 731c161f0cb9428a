"""What of one column's counts is shown: small ones are hidden, bins united until each holds enough, quantiles follow from what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...bayes.counts import profile
from ...bayes.schema import NEARLY_ALL, Column
from ...typing import Integers
from ..messages.codec import Message
from .suppression import suppress

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the quantiles that describe a number


class Shown(Message):
    """Of one column.

    Attributes
    ----------
    records : int
        Rows.
    counts : list of int or None
        Rows of each category or bin, then those outside the domain and those that are missing; None where hidden.
    edges : list of float
        Of the bins that are left; empty of categories.
    nearly_all : str
        What nearly all records are, ``outside`` the domain or ``missing``; empty if neither.
    """

    records: int
    counts: list[int | None]
    edges: list[float]
    nearly_all: str

    def __post_init__(self) -> None:
        values = len(self.counts) - profile.BESIDE
        if (
            values < 1
            or (self.edges and len(self.edges) != values + 1)
            or self.nearly_all not in ("", "outside", "missing")
        ):
            raise ValueError("counts, edges and what nearly all are do not fit one another")

    @classmethod
    def of(cls, column: Column, counts: Integers, bins: Any, minimum: int, loud: float = 0.0) -> Shown:
        """Return what may be shown of a column's counts.

        Parameters
        ----------
        column : Column
            Its public domain.
        counts : ndarray of int64
            As `profile.cell_counts` gives them.
        bins : int or list of float
            Of a numeric column.
        minimum : int
            Smallest count that is shown.
        loud : float
            Up to this, a difference of counts is taken for noise.
        """
        values, beside = counts[: -profile.BESIDE], counts[-profile.BESIDE :]
        edges = np.empty(0)
        if not column.is_categorical:
            edges = column.edges(bins)
            if minimum > 1:
                values, edges = profile.merged(values, edges, minimum)
        every = np.concatenate([values, beside])
        hidden = np.zeros(len(every), dtype=np.bool_)
        # What is empty beside the values is shown as empty, and hides nothing else.
        kept = np.concatenate([np.arange(len(values)), len(values) + np.flatnonzero(beside)])
        hidden[kept] = suppress(every[kept], minimum)
        cells = [None if secret else int(count) for count, secret in zip(every, hidden, strict=True)]
        total, outside, missing = (float(part) for part in (counts.sum(), counts[-2], counts[-1]))
        nearly_all = "missing" if missing - loud > NEARLY_ALL * total else ""
        if outside - loud > NEARLY_ALL * (total - missing):
            nearly_all = "outside"
        return cls(int(counts.sum()), cells, edges.tolist(), nearly_all)

    @property
    def cuts(self) -> list[float]:
        """The points at which rows are told apart: the edges, of which the last is the first number beyond the bounds."""
        return [*self.edges[:-1], float(np.nextafter(self.edges[-1], np.inf))] if self.edges else []

    def entry(self, column: Column) -> dict[str, Any]:
        """Return what a result says of the column."""
        entry: dict[str, Any] = {"records": self.records, "outside": self.counts[-2], "missing": self.counts[-1]}
        counts = self.counts[: -profile.BESIDE]
        if not self.edges:
            return {**entry, "categories": {"values": list(column.categories or ()), "counts": counts}}
        return {**entry, "bins": {"edges": self.edges, "counts": counts}, "quantiles": self._quantiles()}

    def _quantiles(self) -> dict[str, float] | None:
        """Return the quantiles that follow from what is shown alone: what it leaves of all records is spread over the hidden bins."""
        secret = [count is None for count in self.counts[: -profile.BESIDE]]
        if all(secret):
            return None
        rest = (self.records - sum(count or 0 for count in self.counts)) / max(sum(secret), 1)
        counts = [rest if count is None else count for count in self.counts[: -profile.BESIDE]]
        values = profile.quantiles(np.array(counts), np.array(self.edges), LEVELS)
        return None if values is None else dict(zip(map(str, LEVELS), values, strict=True))
