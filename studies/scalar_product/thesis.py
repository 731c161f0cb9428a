"""The n-party scalar product protocol as it was published, in one process: the oracle of `chain` and the yardstick of the benchmark.

Party 1 .. n own vectors D_i; a commodity server makes masks R_i and splits phi(R_1 ... R_n) into r_1 + ... + r_n. Everybody
publishes D_i + R_i to the other parties. What remains after a pass over the parties are products of some data vectors with the masks of
the others; each is a scalar product of fewer parties, in which the commodity server owns the
product of the masks and one of the idle parties takes its place.

**Erratum.** Algorithm 1 takes every such leftover once. Expanding steps 9 to 11, a leftover with masks of the parties M
has coefficient 1 - |M|, so it is added back |M| - 1 times; the text shows it for n = 4 ("2 phi(...)"), the pseudocode and its sign do not.

**Reveals** the product to party 1; to the data parties uniform openings; to the commodity servers nothing.
**Assumes** as published: commodity servers collude with no data party, and every sub-protocol has a server of its own.

References
----------
.. [1] F. van Daalen et al., "Privacy Preserving n-Party Scalar Product Protocol", IEEE TPDS 34(4), 2023,
   sections 2.2.1 to 2.2.6, algorithm 1; the worked example is in the thesis' appendix 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.ring import RingArray, check_ring

Draw = Callable[[int, str], RingArray]
"""(rows, name) -> uniform ring vector: the commodity server's randomness."""


@dataclass(slots=True)
class Transcript:
    """What a run cost and who saw what.

    Attributes
    ----------
    protocols : int
        Protocol runs, the outermost one included.
    openings : list of ndarray
        Every vector that a party published to others.
    """

    protocols: int = 0
    openings: list[RingArray] = field(default_factory=list)


@cache
def protocol_runs(parties: int) -> int:
    """Return how many protocol runs one product of `parties` vectors takes: 1, 4, 29, 336, 5687, ... from 2 on."""
    if parties <= 2:
        return 1
    return 1 + sum(comb(parties, size) * protocol_runs(parties - size + 1) for size in range(2, parties))


def two_party(first: RingArray, second: RingArray, draw: Draw, transcript: Transcript) -> int:
    """Return the scalar product of two vectors by the two-party protocol (section 2.2.1), modulo the ring."""
    transcript.protocols += 1
    rows, modulus = len(first), _modulus(first)
    mask_a, mask_b = draw(rows, "R_a"), draw(rows, "R_b")
    share_a = int(draw(1, "r_a")[0])
    share_b = _dot([mask_a, mask_b]) - share_a
    opened_a, opened_b = first + mask_a, second + mask_b
    transcript.openings += [opened_a, opened_b]
    secret = int(draw(1, "v_2")[0])
    u = _dot([opened_a, second]) + share_b - secret
    v = u - _dot([mask_a, opened_b]) + share_a
    return (v + secret) % modulus


def n_party(vectors: Sequence[RingArray], draw: Draw, transcript: Transcript | None = None) -> tuple[int, Transcript]:
    """Return the scalar product of n private vectors and what it cost.

    Parameters
    ----------
    vectors : sequence of ndarray (rows,)
        One of each party, of one ring.
    draw : callable
        Uniform vectors of the same ring.
    transcript : Transcript, optional
        Counted on.

    Returns
    -------
    tuple of int and Transcript
        The product modulo the ring's size.

    Raises
    ------
    ValueError
        For fewer than two vectors, or vectors that do not match.
    """
    ledger = Transcript() if transcript is None else transcript
    if len(vectors) < 2 or len({(vector.shape, vector.dtype) for vector in vectors}) != 1:
        raise ValueError("the protocol takes two or more vectors of one length and one ring")
    check_ring(vectors[0].dtype)
    if len(vectors) == 2:
        return two_party(vectors[0], vectors[1], draw, ledger), ledger
    masks = [draw(len(vectors[0]), f"R_{index}") for index in range(len(vectors))]
    split = [int(draw(1, f"r_{index}")[0]) for index in range(len(vectors) - 1)]
    split.append(_dot(masks) - sum(split))
    return n_party_with(vectors, masks, split, int(draw(1, "v_2")[0]), draw, ledger), ledger


def n_party_with(
    vectors: Sequence[RingArray],
    masks: Sequence[RingArray],
    split: Sequence[int],
    secret: int,
    draw: Draw,
    transcript: Transcript,
) -> int:
    """Run steps 7 to 14 of section 2.2.5 for given masks R_i, scalars r_i and the first party's secret v_2."""
    count = len(vectors)
    transcript.protocols += 1
    opened = [vector + mask for vector, mask in zip(vectors, masks, strict=True)]
    transcript.openings += opened
    total = _dot([*opened[1:], vectors[0]]) + (count - 1) * split[0] - secret
    for party in range(1, count):
        others = [opened[index] for index in range(count) if index != party]
        total += (count - 1) * split[party] - _dot([*others, masks[party]])
    for size in range(2, count):
        for masked in combinations(range(count), size):
            owners = [vectors[index] for index in range(count) if index not in masked]
            server = reduce(np.multiply, [masks[index] for index in masked])
            leftover, _ = n_party([*owners, server], draw, transcript)
            total += (size - 1) * leftover
    return (total + secret) % _modulus(vectors[0])


def _dot(vectors: Sequence[RingArray]) -> int:
    """Phi of the product of diagonal matrices: the sum of the elementwise product."""
    product: npt.NDArray[np.unsignedinteger] = reduce(np.multiply, vectors)
    return int(product.sum(dtype=product.dtype))


def _modulus(vector: RingArray) -> int:
    return 1 << (8 * vector.dtype.itemsize)
