"""The first attack scripts about what is promised and debited (docs/attacks.md), each ported to today's interface; the others are in `test_first_scripts`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders
from test_first_scripts import DOMAIN, FIT, labelled, table_of

from fedbayes.dp import promise
from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import (
    ArgumentError,
    BudgetError,
    PolicyError,
)
from fedbayes.federation.node.policy import LEDGER_FILE, Policy

# -- poc9_eps, poc_delta, poc_budget_delta: a promise that is none ---------------------------------------------------------

TOO_MUCH = [
    {"epsilon": 1e3},
    {"epsilon": 1e9},
    {"epsilon": 20.0000001},
    {"epsilon": 1e-6, "delta": 0.5},
    {"epsilon": 1e-6, "delta": 0.999999},
    {"epsilon": 1.0, "delta": 1.0 - 2.0**-53},
    {"epsilon": 0.5, "delta": 0.0010001, "mechanism": "gaussian"},
]
PRIVATE_ONLY = {"allow_non_private": "false"}
BUDGET = {"ledger": "vault", "budget_epsilon": 1}


def ask_for(loss: dict[str, Any], limits: dict[str, Any], folder: Path, function: str = "fit", **more: Any) -> Any:
    parties = with_folders(labelled(), folder)
    with OneProcess(parties, policies={"*": limits}) as running:
        try:
            return running.run("dp_naive_bayes", function, {**(FIT if function == "fit" else {}), **loss, **more})
        finally:
            if "ledger" in limits:
                entries = [Ledger(one["vault"] / LEDGER_FILE).entries() for one in parties.values()]
                assert not any(one.epsilon > 1 or one.delta > promise.IMPLIED_DELTA for each in entries for one in each)


@pytest.mark.parametrize("noise", ["distributed", "local"])
@pytest.mark.parametrize(
    "limits", [PRIVATE_ONLY, BUDGET, {**PRIVATE_ONLY, **BUDGET}], ids=["private", "budget", "both"]
)
@pytest.mark.parametrize("loss", TOO_MUCH, ids=str)
def test_poc9_eps_and_delta(loss: dict[str, Any], limits: dict[str, Any], noise: str, tmp_path: Path) -> None:
    with pytest.raises((PolicyError, BudgetError, ArgumentError)):
        ask_for(loss, limits, tmp_path, noise=noise)


@pytest.mark.parametrize("loss", TOO_MUCH, ids=str)
def test_poc9_eps_and_delta_of_descriptions(loss: dict[str, Any], tmp_path: Path) -> None:
    known = {name: one for name, one in loss.items() if name != "mechanism"}
    with pytest.raises((PolicyError, BudgetError, ArgumentError)):
        ask_for(known, {**PRIVATE_ONLY, **BUDGET}, tmp_path, "describe", domain=DOMAIN)


def test_control_poc9_eps(tmp_path: Path) -> None:
    """Where anything may be called private, the table is exact."""
    with mock.patch.object(promise, "MOST_EPSILON", 1e12):
        told = ask_for({"epsilon": 1e9}, PRIVATE_ONLY, tmp_path)
    assert told["privacy"]["differentially_private"] is True
    counts = np.array(told["model"]["features"]["f"]["counts"])
    assert counts.round().reshape(2, -1)[:, :3].tolist() == table_of(*labelled().values())


# -- batches, batches2, poc_ledger: what is debited ------------------------------------------------------------------------

SEARCHES = [
    {"structure": "k2", "order": "information"},
    {"structure": "k2", "required_edges": [["y", "f"]], "order": "information", "max_parents": 1},
    {"structure": "k2", "required_edges": [["y", "f"], ["g", "f"]], "order": ["y", "g", "f"], "max_parents": 2},
    {"structure": "k2", "forbidden_edges": [["y", "g"]], "required_edges": [["y", "f"]], "validation": "svdg"},
    {"structure": "naive", "validation": "svdg"},
]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_batches(search: dict[str, Any], tmp_path: Path) -> None:
    """Every node debits what the result states, and no more, however many tables a search asks for."""
    draw = np.random.default_rng(5)
    table = pd.DataFrame({name: draw.choice(["n", "p"], 240) for name in "yfg"}).assign(id=range(240))
    parties = with_folders({name: table[["id", name]] for name in "yfg"}, tmp_path)
    domain = {name: {"categories": ["n", "p"]} for name in "yfg"}
    asked = {"columns": list("yfg"), "label": "y", "domain": domain, "id_column": "id", "missing": "category"}
    with OneProcess(parties, ["h"], {name: {"ledger": "vault"} for name in parties}) as running:
        told = running.run("vertibayes", "fit", {**asked, **search, "epsilon": 0.7})
    for one in parties.values():
        spent = sum(entry.epsilon for entry in Ledger(one["vault"] / LEDGER_FILE).entries())
        assert spent == pytest.approx(told["privacy"]["epsilon"]) == pytest.approx(0.7)


@pytest.mark.parametrize("days", ["0", "-1", "nan", "inf", "0.0", "-0.0", "1e-400"])
def test_poc_ledger_period(days: str) -> None:
    limits = {"LEDGER": "ledger", "BUDGET_EPSILON": "1", "BUDGET_DAYS": days}
    with pytest.raises(PolicyError, match="BUDGET_DAYS"):
        Policy.from_environment({f"FEDBAYES_{name}": value for name, value in limits.items()})


def test_poc_ledger_tiny_charges(tmp_path: Path) -> None:
    parties = with_folders(labelled(), tmp_path)
    with OneProcess(parties, policies={"*": BUDGET}) as running:
        running.run("dp_naive_bayes", "fit", {**FIT, "epsilon": 1.0})
        before = [Ledger(one["vault"] / LEDGER_FILE).entries() for one in parties.values()]
        for epsilon in (1e-3, 1e-6, 1e-8, 1.1e-9, 1e-12, 1e-300):
            with pytest.raises((BudgetError, ArgumentError)):
                running.run("dp_naive_bayes", "fit", {**FIT, "epsilon": epsilon})
        assert [Ledger(one["vault"] / LEDGER_FILE).entries() for one in parties.values()] == before
