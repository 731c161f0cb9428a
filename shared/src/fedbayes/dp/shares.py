"""Noise shares: every party adds a part of the noise before the secure sum, so the sum carries about one noise term in all.

`honest_fraction` of the parties are assumed to add their share and keep it secret; their noise alone is at least the full mechanism. No party is honest
towards itself: whoever sees the sum and added a share of its own (the organization that runs central, as a rule) can subtract it. So of several parties
at most all but one count, whatever fraction is given: `honest_parties` is the one place that says how many.

The samplers of Polya shares are exact for the parameters used: exp(-1/scale) is rounded so that the scale is at least the requested one
(relative error below 2^-20 for scales up to 2^32) and the shape parameter of the negative binomial is rounded up, which adds
noise to a complete mechanism and so costs no privacy. One truncation: values above 128 scales, of probability below 2^-180, are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..randomness import bernoulli_dyadic, bernoulli_exp, fill, uniform_bits, uniform_integers
from ..typing import Booleans, Integers
from . import mechanisms
from .checks import positive, probability
from .gaussian import SMALLEST_SHARE
from .samplers import SMALLEST_SCALE

HONEST_FRACTION = 0.8
"""The part of the parties whose shares must suffice, by default, in every method."""

_THETA_BITS = 52  # exponents k / scale are multiples of 2^-52; k stays below 128 scales, so they fit in 59 bits
_RATE_BITS = 48  # fractional bits of a probability; rounding adds noise, never removes any
_LARGEST_SCALE = 2.0**32  # sums of many shares of this scale stay far below 2^63
_LARGEST_DEVIATION = 2.0**52  # the samplers saturate at 2^63, and saturated noise is a constant that hides nothing


class UntrustedFraction(Exception):
    """More parties are counted on than may be (`trusting_at_most`)."""


_most: ContextVar[float] = ContextVar("largest honest fraction", default=1.0)


@contextmanager
def trusting_at_most(honest_fraction: float) -> Iterator[None]:
    """Refuse, as long as it lasts, shares of noise among several parties of which a larger part is counted on.

    Whoever draws shares in somebody else's name, with numbers that he was sent, says here what was agreed: `honest_parties` holds every draw to it.
    """
    before = _most.set(honest_fraction)
    try:
        yield
    finally:
        _most.reset(before)


def honest_parties(parties: int, honest_fraction: float) -> int:
    """Return the number of parties whose noise the guarantee rests on: max(1, min(floor(honest_fraction * parties), parties - 1)).

    All but one at most, because every party knows its own share.

    Raises
    ------
    ValueError
        If there is no party or the fraction is not in (0, 1].
    UntrustedFraction
        If there are several, and the fraction is larger than `trusting_at_most` says.
    """
    if isinstance(parties, bool) or parties < 1:
        raise ValueError("parties: give a whole number of at least 1")
    if not 0.0 < honest_fraction <= 1.0:
        raise ValueError("honest_fraction: give a number in (0, 1]")
    if parties > 1 and honest_fraction > _most.get():
        raise UntrustedFraction(
            "honest_fraction: more stations are counted on than the job's manifest says, or this node allows; the job stops"
        )
    return max(1, min(math.floor(honest_fraction * parties + 1e-9), parties - 1))


def polya(shape: int | tuple[int, ...], scale: float, parties: int, honest_fraction: float) -> Integers:
    """Return one party's Polya shares: differences of two negative binomials of shape 1 / (honest parties).

    Parameters
    ----------
    shape : int or tuple
        Shape of the array of shares, one a cell.
    scale : float
        Sensitivity / epsilon, at most 2^32.
    parties : int
        Number of parties that add a share to this sum.
    honest_fraction : float
        Assumed part of them that is honest, in (0, 1].

    Returns
    -------
    ndarray of int64
        The sum over the honest parties is distributed as (at least) one discrete Laplace variable of that scale: epsilon-differentially private, no delta.

    Raises
    ------
    ValueError
        If the scale is not positive or above 2^32, or as `honest_parties` says.

    References
    ----------
    Goryczka, Xiong, A comprehensive comparison of multiparty secure additions with differential privacy, IEEE TDSC 2017.
    """
    scale = positive("scale", scale)
    if scale > _LARGEST_SCALE:
        raise ValueError("scale: give at most 2^32; raise epsilon")
    honest = honest_parties(parties, honest_fraction)
    if honest == 1:
        return mechanisms.discrete_laplace(np.zeros(shape, dtype=np.int64), scale)
    return _negative_binomial(shape, scale, honest) - _negative_binomial(shape, scale, honest)


def dilution(parties: int, honest_fraction: float, delta: float) -> float:
    """Return the probability with which each party adds noise: min(1, ln(1/delta) / (honest parties)).

    References
    ----------
    Shi et al., Privacy-preserving aggregation of time-series data, NDSS 2011, theorem 2. Huai et al. 2015 print it without the sign.
    """
    delta = probability("delta", delta)
    return min(1.0, math.log(1.0 / delta) / honest_parties(parties, honest_fraction))


def diluted_geometric(
    shape: int | tuple[int, ...], scale: float, parties: int, honest_fraction: float, delta: float
) -> Integers:
    """Return one party's diluted geometric shares: a discrete Laplace variable with the probability `dilution`, else 0.

    With probability at least 1 - delta some honest party adds a full noise term: (epsilon, delta)-differentially private **a cell**.
    In the mean ln(1/delta) terms are added, so `polya` gives the same epsilon with far less noise and without delta.

    Raises
    ------
    ValueError
        If the scale is not positive or above 2^52, delta is not in (0, 1), or as `honest_parties` says.
    """
    scale = positive("scale", scale)
    if scale > _LARGEST_DEVIATION:
        raise ValueError("scale: give at most 2^52; raise epsilon")
    beta = dilution(parties, honest_fraction, delta)
    shares = np.zeros(shape, dtype=np.int64)
    level = np.full(shape, min(math.ceil(beta * 2.0**_RATE_BITS), 2**_RATE_BITS), dtype=np.uint64)
    chosen = bernoulli_dyadic(level, _RATE_BITS)
    shares[chosen] = mechanisms.discrete_laplace(np.zeros(int(chosen.sum()), dtype=np.int64), scale)
    return shares


def discrete_gaussian(shape: int | tuple[int, ...], sigma: float, parties: int, honest_fraction: float) -> Integers:
    """Return one party's discrete Gaussian shares, of standard deviation sigma / sqrt(honest parties).

    The sum over the honest parties is not exactly a discrete Gaussian: `gaussian.sum_excess` says how far from it, and `laws.DiscreteGaussian.width`
    gives a sigma for which that fits the budget. Where several parties share the noise, a party's own deviation is at least
    `gaussian.SMALLEST_SHARE`. A sigma above 2^52 is refused, because the sampler's integers end at 2^63.

    Raises
    ------
    ValueError
        If sigma is not positive or above 2^52, or as `honest_parties` says.

    References
    ----------
    Kairouz, Liu, Steinke, The Distributed Discrete Gaussian Mechanism, 2021.
    """
    if positive("sigma", sigma) > _LARGEST_DEVIATION:
        raise ValueError("sigma: give at most 2^52; raise epsilon")
    honest = honest_parties(parties, honest_fraction)
    own = sigma if honest == 1 else max(sigma / math.sqrt(honest), SMALLEST_SHARE)
    return mechanisms.discrete_gaussian(np.zeros(shape, dtype=np.int64), own)


def _negative_binomial(shape: int | tuple[int, ...], scale: float, honest: int) -> Integers:
    """Return negative binomials of shape 1/honest and parameter p = exp(-1/scale): a Poisson number of logarithmic(p) variables."""
    theta = max(1, math.floor(2.0**_THETA_BITS / max(scale, SMALLEST_SCALE)))
    rate = -math.log(-math.expm1(-theta / 2.0**_THETA_BITS)) / honest * (1.0 + 1e-14)
    numbers = _poisson(shape, math.ceil(rate * 2.0**_RATE_BITS) + 1)
    terms = _logarithmic(int(numbers.sum()), theta)
    ends = np.cumsum(numbers.ravel())
    totals = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(terms)])
    return np.asarray(totals[ends] - totals[ends - numbers.ravel()]).reshape(numbers.shape)


def _poisson(shape: int | tuple[int, ...], rate: int) -> Integers:
    """Return exact Poisson variables of mean rate / 2^48: whole units, and one unit thinned to the fraction."""
    whole, fraction = divmod(rate, 2**_RATE_BITS)
    numbers = np.zeros(shape, dtype=np.int64)
    for _ in range(whole):
        numbers += _poisson_one(shape)
    unit = _poisson_one(shape)
    for point in range(int(unit.max(initial=0))):
        numbers += (unit > point) & bernoulli_dyadic(np.full(unit.shape, fraction), _RATE_BITS)
    return numbers


def _poisson_one(shape: int | tuple[int, ...]) -> Integers:
    """Return exact Poisson variables of mean 1: fair-coin runs k, accepted with probability 2^k / (2 k!)."""

    def propose(count: int) -> tuple[Integers, Booleans]:
        runs = _coin_runs(count)
        accepted = (runs > 0) | (uniform_integers(2, count) == 0)
        for divisor in range(3, int(runs.max()) + 1):
            accepted &= (runs < divisor) | (uniform_integers(divisor, count) < 2)
        return runs, accepted

    return fill(shape, propose)


def _coin_runs(count: int) -> Integers:
    """Return the number of heads before the first tail, from 64 flips each (64 heads, of probability 2^-64, count as 64)."""
    words = uniform_bits(count)
    lowest = words & (~words + np.uint64(1))
    runs = np.full(count, 64, dtype=np.int64)
    tail = lowest > 0
    runs[tail] = np.log2(lowest[tail].astype(np.float64)).astype(np.int64)
    return runs


def _logarithmic(count: int, theta: int) -> Integers:
    """Return logarithmic variables, P(k) proportional to exp(-k theta / 2^52) / k for k >= 1.

    A dyadic block [2^j, 2^(j+1)) is chosen uniformly, k uniformly in it, and k is kept with probability 2^j / k * exp(-k theta / 2^52);
    all three steps are exact. The blocks end above 128 scales.
    """
    blocks = max(1, math.ceil(math.log2(2.0**_THETA_BITS / theta)) + 7)

    def propose(size: int) -> tuple[Integers, Booleans]:
        low = np.uint64(1) << uniform_integers(blocks, size)
        k = low + (uniform_bits(size) & (low - np.uint64(1)))
        accepted = uniform_integers(k) < low
        index = np.nonzero(accepted)[0]
        accepted[index] = bernoulli_exp(k[index] * np.uint64(theta), 1 << _THETA_BITS)
        return k.astype(np.int64), accepted

    return fill(count, propose)
