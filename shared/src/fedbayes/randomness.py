"""The one door to randomness: secrets of the operating system and, apart from them, a sampler for research.

Everything a station releases or a protocol hides comes from `os.urandom`, which no caller can seed; the samplers here use
integer arithmetic alone, so their laws are exact. `ResearchSampler` is for Monte-Carlo studies only: it is seeded, and no deployed
function can reach it (a test of the imports checks that).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .typing import Booleans, Floats, Integers, Words

_SMALLEST_UNIFORM = 2.0**-53  # half the spacing of float64 below 1: uniforms are odd multiples of it, never 0 or 1
FEWEST_CANDIDATES = 256
"""Proposals of a step of rejection: so few cost what one does, and a short vector is full after a step or two."""


def secret_bytes(count: int) -> bytes:
    """Return ``count`` bytes of the operating system's entropy."""
    return os.urandom(count)


def uniform_bits(shape: int | tuple[int, ...]) -> Words:
    """Return independent uniform 64-bit words of the given shape, from the operating system."""
    size = shape if isinstance(shape, int) else math.prod(shape)
    return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64).reshape(shape)


def uniform_integers(bound: ArrayLike, shape: int | tuple[int, ...] | None = None) -> Words:
    """Return exactly uniform integers in [0, bound).

    Parameters
    ----------
    bound : int or array of int
        Exclusive upper limits, 1 to 2^63; broadcast to `shape`.
    shape : int or tuple, optional
        Shape of the answer; that of `bound` when absent.

    Returns
    -------
    ndarray of uint64

    Notes
    -----
    Words in the incomplete last multiple of the bound are drawn again, so there is no modulo bias.
    """
    limits = np.asarray(bound, dtype=np.uint64)
    if limits.size and not limits.min() >= 1:
        raise ValueError("bound: give integers of at least 1")
    excess = (~limits + np.uint64(1)) % limits  # 2^64 modulo the bound
    highest = ~np.uint64(0) - excess
    words = uniform_bits(limits.shape if shape is None else shape)
    if limits.ndim:
        highest = np.broadcast_to(highest, words.shape)
    late = words > highest
    while late.any():
        words[late] = uniform_bits(int(late.sum()))
        late = words > highest
    return np.asarray(words % limits, dtype=np.uint64)


def bernoulli_dyadic(numerator: ArrayLike, bits: int) -> Booleans:
    """Return exact coin flips, each true with probability numerator / 2^bits (bits at most 63)."""
    levels = np.asarray(numerator, dtype=np.uint64)
    words = uniform_bits(levels.shape) >> np.uint64(64 - bits)
    return np.asarray(words < levels, dtype=np.bool_)


def bernoulli_exp(numerator: ArrayLike, denominator: int) -> Booleans:
    """Return exact coin flips, each true with probability exp(-numerator / denominator), without floating point.

    Parameters
    ----------
    numerator : array of int
        Non-negative, below 2^63.
    denominator : int
        1 to 2^63.

    References
    ----------
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, algorithm 1.
    """
    exponents = np.atleast_1d(np.asarray(numerator, dtype=np.uint64))
    wholes, rests = np.divmod(exponents, np.uint64(denominator))
    alive = np.ones(exponents.shape, dtype=np.bool_)
    for step in range(int(wholes.max(initial=0))):
        index = np.nonzero(alive & (wholes > step))
        if not index[0].size:
            break
        alive[index] = odd_failures(index[0].size, lambda running: np.ones(running.size, dtype=np.bool_))
    index = np.nonzero(alive)
    fractions = rests[index]
    alive[index] = odd_failures(
        fractions.size, lambda running: uniform_integers(denominator, running.size) < fractions[running]
    )
    return alive.reshape(np.shape(numerator))


def bernoulli_normal(numerator: ArrayLike, denominator: int) -> Booleans:
    """Return exact coin flips, each true with probability exp(-(numerator / denominator)^2 / 2), without floating point.

    Parameters
    ----------
    numerator : array of int, one-dimensional
        Non-negative, below 2^63 and 2^10 denominators.
    denominator : int
        1 to 2^53.

    Notes
    -----
    With numerator = q denominator + r the probability is exp(-q^2 / 2) exp(-q r / denominator) exp(-(r / denominator)^2 / 2), and no number above 2^63 is
    needed for any of the three.
    """
    wholes, rests = np.divmod(np.asarray(numerator, dtype=np.uint64), np.uint64(denominator))
    alive = bernoulli_exp(wholes * wholes, 2)
    index = np.nonzero(alive)[0]
    alive[index] = bernoulli_exp(wholes[index] * rests[index], denominator)
    index = np.nonzero(alive)[0]
    fractions = rests[index]

    def square(running: Integers) -> Booleans:
        heads = uniform_integers(denominator, running.size) < fractions[running]
        second = np.nonzero(heads)[0]
        heads[second] = uniform_integers(denominator, second.size) < fractions[running[second]]
        return heads

    alive[index] = odd_failures(index.size, square, 2)
    return alive


def odd_failures(count: int, flip: Callable[[Integers], Booleans], factor: int = 1) -> Booleans:
    """Return flips of probability exp(-x / factor) for x in [0, 1], given coins of probability x.

    True where the first failure of coins of probability x / (factor k), k = 1, 2, ..., has an odd k.

    Parameters
    ----------
    count : int
        Number of flips; each may have an x of its own.
    flip : callable
        Indices of the flips that have not failed yet -> fresh coins of probability x for them.
    factor : int
        At least 1.
    """
    first_failure = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    k = 0
    while running.size:
        k += 1
        success = flip(running)
        index = np.nonzero(success)[0]
        if factor * k > 1:
            success[index] = uniform_integers(factor * k, index.size) == 0
        first_failure[running[~success]] = k
        running = running[success]
    return np.asarray(first_failure % 2 == 1, dtype=np.bool_)


def uniform_floats(shape: int | tuple[int, ...]) -> Floats:
    """Return uniforms on the open interval (0, 1): odd multiples of 2^-53, so never 0 and never 1."""
    odd = 2.0 * (uniform_bits(shape) >> np.uint64(12)) + 1.0
    return np.asarray(odd * _SMALLEST_UNIFORM, dtype=np.float64)


def floating_uniforms(shape: int | tuple[int, ...]) -> Floats:
    """Return uniforms on (0, 1) with 53 significant bits at every magnitude: near 0 as finely spaced as floats are."""
    heads = np.atleast_1d(uniform_bits(shape) >> np.uint64(11))
    zeros = np.zeros(heads.shape, dtype=np.int64)
    late = heads == 0
    while late.any():
        zeros[late] += 53
        heads[late] = uniform_bits(int(late.sum())) >> np.uint64(11)
        late = heads == 0
    exponents = np.frexp(heads.astype(np.float64))[1] - zeros - 54
    mantissas = 1.0 + (uniform_bits(heads.shape) >> np.uint64(12)) * 2.0**-52
    return np.asarray(np.ldexp(mantissas, exponents).reshape(shape), dtype=np.float64)


def standard_cauchy(shape: int | tuple[int, ...]) -> Floats:
    """Return standard Cauchy variables (density 1 / (pi (1 + z^2))) by inversion, from the operating system's entropy.

    ``|z|`` is below 1 as often as above, and 1 / z has the law of z: so z is tan(pi/4 v) or its inverse, and has 53 significant bits near 0 and far out.
    """
    inner = np.tan(np.pi / 4.0 * floating_uniforms(shape))
    coins = uniform_bits(shape)
    sizes = np.where(coins & np.uint64(1) == 0, inner, 1.0 / inner)
    return np.where(coins & np.uint64(2) == 0, sizes, -sizes)


def standard_normal(shape: int | tuple[int, ...]) -> Floats:
    """Return standard normal variables (Box and Muller's method), from the operating system's entropy."""
    radius = np.sqrt(-2.0 * np.log(uniform_floats(shape)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform_floats(shape)), dtype=np.float64)


def student_t(degrees_of_freedom: float, shape: int | tuple[int, ...]) -> Floats:
    """Return Student-t variables by Bailey's polar formula, from the operating system's entropy.

    References
    ----------
    Bailey, Polar generation of random variates with the t-distribution, Math. Comp. 62, 1994.
    """
    power = np.expm1(-2.0 / degrees_of_freedom * np.log(floating_uniforms(shape)))
    radius = np.sqrt(degrees_of_freedom * power)
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform_floats(shape)), dtype=np.float64)


def fill(shape: int | tuple[int, ...], propose: Callable[[int], tuple[Integers, Booleans]]) -> Integers:
    """Return an array filled by rejection: ``propose(count)`` gives candidates and which of them are accepted."""
    result = np.empty(shape, dtype=np.int64)
    flat, done = result.reshape(-1), 0
    while done < flat.size:
        candidates, accepted = propose(max(flat.size - done, FEWEST_CANDIDATES))
        taken = candidates[accepted][: flat.size - done]  # those beyond are not looked at, so they cannot matter
        flat[done : done + taken.size] = taken
        done += taken.size
    return result


class ResearchSampler:
    """Seeded noise for Monte-Carlo studies on public data; never for a release.

    Parameters
    ----------
    seed : int
        The same seed gives the same study.
    """

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def discrete_laplace(self, scale: float, shape: int | tuple[int, ...]) -> Integers:
        """Return two-sided geometric variables of parameter exp(-1 / scale)."""
        success = -np.expm1(-1.0 / scale)
        return np.asarray(
            self.generator.geometric(success, shape) - self.generator.geometric(success, shape), dtype=np.int64
        )
