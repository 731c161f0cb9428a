"""A central that deviates in private Cox fits, and in exact jobs over linked and united records, by random changes of its requests.

Private fits are judged as other private jobs are (`test_changed_requests_privately`), and no member's noise is told to more precision than an honest job's,
as a record of these tables uses a fifth of the noise that is made for the longest. Of exact jobs see `changed_exact`. Where a change is found to tell more,
the message has what repeats it: ``CHANGED_SEED`` and the name of the task. ``CHANGED_COX`` is how many changes of each task are made.
"""

from __future__ import annotations

import os
import secrets
from functools import cache
from unittest import mock

import numpy as np
import pytest
from audit_kit import some
from changed_cox import cox_tasks
from changed_drawn import Drawer, Pool, pool
from changed_exact import TASKS, USUAL, Kind, kind, openings, other_tables, told
from changed_judged import judge, lost, precision
from changed_kit import Run, run
from changed_opened import ROUNDING
from changed_parts import AGAIN, FEWER, INSTEAD, Change, Edit

from fedbayes.federation.station import Station
from fedbayes.federation.vertical import told as described

FIXED = 20261130
"""The seed where a change of the program is not to be judged by chance (`FRESH_EXAMPLES` is empty)."""
FRESH = secrets.randbelow(10**9) if os.environ.get("FRESH_EXAMPLES") else FIXED
SEED = int(os.environ.get("CHANGED_SEED") or FRESH)
REQUESTS = int(os.environ.get("CHANGED_COX") or 2)
"""Changes of each task: together about half a minute of one core."""
PRIVATE = ("cox", "cox elsewhere", "cox at features", "cox beside", "cox of three", "cox rows", "cox rows judged")
WIDER = 1e-5
"""Of a width, what covers the rounding of each station's part to whole numbers: less where fewer are asked."""
SLOPE = 4
"""Of a fit to rows, the round of a step."""
QUICK = ("bfgs", "table", "table alone", "given", "union given", "union k2")
"""Exact tasks of a second; the others are looked at where `CHANGED_COX` asks for more than by default."""
CHOSEN = QUICK if REQUESTS <= 2 else tuple(TASKS)


@cache
def honest(name: str) -> Run:
    return run(cox_tasks()[name], 0)


@cache
def elsewhere() -> Pool:
    return pool([honest(name) for name in PRIVATE])


@cache
def exact(name: str) -> tuple[Run, frozenset[Kind]]:
    """Return an honest exact job, and the kinds of numbers that it opens."""
    one = told(TASKS[name])
    return one, frozenset(map(kind, openings(one, told(TASKS[name]))))


@cache
def exact_elsewhere() -> Pool:
    return pool([exact(name)[0] for name in CHOSEN])


def unusual(name: str, change: Change) -> list[str]:
    """Return what a changed exact job opens that no honest one does."""
    one = told(TASKS[name], change)
    if not one.answered:
        return []
    opened = openings(one, told(TASKS[name], change))
    usual = USUAL.union(*(exact(other)[1] for other in CHOSEN))
    found = sorted({str(kind(key)) for key in opened if kind(key) not in usual})
    return found + other_tables(TASKS[name], one, opened)


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PRIVATE)
def test_no_change_of_a_private_cox_fit_tells_more_than_is_debited(name: str) -> None:
    for number in range(REQUESTS):
        random = np.random.default_rng([SEED, PRIVATE.index(name), number])
        change = Drawer(honest(name), elsewhere(), random).change()
        judged = judge(cox_tasks()[name], change, 1 + number % 2)
        wrong = f"CHANGED_SEED={SEED}, change {number} of '{name}': {judged}; {change!r:.2000}"
        assert not judged.finds, wrong
        assert judged.precision <= precision(honest(name)) * (1.0 + WIDER), wrong


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CHOSEN)
def test_no_change_of_an_exact_job_opens_what_no_honest_one_does(name: str) -> None:
    for number in range(REQUESTS):
        random = np.random.default_rng([SEED, list(TASKS).index(name), number])
        change = Drawer(exact(name)[0], exact_elsewhere(), random).change()
        found = unusual(name, change)
        assert not found, f"CHANGED_SEED={SEED}, change {number} of '{name}': {found}; {change!r:.2000}"


@pytest.mark.parametrize("name", some(sorted(PRIVATE, reverse=True)))
def test_control_of_the_measure_an_honest_central_is_told_a_part_of_what_is_debited(name: str) -> None:
    task, script = cox_tasks()[name], honest(name).script
    table = [honest(name), run(task, 0, None, script)]
    part, finds = lost(task, table, run(task, 1, None, script), run(task, 0, None, script, 1))
    assert finds == []
    assert 0.1 < part <= 1.0 + ROUNDING


@pytest.mark.parametrize("held", [True, False])
def test_control_a_step_that_is_paid_for_once_and_told_twice_is_found(held: bool) -> None:
    with (
        mock.patch("fedbayes.federation.guards.installments.is_first", return_value=True)
        if not held
        else mock.MagicMock()
    ):
        judged = judge(cox_tasks()["cox rows"], Change(SLOPE, AGAIN))
    more = judged.precision > precision(honest("cox rows")) * (1.0 + ROUNDING)
    assert (bool(judged.finds) or more) is not held


@pytest.mark.few(1)
@pytest.mark.parametrize("held", [True, False])
def test_a_sum_that_a_station_is_left_out_of_is_refused_and_found(held: bool) -> None:
    """The linear predictor at the mean: of one station's columns it would be any one column's mean, of every station in a round of its own."""
    place = [one.function for one in exact("bfgs")[0].asked].index("partial_finish") + 1
    with mock.patch.object(Station, "require_asked", Station.require_asked if held else lambda *_: None):
        found = unusual("bfgs", Change(place, FEWER, members=frozenset([2])))
    assert bool(found) is not held


@pytest.mark.parametrize("held", [True, False])
def test_control_a_column_of_a_union_that_is_described_as_of_one_station_is_found(held: bool) -> None:
    asked = exact("union given")[0].asked
    place = [one.function for one in asked].index("partial_tables") + 1
    factors = asked[place - 1].each[1].delivery.factors
    shared = [at for at, one in enumerate(factors) if len(one.contributors) > 1]
    parts = [("holders", [1]), ("contributors", [1])]
    edits = [
        Edit(frozenset(range(1, 5)), ("delivery", "factors", at, name), to) for at in shared[:1] for name, to in parts
    ]
    with mock.patch.object(described, "check_told", described.check_told if held else lambda *_: None):
        found = unusual("union given", Change(place, INSTEAD, {place: edits}))
    assert bool(found) is not held
