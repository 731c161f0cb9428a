"""Exact samples of discrete Laplace and discrete Gaussian noise, from integers of the operating system's entropy.

A float is a ratio n / d of whole numbers with d a power of two, and so is every scale here. All coins are flips of `fedbayes.randomness` whose probabilities
are ratios or exponentials of ratios, so no probability is rounded, and no number above 2^63 is needed.

**Laplace.** X = U + n V is geometric, P(X = x) proportional to exp(-x / n), for U uniform below n and kept with probability exp(-U / n), and V with
P(V >= v) = exp(-v). Then floor(X / d) is geometric with exp(-d / n), and with a fair sign, where -0 is drawn again, discrete Laplace of scale n / d
[1]_.

**Gaussian.** A discrete Laplace k of scale sigma is kept with probability exp(-(abs(k) / sigma - 1)^2 / 2): that times exp(-abs(k) / sigma) is
exp(-k^2 / (2 sigma^2)) up to a constant. Canonne, Kamath and Steinke take a whole scale near sigma instead; with sigma itself the
exponent is half the square of one ratio of small numbers, (abs(k) d - n) / n.

**Fine Laplace.** In units of 2^-1074, of which every float is a whole multiple, the scale is n 2^b. The high part X of the magnitude X 2^b + u and its low
part u are independent: u is uniform below 2^b and kept with probability exp(-u / (n 2^b)).

Three things are not exact. V above 511, of probability exp(-512), is drawn again. Scales below 2^-10 are taken as 2^-10, which is more noise, with
probability below exp(-1000). And the entropy is that of the operating system's generator, whose strength is below either. The time that a draw takes depends
on what is drawn, as that of all rejection sampling does: a station tells nobody how long its noise took, and adds it to whole vectors at once.

References
----------
.. [1] Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, algorithms 1 to 3.
"""

from __future__ import annotations

import math

import numpy as np

from ..randomness import bernoulli_exp, bernoulli_normal, fill, odd_failures, secret_bytes, uniform_integers
from ..typing import Booleans, Integers

LARGEST_SCALE = 2.0**52
"""Of noise in 64-bit integers: 2^10 scales stay below 2^63."""
FINEST_BITS = 1074
"""Every float is a whole multiple of 2 to the power of minus this."""

SMALLEST_SCALE = 2.0**-10  # smaller ones get this one: more noise than asked for, with probability below exp(-1000)
_MANTISSA_BITS = 53  # of a double
_MOST_WHOLES = 511  # of a geometric number, beyond probability exp(-511)

Coins = Booleans


def laplace(shape: int | tuple[int, ...], scale: float) -> Integers:
    """Return integers k with P(k) proportional to exp(-abs(k) / scale).

    Parameters
    ----------
    shape : int or tuple
        Shape of the answer.
    scale : float
        Above 0, at most `LARGEST_SCALE`.
    """
    numerator, bits = _ratio(scale)
    return fill(shape, lambda count: laplace_candidates(count, numerator, bits))


def gaussian(shape: int | tuple[int, ...], sigma: float) -> Integers:
    """Return integers k with P(k) proportional to exp(-k^2 / (2 sigma^2)), sigma above 0 and at most `LARGEST_SCALE`."""
    numerator, bits = _ratio(sigma)
    return fill(shape, lambda count: gaussian_candidates(count, numerator, bits))


def fine_laplace(count: int, scale: float) -> list[int]:
    """Return so many whole numbers, in units of 2^-1074, with P(z) proportional to exp(-abs(z) 2^-1074 / scale), for any float above 0."""
    mantissa, exponent = math.frexp(scale)
    bits = FINEST_BITS + exponent - _MANTISSA_BITS
    numerator = int(mantissa * 2.0**_MANTISSA_BITS) >> max(-bits, 0)  # of tiny floats the last bits are 0
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += fine_candidates(count - len(drawn), numerator, max(bits, 0))
    return drawn


def laplace_candidates(count: int, numerator: int, bits: int) -> tuple[Integers, Coins]:
    """Return candidates of discrete Laplace noise of scale numerator / 2^bits, and which of them are accepted."""
    sizes, accepted = _geometric(count, numerator)
    sizes >>= np.int64(bits)
    negative = uniform_integers(2, count) == 1
    return np.where(negative, -sizes, sizes), accepted & ~(negative & (sizes == 0))


def gaussian_candidates(count: int, numerator: int, bits: int) -> tuple[Integers, Coins]:
    """Return candidates of discrete Gaussian noise of standard deviation numerator / 2^bits, and which of them are accepted."""
    noise, accepted = laplace_candidates(count, numerator, bits)
    index = np.nonzero(accepted)[0]
    distances = np.abs((np.abs(noise[index]) << np.int64(bits)) - numerator)
    accepted[index] = bernoulli_normal(distances, numerator)
    return noise, accepted


def fine_candidates(count: int, numerator: int, bits: int) -> list[int]:
    """Return those of so many candidates that are accepted: discrete Laplace noise of scale numerator 2^bits."""
    high, accepted = _geometric(count, numerator)
    low = [_uniform(bits) for _ in range(count)]
    accepted &= odd_failures(
        count,
        lambda running: (
            (uniform_integers(numerator, running.size) == 0)
            & np.array([_uniform(bits) < low[position] for position in running], dtype=np.bool_)
        ),
    )
    negative = uniform_integers(2, count) == 1
    sizes = [(int(head) << bits) + tail for head, tail in zip(high, low, strict=True)]
    return [
        -size if minus else size
        for size, minus, keep in zip(sizes, negative, accepted, strict=True)
        if keep and (size or not minus)
    ]


def _ratio(scale: float) -> tuple[int, int]:
    """Return n and b with scale = n / 2^b exactly: n below 2^53 and b at most 62 for scales in range."""
    numerator, denominator = max(scale, SMALLEST_SCALE).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def _geometric(count: int, numerator: int) -> tuple[Integers, Coins]:
    """Return candidates with P(x) proportional to exp(-x / numerator), x >= 0, and which of them are accepted."""
    rests = uniform_integers(numerator, count)
    accepted = bernoulli_exp(rests, numerator)
    sizes = rests.astype(np.int64)
    index = np.nonzero(accepted)[0]
    wholes = _exponential_wholes(index.size)
    accepted[index[wholes > _MOST_WHOLES]] = False
    sizes[index] += np.minimum(wholes, _MOST_WHOLES) * numerator
    return sizes, accepted


def _exponential_wholes(count: int) -> Integers:
    """Return variables with P(V >= v) = exp(-v)."""
    wholes = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    while running.size:
        running = running[bernoulli_exp(np.ones(running.size, dtype=np.uint64), 1)]
        wholes[running] += 1
    return wholes


def _uniform(bits: int) -> int:
    """Return a uniform integer below 2^bits."""
    size = -(-bits // 8)
    return int.from_bytes(secret_bytes(size), "little") >> (8 * size - bits)
