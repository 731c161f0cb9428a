"""A task that lists all values of a number as its categories: small cells of a network's table tell everybody's label, in one task."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.vertical import coding
from v6_vertibayes import guards

ROWS = 120
DRAW = np.random.default_rng(3)
INCOME = DRAW.permutation(np.arange(1000, 1000 + 5 * ROWS, 5))
ILL = np.where(DRAW.random(ROWS) < 0.4, "yes", "no")
WIDE = [str(value) for value in range(1000, 1000 + 5 * ROWS, 5)]
SEX = {"categories": ["f", "m"]}
DOMAIN = {"ill": {"categories": ["no", "yes"]}, "income": {"categories": WIDE}}
WAYS: dict[str, dict[str, Any]] = {
    "domain": {"domain": {"income": DOMAIN["income"]}},
    "dictionary": {"dictionary": {"columns": {"income": {"type": "category", "categories": WIDE}}}},
}
FITS = {
    "child": ("vertibayes", {"columns": ["income", "ill"], "structure": [["ill", "income"]], "pseudocount": 0}),
    "parent": ("vertibayes", {"columns": ["income", "ill"], "structure": [["income", "ill"]], "pseudocount": 0}),
    "naive": ("vertibayes", {"columns": ["income", "ill"], "structure": "naive", "label": "ill"}),
    "search": ("vertibayes", {"columns": ["income", "ill"], "structure": "k2"}),
    "by noise that hides nobody": (
        "vertibayes",
        {"columns": ["income", "ill"], "structure": [["ill", "income"]], "epsilon": 1e6, "domain": DOMAIN},
    ),
    "ensemble": ("bayesian_ensemble", {"label": "ill", "features": ["income", "sex"]}),
}


def told(fit: str, way: str, by_rows: bool = False, income: Any = INCOME) -> Any:
    method, asked = FITS[fit]
    table = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "income": income, "ill": ILL})
    table["sex"] = np.where(np.arange(ROWS) % 2, "m", "f")
    asked = {**WAYS[way], **asked}
    if by_rows:
        files: dict[str, Any] = {name: table.iloc[place::3].to_csv(index=False) for place, name in enumerate("abc")}
        domain = {**DOMAIN, "sex": SEX} if fit == "ensemble" else DOMAIN
        asked |= {"split": "horizontal", "domain": domain}
    else:
        parts = {"a": table[["id", "income"]], "b": table[["id", "ill", "sex"]]}
        files = {**{name: part.to_csv(index=False) for name, part in parts.items()}, "h": None}
        asked |= {"id_column": "id"}
    with InProcess(f"v6_{method}", files, {}, "a") as running:
        return running.run("fit", asked)["model"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fit", FITS)
def test_values_of_single_records_are_no_categories(fit: str, way: str) -> None:
    with pytest.raises(ThresholdError, match="many categories that few records have each"):
        told(fit, way)


@pytest.mark.parametrize("fit", ["child", "naive", "ensemble"])
def test_nor_of_whole_records(fit: str) -> None:
    with pytest.raises(ThresholdError, match="many categories that few records have each"):
        told(fit, "domain", by_rows=True)


@pytest.mark.parametrize("by_rows", [False, True], ids=["columns", "rows"])
def test_control_unchecked_everybody_is_told(by_rows: bool) -> None:
    unchecked = mock.patch.multiple(coding, singles_records_out=lambda *_: False)
    with unchecked, mock.patch.object(guards, "singles_records_out", return_value=False):
        table = told("child", "domain", by_rows)["tables"]["income"]["probabilities"]
    likely = dict(zip(WIDE, np.argmax(table, axis=0), strict=True))
    assert all(("no", "yes")[likely[str(value)]] == ill for value, ill in zip(INCOME, ILL, strict=True))


def test_control_a_few_rare_categories_are_learned() -> None:
    """Six categories of one record each, of 120: a twentieth."""
    rare = np.where(np.arange(ROWS) < 6, 1500 + 5 * np.arange(ROWS), np.where(ILL == "yes", 1000, 1005))
    assert told("child", "domain", income=rare)
    assert told("child", "domain", by_rows=True, income=rare)
