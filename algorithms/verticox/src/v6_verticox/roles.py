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

from fedbayes.mpc.prg import expand
from fedbayes.mpc.shared_fixed import Dealer, Party, expand_wide
from fedbayes.mpc.wide import Wide

from .shared_newton import RECIPROCAL_BITS

Integers = npt.NDArray[np.intp]


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
    time : ndarray of float, (rows,)
    event : ndarray of int, (rows,)
        1 for an event, 0 for a censored record.
    stratum : ndarray of int, (rows,)
        Codes 0, 1, ... of the strata; their sizes are public, their members are not.
    """

    key: bytes
    time: npt.NDArray[np.float64]
    event: npt.NDArray[np.int_]
    stratum: npt.NDArray[np.int_]
    order: Integers = field(init=False)
    tau: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.order = np.lexsort((-self.event, self.time, self.stratum))
        back = np.argsort(secret_order(self.key, len(self.time)), kind="stable")
        self.tau = back[self.order]

    def permuted(self, sent: Wide, correction: Wide) -> Wide:
        """Return what is published, in the dealer's order of the rows; `tau` brings it into the secret order."""
        sigma = secret_order(self.key, len(self.time))
        return sent[sigma] + correction

    def tied_events(self) -> npt.NDArray[np.float64]:
        """Return the number of events at each time, at the first row of its ties (secret order), else 0."""
        time, stratum = self.time[self.order], self.stratum[self.order]
        first = np.ones(len(time), dtype=bool)
        first[1:] = (time[1:] != time[:-1]) | (stratum[1:] != stratum[:-1])
        block = np.cumsum(first) - 1
        counts = np.bincount(block, weights=self.event[self.order])
        return np.where(first, counts[block], 0.0)

    def entries(self, engine: Party, strata: Sequence[int]) -> dict[str, Wide]:
        """Return the event indicators and the reciprocals at zero coefficients, masked, for the other parties."""
        tied = self.tied_events()
        at_risk = np.concatenate([np.arange(size, 0, -1) for size in strata])
        first = np.stack([1.0 / at_risk, np.sqrt(tied) / at_risk, tied / at_risk], axis=1)
        indicators = Wide.encode(self.event[self.order].astype(np.float64)[:, None], 0)
        return {
            "d": engine.enter("d", indicators),
            "0.0/reciprocal": engine.enter("0.0/reciprocal", Wide.encode(first, RECIPROCAL_BITS)),
        }


def as_indices(values: Any) -> Integers:
    """Return a received permutation, checked.

    Raises
    ------
    ValueError
        When it is none.
    """
    order = np.asarray(values).astype(np.intp)
    if not np.array_equal(np.sort(order), np.arange(order.size)):
        raise ValueError("a permutation is damaged")
    return order
