"""Which row-wise shares of products of masks a table over three or more factors needs, and when they pay."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray

Table = tuple[str, ...]
"""Names of the factors of one question, in the order of the answer's axes."""
MOST_FACTORS = 8  # 2^8 - 8 - 2 corrections
ROUND_SECONDS = 3.3  # a round on stock nodes, measured (docs/architecture.md, Cost)
BYTES_PER_SECOND = 8e6  # through a stock server
ITEM_BYTES = 4  # of an opening or a correction in the ring of 32 bits


@dataclass(frozen=True, slots=True)
class Correction:
    """Row-wise shares of the product of several masks: `padder` expands its share, `receiver` is sent the rest."""

    subset: Table
    padder: int
    receiver: int


def corrections_for(tables: Sequence[Table], parties: Sequence[int]) -> dict[Table, Correction]:
    """Return the corrections that tables over three or more factors need for subset shares, by subset, in the order they are dealt.

    The parties take turns by position, so everyone who knows the tables knows who was dealt what; who pads and who receives does not
    depend on the factors' names. With few subsets some parties are dealt nothing.
    """
    ordered = sorted(parties)
    subsets = dict.fromkeys(
        subset for table in tables for size in range(2, len(table)) for subset in combinations(table, size)
    )
    return {
        subset: Correction(subset, ordered[turn % len(ordered)], ordered[(turn + 1) % len(ordered)])
        for turn, subset in enumerate(subsets)
    }


def subset_seconds(widths: Sequence[int], rows: int, parties: int) -> float:
    """Return the estimated cost of subset shares: the corrections' transport, dealt along with the alignment."""
    columns = sum(int(np.prod(subset)) for size in range(2, len(widths)) for subset in combinations(widths, size))
    return columns * rows * ITEM_BYTES * (1.0 + 1.0 / parties) / BYTES_PER_SECOND


def tree_seconds(widths: Sequence[int], rows: int, parties: int) -> float:
    """Return the estimated cost of a multiplication tree: its openings' transport and its rounds."""
    level, columns, rounds = [int(width) for width in widths], 0, 0
    while len(level) > 2:
        merged = [int(np.prod(level[i : i + 2])) for i in range(0, len(level), 2)]
        columns += sum(merged[: len(level) // 2])
        level, rounds = merged, rounds + 1
    return rounds * ROUND_SECONDS + 3 * columns * rows * ITEM_BYTES * parties / BYTES_PER_SECOND


def correction_pad(key: bytes, subset: Table, shape: tuple[int, ...], dtype: npt.DTypeLike) -> RingArray:
    """Return the padder's row-wise share of a product of masks; no two subsets have one pad, whatever is in their names."""
    return expand(key, f"subset|{list(subset)!r}", shape, dtype)
