"""Random questions of every central function on random neighbouring tables: no more is lost than is stated, and nothing else differs."""

from __future__ import annotations

import contextlib
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

import neighbours_kit as kit
import numpy as np
import pytest
from harness.cases import Case
from harness.registry import FUNCTIONS
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from neighbours_drawn import odder

from fedbayes.dp import laws
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.station import Station

SEED = 20261126
CASES, LONGEST, ODD = 9, 2000, 0.5
"""Questions of each function, the most of a control, and the part of them about tables as no honest federation has them."""
EXACT = {
    "bayesian_ensemble": "no function has an epsilon but describe",
    "preflight": "answers nothing",
    "sample": "draws from a model",
    "predict": "record by record",
    "baseline": "has no epsilon",
}
"""Functions, or all of a method, that never answer under an epsilon."""
ASKED = [
    (method, function)
    for method, function in FUNCTIONS
    if not function.endswith("!")
    and function.strip("?") not in EXACT
    and (method not in EXACT or function == "describe")
]
BUDGETS = st.sampled_from([0.1, 1.0, 3.0])


def judged(method: str, function: str, cases: int, number: int = SEED, enough: int = LONGEST) -> list[float]:
    """Return the parts of their budgets that the neighbours of so many random cases lost; raise `kit.Leak` at the first above 1."""
    found: list[float] = []

    @seed(number)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(FUNCTIONS[method, function][0](), BUDGETS, st.integers(0, 2**32 - 1))
    def ask(case: Case, epsilon: float, draw: int) -> None:
        if len(found) >= enough:
            raise unittest.SkipTest
        random = np.random.default_rng(draw)
        lost = kit.audit(odder(case, random) if random.random() < ODD else case, epsilon, random)
        if lost is not None:
            found.append(lost)

    with contextlib.suppress(unittest.SkipTest):
        ask()
    return found


@pytest.mark.audit
@pytest.mark.parametrize(("method", "function"), ASKED, ids=lambda entry: entry)
def test_neighbours_lose_what_is_stated(method: str, function: str) -> None:
    assert max(judged(method, function, CASES), default=0.0) <= 1.0 + kit.ROUNDING


REPRESENTATIVES = [
    ("dp_naive_bayes", "fit"),
    ("secure_naive_bayes", "fit"),
    ("smooth_naive_bayes", "fit"),
    ("scalar_product", "contingency"),
    ("vertibayes", "fit?"),
    ("dp_naive_bayes", "describe"),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("method", "function"), REPRESENTATIVES, ids=lambda entry: entry)
def test_a_few_neighbours_lose_what_is_stated(method: str, function: str) -> None:
    found = judged(method, function, 200, enough=2)
    assert len(found) == 2, "some questions are answered under an epsilon"


def test_control_noise_of_half_the_width_is_found() -> None:
    def half(law: laws.Law, change: laws.Change, parts: float, honest: int) -> float:
        return 0.5 * parts * change.l1 / law.epsilon

    with mock.patch.object(laws.DiscreteLaplace, "width", half), pytest.raises(kit.Leak, match="budget is lost"):
        judged("dp_naive_bayes", "fit", 200)


@pytest.mark.audit
def test_control_a_number_without_noise_is_found() -> None:
    """Noise is taken off again before a number leaves."""
    tell = kit.Replay.tell

    def bare(replay: kit.Replay, value: np.ndarray, sent: np.ndarray) -> np.ndarray:
        value = value.copy()
        value[value >= kit.MARK // 2] %= kit.MARK
        return tell(replay, value, value)

    with mock.patch.object(kit.Replay, "tell", bare), pytest.raises(kit.Leak, match="has no noise"):
        judged("dp_naive_bayes", "fit", 200)


@pytest.mark.audit
def test_control_a_refusal_because_of_a_value_is_found() -> None:
    read = Columns.parts

    def told(columns: Columns, station: Station, private: bool, cells: int) -> Any:
        return read(replace(columns, outside="refuse"), station, False, cells)

    with mock.patch.object(Columns, "parts", told), pytest.raises(kit.Leak, match="answered or refused otherwise"):
        judged("dp_naive_bayes", "fit", 200)


@pytest.mark.parametrize("drawn", [True, False])
def test_a_score_that_is_drawn_is_no_leak_and_one_of_the_table_is(drawn: bool) -> None:
    """Two runs of one table may draw the same; what differs of the neighbour however often the table is asked does not."""
    run, other = (kit.Recording(answer={"score": score}) for score in (1, 2))

    def record(*_: Any) -> list[kit.Recording]:
        return [other if drawn else run]

    found = contextlib.nullcontext() if drawn else pytest.raises(kit.Leak, match="score: another one")
    with mock.patch.object(kit, "record", record), found:
        kit.compare_again(mock.Mock(), [run], [run], [other], 0)
