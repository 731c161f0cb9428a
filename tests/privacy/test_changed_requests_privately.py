"""A central that deviates in private jobs over linked records, by random changes of its requests: of what it opens no record loses more than is debited.

Noise is zero in every run, and its width noted; the same change is made on a table and on its neighbours. Where a change is found to tell more, the message
has what repeats it: ``CHANGED_SEED`` and the name of the task. ``CHANGED_REQUESTS`` is how many changes of each task are made.
"""

from __future__ import annotations

import os
import secrets
from functools import cache
from unittest import mock

import numpy as np
import pytest
from changed_cases import TASKS
from changed_drawn import Drawer, Pool, pool
from changed_judged import judge, lost
from changed_kit import Run, run
from changed_opened import ROUNDING
from changed_parts import AGAIN, INSTEAD, Change, Edit

import v6_secure_naive_bayes.drawing as secure
from fedbayes.federation.vertical import announced, messages, workspace

FIXED = 20261130
"""The seed where a change of the program is not to be judged by chance (`FRESH_EXAMPLES` is empty)."""
FRESH = secrets.randbelow(10**9) if os.environ.get("FRESH_EXAMPLES") else FIXED
SEED = int(os.environ.get("CHANGED_SEED") or FRESH)
REQUESTS = int(os.environ.get("CHANGED_REQUESTS") or 5)
"""Changes of each task: together about half a minute of one core."""
EVERYBODY = frozenset(range(1, 5))


@cache
def honest(name: str) -> Run:
    return run(TASKS[name], 0)


@cache
def elsewhere() -> Pool:
    return pool([honest(name) for name in TASKS])


def drawn(name: str, number: int) -> Change:
    """Return a change of a task, one of many."""
    random = np.random.default_rng([SEED, list(TASKS).index(name), number])
    return Drawer(honest(name), elsewhere(), random).change()


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", TASKS)
def test_no_change_of_requests_tells_more_than_is_debited(name: str) -> None:
    for number in range(REQUESTS):
        change = drawn(name, number)
        found = judge(TASKS[name], change, 1 + number % 2).finds
        assert not found, f"CHANGED_SEED={SEED}, change {number} of '{name}': {found}; {change!r:.2000}"


@pytest.mark.audit
@pytest.mark.parametrize("name", TASKS)
def test_control_of_the_measure_an_honest_central_is_told_what_is_debited(name: str) -> None:
    """Noise for counts, of which a record changes as many as it can, is used up; Gaussian noise may be for more than these tables change."""
    task, script = TASKS[name], honest(name).script
    table = [honest(name), run(task, 0, None, script)]
    part, finds = lost(task, table, run(task, 1, None, script), run(task, 0, None, script, 1))
    assert finds == []
    assert (0.1 if task.budget[1] else 1.0 - ROUNDING) < part <= 1.0 + ROUNDING


def told_otherwise(name: str, function: str, keys: tuple[str, ...], value: object, *members: int) -> list[str]:
    """Return what is found where some members, or all, are told another value in the rounds of a function."""
    rounds = [number for number, one in enumerate(honest(name).asked, 1) if one.function == function]
    edit = Edit(frozenset(members) or EVERYBODY, keys, value)
    return judge(TASKS[name], Change(rounds[0], INSTEAD, {number: [edit] for number in rounds})).finds


@pytest.mark.audit
@pytest.mark.parametrize("name", ["count", "table"])
@pytest.mark.parametrize("held", [True, False])
def test_control_a_ring_that_is_wider_than_that_of_columns_is_found(name: str, held: bool) -> None:
    unheld = mock.patch.object(messages, "check_ring", messages.check_ring if held else lambda *_: None)
    with unheld:
        found = told_otherwise(name, "partial_tables", ("bits",), 64)
    assert bool(found) is not held


@pytest.mark.audit
@pytest.mark.parametrize("held", [True, False])
def test_control_stations_of_united_records_that_were_told_other_rules_are_found(held: bool) -> None:
    told = announced.digest_of if held else lambda setup: setup.private
    once = workspace.asked_once if held else lambda *_: None
    with mock.patch.object(announced, "digest_of", told), mock.patch.object(workspace, "asked_once", once):
        found = told_otherwise("union given", "partial_submit", ("setup", "guarded"), True, 1)
    assert bool(found) is not held


@pytest.mark.audit
@pytest.mark.parametrize("name", ["bayes", "classify"])
@pytest.mark.parametrize("held", [True, False])
def test_control_tables_that_every_station_makes_again_are_found(name: str, held: bool) -> None:
    """Each has debited no more than is announced; what is lost is what all have debited."""
    with mock.patch.object(secure, "asked_once", secure.asked_once if held else lambda *_: None):
        found = judge(TASKS[name], Change(3, AGAIN)).finds
    assert bool(found) is not held
