"""Refusals of exact answers tell of values too: by halving, a researcher finds one from refusals alone. Where questions are limited they count."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import BudgetError, ThresholdError

ROWS, START = 100, 60
RANDOM = np.random.default_rng(5)
INCOME = np.round(RANDOM.lognormal(7.5, 0.8, ROWS)).astype(int)
ORDERED = np.sort(INCOME)
BASE = int(ORDERED[START])
IDS = [f"p{row:03d}" for row in range(ROWS)]
TABLES = {
    "a": pd.DataFrame({"id": IDS, "income": INCOME}),
    "b": pd.DataFrame({"id": IDS, "z": RANDOM.integers(0, 2, ROWS)}),
    "c": pd.DataFrame({"id": IDS, "w": RANDOM.integers(0, 2, ROWS)}),
}


@pytest.fixture
def federation(tmp_path):
    """Nodes with folder databases that answer so many questions."""

    def running(questions: int) -> OneProcess:
        for name in TABLES:
            (tmp_path / name).mkdir()
        parties = {name: {"default": frame, "vault": tmp_path / name} for name, frame in TABLES.items()}
        limits = {"ledger": "vault", "allow_differences": False, "maximum_queries": questions}
        return OneProcess(parties, helpers=["h"], policies=dict.fromkeys(parties, limits), aggregator="b")

    return running


def is_answered(running: OneProcess, below: float) -> bool:
    """Ask how many have an income below a border and z and w; a refusal because of few rows is no answer."""
    conditions = [{"column": name, "op": "==", "value": 1} for name in "zw"]
    conditions.append({"column": "income", "op": "<", "value": float(below)})
    try:
        running.run("scalar_product", "count", {"conditions": conditions, "id_column": "id"})
    except ThresholdError:
        return False
    return True


def fifth_above(running: OneProcess) -> int:
    """Return the income that is the fifth from the one at `BASE` on: below any border beyond it there are enough rows more."""
    assert is_answered(running, BASE)
    low, high = BASE, int(ORDERED[START + 20])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_answered(running, middle) else (middle, high)
    return low


def test_refusals_end_with_the_questions(federation):
    with federation(5) as running, pytest.raises(BudgetError, match="queries 1 was asked for, 0 is left"):
        fifth_above(running)


def test_a_refusal_costs_one_question(federation):
    with federation(3) as running:
        assert is_answered(running, BASE)
        assert not is_answered(running, BASE + 1)
        assert is_answered(running, BASE)
        for below in (BASE + 1, BASE):  # refused for what it would tell, and what it would not: alike
            with pytest.raises(BudgetError):
                is_answered(running, below)


def test_control_uncounted_refusals_tell_a_value(federation):
    with federation(8) as running, mock.patch("fedbayes.federation.refusing.counted", lambda _, failure: failure):
        assert fifth_above(running) in ORDERED[START:]
