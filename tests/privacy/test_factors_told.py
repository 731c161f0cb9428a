"""Tables of united records add up what all stations have of a column: central does not describe one as of fewer stations, nor ask fewer for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.questions.factor_info import Condition, FactorInfo, Wanted, factor_name
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import engine, partials, told
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.messages import Delivery, ExtendRequest, Setup, SubmitRequest, TablesRequest

COLUMNS = ["x", "y"]
ASKED = {
    "columns": COLUMNS,
    "structure": [COLUMNS],
    "split": "hybrid",
    "id_column": "id",
    "domain": {name: {"categories": ["0", "1"]} for name in COLUMNS},
}
SHARED = factor_name("states", ["x"])
PEOPLE, OWN = 120, 50
"""Of all people the first have their `x` at one station, the others at a second one."""


def parties() -> dict[str, pd.DataFrame]:
    draw = np.random.default_rng(5)
    table = pd.DataFrame({"id": [f"p{number:03d}" for number in range(PEOPLE)]})
    table = table.assign(**{name: draw.choice(["0", "1"], PEOPLE) for name in COLUMNS})
    return {"a": table[["id", "x"]][:OWN], "b": table[["id", "x"]][OWN:], "c": table[["id", "y"]]}


Change = Callable[[int, Any], Any]


def of_one(info: FactorInfo) -> FactorInfo:
    return replace(info, holders=[1], contributors=[1]) if info.name == SHARED else info


def described(member: int, request: Any) -> Any:
    """Central describes the column that two stations share as the first one's."""
    if not isinstance(request, TablesRequest):
        return request
    return replace(
        request, delivery=replace(request.delivery, factors=[of_one(info) for info in request.delivery.factors])
    )


def not_asked(member: int, request: Any) -> Any:
    """Central does not ask the second one for it."""
    if not isinstance(request, ExtendRequest) or member != 2:
        return request
    return replace(request, wanted=[one for one in request.wanted if one.columns != ["x"]])


@contextmanager
def telling(change: Change) -> Iterator[list[float]]:
    """Note how many people have a value of the column in what is told."""
    found: list[float] = []
    ask, table = Federation._ask, Engine.ask

    def asking(self: Federation, function: str, requests: Any, members: Any, *rest: Any) -> Any:
        each = requests if isinstance(requests, dict) else dict.fromkeys(members, requests)
        return ask(self, function, {at: change(at, one) for at, one in each.items()}, members, *rest)

    def asked(self: Engine, tables: Any, *rest: Any, **named: Any) -> Any:
        counts = table(self, tables, *rest, **named)
        place = next(at for at, one in enumerate(tables) if SHARED in one)
        with_value = np.moveaxis(counts[place], list(tables[place]).index(SHARED), 0)[:2]
        found.append(float(with_value.sum()))
        return counts

    told_as_asked = mock.patch.object(engine, "check_asked")  # an honest central holds stations to what it asked
    with mock.patch.object(Federation, "_ask", asking), mock.patch.object(Engine, "ask", asked), told_as_asked:
        yield found


@pytest.mark.parametrize("change", [described, not_asked])
def test_no_table_is_of_one_station_of_several_with_a_column(change: Change) -> None:
    with OneProcess(parties(), helpers=["helper"]) as running, telling(change) as found:
        with pytest.raises(MessageError, match="not described as it was opened"):
            running.run("vertibayes", "fit", ASKED)
        assert not found


@pytest.mark.parametrize("change", [described, not_asked])
def test_control_unheld_it_is_of_the_first_alone(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (told, partials):
        monkeypatch.setattr(module, "check_told", lambda *_: None)
    with OneProcess(parties(), helpers=["helper"]) as running, telling(change) as found:
        running.run("vertibayes", "fit", ASKED)
        assert found == [OWN]


def test_as_it_is_a_table_is_of_all() -> None:
    with OneProcess(parties(), helpers=["helper"]) as running, telling(lambda _, request: request) as found:
        running.run("vertibayes", "fit", ASKED)
        assert found == [PEOPLE]


def test_of_united_records_states_are_opened_alone() -> None:
    """A condition, or which records a station has, would be a factor of that station: with a column it is the station's own table."""
    setup = Setup(4, [1, 2, 3], "id", True, {}, {}, True, guarded=True)
    given = Delivery(setup, PEOPLE, [], [], None, [], [])
    for wanted in (Wanted("condition", ["x"], [Condition("x", "==", "1")]), Wanted("values", ["x"])):
        for make in (lambda one: SubmitRequest(setup, [one], 32), lambda one: ExtendRequest(given, 1, 32, [], [one])):
            with pytest.raises(ValueError, match="malformed"):
                make(wanted)
    with pytest.raises(ValueError, match="malformed"):
        Wanted("presence", [])


def test_nor_are_folds_which_the_first_stations_records_have_alone() -> None:
    extend = Engine.extend
    found: list[str] = []

    def extended(self: Engine, pairs: Any, wanted: Any = (), bits: int = 0) -> Any:
        extend(self, pairs, [*wanted, Wanted("states", ["~folds:2"])], bits)
        found.extend(self.factors)
        raise InterruptedError

    running = OneProcess(parties(), helpers=["helper"])
    with running, mock.patch.object(Engine, "extend", extended), pytest.raises(AlgorithmError):
        running.run("vertibayes", "fit", ASKED)
    assert found == [factor_name("states", [name]) for name in COLUMNS]


@pytest.mark.parametrize(
    "other", [{"columns": ["y"]}, {"holders": [2, 3], "contributors": [2, 3]}, {"width": 2}, {"bits": 64}, {"stage": 2}]
)
def test_a_factor_is_described_once(other: dict[str, Any]) -> None:
    """Whoever opened it."""
    noted = defaultdict[str, list[Any]](list)
    station: Any = SimpleNamespace(
        organization=1, note=lambda kind, content: noted[kind].append(content), noted=lambda kind: noted[kind]
    )
    info = FactorInfo(SHARED, ["x"], [2], 1, True, 32, 1, [2])
    for _ in range(2):
        told.check_told(station, [info])
    with pytest.raises(MessageError, match="not described as it was opened"):
        told.check_told(station, [replace(info, **other)])
