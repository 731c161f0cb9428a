"""Noise in a share of a sum that is finer than the noise: whole units of noise, and uniform numbers below one unit.

A sum T of whole numbers is on shares in units of 2^-b, and its noise is whole multiples Z of 2^m such units. Every station adds 2^m Z_i + U_i, with U_i
uniform from 0 to 2^m - 1. What is revealed, T + 2^m Z + U, has low bits that are uniform whatever T is, as long as one U_i is secret; and given these, the
rest is Z plus T / 2^m rounded to one of its two neighbours, by a rule that does not look at the data. Two sums T and T' are so rounded to whole numbers
that differ by at most |T - T'| / 2^m + 1: the noise is for that, a unit a number more than without (`Layout.sensitivity` allows half a unit for a record that
comes or goes, so one for a record that is replaced).
"""

from __future__ import annotations

import numpy as np

from fedbayes.mpc.wide import BITS as RING
from fedbayes.mpc.wide import Wide
from fedbayes.randomness import uniform_bits
from fedbayes.typing import Floats, Integers


def blurred(share: Wide, noise: Integers, below: int) -> Wide:
    """Return a share, (n,), with a station's noise, in units of 2^below, and uniform numbers below one such unit."""
    words = Wide(np.where(noise < 0, ~np.uint64(0), np.uint64(0)), noise.astype(np.uint64))
    return share + words.times(1 << below) + Wide.from_words(uniform_bits((len(noise), 2))).shift_right(RING - below)


def units(total: Wide, below: int) -> Floats:
    """Return the whole units of 2^below in a sum of such shares, (n,), rounded down."""
    flipped = total.high >> np.uint64(63) == 1
    size = (-total).where(flipped, total).shift_right(below).decode(0)
    return np.asarray(np.where(flipped, -size - 1.0, size))
