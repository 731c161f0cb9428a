"""People whose columns are spread over stations: each file in its own order, with some people of its own."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess

from fedbayes.bayes.counts.tables import PooledTables
from fedbayes.federation.vertical.coding import resolve

PEOPLE = 400
COLUMNS = ["smoke", "age", "cough", "xray", "ill"]
HOMES = {"smoke": 0, "age": 0, "cough": 1, "xray": 1, "ill": 2}
LIMITS = predicting({"*": {"minimum_rows": 5, "minimum_count": 0}})

DEFAULTS = {
    "columns": COLUMNS,
    "structure": None,
    "label": None,
    "score": "k2",
    "max_parents": 3,
    "order": None,
    "bins": "published",
    "required_edges": None,
    "forbidden_edges": None,
    "missing": "em_on_counts",
    "synthetic_rows": 10_000,
    "restarts": 3,
    "pseudocount": 0.5,
    "minimum_count": 0,
    "smallest_probability": 0.0,
    "epsilon": None,
    "validation": "none",
    "folds": 10,
    "public_records": None,
    "equivalent_sample_size": 10.0,
}


def population(seed: int = 3, people: int = PEOPLE) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    smoke = draw.random(people) < 0.4
    age = np.round(draw.normal(50, 15, people), 1)
    ill = draw.random(people) < 0.05 + 0.4 * smoke + 0.2 * (age > 55)
    cough = np.where(draw.random(people) < 0.2 + 0.6 * ill, "often", "rare")
    xray = np.where(draw.random(people) < 0.1 + 0.7 * ill, 1, 0)
    return pd.DataFrame(
        {
            "id": [f"p{i:04d}" for i in range(people)],
            "smoke": np.where(smoke, "yes", "no"),
            "age": age,
            "cough": cough,
            "xray": xray,
            "ill": np.where(ill, "yes", "no"),
        }
    )


def with_gaps(table: pd.DataFrame, share: float = 0.1, seed: int = 5) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    gaps = draw.random((len(table), len(COLUMNS))) < share
    holed = table.copy()
    holed[COLUMNS] = holed[COLUMNS].astype(object).mask(gaps)
    return holed.astype({"age": float, "xray": float})


def spread(table: pd.DataFrame, extra: int = 0) -> dict[str, pd.DataFrame]:
    """Return the tables of stations, each in an order of its own, with so many people whom no other one has."""
    parties = {}
    for number in range(3):
        part = table[["id", *(name for name, home in HOMES.items() if home == number)]]
        strangers = part.sample(extra, random_state=number).assign(id=[f"s{number}-{i}" for i in range(extra)])
        parties[f"station{number}"] = pd.concat([part, strangers]).sample(frac=1, random_state=number)
    return parties


def pooled(table: pd.DataFrame, bins: Any = "quantile") -> tuple[PooledTables, dict[str, Any]]:
    """Return the oracle of the pooled table, and the states of its columns, as the stations would find them."""
    states, codes = {}, {}
    for column in COLUMNS:
        states[column], codes[column] = resolve(column, table[column], None, bins, True)
    return PooledTables(codes, {name: found.cardinality for name, found in states.items()}), states


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """What tests share: `defaults` of fit, `limits`, `pooled(table)`, `spread(table)`, `population(seed)`."""
    return SimpleNamespace(defaults=DEFAULTS, limits=LIMITS, pooled=pooled, spread=spread, population=population)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return population()


@pytest.fixture(scope="session")
def holed(table: pd.DataFrame) -> pd.DataFrame:
    return with_gaps(table)


@pytest.fixture(scope="module")
def federation(table: pd.DataFrame):
    with OneProcess(spread(table), helpers=["helper"], policies=LIMITS) as embedded:
        yield embedded


@pytest.fixture(scope="module")
def holed_federation(holed: pd.DataFrame):
    with OneProcess(spread(holed), helpers=["helper"], policies=LIMITS) as embedded:
        yield embedded


@pytest.fixture(scope="session")
def given() -> dict[str, Any]:
    """Arguments that every fit of these tests shares."""
    return {"columns": COLUMNS, "id_column": "id", "bins": "quantile"}
