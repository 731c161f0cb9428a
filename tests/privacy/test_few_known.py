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


def fit(known: int, split: str, missing: str) -> Any:
    columns = {"columns": ["age", "ill", "rare"], "missing": missing}
    table = people(known)
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
        fit(4, split, missing)


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_a_column_of_enough_values_is_learned(split: str) -> None:
    assert fit(5, split, "em_on_counts")["model"]["tables"]["rare"]["probabilities"]
