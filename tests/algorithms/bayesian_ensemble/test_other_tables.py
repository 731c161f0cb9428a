"""An ensemble on tables that write their columns in another way than those of the fit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.client.result import Result
from fedbayes.federation.errors import DataProblem

FEATURES = ["smoke", "age", "cough", "xray"]
CASES = [("vertical", "classify"), ("vertical", "evaluate"), ("horizontal", "classify"), ("horizontal", "evaluate")]


def asked(kit: SimpleNamespace, table: pd.DataFrame, how: str, function: str, **arguments: Any) -> Result:
    if how == "horizontal":
        parties = {f"s{at}": table.iloc[at::3] for at in range(3)}
    else:
        parties = {f"s{at}": table[["id", *(c for c in kit.homes if kit.homes[c] == at)]] for at in range(3)}
    helpers = [] if how == "horizontal" else ["notary"]
    limits = {"*": {**kit.limits["*"], "allow_differences": True}}
    with OneProcess(parties, helpers=helpers, policies=limits) as federation:
        return federation.run("bayesian_ensemble", function, arguments)  # type: ignore[no-any-return]


def fitted(kit: SimpleNamespace, table: pd.DataFrame, split: str) -> Result:
    more = {"id_column": "id"} if split == "vertical" else {}
    truths = table.assign(xray=table["xray"] == 1)
    return asked(kit, truths, split, "fit", label="ill", features=FEATURES, split=split, **more)


@pytest.mark.parametrize(("split", "function"), CASES)
def test_a_column_of_other_categories_is_refused_by_its_name(
    kit: SimpleNamespace, table: pd.DataFrame, split: str, function: str
) -> None:
    model = fitted(kit, table, split)["model"]
    with pytest.raises(DataProblem, match="column 'smoke' holds hardly any of the categories") as refusal:
        asked(kit, table.assign(smoke=table["smoke"].str.upper()), split, function, model=model, id_column="id")
    assert "YES" not in str(refusal.value)


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_truth_values_are_ones_and_zeros_too(kit: SimpleNamespace, table: pd.DataFrame, split: str) -> None:
    result = fitted(kit, table, split)
    truths = table.assign(xray=table["xray"] == 1)
    named = {"identify": "s0"} if split == "vertical" else {}
    answers = []
    for frame in (truths, table, table.assign(xray=table["xray"].map({0: "0", 1: "TRUE"}))):
        found = asked(kit, frame, split, "classify", model=result["model"], id_column="id", **named)["model"]
        answers.append(pd.DataFrame(found["probabilities"], index=found["identifiers"]).loc[table["id"]])
    np.testing.assert_allclose(answers[1], answers[0])
    np.testing.assert_allclose(answers[2], answers[0])
    here = [result.predict(frame)["P(yes)"] for frame in (truths, table)]
    np.testing.assert_array_equal(here[0], here[1])
    assert (here[0] - result.predict(table.drop(columns="xray"))["P(yes)"]).abs().max() > 0.05
