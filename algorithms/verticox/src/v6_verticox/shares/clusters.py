"""Score residuals summed by cluster on shares: sorted by cluster unseen, into blocks whose sizes follow from two counts.

One station, the grouper, alone knows which record is in which cluster. The residuals are opened, masked, in the dealer's order sigma of the records. The
outcome holder, who knows sigma, brings them into the common order of the records under one mask more, for the grouper alone, which sorts them by cluster as
`sorting` does: with a random order that it shares with the dealer, and a tau of which nobody learns anything.

A record with two rows (`stations.truncation`) has the sum of theirs. Without clusters the outcome holder is the grouper then, and each record a cluster.

The grouper puts the largest cluster into the first block, and so on, and fills blocks up with zeros. Of n records in m clusters the j-th largest has
at most (n - m) / j + 1. Blocks of these sizes hold any clusters, so that where they begin is public and tells of no cluster: sums over blocks are sums of
shares. There are about n (1 + log m) places.

**Reveals** to all how many clusters there are; of their sizes and members nothing to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import accumulate
from operator import add

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.prg import expand
from fedbayes.mpc.shared_fixed import Dealer, Engine
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, Wire, expand_wide
from fedbayes.typing import Indices

from ..messages.names import Name
from ..messages.private import Stage
from .layout import FEATURE_BITS, Layout
from .sorting import as_places, secret_order

KIND = "clusters"
"""The stage that sums by cluster, and what it opens."""


def blocks(records: int, clusters: int) -> list[int]:
    """Return the sizes of the blocks: how many records the j-th largest of so many clusters can have."""
    return [(records - clusters) // rank + 1 for rank in range(1, clusters + 1)]


def places_of(layout: Layout) -> int:
    """Return how many places the blocks have together."""
    return sum(blocks(layout.records, layout.clusters))


def residuals_of(stage: Stage) -> Name:
    """Return the name of the residuals that a stage sums."""
    return stage.named("residual")


def sorted_name(stage: Stage) -> Name:
    """Return the name of the residuals sorted by cluster, which the grouper publishes."""
    return stage.named("grouped")


def order_name(stage: Stage) -> Name:
    """Return the name of the permutation tau that it publishes with them."""
    return stage.named("grouping")


def dealt_order(key: bytes, stage: Stage, places: int) -> Indices:
    """Return the random order that the dealer and the grouper expand from their key."""
    return np.argsort(expand(key, f"clusters/{stage.label}", places), kind="stable")


def relay_mask(key: bytes, stage: Stage, shape: tuple[int, ...]) -> Wide:
    """Return the mask under which the outcome holder sends residuals to the grouper, which it and the dealer expand from their key."""
    return expand_wide(key, f"clusters/{stage.label}", shape)


def in_common_order(key: bytes, rows: Wide, layout: Layout) -> Wide:
    """Return rows of the dealer's order at their records, whose rows are summed; `key` is that of the outcome holder and the dealer."""
    sorted_rows, records = rows[np.argsort(secret_order(key, rows.shape[0]), kind="stable")], layout.records
    return reduce(add, (sorted_rows[copy * records : (copy + 1) * records] for copy in range(layout.plan.copies)))


def delta(
    engine: Dealer, layout: Layout, stage: Stage, mask: Wide, owner_key: bytes, grouper_key: bytes, relayed: bool
) -> Wide:
    """Return what the dealer tells the grouper for sorting, (places, features): the masks of what it gets, in their order, less fresh ones.

    The `mask` is that of the residuals in the dealer's order; keys are those shared with the outcome holder and with the grouper, `relayed` whether
    these are two.
    """
    own = in_common_order(owner_key, mask, layout)
    if relayed:
        own = own - relay_mask(owner_key, stage, own.shape)
    filled = _filled(own, places_of(layout))
    order = dealt_order(grouper_key, stage, filled.shape[0])
    return filled[order] - engine.random(sorted_name(stage), filled.shape)


def arranged(codes: npt.NDArray[np.int_], sizes: list[int]) -> Indices:
    """Return which record is at each place, (places,): clusters in blocks, the largest first; from `len(codes)` on what fills up.

    Parameters
    ----------
    codes : ndarray of int, (records,)
        Cluster 0, 1, ... of each record.
    sizes : list of int
        Of the blocks.
    """
    counts = np.bincount(codes)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    result = np.full(sum(sizes), -1, dtype=np.intp)
    for start, code in zip(starts, np.argsort(-counts, kind="stable"), strict=True):
        result[start : start + counts[code]] = members[code]
    empty = result < 0
    result[empty] = len(codes) + np.arange(empty.sum())
    return result


def published(key: bytes, stage: Stage, residuals: Wide, arrangement: Indices, sorting: Wide) -> dict[Name, Wide]:
    """Return what the grouper publishes: residuals sorted by cluster under a mask that nobody knows, and tau.

    The `residuals` are masked, in the common order; `arrangement` is which of them is at each place, `sorting` the dealer's `delta`.
    """
    back = np.argsort(dealt_order(key, stage, len(arrangement)), kind="stable")
    tau = back[arrangement]
    numbers = np.stack([tau.astype(np.uint64), np.zeros(len(tau), dtype=np.uint64)], axis=1)
    values = _filled(residuals, len(arrangement))[arrangement] + sorting[tau]
    return {sorted_name(stage): values, order_name(stage): Wide.from_words(numbers)}


def sums(engine: Engine, layout: Layout, stage: Stage, opened: Mapping[Name, Wide]) -> Share:
    """Return the residuals' sums by cluster, (clusters, features), of what the grouper published; at the dealer, the shape."""
    sizes, shape = blocks(layout.records, layout.clusters), (layout.clusters, layout.features)
    if isinstance(engine, Dealer):
        return Share(Wide.zeros(shape), shape, FEATURE_BITS)
    mask, public = engine.random(sorted_name(stage), (sum(sizes), layout.features)), opened[sorted_name(stage)]
    tau = as_places(opened[order_name(stage)].low, sum(sizes))
    if public.shape != mask.shape or len(tau) != sum(sizes):
        raise ValueError("residuals by cluster have another shape than they must")
    share = engine.lifted(Wire(public, mask[tau], FEATURE_BITS))
    before = Wide.concatenate([Wide.zeros((1, layout.features)), share.held.prefix()], axis=0)
    ends = np.array(list(accumulate(sizes)))
    return Share(before[ends] - before[ends - np.array(sizes)], shape, FEATURE_BITS)


def _filled(values: Wide, places: int) -> Wide:
    return Wide.concatenate([values, Wide.zeros((places - values.shape[0], *values.shape[1:]))], axis=0)
