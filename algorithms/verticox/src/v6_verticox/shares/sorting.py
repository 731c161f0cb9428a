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

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import DataProblem
from fedbayes.mpc.prg import expand
from fedbayes.mpc.shared_fixed import Party
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import expand_wide
from fedbayes.typing import Floats, Indices

from ..messages.names import START, Name
from .layout import BANDS, EVENTS, FEATURE_BITS, FIRST_HAZARD, RECIPROCAL_BITS, RISK_BITS, TREND, WEIGHTS
from .ties import BLANK, TIE_BITS, Rows, arranged, diagonals

LARGEST = 2.0**20  # what the ring holds beside 106 fractional bits (`layout.RECIPROCAL_BITS`)


def masked_input(key: bytes, name: str, values: Wide) -> Wide:
    """Return what a party sends to the outcome holder."""
    return values - expand_wide(key, f"input/{name}", values.shape)


def secret_order(key: bytes, rows: int) -> Indices:
    """Return sigma, which the dealer and the outcome holder expand from their key."""
    return np.argsort(expand(key, "sigma", rows), kind="stable")


def delta(holder_key: bytes, mask: Wide, target: Wide) -> Wide:
    """Return the dealer's a[sigma] - b."""
    return mask[secret_order(holder_key, mask.shape[0])] - target


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
    limit : int
        With Efron's ties, the fewest events of a tie whose place is public (see `ties`); 0: Breslow's ties.
    trend : ndarray of float, (records,), optional
        Centred function of time for the check of proportional hazards (`proportional.trend`).
    flat : bool
        Whether tied events are rows of their own with Breslow's risk sets: for score residuals, and where nobody knows which of them are complete.
    gaps : bool
        Whether nobody knows which records are complete.
    weights : ndarray of float, (records,), optional
        Case weights; below 0 where a row takes a record out of the risk sets before its entry.

    Attributes
    ----------
    rows : Rows
        Which record is in which row.
    order : ndarray of int, (rows,)
        Place of each row among the inputs: records, then blank rows.
    tau : ndarray of int, (rows,)
    tied, indicator : ndarray of float, (rows,)
        Events of the risk set that begins here (Breslow), or whether the row is an event (Efron); event. Both in case weights, with Efron's ties `tied` in the
        mean weight of the tied events.
    squares : ndarray of float, (rows,)
        As `tied`, of squared weights.
    weight : ndarray of float, (rows,)
        Case weights of the rows: 1 without, 0 of blank rows.
    bands : ndarray of float, (rows, 2 band - 1)
        K of the small ties.
    moved : ndarray of float, (rows, 2)
        Trend times event, and times the root of `tied`.
    sizes : ndarray of int, (strata,)
        Rows of each stratum.
    when, code : ndarray, (rows,)
        Time and stratum of each row; those of the next record where it is blank.
    """

    key: bytes
    time: Floats
    event: npt.NDArray[np.int_]
    stratum: npt.NDArray[np.int_]
    limit: int = 0
    trend: Floats | None = None
    flat: bool = False
    weights: Floats | None = None
    gaps: bool = False
    rows: Rows = field(init=False)
    order: Indices = field(init=False)
    tau: Indices = field(init=False)
    tied: Floats = field(init=False)
    squares: Floats = field(init=False)
    weight: Floats = field(init=False)
    indicator: Floats = field(init=False)
    bands: Floats = field(init=False)
    moved: Floats = field(init=False)
    sizes: npt.NDArray[np.int_] = field(init=False)
    when: Floats = field(init=False)
    code: npt.NDArray[np.int_] = field(init=False)

    def __post_init__(self) -> None:
        records = len(self.time)
        order = np.lexsort((-self.event, self.time, self.stratum))
        self.rows = arranged(order, self.time, self.event, self.stratum, self.limit)
        record, self.sizes = self.rows.record, np.array(self.rows.sizes)
        blank = record == BLANK
        self.order = np.where(blank, records + np.cumsum(blank) - 1, record)
        following = np.minimum.accumulate(np.where(blank, len(record), np.arange(len(record)))[::-1])[::-1]
        real = record[following]  # no stratum ends with a blank row
        self.when, self.code = self.time[real], self.stratum[real]
        self.weight = np.append(np.ones(records) if self.weights is None else self.weights, 0.0)[record]
        self.indicator = np.where(blank, 0, self.event[record]) * self.weight
        self.tied, self.squares = (
            self.shared(own) if self.limit else self._counts(own)
            for own in (self.indicator, self.indicator * self.weight)
        )
        self.bands = diagonals(len(record), self.rows.small, self.rows.band, self.flat)
        trend = np.zeros(records) if self.trend is None else self.trend
        self.moved = np.stack([self.indicator * trend[real], np.sqrt(self.tied) * trend[real]], axis=1)
        back = np.argsort(secret_order(self.key, len(record)), kind="stable")
        self.tau = back[self.order]

    def _counts(self, own: Floats) -> Floats:
        """Return the sum over the rows of a time at its first row, else 0."""
        first = np.r_[True, (self.when[1:] != self.when[:-1]) | (self.code[1:] != self.code[:-1])]
        block = np.cumsum(first) - 1
        return np.where(first, np.bincount(block, weights=own)[block], 0.0)

    @property
    def single(self) -> bool:
        """Whether every row has one event or none, of weight one."""
        return bool(np.all((self.tied == 0.0) | (self.tied == 1.0)))

    @property
    def blanks(self) -> int:
        """Rows without a record."""
        return len(self.order) - len(self.time)

    def permuted(self, sent: Wide, correction: Wide) -> Wide:
        """Return what is published: the rows in the secret order, under a mask that nobody knows."""
        return sent[self.order] + correction[self.tau]

    def at_risk(self, weight: Floats | None = None) -> Floats:
        """Return the risk-set sums of the rows' risks; at zero coefficients without any."""
        risk = self.shared(self.weight if weight is None else weight)
        parts = np.split(risk, np.cumsum(self.sizes)[:-1])
        sums = np.concatenate([np.cumsum(part[::-1])[::-1] for part in parts])
        for first, size in (*self.rows.large, *self.rows.small) if self.flat else ():
            sums[first : first + size] = sums[first]
        return np.asarray(sums)

    def shared(self, values: Floats) -> Floats:
        """Return values of the rows in which tied events (Efron) have their mean: risk sets are sums from a row on then."""
        result: Floats = values.copy()
        for first, size in (*self.rows.large, *self.rows.small):
            result[first : first + size] = np.mean(values[first : first + size])
        return result

    def corrections(self, weight: Floats, reciprocals: Floats) -> dict[str, Wide]:
        """Return K w and K' q of the small ties, encoded."""
        moved, hazard = np.zeros(len(weight)), np.zeros(len(weight))
        middle = self.bands.shape[1] // 2
        for column in range(self.bands.shape[1]):
            own, step = self.bands[:, column], column - middle
            moved += own * _moved(weight, step)
            hazard += _moved(own * reciprocals[:, -1], -step)
        return {"c": Wide.encode(moved[:, None], RISK_BITS), "k": Wide.encode(hazard[:, None], RECIPROCAL_BITS)}

    def reciprocals(self, at_risk: Floats) -> Floats:
        """Return 1, the root of the tied events and their number, divided by the risk-set sums, (rows, 3); the last alone if `single`."""
        if self.weights is not None:  # where there is no event there may be nobody at risk, and no reciprocal is needed
            at_risk = np.where(self.tied > 0.0, at_risk, np.inf)
        if self.single:
            return (self.tied / at_risk)[:, None]
        return np.stack([1.0 / at_risk, np.sqrt(self.tied) / at_risk, self.tied / at_risk], axis=1)

    def seen_entries(self, engine: Party, step: int, predictor: Floats) -> tuple[dict[Name, Wide], Floats]:
        """Return risks and reciprocals at a linear predictor that this party knows, masked; and the cumulative baseline hazard, (rows,).

        Raises
        ------
        DataProblem
            When they do not fit into the ring.
        """
        weight = np.append(np.exp(predictor), 0.0)[self.rows.record]  # the last one for blank rows
        reciprocals = self.reciprocals(self.at_risk(weight))
        if not max(float(np.max(weight)), float(np.max(reciprocals))) < LARGEST:
            raise DataProblem(
                "relative risks are out of range (outliers, or separated events); transform features or set a penalty"
            )
        entries = {
            Name("w", step): Wide.encode(weight[:, None], RISK_BITS),
            Name("reciprocal", step): Wide.encode(reciprocals, RECIPROCAL_BITS),
        }
        if self.rows.band:
            entries.update({Name(kind, step): value for kind, value in self.corrections(weight, reciprocals).items()})
        return {name: engine.enter(name, value) for name, value in entries.items()}, self.hazard(reciprocals)

    def hazard(self, reciprocals: Floats) -> Floats:
        """Return the cumulative baseline hazard in every row, (rows,)."""
        starts = np.split(reciprocals[:, -1], np.cumsum(self.sizes)[:-1])
        return np.concatenate([np.cumsum(part) for part in starts])

    def entries(self, engine: Party) -> dict[Name, Wide]:
        """Return event indicators, first reciprocals, trend and what small ties need, masked, for the other parties."""
        if self.gaps:
            plain = {EVENTS: Wide.encode(self.indicator[:, None], 0)}
            if self.rows.band:
                plain[BANDS] = Wide.encode(self.bands, TIE_BITS)
            return {name: engine.enter(name, value) for name, value in plain.items()}
        first = self.reciprocals(self.at_risk())
        weighted = {EVENTS: Wide.encode(self.indicator[:, None], 0 if self.weights is None else RECIPROCAL_BITS)}
        if self.weights is not None:
            weighted[WEIGHTS] = Wide.encode(self.weight[:, None], RISK_BITS)
        entries = {**weighted, START: Wide.encode(first, RECIPROCAL_BITS)}
        entries[TREND] = Wide.encode(self.moved, FEATURE_BITS)
        if self.rows.band:
            entries[BANDS] = Wide.encode(self.bands, TIE_BITS)
            entries[FIRST_HAZARD] = self.corrections(np.ones(len(first)), first)["k"]
        return {name: engine.enter(name, value) for name, value in entries.items()}


def _moved(values: Floats, steps: int) -> Floats:
    """Return row i + steps at row i, zeros beyond the ends."""
    result = np.zeros(len(values))
    if steps >= 0:
        result[: len(values) - steps] = values[steps:]
    else:
        result[-steps:] = values[:steps]
    return result


def as_places(values: Any, inputs: int) -> Indices:
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
