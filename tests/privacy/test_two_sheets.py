"""Two exact tasks about two sheets of a station's workbook, which the researcher names: versions of one table, one of which lacks a row or has another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from one_process import OneProcess
from party_kit import with_folders
from test_first_scripts import FIT, labelled

from fedbayes.federation.answered import sheets
from fedbayes.federation.errors import ThresholdError

NOW = labelled()["b"].assign(id=[f"p{row}" for row in range(60)])
YEAR = labelled(120)["b"].iloc[60:].reset_index(drop=True).assign(id=[f"q{row}" for row in range(60)])
FEW = {
    "a row less": NOW.iloc[1:],
    "four rows more": pd.concat([NOW, NOW.iloc[:4]]),
    "one row otherwise": NOW.assign(f=["a" if NOW.f[0] != "a" else "b", *NOW.f[1:]]),
    "a row less, and many more": pd.concat([NOW.iloc[1:], NOW.assign(y="n", f="c")]),
    "a row less, in another order": NOW.iloc[:0:-1],
    "a row less, without identifiers": NOW.iloc[1:].drop(columns="id"),
}
MANY = {
    "the same": NOW,
    "in another order": NOW.iloc[::-1],
    "another year's": YEAR,
    "another year's by one row": NOW.iloc[1:].assign(id=YEAR.id[1:]),
    "an odd column beside": NOW.assign(g=["odd", *["even"] * 59]),
}


@contextmanager
def named(sheet: str) -> Iterator[None]:
    """Have the researcher name a sheet."""
    honest = InProcess.run

    def run(self: InProcess, *asked: Any) -> Any:
        for member in self.names if sheet else ():
            self.limit(member, {"DEFAULT_SHEET_NAME": sheet})
        return honest(self, *asked)

    with mock.patch.object(InProcess, "run", run):
        yield


def told(folder: Path, other: pd.DataFrame, names: Mapping[str, Any], **limits: Any) -> list[Any]:
    """Return the tables of a fit for each sheet, under the arguments with it."""
    parties = with_folders(labelled(), folder)
    parties["b"]["default"] = folder / "b.xlsx"
    with pd.ExcelWriter(parties["b"]["default"], engine="openpyxl") as book:
        NOW.to_excel(book, sheet_name="now", index=False)
        other.to_excel(book, sheet_name="other", index=False)
    policy, tables = {"ledger": "vault", "allow_differences": False, **limits}, []
    with OneProcess(parties, policies={"*": policy}, aggregator="a") as running:
        for sheet, asked in names.items():
            with named(sheet):
                fit = running.run("dp_naive_bayes", "fit", {**FIT, **asked})
            tables.append(np.array(fit["model"]["features"]["f"]["counts"]))
    return tables


EXACT = {"noise": "none"}
BOTH = {"": EXACT, "other": EXACT}


@pytest.mark.few(6)
@pytest.mark.parametrize("names", [BOTH, {"now": EXACT, "other": EXACT}, dict(reversed(BOTH.items()))], ids=list)
@pytest.mark.parametrize("other", FEW.values(), ids=FEW)
def test_sheets_that_differ_in_few_rows_are_not_both_told(
    other: pd.DataFrame, names: Mapping[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ThresholdError, match="another sheet of its workbook"):
        told(tmp_path, other, names)


@pytest.mark.few(3)
@pytest.mark.parametrize("other", MANY.values(), ids=MANY)
def test_others_are(other: pd.DataFrame, tmp_path: Path) -> None:
    assert len(told(tmp_path, other, {"": EXACT, "now": EXACT, "other": EXACT})) == 3


@pytest.mark.parametrize("limits", [{"allow_differences": True}, {}], ids=str)
def test_where_answers_may_differ_or_have_noise_both_are(limits: Mapping[str, Any], tmp_path: Path) -> None:
    second = EXACT if limits else {"epsilon": 1.0}
    assert len(told(tmp_path, FEW["a row less"], {"": EXACT, "other": second}, **limits)) == 2


def test_control_unchecked_their_difference_is_a_row(tmp_path: Path) -> None:
    with mock.patch.object(sheets, "check"):
        one, other = told(tmp_path, FEW["a row less"], BOTH)
    assert (one - other).sum() == 1
    assert (one - other)["np".index(NOW.y[0]), "abc".index(NOW.f[0])] == 1
