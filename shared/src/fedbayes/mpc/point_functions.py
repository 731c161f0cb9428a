"""Shared point functions: two short keys, each of which says nothing, that expand into additive shares of a unit vector.

A dealer who knows a place alpha in 0 .. 2^bits - 1 gives one key to each of two parties. Each expands its key into 2^bits numbers
of Z/2^32; the two expansions add up to 1 at alpha and to 0 elsewhere. A key has some 17 bytes for each bit of the domain, however wide it is.

With it two parties count numbers that nobody sees: the owners open t + r, where the dealer knows the uniform r, and the unit vector at -r,
turned by t + r, is the unit vector at t (`histogram`).

References
----------
Boyle, Gilboa, Ishai, Function Secret Sharing: Improvements and Extensions, CCS 2016, figure 1 (point functions, early termination).
Guo, Katz, Wang, Yu, Efficient and secure multiparty computation from fixed-key block ciphers, S&P 2020 (the expansion).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..randomness import uniform_bits
from ..typing import Words

LEAF_BITS = 2
"""A leaf of the tree holds four numbers of 32 bits."""
MOST_BITS = 24  # a key expands to 2^bits numbers of 4 bytes: 64 MB
CHUNK_NUMBERS = 1 << 22  # numbers that are expanded at once: 16 MB
Numbers = npt.NDArray[np.uint32]
ONE = np.uint64(1)  # the lowest bit
FLAGS = np.uint64(3)  # the two lowest bits


@lru_cache(maxsize=3)
def _cipher(which: int) -> Any:
    """Return the block cipher under one of three fixed, public keys."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(f"fedbayes/points{which}".encode()), modes.ECB())


def _expanded(seeds: Words, which: int) -> Words:
    """Return cipher(seed) xor seed for seeds of shape (..., 2)."""
    plain = np.ascontiguousarray(seeds, dtype="<u8")
    drawn = np.frombuffer(_cipher(which).encryptor().update(plain.tobytes()), dtype="<u8").reshape(plain.shape)
    return np.asarray(drawn ^ plain, dtype=np.uint64)


def _children(seeds: Words) -> tuple[list[Words], list[Words]]:
    """Return (seeds, control bits) of the left and the right child; a child's lowest bit is its control bit, and the two lowest bits of a seed are 0."""
    child_seeds, controls = [], []
    for side in (0, 1):
        child = _expanded(seeds, side)
        controls.append(child[..., 0] & ONE)
        child[..., 0] &= ~FLAGS
        child_seeds.append(child)
    return child_seeds, controls


def _leaf(seeds: Words) -> Numbers:
    """Return the four numbers of a leaf, shape (..., 4)."""
    return np.ascontiguousarray(_expanded(seeds, 2)).astype("<u8").view("<u4").astype(np.uint32)


@dataclass(frozen=True)
class PointKeys:
    """One party's keys of many point functions over one domain.

    Attributes
    ----------
    bits : int
        The domain is 0 .. 2^bits - 1.
    second : bool
        Which of the two parties holds them.
    seeds : ndarray (points, 2) of uint64
    corrections : ndarray (levels, points, 2) of uint64
        The lowest two bits of the first word are the corrections of the control bits.
    leaves : ndarray (points, 4) of uint32
    """

    bits: int
    second: bool
    seeds: Words
    corrections: Words
    leaves: Numbers

    def to_bytes(self) -> bytes:
        """Return the keys as bytes; `from_bytes` reads them."""
        parts = (self.seeds.astype("<u8"), self.corrections.astype("<u8"), self.leaves.astype("<u4"))
        return b"".join(part.tobytes() for part in parts)

    @classmethod
    def from_bytes(cls, data: bytes, bits: int, second: bool, points: int) -> PointKeys:
        """Read what `to_bytes` wrote.

        Raises
        ------
        ValueError
            When the length is not that of so many keys.
        """
        levels = bits - LEAF_BITS
        if not LEAF_BITS < bits <= MOST_BITS or len(data) != points * 16 * (levels + 2):
            raise ValueError("the keys do not have the length of so many points")
        cuts = np.cumsum([0, points * 16, levels * points * 16, points * 16])
        seeds, corrections, leaves = (data[start:stop] for start, stop in pairwise(cuts.tolist()))
        return cls(
            bits,
            second,
            np.frombuffer(seeds, dtype="<u8").astype(np.uint64).reshape(points, 2),
            np.frombuffer(corrections, dtype="<u8").astype(np.uint64).reshape(levels, points, 2),
            np.frombuffer(leaves, dtype="<u4").astype(np.uint32).reshape(points, 4),
        )

    def expanded(self) -> Iterator[tuple[int, Numbers]]:
        """Yield (first point, shares (points, 2^bits) of uint32), some points at a time."""
        size = max(1, CHUNK_NUMBERS >> self.bits)
        for start in range(0, len(self.seeds), size):
            yield start, self._expand(slice(start, start + size))

    def _expand(self, chosen: slice) -> Numbers:
        seeds = self.seeds[chosen][:, None, :]
        points = len(seeds)
        controls = np.full((points, 1), int(self.second), dtype=np.uint64)
        for correction in self.corrections[:, chosen]:
            own, flags = correction[:, None, :].copy(), correction[:, None, 0]
            own[..., 0] &= ~FLAGS
            children, bits = _children(seeds)
            children = [child ^ (own * controls[..., None]) for child in children]
            bits = [bit ^ (controls & (flags >> np.uint64(side)) & ONE) for side, bit in enumerate(bits)]
            seeds = np.stack(children, axis=2).reshape(points, -1, 2)
            controls = np.stack(bits, axis=2).reshape(points, -1)
        numbers = _leaf(seeds) + self.leaves[chosen][:, None, :] * controls[..., None].astype(np.uint32)
        flat = numbers.reshape(points, -1)
        return np.asarray(np.uint32(0) - flat if self.second else flat)


def deal_points(places: Words, bits: int) -> tuple[PointKeys, PointKeys]:
    """Return the two parties' keys of the point functions that are 1 at `places`.

    Parameters
    ----------
    places : ndarray (points,) of uint64
        Each below 2^bits.
    bits : int
        From 3 to 24.

    Raises
    ------
    ValueError
        When bits or a place are out of range.

    Notes
    -----
    **Reveals** nothing to a party that has one of the two keys. **Assumes** that the parties do not pool their keys, and that
    a fixed block cipher is a random permutation.
    """
    if not LEAF_BITS < bits <= MOST_BITS or bool((places >> np.uint64(bits)).any()):
        raise ValueError("bits must be 3 to 24, and every place below 2^bits")
    points = len(places)
    start = [_even(uniform_bits(2 * points).reshape(points, 2)) for _ in range(2)]
    seeds, controls = start, [np.zeros(points, dtype=np.uint64), np.ones(points, dtype=np.uint64)]
    corrections = np.zeros((bits - LEAF_BITS, points, 2), dtype=np.uint64)
    for level in range(bits - LEAF_BITS):
        bit = (places >> np.uint64(bits - 1 - level)) & ONE
        corrections[level], seeds, controls = _level(seeds, controls, bit)
    units = np.zeros((points, 4), dtype=np.uint32)
    units[np.arange(points), (places & FLAGS).astype(np.int64)] = 1
    leaves = units - _leaf(seeds[0]) + _leaf(seeds[1])
    leaves = np.where(controls[1][:, None] == 1, np.uint32(0) - leaves, leaves)
    first, second = (PointKeys(bits, bool(party), start[party], corrections, leaves) for party in (0, 1))
    return first, second


def _even(seeds: Words) -> Words:
    seeds[:, 0] &= ~FLAGS
    return seeds


def _level(seeds: list[Words], controls: list[Words], bit: Words) -> tuple[Words, list[Words], list[Words]]:
    """Return one level's correction, and both parties' seeds and control bits on the path."""
    pairs = [_children(own) for own in seeds]
    right = bit[:, None] == 1
    lost = [np.where(right, children[0], children[1]) for children, _ in pairs]
    common = lost[0] ^ lost[1]
    left_flag = pairs[0][1][0] ^ pairs[1][1][0] ^ bit ^ ONE
    right_flag = pairs[0][1][1] ^ pairs[1][1][1] ^ bit
    common[:, 0] &= ~FLAGS
    kept_flag = np.where(bit == 1, right_flag, left_flag)
    next_seeds, next_controls = [], []
    for (children, bits), control in zip(pairs, controls, strict=True):
        kept = np.where(right, children[1], children[0])
        next_seeds.append(kept ^ (common * control[:, None]))
        next_controls.append(np.where(bit == 1, bits[1], bits[0]) ^ (control & kept_flag))
    correction = common.copy()
    correction[:, 0] |= left_flag | (right_flag << ONE)
    return correction, next_seeds, next_controls


def histogram(keys: PointKeys, turned: Words) -> Numbers:
    """Return a party's share of how often each number occurs among numbers that nobody sees.

    Parameters
    ----------
    keys : PointKeys
        Of the places -r modulo 2^bits.
    turned : ndarray (points,) of uint64
        The opened t + r modulo 2^bits.

    Returns
    -------
    ndarray (2^bits,) of uint32
        The two parties' arrays add up to the counts of t modulo 2^32.

    Raises
    ------
    ValueError
        When there are not as many numbers as keys.
    """
    size = 1 << keys.bits
    if turned.shape != (len(keys.seeds),):
        raise ValueError("there must be one opened number for every key")
    total = np.zeros(size, dtype=np.uint32)
    for start, shares in keys.expanded():
        for row, turn in zip(shares, turned[start : start + len(shares)].tolist(), strict=True):
            shift = int(turn) % size
            total[shift:] += row[: size - shift]
            total[:shift] += row[size - shift :]
    return total
