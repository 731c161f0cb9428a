"""Processor time of exact noise beside OpenDP's, as a ratio in one run."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from opendp_kit import PEERS, opendp_noise

pytestmark = pytest.mark.benchmark

CELLS = 30_000
LARGEST_RATIO = 0.6


def processor_seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


@pytest.mark.parametrize(("draw", "maker", "atom"), PEERS, ids=["laplace", "gaussian", "float"])
def test_exact_noise_takes_less_than_opendps(draw, maker, atom):
    zeros = np.zeros(CELLS, dtype=np.float64 if atom == "f64" else np.int64)
    opendp_noise(maker, atom, 10, 12.3)
    ours = min(processor_seconds(lambda: draw(zeros, 12.3)) for _ in range(3))
    theirs = min(processor_seconds(lambda: opendp_noise(maker, atom, CELLS, 12.3)) for _ in range(3))
    print(
        f"\n{draw.__name__}: {1e6 * ours / CELLS:.2f} us a cell, OpenDP {1e6 * theirs / CELLS:.2f}: {ours / theirs:.2f}"
    )
    assert ours / theirs < LARGEST_RATIO
