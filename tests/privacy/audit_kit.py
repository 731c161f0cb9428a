"""What the audits share: a lower bound on epsilon from samples, and a station that needs no federation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.stats import beta

from fedbayes.federation.errors import PolicyError
from fedbayes.federation.gate import Exact, Masked, Receipt, Released
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter.opening import Preflight
from fedbayes.federation.station import Station

CONFIDENCE = 0.95
AUDITS = 3


def lower_bound(one: np.ndarray, other: np.ndarray, delta: float = 0.0, confidence: float = CONFIDENCE) -> float:
    """Return a Clopper-Pearson lower bound on epsilon from a score of each sample, large where `one` is likelier.

    The threshold is chosen on half of the samples and tested on the other half, in both directions of the neighbouring relation.
    """
    return max(
        _one_sided(one, other, delta, confidence), _one_sided(-np.asarray(other), -np.asarray(one), delta, confidence)
    )


def again(audit: Callable[[], float], most: float = math.inf, above: float = -math.inf) -> float:
    """Return the bound of the first of up to three audits, each of fresh samples, that is above `above` and not beyond `most`, or else the last.

    A bound beyond the truth, or a control that is not seen, is chance in one of a hundred audits, of which there are many; three times running it is not.
    """
    found = audit()
    for _ in range(AUDITS - 1):
        if above < found <= most:
            break
        found = audit()
    return found


def some(cases: Iterable[Any]) -> list[Any]:
    """Return the cases, three of four of them for the audit alone."""
    marks = ([], *([pytest.mark.audit],) * 3)
    return [pytest.param(case, id=str(case), marks=marks[number % 4]) for number, case in enumerate(cases)]


def noted_debits(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[tuple[str, tuple[float, float]]]]:
    """Return what stations charge from now on: (name of the debit, (epsilon, delta)) in their order, by station."""
    spent: dict[int, list[tuple[str, tuple[float, float]]]] = {}
    charge = Station.charge

    def noted(station: Station, epsilon: float, delta: float = 0.0, *rest: Any, **named: Any) -> Receipt:
        name = named.get("once") or station.round_name
        spent.setdefault(station.organization, []).append((name, (epsilon, delta)))
        return charge(station, epsilon, delta, *rest, **named)

    monkeypatch.setattr(Station, "charge", noted)
    return spent


def _one_sided(one: np.ndarray, other: np.ndarray, delta: float, confidence: float) -> float:
    half, rest = len(one) // 2, len(other) // 2
    thresholds = np.unique(np.quantile(one[:half], np.linspace(0.0, 0.999, 200)))
    best = max(thresholds, key=lambda t: _bound(one[:half], other[:rest], t, delta, confidence))
    return _bound(one[half:], other[rest:], best, delta, confidence)


def _bound(one: np.ndarray, other: np.ndarray, threshold: float, delta: float, confidence: float) -> float:
    hits, others = int(np.sum(one >= threshold)), int(np.sum(other >= threshold))
    low, high = proportions((hits, len(one)), (others, len(other)), (1.0 - confidence) / 2.0)
    return math.log((low - delta) / high) if low > delta else -math.inf


def proportions(
    often: tuple[int, int], seldom: tuple[int, int], level: float = (1.0 - CONFIDENCE) / 2.0
) -> tuple[float, float]:
    """Return the least probability of an event and the largest of another (Clopper and Pearson), each wrong with probability `level`.

    Both as (times that it happened, trials).
    """
    (hits, trials), (others, other_trials) = often, seldom
    low = beta.ppf(level, hits, trials - hits + 1) if hits else 0.0
    high = beta.ppf(1.0 - level, others + 1, other_trials - others) if others < other_trials else 1.0
    return float(low), float(high)


class Alone:
    """As much of a station as a release needs: limits, a table, and what was charged."""

    organization = 1
    session = "a" * 32
    round_name = "2:audit"

    def __init__(self, frame: Any = None, participants: int = 3, **limits: Any) -> None:
        self.participants = tuple(range(1, participants + 1))
        self.policy = Policy(**limits)
        self.frame = frame
        self.charged: list[tuple[float, float]] = []
        self.memory = self.history = mock.Mock()  # remembers nothing, as a station without a folder database
        self.memory.read.return_value = json.dumps(encode(Preflight(private=True))).encode()  # what the job announced

    def data(self, columns: list[str], minimum: bool = True, domain: Any = None, identifiers: Any = ()) -> Any:
        return self.frame[list(columns)]

    def arrays(self, columns: list[str], domain: Any = None) -> Any:
        return self.frame[list(columns)]

    def require_private(self, private: bool) -> None:
        if not private and not self.policy.allow_non_private:
            raise PolicyError("private answers only")

    def charge(
        self,
        epsilon: float,
        delta: float = 0.0,
        note: str = "",
        queries: int = 0,
        once: Any = None,
        summed: bool = True,
        united: bool = False,
        relation: Any = None,
    ) -> Receipt:
        self.policy.check_release(epsilon, delta)
        self.charged.append((epsilon, delta))
        return Receipt(epsilon, delta)

    def released(self, value: Any, receipt: Receipt) -> Released[Any]:
        assert isinstance(receipt, Receipt)
        return Released(value)

    def exact(
        self, value: Any, note: str = "", counts: Any = None, queries: int = 1, summed: bool = True
    ) -> Exact[Any]:
        self.require_private(False)
        return Exact(value)

    def mask(self, content: Any, topic: str = "", common: Any = None) -> Masked:
        """Return the numbers without a mask: an audit looks at what the noise alone hides."""
        return Masked(np.asarray(content.value).astype(np.uint64), np.zeros(1, dtype=np.uint64))
