"""The partial likelihood from sums over risk sets at the times of a grid: what central computes, and what a station adds up.

Time k has d events. With Breslow's ties the d factors of the likelihood at k have the denominator S0; with Efron's, factor l = 0 .. d-1 has
S0 - (l / d) E0, where S are sums over the records at risk and E over the d events. Case weights multiply the records' terms in S, E and in the
numerator; each of the d factors counts with the mean weight of the d events.

References
----------
Cox, JRSS B 34, 1972; Efron, JASA 72, 1977, section 6; Lu et al., WebDISCO, JAMIA 22, 2015 (sums of risk sets over sites); Therneau, Grambsch,
Modeling Survival Data, 2000, sections 3.3 (ties and weights) and 7.1 (score residuals); Lin, Wei, JASA 84, 1989 (robust covariance).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Floats, Indices


@dataclass(frozen=True)
class RiskSums:
    """Sums at one point of the coefficients.

    Parameters
    ----------
    deaths : ndarray of float, (times,)
        Events at each time.
    died : ndarray of float, (times, columns)
        Sums of the columns over the events.
    risk : ndarray of float, (times, 1 + columns)
        S0 and S1: sums of the relative risks, and of the columns weighted by them, over the records at risk.
    tied : ndarray of float, (times, 1 + columns)
        E0 and E1: the same over the events; zeros with Breslow's ties.
    weight : ndarray of float, (times,)
        Mean case weight of the events of each time.
    """

    deaths: Floats
    died: Floats
    risk: Floats
    tied: Floats
    weight: Floats

    def _factors(self) -> tuple[Indices, Floats, Floats]:
        """Return of every factor its time, the share of the tied events that is taken off, and (factors, 1 + columns) what is left."""
        whole = self.deaths.astype(np.intp)
        time = np.repeat(np.arange(len(whole)), whole)
        first = np.repeat(np.cumsum(whole) - whole, whole)
        share = (np.arange(len(time)) - first) / self.deaths[time]
        return time, share, self.risk[time] - share[:, None] * self.tied[time]

    @property
    def usable(self) -> bool:
        """Whether every denominator is a positive number, so that the likelihood is one."""
        _, _, left = self._factors()
        return bool(np.all(left[:, 0] > 0.0))

    def log_likelihood(self, coefficients: Floats) -> float:
        """Return the log partial likelihood."""
        time, _, left = self._factors()
        return float(np.sum(self.died @ coefficients) - self.weight[time] @ np.log(left[:, 0]))

    def expected(self) -> Floats:
        """Return the sums over the factors of each time of the columns' mean at risk, weighted, (times, columns)."""
        time, _, left = self._factors()
        return by_time(self.weight[time, None] * left[:, 1:] / left[:, :1], time, len(self.deaths))

    def gradient(self) -> Floats:
        """Return the slope of the log partial likelihood, (columns,)."""
        return np.asarray((self.died - self.expected()).sum(axis=0))

    def hazard_increments(self) -> tuple[Floats, Floats]:
        """Return the increments of the baseline hazard, and what of each an event of that time is spared by Efron's ties, (times,) each."""
        time, share, left = self._factors()
        inverse = self.weight[time] / left[:, 0]
        times = len(self.deaths)
        efron = share if np.any(self.tied) else np.zeros_like(share)
        return by_time(inverse[:, None], time, times)[:, 0], by_time((efron * inverse)[:, None], time, times)[:, 0]

    def information(self, squares: Floats) -> Floats:
        """Return the information matrix, given the records' squares of `weighted_squares` over all stations."""
        time, _, left = self._factors()
        mean = left[:, 1:] / left[:, :1]
        return np.asarray(squares - (mean * self.weight[time, None]).T @ mean)

    def means(self) -> tuple[Floats, Floats, Floats]:
        """Return by time the columns' mean at risk, the hazard times it, and what of that an event is spared, (times, columns) each."""
        time, share, left = self._factors()
        mean, times = left[:, 1:] / left[:, :1], len(self.deaths)
        drift = self.weight[time, None] * mean / left[:, :1]
        efron = share if np.any(self.tied) else np.zeros_like(share)
        at_risk = by_time(mean, time, times) / np.maximum(self.deaths, 1.0)[:, None]
        return at_risk, by_time(drift, time, times), by_time(efron[:, None] * drift, time, times)


def by_time(values: Floats, time: Indices, times: int) -> Floats:
    """Return the sums over the factors of each time, (times, columns)."""
    total = np.zeros((times, values.shape[1]))
    np.add.at(total, time, values)
    return total
