"""The table of goals on docs/benchmarks.md is that of the runs, and a missed goal is told as missed."""

import goals
import pytest


def test_the_page_has_the_numbers_of_the_runs():
    page = goals.PAGE.read_text(encoding="utf-8")
    assert page.split(goals.FIRST)[1].split(goals.LAST)[0].strip() == goals.table(), "run tests/benchmarks/goals.py"


def test_every_number_is_of_a_goal():
    assert set(goals.measured()) <= set(goals.GOALS)


@pytest.mark.parametrize(
    ("value", "least", "met"), [(0.9, True, False), (1.0, True, True), (1.0, False, True), (1.1, False, False)]
)
def test_a_goal_is_met_or_missed_by_its_bound(value, least, met):
    assert goals.Goal("", 1.0, "", "", least).met(value) is met


def test_what_is_missed_is_told(monkeypatch):
    goal = goals.Goal("work", 1.5, "x", "how")
    monkeypatch.setattr(goals, "GOALS", {"work": goal})
    for value, told in ((1.6, "**missed**"), (1.4, "met")):
        monkeypatch.setattr(goals, "measured", lambda value=value: {"work": {"value": value}})
        assert told in goals.table()
    monkeypatch.setattr(goals, "measured", dict)
    assert "open" in goals.table()
