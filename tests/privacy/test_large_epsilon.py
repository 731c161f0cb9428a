"""Noise of an epsilon above 20 hides hardly anything, so answers with it are under the guards of exact ones: who is summed over, and how often is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.federation.guards.member import Member
from fedbayes.federation.rounds import Federation

EPSILON = 1e4
DOMAIN = {"y": {"categories": ["n", "p"]}, "age": {"bounds": [20, 90]}, "time": {"bounds": [0, 60]}, "e": {"categories": [0, 1]}}  # fmt: skip
LABELLED = {"label": "y", "features": ["age"], "domain": {name: DOMAIN[name] for name in ("y", "age")}}
OUTCOME = {"time": "time", "event": "e", "features": ["age"], "times": [20.0, 40.0, 60.0], "domain": DOMAIN}
TABLES = {"columns": ["y", "age"], "domain": LABELLED["domain"], "bins": {"age": 3}}
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "dp_naive_bayes": ("partial_statistics", LABELLED),
    "discriminative_naive_bayes": ("partial_counts", LABELLED),
    "secure_naive_bayes": ("partial_counts", LABELLED),
    "vertibayes": ("partial_counts", TABLES | {"split": "horizontal", "structure": "naive", "label": "y"}),
    "verticox": ("partial_outline", OUTCOME | {"split": "horizontal"}),
}
"""Method -> its first round over whole records, and the arguments of a fit."""


def hospitals(folder: Path) -> OneProcess:
    """Return a federation of three stations with rows of their own and two organizations without data."""
    draw, rows = np.random.default_rng(3), 80
    parties = {
        name: pd.DataFrame(
            {
                "y": draw.choice(["n", "p"], rows),
                "age": draw.integers(30, 80, rows),
                "time": draw.integers(1, 60, rows),
                "e": draw.integers(0, 2, rows),
            }
        )
        for name in "abc"
    }
    return OneProcess(with_folders(parties, folder), ["h", "i"], {name: {"ledger": "vault"} for name in parties})


def beside_a_helper(method: str, folder: Path) -> None:
    """Have central ask two stations, and an organization without data in the place of the third."""
    function, arguments = TASKS[method]
    honest = Federation._ask

    def ask(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if name == function:
            request, organizations = next(iter(request.values())) if isinstance(request, dict) else request, (1, 2, 4)
        return honest(self, name, request, organizations, *rest)

    with hospitals(folder) as running, mock.patch.object(Federation, "_ask", ask):
        running.run(method, "fit", arguments | {"epsilon": EPSILON})


@pytest.mark.parametrize("method", TASKS)
def test_sums_are_over_as_many_stations_with_data_as_exact_ones(method: str, tmp_path: Path) -> None:
    with pytest.raises(ThresholdError, match="rows of fewer organizations"):
        beside_a_helper(method, tmp_path)


@pytest.mark.parametrize("method", TASKS)
def test_control_else_it_is_left_to_who_has_no_data(method: str, tmp_path: Path) -> None:
    over = mock.patch.object(Member, "summed_over", lambda member, whole=False: frozenset(member.participants))
    with over, pytest.raises(DataProblem, match="has no database"):
        beside_a_helper(method, tmp_path)


def asked_by_other_edges(folder: Path) -> list[Any]:
    """Have central ask for the counts of other bins before the task's, for half of the epsilon each; return the sums of the others."""
    function, arguments = TASKS["dp_naive_bayes"]
    honest, taken = Federation.secure_sum, []

    def secure_sum(self: Federation, name: str, request: Any, *rest: Any, **how: Any) -> Any:
        if name == function:
            plan = replace(request.plan, noise=replace(request.plan.noise, epsilon=EPSILON / 2.0))
            other = replace(request, plan=replace(plan, bins={"age": [40.5]}))
            taken.append(honest(self, name, other, *rest, **{**how, "last": False}))
            request = replace(request, plan=plan)
        return honest(self, name, request, *rest, **how)

    with hospitals(folder) as running, mock.patch.object(Federation, "secure_sum", secure_sum):
        running.run("dp_naive_bayes", "fit", arguments | {"epsilon": EPSILON, "bins": {"age": [50.5]}})
    return taken


def test_counts_by_other_bins_are_not_asked_for_in_the_same_job(tmp_path: Path) -> None:
    with pytest.raises(MessageError, match="asks one question"):
        asked_by_other_edges(tmp_path)


def test_control_unchecked_they_are_told(tmp_path: Path) -> None:
    with mock.patch("v6_dp_naive_bayes.partial.asked_once"):
        assert len(asked_by_other_edges(tmp_path)) == 1
