"""People whose columns are spread over two stations and a third with the label; files in their own order."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess

HOMES = {"smoke": 0, "age": 0, "cough": 1, "xray": 1, "fever": 2, "ill": 2}
LIMITS = predicting({"*": {"minimum_rows": 5, "minimum_count": 0}})


def population(seed: int = 3, people: int = 600) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    smoke = draw.random(people) < 0.4
    age = np.round(draw.normal(50, 15, people), 1)
    ill = draw.random(people) < 0.1 + 0.4 * smoke + 0.2 * (age > 55)
    fever = np.where(draw.random(people) < 0.2 + 0.4 * ill, "high", "none")
    return pd.DataFrame(
        {
            "id": [f"p{i:04d}" for i in range(people)],
            "smoke": np.where(smoke, "yes", "no"),
            "age": age,
            "cough": np.where(draw.random(people) < 0.2 + 0.6 * ill, "often", "rare"),
            "xray": np.where(draw.random(people) < 0.1 + 0.7 * ill, 1, 0),
            "fever": fever,
            "ill": np.where(ill, "yes", "no"),
        }
    )


def with_gaps(table: pd.DataFrame, share: float = 0.1, seed: int = 5) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    columns = list(HOMES)
    holed = table.copy()
    holed[columns] = holed[columns].astype(object).mask(draw.random((len(table), len(columns))) < share)
    return holed.astype({"age": float, "xray": float})


def shuffled(parts: list[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of stations, each in an order of its own."""
    return {f"station{number}": part.sample(frac=1, random_state=number) for number, part in enumerate(parts)}


def vertical(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return shuffled([table[["id", *(c for c in HOMES if HOMES[c] == at)]] for at in range(3)])


def horizontal(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return shuffled([table.iloc[at::3] for at in range(3)])


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    parts = {"shuffled": shuffled, "vertical": vertical, "horizontal": horizontal}
    return SimpleNamespace(homes=HOMES, limits=LIMITS, population=population, **parts)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return population()


@pytest.fixture(scope="session")
def holed(table: pd.DataFrame) -> pd.DataFrame:
    return with_gaps(table)


@pytest.fixture(scope="module")
def federation(table: pd.DataFrame):
    with OneProcess(vertical(table), helpers=["helper"], policies=LIMITS) as embedded:
        yield embedded


@pytest.fixture(scope="module")
def rows_federation(table: pd.DataFrame):
    with OneProcess(horizontal(table), helpers=["helper"], policies=LIMITS) as embedded:
        yield embedded
