"""What two parties do together, for every method: cells of the threat model's table of pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from limits_kit import predicting
from test_active_server import TASKS, stations
from test_linked_alike import federation

from fedbayes.dp.ledger import Entry, Ledger
from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.embedded.federation import CLOSING
from fedbayes.federation.node.policy import LEDGER_FILE
from fedbayes.mpc.shared_products import DataSide, HelperSide

Members = dict[str, dict[str, Path]]
PLAYED = [(method, name) for method in TASKS for name in ("central", "station", "helper")]
HORIZONTAL = {method for method, (kind, _, _) in TASKS.items() if kind == "h"}


def met(method: str, folder: Path) -> Members:
    """Return the members of a task, each with a folder database, after a first task in which they met."""
    members = stations(folder)[TASKS[method][0]]
    if method not in HORIZONTAL:
        members["helper"] = {"ledger": folder / "helper"}
        members["helper"]["ledger"].mkdir()
    ask(method, members)
    return members


def ask(method: str, members: Members, **options: Any) -> Any:
    _, function, arguments = TASKS[method]
    policies = predicting({name: {"ledger": "ledger"} for name in members})
    with EmbeddedFederation(members, policies=policies, aggregator=central_of(method), **options) as running:
        return running.run(method, function, arguments)


def central_of(method: str) -> str:
    """Return who runs central: for bfgs another organization than the one with the outcome."""
    return "c" if method == "verticox" else "a"


def debits(members: Members, name: str) -> list[Entry]:
    return Ledger(members[name]["ledger"] / LEDGER_FILE).entries()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("method", "role"), [each for each in PLAYED if each[1] != "helper" or each[0] not in HORIZONTAL]
)
def test_nobody_plays_another_organization_with_the_servers_help(method: str, role: str, tmp_path: Path) -> None:
    """The server says of somebody's own program that it runs at an organization: it has every file of that one, but not its lasting key."""
    members = met(method, tmp_path)
    name = {"central": central_of(method), "station": "b", "helper": "helper"}[role]
    others = [other for other in members if other not in (name, "helper")]
    spent = [debits(members, other) for other in others]
    (members[name]["ledger"] / "fedbayes-identity").unlink()
    with pytest.raises(errors.PolicyError, match=f"the lasting key of {name} has changed"):
        ask(method, members)
    assert [debits(members, other) for other in others] == spent


@pytest.mark.few(2)
@pytest.mark.parametrize("method", TASKS)
def test_no_station_plays_a_second_one_with_the_servers_help(method: str, tmp_path: Path) -> None:
    """It signs with its own lasting key, which has one name."""
    members = met(method, tmp_path)
    with pytest.raises(errors.PolicyError, match="lasting key"):
        ask(method, {**members, "c": {**members["c"], "ledger": members["b"]["ledger"]}})


@pytest.mark.few(2)
@pytest.mark.parametrize("method", TASKS)
def test_no_station_answers_for_another_with_the_servers_help(method: str, tmp_path: Path) -> None:
    """In the last round that central waits for it is given one station's reply as everybody's."""
    members = stations(tmp_path)[TASKS[method][0]]
    helpers = [] if method in HORIZONTAL else ["helper"]
    rounds: list[str] = []
    first: dict[str, Any] = {}

    def look(_: str, name: str, payload: Any) -> Any:
        if name != CLOSING:  # which central does not wait for: its reply may come before central's result or after it
            rounds.append(name)
        return payload

    ask(method, members, helpers=helpers, tamper=look)
    last = rounds[rounds.index(TASKS[method][1]) - 1]

    def swap(_: str, name: str, payload: Any) -> Any:
        return first.setdefault(name, payload) if name == last else payload

    with pytest.raises(errors.AlgorithmError):
        ask(method, members, helpers=helpers, tamper=swap)


def test_stated_a_helper_and_a_station_open_what_all_stations_sent() -> None:
    """The helper knows all masks, and every station all openings: what the threat model says does not hold."""
    columns = ["sex", "ill", "where"]
    masks: dict[str, Any] = {}
    openings: dict[str, Any] = {}
    helper_side, data_side = HelperSide.__init__, DataSide.__init__

    def dealing(self: HelperSide, keys: Any, factors: Any, dealt: Any) -> None:
        masks.update(dealt)
        helper_side(self, keys, factors, dealt)

    def looking(self: DataSide, own: int, parties: Any, key: bytes, factors: Any, opened: Any, *rest: Any) -> None:
        openings.update(opened)
        data_side(self, own, parties, key, factors, opened, *rest)

    with (
        mock.patch.object(HelperSide, "__init__", dealing),
        mock.patch.object(DataSide, "__init__", looking),
        federation() as running,
    ):
        answer = running.run("scalar_product", "contingency", {"columns": columns, "id_column": "id"})
    assert len(masks) > 2
    for name, mask in masks.items():
        column = openings[name] + mask
        others = tuple(axis for axis, of in enumerate(columns) if of not in json.loads(name)[1])
        assert set(np.unique(column)) == {0, 1}
        assert sorted(column.sum(axis=0)) == sorted(np.sum(answer["counts"], axis=others).ravel())
