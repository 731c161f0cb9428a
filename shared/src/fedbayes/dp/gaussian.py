"""Gaussian noise on whole numbers: what it costs exactly, and how wide it must be.

A mechanism is mu-GDP (Gaussian differential privacy) if telling two neighbours apart by it is at least as hard as telling N(0, 1) from N(mu, 1) by one draw.
Such mechanisms compose exactly, also where each is chosen by the answers before: the squares of their mu add up; and mu-GDP is the same as (epsilon,
`delta_of` (mu, epsilon))-differential privacy for all epsilon at once. No conversion loses anything.

**Discrete Gaussian noise.** P(k) proportional to exp(-k^2 / (2 sigma^2)), in every cell, on vectors of integers of which neighbours differ by D in the L2
norm is D m-GDP with m = 2 Phi^-1((1 + P(0)) / 2), which is about 1 / sqrt(sigma^2 - 1/12), as long as m^2 <= 12; for one cell
that moves by 1 no smaller m will do (`unit_sigma`).

Proof. Let x_k = Phi^-1(P(below k)). The best tests are thresholds, and between them the trade-off curve is straight while the Gaussian one is convex; so one
cell that moves by 1 is m-GDP if and only if no x_(k+1) - x_k is above m, one that moves by v is abs(v) m-GDP, and cells compose. By symmetry x_1 = -x_0 = m /
2. Were k >= 1 the first with x_(k+1) - x_k > m: let q(j) be the mass of N(0, 1) between x_k + (j - k) m and x_k + (j + 1 - k) m, whose middle is m (j - s)
with s = k - 1/2 - x_k / m >= 0, since all steps before are at most m. Then R(j) = log q(j) - log P(j) is a constant and j^2 / (2 sigma^2) - m^2 (j -
s)^2 / 2 + ln C(j - s), C(t) the integral of exp(-m^2 u^2 / 2 - m^2 t u) over abs(u) <= 1/2. (ln C)'' = m^4 V(t), V the variance of u under that density: at
most 1/12, and falling in abs(t) (the inequality of Griffiths, Hurst and Sherman; Ellis, Monroe, Newman 1976). So R' >= 0 on [0, s], where abs((ln C)'(t)) <=
m^2 abs(t) m^2 / 12, and R' is concave from s on, where it is s / sigma^2 >= 0: R rises, then falls, for j >= 0. But q(k - 1) >= P(k - 1) and q(k) < P(k), so
R falls from there on and q stays below P, although both have the mass 1 - Phi(x_k) from k on: a contradiction.

**Shares.** The sum of discrete Gaussian shares is not discrete Gaussian. With t(u) the sum over k >= 1 of 2 exp(-2 pi^2 u^2 k^2), the probabilities of a sum
of two of variances a and b are those of one of variance a + b times a sum over a shifted lattice, which by Poisson's formula lies within 1 - t(u) and 1 +
t(u) of its mean, 1/u^2 = 1/a + 1/b. So the logarithm of the quotient of the two laws is at most ln((1 + t) / (1 - t)) everywhere; for many shares these add
up (`sum_excess`). Where all cells of all releases together are within e of the exact law in this sense, (epsilon, delta) of that law becomes (epsilon + 2 e,
exp(e) delta) of the sum.

References
----------
Balle, Wang, Improving the Gaussian mechanism for differential privacy, 2018, theorem 8.
Dong, Roth, Su, Gaussian differential privacy, 2022, corollaries 1 and 2.
Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, 2020, theorem 7 (the exact delta of one cell; the tests enumerate it).
Kairouz, Liu, Steinke, The distributed discrete Gaussian mechanism, 2021, theorem 5 (the sum of two shares).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .checks import positive, probability

LARGEST_MU = math.sqrt(12.0)
"""Of one cell that moves by 1: as far as the proof above goes."""
SMALLEST_SHARE = 0.5
"""Least standard deviation of one party's share of discrete Gaussian noise."""

_ROOT = math.sqrt(2.0)  # of two
_NORM = math.sqrt(2.0 * math.pi)
_SAFE = 1.0 + 1e-9  # above what the arithmetic here can be wrong by
_NARROW = 1e-3
"""Below it a difference of Mills' ratios is an integral of their derivative, by the rule for convex functions."""
_FAR = 30.0  # beyond it 1 - x M(x) cancels in float64, and its bound 1 / (1 + x^2) is used
_STEPS = 200  # bisection steps at most; it ends earlier, where float64 has no number in between


def delta_of(mu: float, epsilon: float) -> float:
    """Return the smallest delta with which a mu-GDP mechanism is (epsilon, delta)-differentially private, rounded up.

    Parameters
    ----------
    mu : float
        Above 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        Phi(-a) - exp(epsilon) Phi(-b) with a = epsilon / mu - mu / 2 and b = a + mu.

    Notes
    -----
    As phi(a) = exp(epsilon) phi(b) it is phi(a) (M(a) - M(b)), M Mills' ratio: nothing cancels where mu is not tiny, and where it is the difference
    is at most mu times the mean of -M' at both ends, since -M' is convex.
    """
    a = epsilon / positive("mu", mu) - mu / 2.0
    if a < -8.0:
        return 1.0
    b = a + mu
    gap = mu * (_fall(a) + _fall(b)) / 2.0 if mu < _NARROW or b > _FAR else _mills(a) - _mills(b)
    return min(1.0, _density(a) * gap * _SAFE)


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu with which mu-GDP implies (epsilon, delta)-differential privacy (bisection, rounded down)."""
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    return _largest(lambda mu: delta_of(mu, epsilon) <= delta, 1.0)


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon such that mu-GDP implies (epsilon, delta)-differential privacy (rounded up); 0 where delta alone suffices."""
    mu, delta = positive("mu", mu), probability("delta", delta)
    below = _largest(lambda epsilon: delta_of(mu, epsilon) > delta, 1.0)
    return 0.0 if below == 0.0 else math.nextafter(below, math.inf)


def unit_sigma(mu: float) -> float:
    """Return the smallest sigma (to 1e-8 where it is above 1, rounded up) with which a cell that moves by 1 is mu-GDP.

    P(0) is at most 1 / (sigma sqrt(2 pi)), by Poisson's formula.
    """
    return _SAFE**2 / (_NORM * math.erf(min(positive("mu", mu), LARGEST_MU) / (2.0 * _ROOT)))


def sum_excess(own: float, shares: int) -> float:
    """Return how far the law of a sum of so many discrete Gaussian shares is from the discrete Gaussian one, as a logarithm, in one cell.

    Parameters
    ----------
    own : float
        Standard deviation of one share, at least `SMALLEST_SHARE`.
    shares : int
        Number of shares; 1 is exact.
    """
    whole = 0.0
    for count in range(1, shares):
        square = own * own * count / (count + 1)
        ripple = 2.0 * math.fsum(math.exp(-2.0 * math.pi**2 * square * k * k) for k in (1, 2, 3)) * _SAFE
        whole += math.log1p(ripple) - math.log1p(-ripple)
    return whole


def share_sigma(shares: int, excess: float) -> float:
    """Return the standard deviation (to 0.1 %) from which on the sum of so many shares is within `excess` of the discrete Gaussian law in a cell; 0 for one."""
    if shares == 1:
        return 0.0
    least = _largest(lambda own: sum_excess(own + SMALLEST_SHARE, shares) > excess, 0.1, rounds=16)
    return SMALLEST_SHARE + least * 1.001 + 1e-4  # the search rounds down


def _density(x: float) -> float:
    return math.exp(-x * x / 2.0) / _NORM


def _mills(x: float) -> float:
    """Return Phi(-x) / phi(x)."""
    return math.erfc(x / _ROOT) / 2.0 / _density(x)


def _fall(x: float) -> float:
    """Return -M'(x) = 1 - x M(x), or where it cancels a bound above it."""
    return 1.0 - x * _mills(x) if x < _FAR else 1.0 / (1.0 + x * x)


def _largest(holds: Callable[[float], bool], high: float, rounds: int = _STEPS) -> float:
    """Return about the largest number above 0 for which `holds`, which does for all that are smaller; rounded down."""
    low = 0.0
    while holds(high):
        low, high = high, 2.0 * high
    for _ in range(rounds):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
