"""A column that several stations have is not described as one station's: what one alone tells opens only where all found that they lack the column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.gate import Masked
from fedbayes.federation.guards.member import Member
from fedbayes.federation.remote import alone, looking
from fedbayes.federation.rounds import Federation

STATES = ("x", "y", "z")
DOMAIN = {"f": {"categories": list(STATES)}}
VICTIM = 1
OTHERS = (4, 5)
"""Stations with data that lack the column."""


def tables() -> dict[str, pd.DataFrame]:
    """Three stations with the column, and two without."""
    draw = np.random.default_rng(6)
    columns = {name: ("f", draw.choice(STATES, 60, p=(0.2, 0.3, 0.5))) for name in "abc"}
    columns |= {name: ("g", draw.choice(STATES, 60)) for name in "de"}
    return {name: pd.DataFrame({column: values}) for name, (column, values) in columns.items()}


@contextmanager
def described(asked: tuple[int, ...], told: Callable[[int, Any], Any]) -> Iterator[InProcess]:
    """Central, at a station without the column, asks some organizations, each for what `told` makes of the request."""
    honest = Federation._ask

    def ask(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == looking.FUNCTION:
            organizations = asked or organizations
            request = {member: told(member, request) for member in organizations}
        return honest(self, function, request, organizations, *rest)

    files = {name: table.to_csv(index=False) for name, table in tables().items()} | {"h": None}
    with mock.patch.object(Federation, "_ask", ask), InProcess("v6_dp_naive_bayes", files, {}, "d") as running:
        yield running


def counts(running: InProcess) -> list[int | None]:
    """Return the counts that central makes of the replies."""
    found: list[int | None] = running.run("describe", {"domain": DOMAIN})["model"]["columns"]["f"]["categories"][
        "counts"
    ]
    return found


def as_alone(member: int, request: Any) -> Any:
    return replace(request, holders={"f": [VICTIM]})


def to_the_victim(member: int, request: Any) -> Any:
    """Others are told who has the column; and, so that they send a part of the keys, of one that nobody asked for."""
    if member == VICTIM:
        return as_alone(member, request)
    return replace(request, holders={**request.holders, "nowhere": [VICTIM]})


def own(name: str) -> list[int]:
    return tables()[name]["f"].value_counts().reindex(STATES).tolist()


def added_up(parts: Iterable[Masked | None]) -> Any:
    """Central adds up without looking whether masks cancel."""
    return np.sum([part.value for part in parts if part is not None], axis=0, dtype=np.uint64)


@contextmanager
def opening_anyway() -> Iterator[None]:
    """Central opens what it wants opened, whatever it told whom."""
    opened = alone.opened_alone
    with (
        mock.patch.object(looking, "opened_alone", lambda _, replies: opened({"f": VICTIM}, replies)),
        mock.patch.object(looking, "summed", added_up),
        mock.patch.object(alone, "summed", added_up),
    ):
        yield


def test_what_all_have_is_told_as_a_sum() -> None:
    with described((), lambda member, request: request) as running:
        assert counts(running) == np.sum([own(name) for name in "abc"], axis=0).tolist()


def test_no_station_tells_alone_where_others_are_not_asked() -> None:
    with described((VICTIM, *OTHERS), as_alone) as running, pytest.raises(MessageError, match="is not asked of all"):
        counts(running)


def test_control_where_nobody_looks_who_is_asked_its_table_is_told() -> None:
    with (
        described((VICTIM, *OTHERS), as_alone) as running,
        opening_anyway(),
        mock.patch.object(Member, "require_asked"),
    ):
        assert counts(running) == own("a")


def test_others_with_the_column_refuse() -> None:
    with described((), as_alone) as running, pytest.raises(MessageError, match="b, c: the request names other columns"):
        counts(running)


def test_what_it_tells_does_not_open_where_others_were_told_otherwise() -> None:
    """The others answer, with masks for another request; so no key comes out of all parts."""
    with described((), to_the_victim) as running:
        with pytest.raises(MessageError, match="do not fit"):
            counts(running)
        with opening_anyway(), pytest.raises(MessageError, match="does not open"):
            counts(running)


def test_control_with_masks_for_any_request_it_does() -> None:
    with (
        described((), to_the_victim) as running,
        opening_anyway(),
        mock.patch.object(Member, "question_digest", property(lambda _: "any")),
    ):
        assert counts(running) == own("a")
