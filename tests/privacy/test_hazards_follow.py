"""Hazards by which a matrix is asked for over whole records are those of the relative risks over all stations: of others it is about one time's events."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from cox_rows_kit import ask
from test_grid_of_the_tally import TASK, WEIGHTED, asking, records

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from v6_verticox.horizontal import partials
from v6_verticox.horizontal.fitting import Sums
from v6_verticox.horizontal.messages import MOST_EVALUATIONS, MOST_TIMES
from v6_verticox.horizontal.partials import BITS, OTHER_HAZARD


def of_one_time(request: Any, time: int = 1) -> Any:
    """No hazard but what events of one time are spared: the matrix is about these alone."""
    one = np.zeros_like(request.tied)
    one[time] = 1.0
    return replace(request, spent=np.zeros_like(one), tied=one)


def louder(request: Any) -> Any:
    return replace(request, spent=request.spent * 2.0)


@pytest.mark.few(4)
@pytest.mark.parametrize("function", ["partial_squares", "partial_scores"])
@pytest.mark.parametrize("change", [of_one_time, louder])
@pytest.mark.parametrize("more", [{}, {"ties": "efron"}, WEIGHTED], ids=["breslow", "efron", "weights"])
def test_hazards_follow_from_the_sums_at_the_point(function: str, change: Any, more: dict[str, Any]) -> None:
    task = {**TASK, "robust": True, **more}
    with asking(function, change) as answered, pytest.raises(MessageError, match=OTHER_HAZARD):
        ask(records(), task)
    assert function not in answered


def test_nor_are_they_those_of_another_point() -> None:
    """Relative risks of a point are added up under its number."""

    def other(request: Any) -> Any:
        return replace(request, point=replace(request.point, number=request.point.number + 1))

    with asking("partial_squares", other), pytest.raises(MessageError, match="an earlier round of this job is missing"):
        ask(records(), TASK)


def test_control_unchecked_more_is_told_of_the_events_of_one_time_than_they_have_values() -> None:
    """At every point that a fit may ask for, the sum of products of their columns."""
    summing, found = Sums._symmetric, list[Any]()
    time = 1

    def symmetric(self: Sums, function: str, request: Any, more: int = 0) -> Any:
        changed = of_one_time(request, time)
        matrix, pairs = summing(self, function, changed, more)
        found.append((request.point, matrix))
        return matrix, pairs

    with (
        mock.patch.object(Sums, "_symmetric", symmetric),
        mock.patch.object(partials, "check_follows"),
        suppress(AlgorithmError),
    ):
        ask(records(), TASK)
    point, matrix = found[0]
    times, frame = point.question.times, records()
    own = frame[(frame["time"] > times[time - 1]) & (frame["time"] <= times[time]) & (frame["event"] == 1)]
    scaled = np.column_stack([(own["age"] - 55) / 35, (own["bmi"] - 27.5) / 12.5])
    columns = (scaled - point.centre) / point.scale
    assert not np.any(point.coefficients)
    np.testing.assert_allclose(matrix, -columns.T @ columns, atol=2.0 ** (8 - BITS))
    risks, squares = 1 + columns.shape[1], 3
    assert MOST_EVALUATIONS * (risks + squares) > columns.size


def test_a_grid_has_no_more_times_than_a_task_may_ask_for() -> None:
    """Else one tally told every time of all stations to all its digits."""
    grid = [step / 100.0 for step in range(1, MOST_TIMES + 2)]
    question = replace(asked_of_all(), times=grid[:-1], sizes=[MOST_TIMES])
    assert len(question.times) == MOST_TIMES
    with pytest.raises(ValueError, match="no more than those of a task"):
        replace(question, times=grid, sizes=[len(grid)])


def asked_of_all() -> Any:
    asked: list[Any] = []
    with asking("partial_tally", lambda one: asked.append(one.question) or one):  # type: ignore[func-returns-value]
        ask(records(), TASK)
    return asked[0]


def test_bytes_and_rounds_of_what_shows_the_risks() -> None:
    """A round more there is none, and what is shown of a point are two numbers a time and station, and a seal a pair of stations."""
    sent, honest = list[int](), Federation._ask

    def ask_(self: Federation, function: str, request: Any, members: Any, *more: Any) -> Any:
        if function == "partial_squares":
            shown = request.shown
            assert shown.name == request.point.risks
            sent.append(sum(reply.vector.value.size for reply in shown.replies.values()))
        return honest(self, function, request, members, *more)

    with mock.patch.object(Federation, "_ask", ask_):
        model = ask(records(), {**TASK, "ties": "efron"})["model"]
    assert set(sent) == {3 * (2 * len(model["times"]) + 1)}
