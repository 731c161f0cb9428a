"""Time of one station's whole work, as ratios within one run; and the size of the Washington census extract."""

import time

import numpy as np
import pytest

from fedbayes.bayes.schema import Schema
from v6_smooth_naive_bayes.messages import Settings
from v6_smooth_naive_bayes.model import perturb, summarise

pytestmark = pytest.mark.benchmark
COLUMNS = 13
DOMAIN = {f"x{i}": {"bounds": [0.0, 100.0]} for i in range(COLUMNS)} | {"class": {"categories": ["no", "yes"]}}
SCHEMA = Schema.from_domain(DOMAIN)


def rows(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(count)
    label = random.integers(0, 2, count).astype(np.int32)
    return {f"x{i}": np.clip(random.gamma(2.0, 8.0 + label, count), 0, 100) for i in range(COLUMNS)} | {"class": label}


def seconds(count: int) -> float:
    encoded, settings = rows(count), Settings(1.0)
    began = time.perf_counter()
    perturb(summarise(SCHEMA, "class", encoded, settings), SCHEMA, "class", settings)
    return time.perf_counter() - began


def test_time_grows_as_n_log_n():
    """Doubling the rows may take 2 log(2n)/log(n) = 2.1 times as long; 3 leaves room for caches and a busy machine."""
    times = [np.median([seconds(count) for _ in range(3)]) for count in (100_000, 200_000, 400_000)]
    print("seconds for 100, 200, 400 thousand rows:", np.round(times, 3))
    assert times[1] / times[0] < 3.0
    assert times[2] / times[1] < 3.0


def test_the_washington_extract_takes_seconds():
    """1.7 million rows by 13 numeric columns under 10 s, and within 40 plain sorts of the same columns."""
    encoded = rows(1_700_000)
    began = time.perf_counter()
    for name in DOMAIN:
        np.argsort(encoded[name], kind="stable")
    sorting = time.perf_counter() - began
    taken = seconds(1_700_000)
    print(f"release {taken:.2f} s, stable sorts of the columns {sorting:.2f} s")
    assert taken < 10.0
    assert taken < 40.0 * sorting
