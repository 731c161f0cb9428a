"""Refusals of exact answers tell of values too: by halving, a researcher finds one from refusals alone.

A node counts them for each column, and answers no new questions about it after a few; where all questions are limited they count too.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from limits_kit import PREDICTING
from one_process import OneProcess
from party_kit import by_rows, remembering

from fedbayes.federation.answered import refusals
from fedbayes.federation.errors import BudgetError, DataProblem, ThresholdError
from fedbayes.federation.guards import refusing
from fedbayes.federation.messages.codec import Message
from fedbayes.federation.vertical.messages import Setup

ROWS, START = 100, 60
RANDOM = np.random.default_rng(5)
INCOME = np.round(RANDOM.lognormal(7.5, 0.8, ROWS)).astype(int)
ORDERED = np.sort(INCOME)
BASE = int(ORDERED[START])
IDS = [f"p{row:03d}" for row in range(ROWS)]
TABLES = {
    "a": pd.DataFrame({"id": IDS, "income": INCOME, "age": 20 + np.arange(ROWS) % 50}),
    "c": pd.DataFrame(
        {
            "id": IDS,
            "z": RANDOM.integers(0, 2, ROWS),
            "w": RANDOM.integers(0, 2, ROWS),
            "died": RANDOM.integers(0, 2, ROWS),
            "days": RANDOM.permutation(ROWS) + 1.0,
        }
    ),
}


@pytest.fixture
def federation(tmp_path):
    """Nodes with folder databases."""

    def running(**limits: int) -> OneProcess:
        return remembering(TABLES, tmp_path, **limits)

    return running


def is_answered(running: OneProcess, below: float, column: str = "income") -> bool:
    """Ask how many have an income below a border and z and w; a refusal because of few rows is no answer."""
    conditions = [{"column": name, "op": "==", "value": 1} for name in "zw"]
    conditions.append({"column": column, "op": "<", "value": float(below)})
    try:
        running.run("scalar_product", "count", {"conditions": conditions, "id_column": "id"})
    except ThresholdError:
        return False
    return True


class Chosen(Message):
    """A request with coefficients."""

    coefficients: np.ndarray


def fifth_above(running: OneProcess) -> int:
    """Return the income that is the fifth from the one at `BASE` on: below any border beyond it there are enough rows more."""
    assert is_answered(running, BASE)
    low, high = BASE, int(ORDERED[START + 20])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_answered(running, middle) else (middle, high)
    return low


def test_refusals_end_with_the_questions(federation):
    with (
        federation(maximum_queries=5) as running,
        pytest.raises(BudgetError, match="queries 1 was asked for, 0 is left"),
    ):
        fifth_above(running)


def test_a_refusal_costs_one_question(federation):
    with federation(maximum_queries=3) as running:
        assert is_answered(running, BASE)
        assert not is_answered(running, BASE + 1)
        assert is_answered(running, BASE)
        for below in (BASE + 1, BASE):  # refused for what it would tell, and what it would not: alike
            with pytest.raises(BudgetError):
                is_answered(running, below)


def test_refusals_end_without_any_limit_of_the_administrator(federation):
    with federation() as running, pytest.raises(BudgetError, match="maximum_refusals"):
        fifth_above(running)


def test_questions_that_are_admitted_at_once_are_told_one_after_the_other(federation, monkeypatch):
    """Many tasks at once were all looked at before any was refused."""
    monkeypatch.setattr(refusals.Refusals, "admit", lambda *_: True)
    with federation() as running, pytest.raises(BudgetError, match="maximum_refusals"):
        fifth_above(running)


def strangers(folder: Path) -> list[tuple[str, int]]:
    """Return what is counted at a station after a count over stations one of which hashed other identifiers than it has, as one may that deviates."""
    others = TABLES["c"][["id", "w"]].assign(id=[f"x{row}" for row in range(ROWS)])
    tables = {"b": TABLES["c"].drop(columns="w"), "a": TABLES["a"], "d": others}
    conditions = [{"column": name, "op": "==", "value": 1} for name in "zw"]
    asked = {"conditions": conditions, "id_column": "id", "helper": "none", "organizations": ["a", "b", "d"]}
    with remembering(tables, folder, ()) as running, pytest.raises(DataProblem, match="no record in common"):
        running.run("scalar_product", "count", asked)
    return [one for name in "ab" for one in refusals.counted(folder / name)]


def test_a_peer_that_hashes_others_uses_up_no_refusal_of_honest_stations(tmp_path):
    assert strangers(tmp_path) == []


def test_control_where_matching_counts_a_peer_uses_them_up(tmp_path, monkeypatch):
    monkeypatch.setattr(refusing, "NOT_OF_DATA", refusing.NOT_OF_DATA[:2])
    assert strangers(tmp_path) != []


@pytest.mark.audit
def test_control_uncounted_refusals_tell_a_value(federation):
    with federation(maximum_refusals=1000) as running:
        assert fifth_above(running) in ORDERED[START:]


def test_what_is_asked_again_counts_once_and_what_was_answered_is_answered(federation, tmp_path):
    with federation(maximum_refusals=2) as running:
        assert is_answered(running, BASE)
        for _ in range(5):
            assert not is_answered(running, BASE + 1)
        assert is_answered(running, BASE)
        assert not is_answered(running, BASE + 2)
        for below in (BASE + 2, BASE + 3, int(ORDERED[START + 20])):  # whatever the table holds: all alike
            with pytest.raises(BudgetError, match="maximum_refusals"):
                is_answered(running, below)
        assert is_answered(running, BASE)
        assert is_answered(running, 40, "age")
        noisy = {"conditions": [{"column": "income", "op": "<", "value": BASE + 3.0}], "id_column": "id"}
        assert running.run("scalar_product", "count", {**noisy, "epsilon": 1.0})["privacy"]["epsilon"] == 1.0
        assert dict(refusals.counted(tmp_path / "a"))["income"] == 2
        refusals.forget(tmp_path / "a", ["income"])
        assert is_answered(running, int(ORDERED[START + 20]))


FIT = {"time": "days", "event": "died", "features": ["age", "z"], "id_column": "id"}
LINKED = {"id_column": "id"}
AGAIN = {
    "cox": ("verticox", "fit", FIT),
    "bfgs": ("verticox", "fit", {**FIT, "solver": "bfgs"}),
    "admm": ("verticox", "fit", {**FIT, "solver": "admm"}),
    "count": ("scalar_product", "count", {**LINKED, "conditions": [{"column": "z", "op": "==", "value": 1}]}),
    "table": ("scalar_product", "contingency", {**LINKED, "columns": ["z", "w"]}),
    "network": ("vertibayes", "fit", {**LINKED, "columns": ["z", "w", "income"], "bins": {"income": 3}}),
    "ensemble": ("bayesian_ensemble", "fit", {**LINKED, "label": "z", "features": ["w", "age"]}),
}


ROWS_OF_ALL = by_rows(pd.concat([TABLES["a"], TABLES["c"]], axis=1).drop(columns="id"), "abc")
DOMAIN = {"age": {"bounds": [20, 70]}, "w": {"categories": [0, 1]}, "died": {"categories": [0, 1]}}
OF_ROWS = {
    "cox": (
        "verticox",
        "fit",
        {
            **{name: FIT[name] for name in ("time", "event")},
            "features": ["age", "w"],
            "split": "horizontal",
            "times": [20, 40, 60, 80, 100],
            "domain": {name: DOMAIN[name] for name in ("age", "w")},
        },
    ),
    "weights": ("discriminative_naive_bayes", "fit", {"label": "died", "features": ["age", "w"], "domain": DOMAIN}),
}
ALIKE = ("model", "counts", "count", "metrics", "table", "chi_squared", "calibration")
"""Parts of results that hold the answer."""


def same(first: Any, second: Any) -> bool:
    """Return whether two parts of results are the same but for the last digits of numbers."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            same(first[name], second[name]) for name in first if name not in {"provenance", "seal", "date"}
        )
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second if not isinstance(first, float) else bool(np.isclose(first, second, 1e-4, 1e-5))


def answers(found: Any) -> dict[str, Any]:
    """Return what a result answers."""
    told = {name: found[name] for name in ALIKE if name in found}
    assert told, f"none of {ALIKE} is in the result: {sorted(found)}"
    return told


@pytest.mark.usefixtures("fine_hazards")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.audit if case == "admm" else ()) for case in AGAIN]
)
def test_every_exact_question_is_answered_again(federation, case):
    """Numbers that a fit finds differ in the last digits from one time to the next, and are no question of the researcher's."""
    with federation(**PREDICTING) as running:
        first = running.run(*AGAIN[case], "a")
    with federation(**PREDICTING, maximum_refusals=0) as running:
        assert same(answers(first), answers(running.run(*AGAIN[case], "a")))


@pytest.mark.parametrize("case", OF_ROWS)
def test_every_exact_question_about_whole_records_is_answered_again(tmp_path, case):
    with remembering(ROWS_OF_ALL, tmp_path) as running:
        first = running.run(*OF_ROWS[case])
    with remembering(ROWS_OF_ALL, tmp_path, maximum_refusals=0) as running:
        assert same(answers(first), answers(running.run(*OF_ROWS[case])))


@pytest.mark.audit
@pytest.mark.usefixtures("fine_hazards")
def test_a_cox_model_is_judged_again(federation):
    with federation() as running:
        judged = {"model": running.run("verticox", "fit", FIT, "a"), "id_column": "id", "reveal": "aggregates"}
        first = running.run("verticox", "evaluate", judged, "a")
    with federation(maximum_refusals=0) as running:
        assert same(answers(first), answers(running.run("verticox", "evaluate", judged, "a")))


def test_the_record_is_written_once_in_a_job(federation, monkeypatch):
    """What was answered is put there when the job ends: a fit has many rounds, and each one cost a transaction."""
    written = []
    answer = refusals.Refusals.answer
    monkeypatch.setattr(refusals.Refusals, "answer", lambda *args: (written.append(1), answer(*args))[1])
    with federation() as running:
        assert running.run(*AGAIN["cox"], "a")["federation"]["rounds"] > 20
    assert len(written) == len(TABLES)


def test_points_that_a_central_chooses_are_other_questions():
    """Whether a station refuses a point of a fit follows from its values, so a deviating central could search with points."""
    of = {value: refusals.words_of(Chosen(np.array([value])), str.isdigit) for value in (0.5, 0.5 + 1e-8, 0.51)}
    assert of[0.5] == of[0.5 + 1e-8] != of[0.51]


@pytest.mark.parametrize("case", ["cox", "table"])
def test_control_no_other_question_is_answered(federation, case):
    algorithm, function, arguments = AGAIN[case]
    with federation(maximum_refusals=0) as running, pytest.raises(BudgetError, match="maximum_refusals"):
        running.run(algorithm, function, arguments, "a")


def test_a_question_is_what_is_asked_and_not_of_which_columns():
    names = ("age", "sex", "41").__contains__
    one = Setup(3, [1, 2], "id", False, {"age": {"bounds": [0, 100]}}, {"age": [41.0, 60.0]}, True)
    other = dataclasses.replace(one, bins={"age": [40.0, 60.0]})
    assert refusals.words_of(one, names) == refusals.words_of(dataclasses.replace(one), names)
    assert refusals.words_of(one, names) != refusals.words_of(other, names)
    lists = [{"features": ["age"], "code": [41]}, {"features": ("age", "sex"), "code": [41]}]
    assert len({refusals.digest_of(refusals.words_of(asked, names)) for asked in lists}) == 1
    assert refusals.words_of(["age", "nobody"], names) == ["age", "nobody"]
    masked = {"mask": np.ones(2, np.uint64), "key": b"key", "value": 2**60 + 1, "times": np.array([1.5])}
    assert refusals.words_of(masked, names) == {"key": None, "mask": None, "times": [1.5], "value": 2**60 + 1}
