"""Inputs of the private solver: how a party's private vector enters masked, and how the outcome holder sorts it unseen.

The outcome holder alone knows the order of the event times (``order``), the dealer and the outcome holder share a
random order ``sigma``, everyone but the dealer knows ``tau`` with sigma[tau] = order, which is uniform.
A party sends its vector x less a mask a (known to the dealer) to the outcome holder; the dealer sends it a[sigma] - b, where b is shared by all
parties. The outcome holder publishes x[order] - b[tau]: sorted, masked by what nobody knows.

**Reveals** to the outcome holder: x - a and a[sigma] - b, both uniform. To the parties: x[order] - b[tau] and tau, both uniform. To the dealer: nothing.

References
----------
Chase, Ghosh, Poburinnaya, Secret-shared shuffle, ASIACRYPT 2020, section 3 (the correlation a, sigma(a) - b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import DataProblem
from fedbayes.mpc.prg import expand
from fedbayes.mpc.shared_fixed import Dealer, Party, expand_wide
from fedbayes.mpc.wide import Wide

from .shared_newton import FEATURE_BITS, RECIPROCAL_BITS, RISK_BITS, START, TREND, WEIGHT, entered_names

Integers = npt.NDArray[np.intp]
Vector = npt.NDArray[np.float64]
LARGEST = 2.0**20


def masked_input(key: bytes, name: str, values: Wide) -> Wide:
    """Return what a party sends to the outcome holder."""
    return values - expand_wide(key, f"input/{name}", values.shape)


def secret_order(key: bytes, rows: int) -> Integers:
    """Return sigma, which the dealer and the outcome holder expand from their key."""
    return np.argsort(expand(key, "sigma", rows), kind="stable")


def delta(holder_key: bytes, mask: Wide, target: Wide) -> Wide:
    """Return the dealer's a[sigma] - b."""
    return mask[secret_order(holder_key, mask.shape[0])] - target


def dealt_inputs(key: bytes, keys: Sequence[bytes], name: str, shape: tuple[int, ...]) -> Wide:
    """Return the dealer's correction for one input: `key` is that of the party which owns it."""
    mask = expand_wide(key, f"input/{name}", shape)
    return delta(keys[-1], mask, Dealer(keys).random(name, shape))


@dataclass(slots=True)
class OutcomeHolder:
    """What the outcome holder derives from its columns.

    Parameters
    ----------
    key : bytes
        Shared with the dealer.
    time : ndarray of float, (records,)
    event : ndarray of int, (records,)
        1 for an event, 0 for a censored record.
    stratum : ndarray of int, (records,)
        Codes 0, 1, ... of the strata; their sizes are public, their members are not.
    expanded : bool
        Efron's ties: d tied events become d risk sets, in each of which every one of them has weight 1/d. So the rows are d copies
        of each, risk sets are suffixes again, and everything else is as for Breslow's ties.
    trend : ndarray of float, (records,), optional
        Centred function of time for the check of proportional hazards (`proportional.trend`).

    Attributes
    ----------
    order : ndarray of int, (rows,)
        Place of each row among the inputs: copy * records + record.
    tau : ndarray of int, (rows,)
    tied, indicator, weight : ndarray of float, (rows,)
        Events of the risk set that begins here; event (on one copy); weight.
    moved : ndarray of float, (rows, 2)
        Trend times event, and times the root of `tied`.
    sizes : ndarray of int, (strata,)
        Rows of each stratum.
    """

    key: bytes
    time: npt.NDArray[np.float64]
    event: npt.NDArray[np.int_]
    stratum: npt.NDArray[np.int_]
    expanded: bool = False
    trend: Vector | None = None
    copies: int = field(init=False)
    order: Integers = field(init=False)
    tau: Integers = field(init=False)
    tied: Vector = field(init=False)
    indicator: Vector = field(init=False)
    weight: Vector = field(init=False)
    moved: Vector = field(init=False)
    sizes: npt.NDArray[np.int_] = field(init=False)

    def __post_init__(self) -> None:
        records = len(self.time)
        order = np.lexsort((-self.event, self.time, self.stratum))
        time, stratum, event = self.time[order], self.stratum[order], self.event[order]
        first = np.r_[True, (time[1:] != time[:-1]) | (stratum[1:] != stratum[:-1])]
        block = np.cumsum(first) - 1
        counts = np.bincount(block, weights=event)[block]
        copy, place, start = np.zeros(records, dtype=np.intp), np.arange(records), first
        if self.expanded:
            place, copy, start = _copies(np.flatnonzero(first), counts.astype(np.intp), event)
        self.copies = int(copy.max()) + 1
        self.order = copy * records + order[place]
        events = counts[place] if not self.expanded else np.minimum(counts[place], 1.0)
        self.tied = np.where(start, events, 0.0)
        self.indicator = np.where(copy == 0, event[place], 0).astype(np.float64)
        self.weight = np.where(self.expanded & (event[place] == 1), 1.0 / np.maximum(counts[place], 1.0), 1.0)
        trend = np.zeros(records) if self.trend is None else self.trend
        moved = trend[order][place]
        self.moved = np.stack([self.indicator * moved, np.sqrt(self.tied) * moved], axis=1)
        self.sizes = np.bincount(stratum[place])
        back = np.argsort(secret_order(self.key, records * self.copies), kind="stable")
        self.tau = back[self.order]

    def permuted(self, sent: Wide, correction: Wide) -> Wide:
        """Return what is published: the rows in the secret order, under a mask that nobody knows."""
        return sent[self.order] + correction[self.tau]

    def weighted(self, values: Vector) -> Vector:
        """Return this party's own factor, (inputs, 1), times the weights of the rows."""
        result: Vector = values.copy()
        result[self.order] *= self.weight[:, None]
        return result

    def at_risk(self, weight: Vector | None = None) -> Vector:
        """Return the risk-set sums of the rows' weights; at zero coefficients without any."""
        parts = np.split(self.weight if weight is None else weight, np.cumsum(self.sizes)[:-1])
        return np.asarray(np.concatenate([np.cumsum(part[::-1])[::-1] for part in parts]))

    def reciprocals(self, at_risk: Vector) -> Vector:
        """Return 1, the root of the tied events and their number, divided by the risk-set sums, (rows, 3)."""
        return np.stack([1.0 / at_risk, np.sqrt(self.tied) / at_risk, self.tied / at_risk], axis=1)

    def seen_entries(self, engine: Party, step: int, predictor: Vector) -> tuple[dict[str, Wide], Vector]:
        """Return risks and reciprocals at a linear predictor that this party knows, masked; and the cumulative baseline hazard, (rows,).

        Raises
        ------
        DataProblem
            When they do not fit into the ring.
        """
        weight = np.exp(predictor)[self.order % len(self.time)] * self.weight
        reciprocals = self.reciprocals(self.at_risk(weight))
        if not max(float(np.max(weight)), float(np.max(reciprocals))) < LARGEST:
            raise DataProblem(
                "relative risks are out of range (outliers, or separated events); transform features or set a penalty"
            )
        risks, inverses = entered_names(step)
        entries = {risks: Wide.encode(weight[:, None], RISK_BITS), inverses: Wide.encode(reciprocals, RECIPROCAL_BITS)}
        starts = np.split(reciprocals[:, 2], np.cumsum(self.sizes)[:-1])
        hazard = np.concatenate([np.cumsum(part) for part in starts])
        return {name: engine.enter(name, value) for name, value in entries.items()}, hazard

    def entries(self, engine: Party) -> dict[str, Wide]:
        """Return event indicators, first reciprocals, trend and weights, masked, for the other parties."""
        first = self.reciprocals(self.at_risk())
        entries = {"d": Wide.encode(self.indicator[:, None], 0), START: Wide.encode(first, RECIPROCAL_BITS)}
        entries[TREND] = Wide.encode(self.moved, FEATURE_BITS)
        if self.expanded:
            entries[WEIGHT] = Wide.encode(self.weight[:, None], RISK_BITS)
        return {name: engine.enter(name, value) for name, value in entries.items()}


def _copies(
    starts: Integers, counts: Integers, event: npt.NDArray[np.int_]
) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """Return sorted place, copy, and whether a risk set begins, of every row after the expansion of ties."""
    ends = np.r_[starts[1:], len(event)]
    places, copies, begins = [], [], []
    for start, end in zip(starts, ends, strict=True):
        tied = int(counts[start])
        places += [np.tile(np.arange(start, start + tied), tied), np.arange(start + tied, end)]
        copies += [np.repeat(np.arange(tied), tied), np.zeros(end - start - tied, dtype=np.intp)]
        begins += [np.tile(np.arange(tied) == 0, tied), np.zeros(end - start - tied, dtype=bool)]
    return np.concatenate(places), np.concatenate(copies), np.concatenate(begins)


def as_places(values: Any, inputs: int) -> Integers:
    """Return received places, checked.

    Raises
    ------
    ValueError
        When they are not distinct, or too large.
    """
    order = np.asarray(values).astype(np.intp)
    if order.size == 0 or np.unique(order).size != order.size or order.min() < 0 or order.max() >= inputs:
        raise ValueError("a permutation is damaged")
    return order
