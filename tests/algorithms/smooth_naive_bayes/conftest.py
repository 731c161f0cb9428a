"""Three stations with mixed columns, gaps, and a class that one of them lacks."""

import numpy as np
import pandas as pd
import pytest
from party_kit import with_folders

DOMAIN = {
    "age": {"bounds": [0, 100]},
    "smoker": {"categories": ["no", "yes"]},
    "pressure": {"bounds": [50, 250]},
    "class": {"categories": ["healthy", "ill", "severe"]},
}
NAMES = ("east", "south", "west")


def make_table(rows: int, seed: int, classes: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    label = random.integers(0, classes, rows)
    age = np.clip(random.normal(40 + 12 * label, 10), 0, 100).round(1)
    frame = pd.DataFrame(
        {
            "age": np.where(random.random(rows) < 0.05, np.nan, age),
            "smoker": np.where(random.random(rows) < 0.2 + 0.3 * label, "yes", "no"),
            "pressure": np.clip(random.normal(130 + 8 * seed, 15, rows), 50, 250),
            "class": np.array(["healthy", "ill", "severe"])[label],
        }
    )
    frame.loc[random.random(rows) < 0.04, "smoker"] = None
    frame.loc[0, "class"] = None
    return frame


@pytest.fixture(scope="session")
def tables() -> dict[str, pd.DataFrame]:
    return {name: make_table(150 + 30 * n, n, 2 if n == 2 else 3) for n, name in enumerate(NAMES)}


@pytest.fixture(scope="session")
def pooled(tables):
    return pd.concat(tables.values(), ignore_index=True)


@pytest.fixture(scope="session")
def domain():
    return DOMAIN


@pytest.fixture
def parties(tables, tmp_path):
    """Return {station: {"default": csv, "ledger": folder}}, with fresh ledgers."""
    return with_folders(tables, tmp_path, "ledger")
