"""Hazards by which a matrix is asked for over whole records are those of the relative risks over all stations: of others it is about one time's events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from cox_rows_kit import ask
from test_grid_of_the_tally import TASK, WEIGHTED, asking, records

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.gate import Masked
from fedbayes.federation.rounds import Federation
from v6_verticox.horizontal import partials, witnessed
from v6_verticox.horizontal.fitting import Sums
from v6_verticox.horizontal.messages import MOST_EVALUATIONS, MOST_TIMES
from v6_verticox.horizontal.partials import BITS
from v6_verticox.horizontal.requests import ScoresRequest, SquaresRequest
from v6_verticox.horizontal.witnessed import FORGED, Shown


def test_requests_at_a_point_tell_no_hazard() -> None:
    """Nor in which unit numbers of pairs are: stations work both out."""
    assert {one.name for one in fields(SquaresRequest)} == {"point", "shown"}
    assert {one.name for one in fields(ScoresRequest)} == {"point", "shown", "mean", "drift", "spared"}


class Forging:
    """A central that shows other relative risks at a point than the stations sent, in a request for squares or after it in one for scores."""

    def __init__(self) -> None:
        self.shown: Shown | None = None

    def noted(self, request: Any) -> Any:
        self.shown = request.shown
        return request

    def forged(self, request: Any) -> Any:
        """One station's relative risks a thousand more at every time: next to no hazard."""
        shown = request.shown or self.shown
        last = max(shown.replies)
        value = shown.replies[last].vector.value.copy()
        value[:-1] += np.uint64(1000 << BITS)
        reply = replace(shown.replies[last], vector=Masked(value, shown.replies[last].vector.check))
        return replace(request, shown=replace(shown, replies={**shown.replies, last: reply}))


@pytest.mark.few(4)
@pytest.mark.parametrize("function", ["partial_squares", "partial_scores"])
@pytest.mark.parametrize("more", [{}, {"ties": "efron"}, WEIGHTED], ids=["breslow", "efron", "weights"])
def test_hazards_follow_from_what_all_stations_sent(function: str, more: dict[str, Any]) -> None:
    central = Forging()
    with (
        asking("partial_squares", central.noted),
        asking(function, central.forged) as answered,
        pytest.raises(MessageError, match=FORGED),
    ):
        ask(records(), {**TASK, "robust": True, **more})
    assert function not in answered


def test_control_unchecked_hazards_are_centrals() -> None:
    central = Forging()
    honest, told = list[Any](), list[Any]()
    for found, change in ((honest, central.noted), (told, central.forged)):
        with (
            mock.patch.object(witnessed, "digest_of", return_value="00" * 32),
            asking("partial_squares", change) as answered,
            kept_matrices(found),
            suppress(AlgorithmError),
        ):
            ask(records(), TASK)
        assert "partial_squares" in answered
    assert np.abs(told[0]).max() < 0.2 * np.abs(honest[0]).max()


@contextmanager
def kept_matrices(found: list[Any]) -> Iterator[None]:
    summing = Sums._symmetric

    def symmetric(self: Sums, *given: Any) -> Any:
        matrix, pairs = summing(self, *given)
        found.append(matrix)
        return matrix, pairs

    with mock.patch.object(Sums, "_symmetric", symmetric):
        yield


def test_nor_are_they_those_of_another_point() -> None:
    """Relative risks of a point are added up under its number."""

    def other(request: Any) -> Any:
        return replace(request, point=replace(request.point, number=request.point.number + 1))

    with asking("partial_squares", other), pytest.raises(MessageError, match="an earlier round of this job is missing"):
        ask(records(), TASK)


def test_control_told_by_central_more_follows_about_the_events_of_one_time_than_they_have_values() -> None:
    """At every point that a fit may ask for, the sum of products of their columns: no hazard but what they are spared."""
    found, points, time = list[Any](), list[Any](), 1

    def hazards(point: Any, _: Any) -> Any:
        points.append(point)
        spared = np.zeros(len(point.question.times))
        spared[time] = 1.0
        return (np.zeros_like(spared), spared), float(len(records()))

    with mock.patch.object(partials, "_hazards", hazards), kept_matrices(found), suppress(AlgorithmError):
        ask(records(), TASK)
    point, matrix, frame = points[0], found[0], records()
    times = point.question.times
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
