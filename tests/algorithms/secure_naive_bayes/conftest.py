"""Small tables with a known law, split horizontally and vertically, and one embedded federation of each kind."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess
from party_kit import by_rows

DOMAIN = {
    "color": {"categories": ["red", "green", "blue"]},
    "size": {"bounds": [0, 10]},
    "shape": {"categories": ["round", "square"]},
    "kind": {"categories": ["a", "b"]},
}


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """900 rows whose columns depend on the label; some values are missing."""
    generator = np.random.default_rng(11)
    kind = generator.integers(0, 2, 900)
    frame = pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[(kind + generator.integers(0, 2, 900)) % 3],
            "size": np.clip(generator.normal(3 + 4 * kind, 1.5), 0, 10).round(3),
            "shape": np.where(generator.random(900) < 0.2 + 0.6 * kind, "round", "square"),
            "kind": np.array(["a", "b"])[kind],
        }
    )
    frame.loc[::97, "color"] = None
    return frame


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the ledger of the first station of `horizontal`."""
    return tmp_path_factory.mktemp("ledger")


@pytest.fixture(scope="session")
def horizontal(table: pd.DataFrame, ledger: Path) -> Iterator[OneProcess]:
    """Four stations with 225 rows each, and a helper; the first station has a ledger."""
    parties = by_rows(table, "pqrs")
    # Fits here are next to exact, and over three of the stations and all four: only a node that lets differences out answers both.
    policies = {"p": {"ledger": "ledger", "budget_epsilon": 1e9, "allow_differences": True}}
    remembering = {**parties, "p": {"default": parties["p"], "ledger": ledger}}
    with OneProcess(remembering, helpers=["dealer"], policies=predicting(policies)) as federation:
        yield federation


@pytest.fixture(scope="session")
def vertical(table: pd.DataFrame) -> Iterator[OneProcess]:
    """Three stations, each with one feature of the same rows and the label."""
    parties = {f"has {name}": table[[name, "kind"]] for name in ("color", "size", "shape")}
    with OneProcess(
        parties=parties, helpers=["dealer"], policies=predicting({"*": {"minimum_count": 1}})
    ) as federation:
        yield federation
