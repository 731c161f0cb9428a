"""Small tables whose classes depend on pairs of columns, so that weights help."""

import numpy as np
import pandas as pd
import pytest

DOMAIN = {
    "a": {"categories": ["0", "1", "2"]},
    "b": {"categories": ["0", "1"]},
    "c": {"categories": ["0", "1"]},
    "z": {"bounds": [0.0, 1.0]},
    "class": {"categories": ["no", "yes"]},
}


def table(rows: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    a, b, c = generator.integers(3, size=rows), generator.integers(2, size=rows), generator.integers(2, size=rows)
    b = np.where(generator.random(rows) < 0.8, a % 2, b)
    score = 2.0 * (a == 1) + 1.5 * b - 2.0 * c + generator.normal(size=rows)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "z": generator.random(rows)})
    frame.loc[generator.random(rows) < 0.05, "c"] = None
    frame["class"] = np.where(score > 0.7, "yes", "no")
    return frame


@pytest.fixture(scope="session")
def tables():
    """Return three stations' tables."""
    return [table(rows, seed) for seed, rows in enumerate((120, 80, 150))]


@pytest.fixture(scope="session")
def parties(tables):
    """Return the same tables by station."""
    return dict(zip(("east", "south", "west"), tables, strict=True))
