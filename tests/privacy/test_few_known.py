"""An exact network tells nothing of a column of which few records have a value: its margin would be these records'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, by_rows

from fedbayes.federation.errors import ThresholdError

ROWS = 90
LIMITS = {"*": {"minimum_count": 5}}


def people(known: int) -> pd.DataFrame:
    """Return records of which so many, at every third place, have a value of `rare`."""
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"id": range(ROWS), "age": draw.integers(0, 3, ROWS), "ill": draw.integers(0, 2, ROWS)})
    return table.assign(rare=[("yes", "no")[row % 2] if row < known else None for row in range(ROWS)])


def fit(table: pd.DataFrame, split: str, missing: str, **more: Any) -> Any:
    columns = {"columns": ["age", "ill", "rare"], "missing": missing, **more}
    if split == "horizontal":
        domain = {"age": [0, 1, 2], "ill": [0, 1], "rare": ["no", "yes"]}
        columns |= {"split": split, "domain": {name: {"categories": states} for name, states in domain.items()}}
        with OneProcess(by_rows(table, "abc"), policies=LIMITS) as running:
            return running.run("vertibayes", "fit", columns)
    parties = by_columns(table, {"a": ["age"], "b": ["ill"], "c": ["rare"]})
    with OneProcess(parties, helpers=["helper"], policies=LIMITS) as running:
        return running.run("vertibayes", "fit", {**columns, "id_column": "id"})


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
@pytest.mark.parametrize("missing", ["em", "em_on_counts", "category"])
def test_a_column_of_few_values_ends_the_task(split: str, missing: str) -> None:
    with pytest.raises(ThresholdError, match="have a value of column 'rare'"):
        fit(people(4), split, missing)


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_a_column_of_enough_values_is_learned(split: str) -> None:
    assert fit(people(5), split, "em_on_counts")["model"]["tables"]["rare"]["probabilities"]


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
@pytest.mark.parametrize("missing", ["em", "em_on_counts"])
def test_few_values_at_a_configuration_are_not_spread_over_its_many_records(split: str, missing: str) -> None:
    """Of 30 records of an age 2 have a value, both the rarer one: by EM it was that of all, as if 30 had told it."""
    table = people(0)
    known = table["age"].ne(1) | table.index.isin(table.index[table["age"].eq(1)][:2])
    table["rare"] = np.where(table["age"].eq(1), "yes", np.where(table.index % 5, "no", "yes"))
    table["rare"] = table["rare"].where(known, None)
    told = fit(table, split, missing, structure=[["age", "rare"]])["model"]["tables"]["rare"]["probabilities"]
    share = np.array([row[1] for row in told])
    assert share[0] < 0.4
    assert share[2] < 0.4
    assert share[1] < 0.75, "the margin, not the two records"
