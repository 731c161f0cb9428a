"""Sums over whole records at several stations are on the grid, and by the bins, that the counts over all of them give: each station adds these up itself."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import ask

import v6_verticox
from fedbayes.federation.errors import AlgorithmError, MessageError, ThresholdError
from fedbayes.federation.gate import Masked
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station
from v6_verticox.horizontal import partials, witnessed
from v6_verticox.horizontal.fitting import Sums
from v6_verticox.horizontal.grid import Tally
from v6_verticox.horizontal.judging import partials as judging
from v6_verticox.horizontal.judging import settling
from v6_verticox.horizontal.witnessed import AGAIN, FORGED, OTHERS, SMALLER, Following, Opening, Shown

RECORDS = 120
WEIGHTED = {"weights": "w"}
Change = Callable[[Any], Any]


@cache
def records() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "time": rng.permutation(np.arange(1, RECORDS + 1)) / 4.0,
            "event": rng.integers(0, 2, RECORDS),
            "age": rng.integers(20, 90, RECORDS),
            "bmi": rng.normal(25, 4, RECORDS).clip(15, 40).round(1),
            "w": rng.choice([0.5, 1.0, 2.0], RECORDS),
        }
    )


TASK = {
    "time": "time",
    "event": "event",
    "features": ["age", "bmi"],
    "domain": {"age": {"bounds": [20, 90]}, "bmi": {"bounds": [15, 40]}},
    "split": "horizontal",
    "times": [step / 4.0 for step in range(1, RECORDS + 1)],
    "ties": "breslow",
}


def fit(**more: Any) -> dict[str, Any]:
    return ask(records(), {**TASK, **more})


@cache
def model() -> dict[str, Any]:
    return dict(fit()["model"])


def run(function: str) -> None:
    """Run the task that asks a partial function."""
    if function in ("partial_measures", "partial_hazard"):
        kind = "evaluate" if function == "partial_measures" else "baseline"
        ask(records(), {"model": model()}, function=kind)
    else:
        fit(robust=True, **(WEIGHTED if function == "partial_weigh" else {}))


@contextmanager
def asking(function: str, change: Change, organizations: Callable[[Any], Any] = lambda one: one) -> Iterator[list[str]]:
    """Central asks every station for something else, alike; yields which functions were answered."""
    honest, answered = Federation._ask, list[str]()

    def ask_(self: Federation, asked: str, request: Any, members: Any, *more: Any) -> Any:
        if asked == function:
            request, members = change(request), organizations(members)
        found = honest(self, asked, request, members, *more)
        if all("error" not in answer for answer in found.values()):
            answered.append(asked)
        return found

    with mock.patch.object(Federation, "_ask", ask_):
        yield answered


@contextmanager
def as_tallied(change: Change = lambda one: one) -> Iterator[list[Any]]:
    """Central asks for the sums of risk sets on the grid of the tally; yields the point and what stations add up."""
    honest, summing, asked, found = Federation._ask, Sums._risks, list[Any](), list[Any]()
    points: list[Any] = []

    def ask_(self: Federation, function: str, request: Any, *more: Any) -> Any:
        if function == "partial_tally":
            asked.append(request.question)
        if function == "partial_risk":
            request = change(replace(request, point=replace(request.point, question=asked[0])))
            points.append(request.point)
        return honest(self, function, request, *more)

    def sum_(self: Sums, request: Any, length: int, risks: int) -> Any:
        total = summing(self, request, length + 2 * 2 * (RECORDS - risks), RECORDS)
        found.append((points[0], *total))
        return None, None

    with mock.patch.object(Federation, "_ask", ask_), mock.patch.object(Sums, "_risks", sum_):
        yield found


def known(point: Any, vector: Any, risks: Any) -> int:
    """Return of how many records differences of the sums over neighbouring risk sets, at a point without effects, are time and features."""
    assert not np.any(point.coefficients)
    risk = np.column_stack([risks, vector[-2 * RECORDS :].reshape(RECORDS, 2)])
    single = -np.diff(np.vstack([risk, np.zeros(3)]), axis=0)
    values = single[:, 1:] * point.scale + point.centre  # of a single record's relative risk, 1
    guessed = {
        (time, round(own[0] * 35 + 55), round(own[1] * 12.5 + 27.5, 1))
        for time, row, own in zip(TASK["times"], single, values, strict=True)
        if abs(row[0] - 1.0) < 1e-6
    }
    return len(guessed & set(records()[["time", "age", "bmi"]].itertuples(index=False, name=None)))


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_sums_of_risk_sets_are_on_the_grid_that_the_tally_gives(held: bool) -> None:
    """Else a fine grid tells time and features of every record of all stations."""
    with as_tallied() as found:
        if held:
            with pytest.raises(MessageError, match=partials.OTHER_GRID):
                fit()
            assert not found
            return
        with mock.patch.object(partials, "check_follows"), suppress(AlgorithmError):
            fit()
        assert known(*found[0]) == RECORDS


def forged(reply: Any, more: int = 5, numbers: int = RECORDS) -> Any:
    value = reply.vector.value.copy()
    value[:numbers] += np.uint64(more)
    return replace(reply, vector=Masked(value, reply.vector.check))


def shown_with(change: Callable[[Shown], Shown]) -> Change:
    return lambda request: request if request.shown is None else replace(request, shown=change(request.shown))


def with_replies(change: Callable[[dict[int, Any]], dict[int, Any]]) -> Change:
    return shown_with(lambda shown: replace(shown, replies=change(dict(shown.replies))))


def exchanged(replies: dict[int, Any]) -> dict[int, Any]:
    first, second, *_ = replies
    return {**replies, first: replies[second], second: replies[first]}


def moved(replies: dict[int, Any]) -> dict[int, Any]:
    """The vectors of two stations changed so that their sum is as before."""
    first, second, *_ = replies
    return {**replies, first: forged(replies[first]), second: forged(replies[second], -5 % 2**64)}


def crowded(request: Any) -> Any:
    """A hundred events and a hundred others more at every time, by which no times are united; columns are scaled by as many records."""
    if request.shown is None:
        return request
    replies, last = request.shown.replies, max(request.shown.replies)
    replies = {**replies, last: forged(replies[last], 100, 2 * RECORDS + 1)}
    total = sum(reply.vector.value for reply in replies.values()).view(np.int64)
    centre, scale = Tally.read(total, request.asked).moments()
    shown = replace(request.shown, replies=replies)
    return replace(request, shown=shown, point=replace(request.point, centre=centre, scale=scale))


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_no_counts_are_added_that_no_station_sent(held: bool) -> None:
    with as_tallied(crowded) as found:
        if held:
            with pytest.raises(MessageError, match=FORGED):
                fit()
            assert not found
            return
        with mock.patch.object(witnessed, "digest_of", return_value="00" * 32), suppress(AlgorithmError):
            fit()
        assert known(*found[0]) == RECORDS


FORGERIES: dict[str, tuple[Change, str]] = {
    "one more": (with_replies(lambda all_: {**all_, max(all_): forged(all_[max(all_)])}), FORGED),
    "all more": (with_replies(lambda all_: {one: forged(reply) for one, reply in all_.items()}), FORGED),
    "moved": (with_replies(moved), FORGED),
    "exchanged": (with_replies(exchanged), FORGED + "|a sealed message"),
    "left out": (with_replies(lambda all_: {one: all_[one] for one in sorted(all_)[1:]}), OTHERS),
    "one again": (with_replies(lambda all_: {**all_, 9: all_[max(all_)]}), OTHERS),
    "no seals": (with_replies(lambda all_: {one: replace(all_[one], seals=[]) for one in all_}), FORGED),
    "seals of others": (
        with_replies(lambda all_: {one: replace(all_[one], seals=all_[max(all_)].seals) for one in all_}),
        FORGED + "|a sealed message",
    ),
    "less is enough": (shown_with(lambda shown: replace(shown, minimum_count=0)), SMALLER),
    "another sum": (shown_with(lambda shown: replace(shown, name="partial_risk")), "an earlier round"),
    "nothing": (shown_with(lambda _: None), "an earlier round"),  # type: ignore[arg-type,return-value]
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_central_shows_is_what_every_station_sent(name: str) -> None:
    change, words = FORGERIES[name]
    with asking("partial_risk", change) as answered, pytest.raises(MessageError, match=words):
        ask(records(), TASK, limits={"minimum_count": 5})
    assert "partial_risk" not in answered


def finer(request: Any) -> Any:
    """One time more than the counts give."""
    question = request.asked
    times = sorted({*question.times, question.times[0] + 0.25})
    other = replace(question, times=times, sizes=[len(times)])
    if hasattr(request, "question"):
        return replace(request, question=other)
    rows = {name: np.vstack([one, one[:1]]) for name, one in vars(request).items() if _is_by_time(one, question)}
    flat = {name: np.append(one, one[-1]) for name, one in vars(request).items() if _is_by_time(one, question, 1)}
    return replace(request, point=replace(request.point, question=other), **rows, **flat)


def _is_by_time(value: Any, question: Any, axes: int = 2) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == axes and len(value) == len(question.times)


def every_time(request: Any) -> Any:
    """Survival judged at each time of the grid, with one event or none between two of them."""
    return replace(request, ends=np.arange(request.judged.times - 1))


OTHERWISE: dict[str, tuple[str, Change, str]] = {
    "risk": ("partial_risk", finer, partials.OTHER_GRID),
    "weights": ("partial_weigh", finer, partials.OTHER_GRID),
    "squares": ("partial_squares", finer, partials.OTHER_GRID),
    "scores": ("partial_scores", finer, partials.OTHER_GRID),
    "baseline": ("partial_hazard", finer, partials.OTHER_GRID),
    "times": ("partial_measures", every_time, "fewer events or censored records"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_every_later_sum_follows_from_the_counts(name: str) -> None:
    function, change, words = OTHERWISE[name]
    with asking(function, change) as answered, pytest.raises((MessageError, ThresholdError), match=words):
        run(function)
    assert function not in answered


@pytest.mark.parametrize(
    "name", [one for one in OTHERWISE if one not in ("squares", "scores")]
)  # hazards have their own grid
def test_control_unchecked_it_is_answered(name: str) -> None:
    """But for the binding of a model and a question, which these leave as they are."""
    function, change, _ = OTHERWISE[name]
    unchecked = mock.patch.object(partials, "check_follows"), mock.patch.object(settling, "apart", return_value=True)
    with asking(function, change) as answered, unchecked[0], unchecked[1], suppress(AlgorithmError):
        run(function)
    assert function in answered


def test_weights_unite_the_grid_again() -> None:
    """Points on the grid that counts alone give are refused where weights make it coarser."""
    grids = []
    frame = records().assign(w=np.where(records()["time"] < 12, 0.05, 2.0))
    with asking("partial_weigh", lambda one: grids.append(one.question) or one):  # type: ignore[func-returns-value]
        coarser = ask(frame, {**TASK, **WEIGHTED})["model"]["times"]
    assert len(coarser) < len(grids[0].times)

    def by_counts(request: Any) -> Any:
        return replace(request, point=replace(request.point, question=grids[0]))

    with asking("partial_risk", by_counts), pytest.raises(MessageError, match=partials.OTHER_GRID):
        ask(frame, {**TASK, **WEIGHTED})


def test_a_sum_is_over_those_whose_counts_it_follows_from() -> None:
    with (
        asking("partial_risk", lambda one: one, lambda members: sorted(members)[1:]),
        pytest.raises(MessageError, match=OTHERS),
    ):
        fit()


def test_counts_are_told_once_in_a_job() -> None:
    """Two tallies would be two grids, each with enough between its times, and few between those of both."""
    honest = Federation._ask

    def twice(self: Federation, function: str, request: Any, members: Any, *more: Any) -> Any:
        found = honest(self, function, request, members, *more)
        if function == "partial_tally":
            question = request.question
            other = replace(question, times=question.times[1:], sizes=[len(question.times) - 1])
            again = honest(self, function, replace(request, question=other), members, *more)
            assert all(AGAIN in str(answer["error"]) for answer in again.values())
            asked.append(len(again))
        return found

    asked: list[int] = []
    with mock.patch.object(Federation, "_ask", twice):
        fit()
    assert asked == [3]


def requests_of_whole_records() -> Iterator[tuple[str, type]]:
    """Yield the partial functions of exact answers about whole records, and their requests."""
    for name in v6_verticox.__all__:
        function = getattr(v6_verticox, name)
        answer = getattr(function, "fedbayes_answer", None)
        if answer is not None and answer.__module__ in (partials.__name__, judging.__name__):
            yield name, function.fedbayes_request


PRIVATE = {"partial_table"}
"""Of counts with noise, on a public grid."""


def test_every_request_opens_a_job_or_follows_from_what_opened_it() -> None:
    """A partial function has its rows from `read_rows`, which takes no other request; what nothing was registered for follows from nothing."""
    found = dict(requests_of_whole_records())
    openings = {name for name, request in found.items() if issubclass(request, Opening)}
    following = {name: request for name, request in found.items() if issubclass(request, Following)}
    assert openings == {"partial_tally", "partial_predictors"}
    assert found.keys() == openings | following.keys() | PRIVATE
    default = partials.check_follows.dispatch(object)
    assert all(partials.check_follows.dispatch(request) is not default for request in following.values())
    taken = typing.get_type_hints(partials.read_rows)["request"]
    assert set(typing.get_args(taken)) == {Opening, Following}

    class Another(Following):
        @property
        def asked(self) -> Any:
            return None

    with pytest.raises(MessageError, match="nothing says from which sums"):
        partials.check_follows(Another(), typing.cast(Station, None))


@pytest.mark.parametrize("least", [-1, 2**63])
def test_what_central_takes_for_enough_is_a_number_of_records(least: int) -> None:
    with pytest.raises(ValueError, match="no number of records"):
        Shown("partial_tally", {}, least)
