"""A sum over one station would be its own numbers, and one over few a node does not mask: it is refused before anything is debited."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.jobs.nodes import Nodes

DRAW = np.random.default_rng(7)
RECORDS = pd.DataFrame({name: DRAW.integers(0, 2, 120) for name in ("smoker", "ill")})
DOMAIN = {name: {"categories": [0, 1]} for name in RECORDS}
LABELLED = {"label": "ill", "domain": DOMAIN, "epsilon": 1.0}


NETWORK = {"split": "horizontal", "columns": [*RECORDS], "domain": DOMAIN, "structure": "private"}
COX = {"time": "time", "event": "event", "features": ["age"], "domain": {"age": {"bounds": [20, 80]}}, "times": [2, 5]}
COX = {**COX, "epsilon": 1.0, "honest_fraction": 1.0}
SUMMED = [
    ("dp_naive_bayes", LABELLED),
    ("discriminative_naive_bayes", {**LABELLED, "delta": 1e-6}),
    ("vertibayes", {**NETWORK, "epsilon": 1.0, "delta": 1e-6}),
]
TWO_OF_THREE = [*SUMMED, ("secure_naive_bayes", LABELLED), ("verticox", {**COX, "split": "horizontal"})]


@pytest.mark.parametrize(("algorithm", "arguments"), SUMMED)
def test_nothing_is_debited_for_a_sum_over_one_station(
    tmp_path: Path, algorithm: str, arguments: dict[str, Any]
) -> None:
    parties = with_folders({"alone": RECORDS}, tmp_path, "ledger")
    limits = {"*": {"minimum_organizations": 1, "ledger": "ledger", "budget_epsilon": 5.0, "budget_delta": 1e-4}}
    with OneProcess(parties, policies=limits) as running, pytest.raises(ThresholdError, match="2 or more with data"):
        running.run(algorithm, "fit", arguments)
    assert not debits(tmp_path)


def debits(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("fedbayes-ledger*") if Ledger(file).entries()]


def patients() -> pd.DataFrame:
    """Return records of a Cox fit, of which anything else is made too."""
    outcome = {"time": DRAW.exponential(4, 120).round(2), "event": DRAW.integers(0, 2, 120)}
    return RECORDS.assign(id=np.arange(120).astype(str), age=DRAW.uniform(20, 80, 120), dose=1.0, **outcome)


def is_refused(folder: Path, parties: dict[str, pd.DataFrame], *asked: Any) -> bool:
    """Ask organizations with ledgers and one without data, of which one demands three organizations; return whether that is refused, and not debited."""
    kept = {"ledger": "ledger", "budget_epsilon": 5.0, "budget_delta": 1e-4}
    policies = {name: {**kept, "minimum_organizations": 3 if name == "b" else 2} for name in parties}
    with OneProcess(with_folders(parties, folder, "ledger"), helpers=["h"], policies=policies) as running:
        with pytest.raises(ThresholdError, match="needs 3 or more"):
            running.run(*asked)
        return not debits(folder)


@pytest.mark.parametrize("function", ["fit", "preflight"])
@pytest.mark.parametrize(("algorithm", "arguments"), TWO_OF_THREE)
def test_nor_for_one_over_fewer_stations_than_a_node_masks_for(
    tmp_path: Path, algorithm: str, arguments: dict[str, Any], function: str
) -> None:
    """An organization without data counts as taking part in the job, and adds nothing to the sum."""
    asked = {"function": "fit", "arguments": arguments} if function == "preflight" else arguments
    assert is_refused(tmp_path, {"a": patients(), "b": patients()}, algorithm, function, asked)


@pytest.mark.parametrize("function", ["fit", "preflight"])
def test_nor_for_a_cox_fit_where_the_third_station_has_no_column_of_it(tmp_path: Path, function: str) -> None:
    table = patients()
    parties = {"a": table[["id", "time", "event"]], "b": table[["id", "age"]], "c": table[["id", "dose"]]}
    arguments = {**COX, "id_column": "id"}
    asked = {"function": "fit", "arguments": arguments} if function == "preflight" else arguments
    assert is_refused(tmp_path, parties, "verticox", function, asked)


def test_control_unchecked_both_debit() -> None:
    with (
        mock.patch.object(Nodes, "check_summable"),
        OneProcess({"a": patients(), "b": patients()}, helpers=["h"]) as running,
        pytest.raises(ThresholdError, match="already debited: a epsilon 1; b epsilon 1"),
    ):
        running.run("dp_naive_bayes", "fit", LABELLED)
