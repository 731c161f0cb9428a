"""Two exact networks of united records by two columns of one station that say the same of all records but one; records split by columns may be asked so."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.answered.entered import Entered
from fedbayes.federation.errors import ThresholdError

ROWS, ODD = 80, 7
SPLIT = {"a": ["x", "x2"], "b": ["ill"], "c": ["z"]}
SAME = "say the same of all records but fewer"


def table() -> pd.DataFrame:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({name: draw.integers(0, 2, ROWS) for name in ("x", "ill", "z")})
    frame["x2"] = frame["x"].where(frame.index != ODD, 1 - frame["x"])
    return frame.assign(id=[f"p{row:02d}" for row in range(ROWS)])


def hybrid() -> dict[str, pd.DataFrame]:
    """Return records of which half are at one station, the others' columns at two."""
    frame = table()
    first, second = frame.iloc[: ROWS // 2], frame.iloc[ROWS // 2 :]
    return {"a": first[["id", "x", "x2"]], "b": first[["id", "ill", "z"]], "c": second[["id", "ill", "z"]]}


def whole() -> dict[str, pd.DataFrame]:
    """Return records of which half are at one station that has both columns too."""
    frame = table()
    return {**hybrid(), "c": frame.iloc[ROWS // 2 :]}


def network(federation: OneProcess, column: str) -> dict[str, Any]:
    domain = {name: {"categories": [0, 1]} for name in (column, "ill")}
    how = {"split": "hybrid", "missing": "drop", "pseudocount": 0.0, "id_column": "id"}
    asked = {"columns": ["ill", column], "structure": [["ill", column]], "domain": domain, **how}
    return dict(federation.run("vertibayes", "fit", asked)["model"]["tables"])


@pytest.mark.parametrize("tables", [by_columns(table(), SPLIT), hybrid()], ids=["by columns", "hybrid"])
def test_united_records_by_two_columns_of_one_station(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    with remembering(tables, tmp_path) as federation:
        assert network(federation, "x")
        with pytest.raises(ThresholdError, match=SAME):
            network(federation, "x2")
        assert network(federation, "x"), "as before"


def test_of_columns_that_others_hold_too_a_station_knows_its_own_rows(tmp_path: Path) -> None:
    """As over whole records (what still succeeds)."""
    with remembering(whole(), tmp_path) as federation:
        assert network(federation, "x")
        assert network(federation, "x2")


def test_control_unheld_two_networks_tell_the_record(tmp_path: Path) -> None:
    with (
        mock.patch.object(Entered, "note_held_alone"),
        remembering(by_columns(table(), SPLIT), tmp_path) as federation,
    ):
        one, other = (network(federation, name)[name]["probabilities"] for name in ("x", "x2"))
    frame = table()
    moved = [not np.allclose(*rows) for rows in zip(one, other, strict=True)]
    assert moved == [frame["ill"][ODD] == 0, frame["ill"][ODD] == 1]
