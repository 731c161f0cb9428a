"""One table under two smallest counts, as nodes of another job have them: what one hides the other shows, and nodes with a folder database refuse it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.federation.answered.minima import Minima
from fedbayes.federation.errors import ThresholdError

TABLE = np.array([[7, 9, 9], [8, 2, 7], [7, 1, 7]])
CELLS = [(row, column) for row in range(3) for column in range(3) for _ in range(TABLE[row, column])]
STATES = {"x": ["a", "b", "c"], "y": ["u", "v", "w"]}
TASK = {
    "columns": ["x", "y"],
    "id_column": "id",
    "domain": {name: {"categories": states} for name, states in STATES.items()},
}
FEWER, MORE = ["one", "two", "helper"], ["one", "two", "three", "helper"]


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """Return how a table of two stations is asked for among some organizations, of which the third has a larger minimum and another column."""
    ids = [f"p{place}" for place in range(len(CELLS))]
    tables = {
        "one": pd.DataFrame({"id": ids, "x": [STATES["x"][row] for row, _ in CELLS]}),
        "two": pd.DataFrame({"id": ids, "y": [STATES["y"][column] for _, column in CELLS]}),
        "three": pd.DataFrame({"id": ids, "z": np.arange(len(ids)) % 2}),
    }
    policies = {name: {"ledger": "vault", "allow_differences": False, "minimum_count": 3} for name in tables}
    policies["three"]["minimum_count"] = 5
    with OneProcess(with_folders(tables, tmp_path), ["helper"], policies) as federation:

        def ask(organizations: list[str], **changes: Any) -> np.ndarray[Any, Any]:
            arguments = {**TASK, "organizations": organizations, **changes}
            counts = federation.run("scalar_product", "contingency", arguments)["counts"]
            return np.array(counts, dtype=float)[:3, :3]

        yield ask


@pytest.mark.parametrize("organizations", [[FEWER, MORE], [MORE, FEWER]], ids=["fewer first", "more first"])
def test_a_table_is_told_under_one_smallest_count(asked: Any, organizations: list[list[str]]) -> None:
    first, other = organizations
    told = asked(first)
    with pytest.raises(ThresholdError, match="another FEDBAYES_MINIMUM_COUNT"):
        asked(other)
    np.testing.assert_array_equal(asked(first), told)
    assert np.isfinite(asked(other, epsilon=1.0)).all()


def test_control_unchecked_both_together_tell_a_small_cell(asked: Any) -> None:
    with mock.patch.object(Minima, "check"):
        tables = asked(FEWER), asked(MORE)
    hidden = np.isnan(tables[0]) & np.isnan(tables[1])
    assert np.isnan(tables[0][1, 1])
    assert hidden[1].tolist() == [False, True, False]
    assert 17 - np.fmax(*tables)[1, [0, 2]].sum() == TABLE[1, 1] == 2
