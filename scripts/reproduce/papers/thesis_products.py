"""Chapter 2: how often the n-party scalar product calls itself, and how long it takes."""

from __future__ import annotations

import time

import numpy as np
from test_scalar_product import tree_seconds, vectors_of

from fedbayes.mpc.prg import expand
from scalar_product.thesis import n_party, protocol_runs

from ..core import Item, published_numbers

LONGEST = 10.0  # seconds that a cell of the published protocol may be expected to take


def known(item: str) -> dict[str, float]:
    """Return the numbers of the thesis or of its authors' repositories, by the cells of their row."""
    rows = published_numbers("thesis").query("item == @item")
    return dict(zip(rows["row"], rows["value"].astype(float), strict=True))


def figure_2_1() -> Item:
    item, theirs = Item("figure-2.1"), known("figure-2.1")
    with item.timed():
        for parties in range(2, 9):
            runs = protocol_runs(parties)
            item.add((parties, "protocol runs"), theirs.get(str(parties)), runs, parties - 1)
            item.add((parties, "messages of the outermost run"), parties + parties**2, parties + parties**2, None)
    return item


def published_seconds(parties: int, rows: int) -> float:
    """Return the seconds of the published protocol in one process."""
    count = iter(range(10**9))
    began = time.perf_counter()
    vectors = vectors_of(parties, rows)
    answer, _ = n_party(vectors, lambda rows, name: expand(bytes(32), f"{name}{next(count)}", rows, np.uint32))
    if answer != int(np.prod(vectors, axis=0).sum()):
        raise ValueError("the published protocol gave another count than the pooled vectors")
    return time.perf_counter() - began


def figure_2_2(quick: bool) -> Item:
    item, theirs = Item("figure-2.2", 1 if quick else 3), known("figure-2.2")
    with item.timed():
        for rows in (100, 1000) if quick else (100, 1000, 10_000, 100_000):
            per_run = published_seconds(2, rows)
            for parties in range(2, 6):
                wanted = protocol_runs(parties) * per_run < LONGEST
                own = [1e3 * published_seconds(parties, rows) for _ in range(item.repetitions)] if wanted else None
                ours = [1e3 * tree_seconds(parties, rows)[0] for _ in range(item.repetitions)]
                item.add((rows, parties), theirs.get(f"{rows}|{parties}"), own, ours)
    return item
