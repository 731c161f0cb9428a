"""Central names its own organization as the one that compares single records with their outcome: predictors, scores and votes would be sealed for it.

It has the keys of its station. The station with the outcome sees that somebody else is named, and the masks of all stations of the job are in the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness.inprocess import InProcess
from test_deviating_central import asking, inside
from test_models_judged import FITS, JUDGED, linked, table
from views_cases import JOINED, LIMITS, vertical

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.member import Member
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import sealed_sums
from fedbayes.mpc.secure_sum import reconstruct
from v6_verticox.messages.scoring import SUM_BITS
from v6_verticox.stations import scoring

METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "verticox": ("partial_score", "receiver", JUDGED),
    "vertibayes": ("partial_scores", "holder", {"method": "records"}),
    "bayesian_ensemble": ("partial_votes", "holders", {}),
}
"""Method -> its round, the field that names who compares, and arguments of its evaluation."""


def running_of(method: str) -> InProcess:
    return linked() if method == "verticox" else inside(method)


def compared_elsewhere(field: str) -> Callable[..., Any]:
    """Return the change of a request by which another of the first two stations compares."""

    def changed(one: Any, *_: Any) -> Any:
        named = getattr(one, field)
        other = 2 if named in (1, [1]) else 1
        return replace(one, **{field: [other] if isinstance(named, list) else other})

    return changed


@contextmanager
def without(function: str, field: str) -> Iterator[None]:
    """Central names another organization, and does not ask the one with the outcome."""
    honest, change = Federation._ask, compared_elsewhere(field)

    def ask(self: Federation, asked: str, requests: Any, members: Any, *rest: Any) -> Any:
        if asked == function:
            each = dict(requests) if isinstance(requests, dict) else dict.fromkeys(members, requests)
            named = getattr(next(iter(each.values())), field)
            left_out = named if isinstance(named, list) else [named]
            requests = {at: change(one) for at, one in each.items() if at not in left_out}
            members = list(requests)
        return honest(self, asked, requests, members, *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield


@pytest.mark.audit
def test_so_are_held_out_ones() -> None:
    """Whoever is said to have drawn the folds."""
    with linked() as running:
        asked = {"model": running.run("fit", FITS["verticox"])["model"], **JOINED, **JUDGED, "folds": 2}
        assert running.run("evaluate", asked)
        with (
            without("partial_held_out", "receiver"),
            pytest.raises(MessageError, match=r"for the station with the outcome|not asked of all stations"),
        ):
            running.run("evaluate", asked)


@contextmanager
def neither_named_nor_asked(organization: int) -> Iterator[None]:
    """Central leaves a station with columns of the fits out of the scorers of held-out records, and does not ask it."""
    honest = Federation._ask

    def ask(self: Federation, asked: str, requests: Any, members: Any, *rest: Any) -> Any:
        if asked in ("partial_held_out", "partial_judge"):
            each = dict(requests) if isinstance(requests, dict) else dict.fromkeys(members, requests)
            members = [member for member in members if member != organization]
            named = [one for one in next(iter(each.values())).scorers if one != organization]
            requests = {member: replace(each[member], scorers=named) for member in members}
        return honest(self, asked, requests, members, *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield


@pytest.mark.few(1)
@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
def test_a_scorer_of_held_out_records_is_neither_unnamed_nor_unasked(held: bool) -> None:
    """With three stations that have columns, the one with the outcome, which runs central, would see another's part of each predictor."""
    with linked() as running:
        model = running.run("fit", {**FITS["verticox"], "features": ["x", "v", "w"]})["model"]
        asked = {"model": model, **JOINED, **JUDGED, "folds": 2}
        with neither_named_nor_asked(3):
            if held:
                with pytest.raises(MessageError, match="not asked of all stations that have a part of it"):
                    running.run("evaluate", asked)
                return
            with mock.patch.object(Member, "require_asked"):
                assert running.run("evaluate", asked)["metrics"]["concordance"]


def test_a_station_without_a_column_of_the_fits_takes_part_in_the_sum() -> None:
    with linked() as running:
        model = running.run("fit", {**FITS["verticox"], "features": ["v", "z"]})["model"]
        assert running.run("evaluate", {"model": model, **JOINED, **JUDGED, "folds": 2})["metrics"]["concordance"]


@pytest.mark.parametrize("method", METHODS)
def test_single_records_are_compared_where_the_outcome_is(method: str) -> None:
    function, field, more = METHODS[method]
    with running_of(method) as running:
        asked = {"model": running.run("fit", FITS[method])["model"], **JOINED, **more}
        assert running.run("evaluate", asked)
        for deviating in (asking(function, compared_elsewhere(field)), without(function, field)):
            with (
                deviating,
                pytest.raises(MessageError, match=r"for the station with the outcome|not asked of all stations"),
            ):
                running.run("evaluate", asked)


def test_control_unchecked_the_predictor_of_every_record_is_sealed_for_central() -> None:
    """Of a fit's model, in an evaluation that central runs at a station with a feature."""
    letters = list[np.ndarray]()
    honest = sealed_sums.sealed_part

    def sealed_part(station: Any, receiver: int, part: Any, topic: str) -> Any:
        if receiver == station.aggregator:
            letters.append(part.value.reshape(-1))
        return honest(station, receiver, part, topic)

    files = {**vertical(False), "helper": None}
    with InProcess("v6_verticox", files, {name: dict(LIMITS) for name in files}, "b") as running, ExitStack() as stack:
        model = running.run("fit", FITS["verticox"])["model"]
        stack.enter_context(asking("partial_score", compared_elsewhere("receiver")))
        stack.enter_context(mock.patch.object(scoring, "check_compared"))
        stack.enter_context(mock.patch("v6_verticox.stations.sums.sealed_part", sealed_part))
        with pytest.raises(MessageError):  # honest central asks the station with the outcome, which kept no part
            running.run("evaluate", {"model": model, **JOINED, **JUDGED})
    told = np.sort(reconstruct(letters).astype(np.int64) / 2.0**SUM_BITS)
    columns = table()
    true = sum(columns[one["feature"]].astype(float) * one["coefficient"] for one in model["coefficients"])
    assert np.allclose(told, np.sort(np.asarray(true)), atol=1e-6)
