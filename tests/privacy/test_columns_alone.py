"""Two exact answers about one station alone, by two columns of it that say the same of all rows but one: a member of an ensemble, and its own table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from party_kit import by_rows, remembering

from fedbayes.federation.errors import ThresholdError

ROWS, ODD = 240, 18
CODES = {"categories": [0, 1]}
SAME = "say the same of all records but fewer"


def table() -> pd.DataFrame:
    """Return whole records, of which one is otherwise at discharge: in `x`, in `ill`, and in age, which is five years later for all others."""
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "age": draw.integers(20, 80, ROWS)})
    for name in ("ill", "x", "y", "z"):
        frame[name] = draw.integers(0, 2, ROWS)
    odd = frame.index == ODD
    frame.loc[odd, ["age", "ill"]] = (62, 1)
    for name in ("x", "ill"):
        frame[f"{name}2"] = frame[name].where(~odd, 1 - frame[name])
    return frame.assign(age2=(frame["age"] + 5).where(~odd, 30))


def members(running: Any, feature: str, label: str = "ill", **options: Any) -> Any:
    """Return the first member's table of the feature, in an ensemble over whole records."""
    domain = {name: CODES for name in (feature, label) if "age" not in name}
    asked = {"label": label, "features": [feature], "split": "horizontal", "domain": domain, **options}
    model = running.run("bayesian_ensemble", "fit", {**asked, "structure": [[label, feature]]})["model"]
    return np.array(model["members"][0]["network"]["tables"][feature]["probabilities"])


def table_of(running: Any, feature: str) -> Any:
    """Return the table of a feature of one station, whose label all stations have."""
    names = [feature, "y", "z"]
    asked = {"label": "ill", "features": names, "split": "vertical", "noise": "none"}
    domain = {name: CODES for name in (*names, "ill")}
    model = running.run("secure_naive_bayes", "fit", {**asked, "domain": domain})["model"]
    return np.array(model["features"][feature]["counts"])


CUT = ({"bins": {"age": [60.0]}}, {"bins": {"age2": [65.0]}})
PAIRS = [("x", {}, "x2", {}), ("x", {}, "x", {"label": "ill2"}), ("age", CUT[0], "age2", CUT[1])]


@pytest.mark.parametrize(("one", "options", "other", "others"), PAIRS, ids=["feature", "label", "number"])
def test_members_by_two_columns_that_differ_in_one_row(tmp_path: Path, one, options, other, others):
    with remembering(by_rows(table(), "abc"), tmp_path) as running:
        assert members(running, one, **options).size
        assert members(running, "y").size, "another column"
        with pytest.raises(ThresholdError, match=SAME):
            members(running, other, **others)
        assert members(running, one, **options).size, "as before"


def stations() -> dict[str, pd.DataFrame]:
    frame = table()
    return {name: frame[["ill", *own]] for name, own in {"a": ["x", "x2"], "b": ["y"], "c": ["z"]}.items()}


def test_own_tables_by_two_columns_that_differ_in_one_row(tmp_path: Path):
    with remembering(stations(), tmp_path) as running:
        assert table_of(running, "x").size
        with pytest.raises(ThresholdError, match=SAME):
            table_of(running, "x2")
        assert table_of(running, "x").size, "as before"


def test_control_where_answers_may_differ_the_difference_is_that_row(tmp_path: Path):
    frame = table().loc[ODD]
    with remembering(by_rows(table(), "abc"), tmp_path / "rows", allow_differences=True) as running:
        apart = members(running, "x") - members(running, "x2")
    assert np.flatnonzero(np.abs(apart).sum(axis=1)).tolist() == [frame["ill"]]
    with remembering(stations(), tmp_path / "columns", allow_differences=True) as running:
        apart = table_of(running, "x") - table_of(running, "x2")
    assert apart[frame["ill"]].tolist() == [1.0 - 2 * frame["x"], 2.0 * frame["x"] - 1]
