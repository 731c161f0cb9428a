"""Five small hospitals with mixed columns, gaps, and a class that one of them lacks."""

import numpy as np
import pandas as pd
import pytest
from party_kit import with_folders

DOMAIN = {
    "smoker": {"categories": ["no", "yes"]},
    "stage": {"categories": [1, 2, 3]},
    "age": {"bounds": [0, 100]},
    "class": {"categories": ["healthy", "ill", "severe"]},
}


def make_table(rows, seed, classes=3):
    random = np.random.default_rng(seed)
    label = random.integers(0, classes, rows)
    age = np.clip(random.normal(40 + 12 * label, 10), 0, 100).round(1)
    frame = pd.DataFrame(
        {
            "age": np.where(random.random(rows) < 0.05, np.nan, age),
            "smoker": np.where(random.random(rows) < 0.3 + 0.2 * label, "yes", "no"),
            "stage": 1 + (label + random.integers(0, 2, rows)) % 3,
            "class": np.array(["healthy", "ill", "severe"])[label],
            "note": "free text",
        }
    )
    frame.loc[random.random(rows) < 0.04, "smoker"] = None
    frame.loc[0, "class"] = None
    return frame


@pytest.fixture(scope="session")
def tables():
    """Return five tables; the last one has two classes only."""
    return {f"h{n}": make_table(60 + 7 * n, n, 2 if n == 4 else 3) for n in range(5)}


@pytest.fixture(scope="session")
def pooled(tables):
    return pd.concat(tables.values(), ignore_index=True)


@pytest.fixture(scope="session")
def domain():
    return DOMAIN


@pytest.fixture(scope="session")
def files(tables, tmp_path_factory):
    """Return {hospital: {"default": csv, "ledger": folder}}."""
    return with_folders(tables, tmp_path_factory.mktemp("hospitals"), "ledger")
