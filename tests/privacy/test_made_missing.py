"""A task that takes one person's value for missing: a network over all records and one column over the rest, in one answer, told of that person."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.guards.table_reader import TableReader

ROWS, TARGET = 120, 7
DRAW = np.random.default_rng(3)
INCOME = DRAW.permutation(np.arange(1000, 1000 + 5 * ROWS, 5))
ILL = np.where(DRAW.random(ROWS) < 0.4, "yes", "no")
CODE = int(INCOME[TARGET])
NUMBER = {"type": "number", "bounds": [0, 3000]}
CUT = {"type": "category", "categories": ["low", "high"], "cut": {"column": "income", "at": [1300]}}
STATES = {"type": "category", "categories": ["no", "yes"]}
WAYS: dict[str, dict[str, Any]] = {
    "a code of the column": {"columns": {"income": {**NUMBER, "missing": [CODE]}}},
    "a code of all columns": {"columns": {"income": NUMBER}, "missing": [CODE]},
    "a code of a column that is cut": {"columns": {"income": {**NUMBER, "missing": [CODE]}, "band": CUT}},
}
MISSING = ("em_on_counts", "em", "drop", "category")
FITS = {
    **{f"vertibayes by columns, {missing}": ("vertibayes", {"missing": missing}) for missing in MISSING},
    "vertibayes by columns, with noise that hides nobody": ("vertibayes", {"epsilon": 1e6}),
    "vertibayes by rows": ("vertibayes", {"split": "horizontal"}),
    "an ensemble by columns": ("bayesian_ensemble", {"label": "ill"}),
    "an ensemble by rows": ("bayesian_ensemble", {"label": "ill", "split": "horizontal"}),
}


def files(by_rows: bool, ill: str = "yes", income: Any = INCOME) -> dict[str, str | None]:
    """Return what the stations have, and whether the target is ill."""
    table = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "income": income})
    table["sex"] = np.where(np.arange(ROWS) % 2, "m", "f")
    table["ill"] = np.where(np.arange(ROWS) == TARGET, ill, ILL)
    if by_rows:
        return {name: str(table.iloc[place::3].to_csv(index=False)) for place, name in enumerate("abc")}
    parts = {"a": table[["id", "income"]], "b": table[["id", "ill", "sex"]]}
    return {**{name: str(part.to_csv(index=False)) for name, part in parts.items()}, "h": None}


def told(folder: Path, fit: str, study: dict[str, Any], **given: Any) -> Any:
    """Return the model of a fit at nodes with a folder database."""
    method, more = FITS[fit]
    column = "band" if "band" in study["columns"] else "income"
    sex = {"type": "category", "categories": ["f", "m"]}
    dictionary = {**study, "columns": {**study["columns"], "ill": STATES, "sex": sex}}
    asked = {"dictionary": dictionary, "bins": {"income": [1300.0]} if column == "income" else {}, **more}
    if method == "vertibayes":
        asked |= {"columns": ["ill", column], "structure": [["ill", column]], "pseudocount": 0}
    else:
        asked |= {"features": [column, "sex"]}
    by_rows = "split" in more
    asked |= {} if by_rows else {"id_column": "id"}
    with InProcess(f"v6_{method}", files(by_rows, **given), {}, "a") as running:
        for number in running.names:
            place = Path(tempfile.mkdtemp(dir=folder))
            running.hand_over(number, place, "folder", "ledger")
            running.limit(number, {"FEDBAYES_LEDGER": "ledger", "FEDBAYES_ALLOW_DIFFERENCES": "false"})
        return running.run("fit", asked)["model"]


@pytest.mark.few(12)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fit", FITS)
def test_one_persons_value_is_no_code(tmp_path: Path, fit: str, way: str) -> None:
    with pytest.raises(ThresholdError, match="takes few values of column"):
        told(tmp_path, fit, WAYS[way])


@pytest.mark.parametrize("missing", ["em_on_counts", "category", "drop"])
def test_control_unchecked_it_tells_whether_that_person_is_ill(tmp_path: Path, missing: str) -> None:
    for ill in ("yes", "no"):
        with mock.patch.object(TableReader, "check_made_missing"):
            network = told(tmp_path, f"vertibayes by columns, {missing}", WAYS["a code of the column"], ill=ill)
        sick = round(network["tables"]["ill"]["probabilities"][1] * ROWS)
        rows = network["tables"]["income"]["probabilities"][1]
        whole = any(abs(rows[0] * sick - count) < 1e-6 for count in range(sick + 1))
        assert ("no" if whole and missing != "category" else ill) == ill
        assert missing != "category" or (rows[2] > 0) == (ill == "yes")


def test_control_codes_of_many_and_gaps_in_the_file_are_learned(tmp_path: Path) -> None:
    fit = "vertibayes by columns, em_on_counts"
    many = {"columns": {"income": {**NUMBER, "missing": [-9]}}}
    assert told(tmp_path, fit, many, income=np.where(np.arange(ROWS) < 6, -9, INCOME))
    assert told(tmp_path, fit, many, income=np.where(np.arange(ROWS) < 3, np.nan, INCOME))
    assert told(tmp_path, fit, many)


def test_control_a_code_of_the_administrator_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"income": {"missing": [str(CODE)]}}
    monkeypatch.setattr("fedbayes.federation.node.policy.Policy.schema_content", lambda _: schema)
    assert told(tmp_path, "vertibayes by columns, em_on_counts", WAYS["a code of the column"])
