"""What a station does with noise: it pays first, then adds its share, and only then are counts a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...dp.laws import Change
from ...typing import Integers
from ..gate import Exact, Receipt, Released
from ..guards.installments import one_budget, one_question
from ..perimeter.opening import Relation
from ..station import Station
from .noise import CountNoise, Query


def added(parts: Iterable[Sequence[Query]]) -> list[Query]:
    """Return the queries of a table of the queries of its parts, of which there is one or more: their values add up over rows."""
    rest = iter(parts)
    total = list(next(rest))
    for part in rest:
        total = [replace(sum_, values=sum_.values + one.values) for sum_, one in zip(total, part, strict=True)]
    return total


def pay_part(
    station: Station,
    noise: CountNoise,
    queries: float,
    change: Change,
    note: str,
    part: str,
    summed: bool = True,
    relation: Relation | None = None,
    **bound: str,
) -> Receipt:
    """Charge the budget of all that is noisy in the job, once, and refuse a part of it that is spent; nothing is sampled before that.

    Parameters
    ----------
    station, note, summed
        As of `Station.charge`.
    noise : CountNoise
        Of the job.
    relation : Relation, optional
        Whom the noise is for, where that is not its `relation`.
    queries, change
        Of the part, as of `CountNoise.shares`: what cannot be sampled is not charged.
    part, **bound
        As of `one_question`.
    """
    noise.shares(0, queries, change, len(station.participants))
    budget, whom = one_budget(station), relation or noise.relation
    receipt = station.charge(noise.epsilon, noise.delta, note=note, once=budget, summed=summed, relation=whom)
    one_question(station, part, **bound)
    return receipt


def release(
    station: Station, queries: Sequence[Query], noise: CountNoise, note: str, once: bool = False, summed: bool = True
) -> Exact[Integers] | Released[Integers]:
    """Charge the ledger, add this station's noise, and return all queries as one int64 vector: exact without noise.

    `once`: the budget is debited once in the job and pays for one answer, in whatever round; see `one_budget` and `one_question`. `summed`: as of
    `Station.exact`; what is not is of this station alone.

    Raises
    ------
    PolicyError, BudgetError
        If the node does not allow it; nothing is sampled then. Noise whose epsilon or delta is too large to be called private counts as none.
    ArgumentError
        If epsilon is too small to sample for.
    MessageError
        If an answer that is made once was made in another round of the job.

    Notes
    -----
    **Reveals** nothing by itself: with ``local`` noise the vector may be published, with ``distributed`` or
    ``none`` it must be masked.
    """
    station.require_private(noise.promises)
    parts = [np.asarray(query.values, dtype=np.int64).ravel() for query in queries]
    vector = np.concatenate(parts)
    if not noise.private:
        return station.exact(vector, note, summed=summed)
    parties, sizes = len(station.participants), [len(part) for part in parts]
    changes = [
        noise.change(query.l1, query.l2, size if noise.law.by_cells else 1, query.nonnegative)
        for query, size in zip(queries, sizes, strict=True)
    ]
    alike: dict[Change, list[int]] = {}
    for position, change in enumerate(changes):
        noise.shares(0, len(queries), change, parties)  # what cannot be sampled is not charged
        alike.setdefault(change, []).append(position)
    budget = one_budget(station) if once else None
    receipt = station.charge(noise.epsilon, noise.delta, note=note, once=budget, summed=summed, relation=noise.relation)
    if once:
        one_question(station, note)
    starts = np.cumsum([0, *sizes])
    for change, positions in alike.items():
        where = np.concatenate([np.arange(starts[p], starts[p + 1]) for p in positions])
        vector[where] += noise.shares(len(where), len(queries), change, parties)
    return station.released(vector, receipt)
