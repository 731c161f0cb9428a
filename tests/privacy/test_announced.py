"""Hybrid tables under an epsilon: that a record counts once does not rest on what central says of who holds which column."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import announced, workspace
from fedbayes.federation.vertical.messages import MatchRequest, SubmitRequest

CATEGORIES = {"a": [0, 1], "b": [0, 1]}
ARGUMENTS = {
    "columns": ["a", "b"],
    "structure": [["a", "b"]],
    "split": "hybrid",
    "id_column": "id",
    "domain": {name: {"categories": states} for name, states in CATEGORIES.items()},
    "epsilon": 20.0,
}
ROWS = 60
ALONE = {"guarded": True, "neighbors": "zero_out", "missing_state": False, "unhidden": False, "bins": 3}
"""Rules of which central tells one station another one when it hashes identifiers, and no other one later."""


def fit(change: Any, apart: bool = False) -> Any:
    """Fit a network on two stations that hold the same people, by a central that changes requests.

    Both hold both columns, but other values; or `apart`: one column each.
    """
    table = pd.DataFrame({"id": range(ROWS), "a": [0, 1] * (ROWS // 2), "b": [0, 1] * (ROWS // 2)})
    other = table.assign(b=1 - table.b)
    if apart:
        table, other = table[["id", "a"]], other[["id", "b"]]
    files = {"a": table.to_csv(index=False), "b": other.to_csv(index=False), "c": None}
    ask = Federation._ask

    def asking(self: Federation, function: str, request: Any, *rest: Any) -> Any:
        return ask(self, function, change(request), *rest)

    with (
        mock.patch.object(Federation, "_ask", asking),
        InProcess("v6_vertibayes", files, {name: {"minimum_organizations": 2} for name in files}, "a") as running,
    ):
        return running.run("fit", ARGUMENTS)


def without_pairs(request: Any) -> Any:
    """Central does not tell the helper who shares columns."""
    return dataclasses.replace(request, distinct=[]) if isinstance(request, MatchRequest) else request


def a_pair_too_many(request: Any) -> Any:
    """Central says of two stations that they share a column, to learn of the refusal whether they share a record."""
    return dataclasses.replace(request, distinct=[[1, 2]]) if isinstance(request, MatchRequest) else request


def exact_at_the_helper(request: Any) -> Any:
    """And tells it that answers are exact."""
    if not isinstance(request, MatchRequest):
        return request
    return dataclasses.replace(
        request, distinct=[], setup=dataclasses.replace(request.setup, private=False, covered=False)
    )


def columns_later(request: Any) -> Any:
    """Central asks one station for a column only after the records are matched."""
    if not isinstance(request, SubmitRequest):
        return request
    return {1: dataclasses.replace(request, wanted=request.wanted[:1]), 2: request}


def test_a_record_counts_once_though_central_names_no_pair() -> None:
    """The first station's rows, in which both columns are equal, are all that counts; the two together would be uniform."""
    for change in (without_pairs, lambda request: request):
        found = np.array(fit(change)["model"]["tables"]["b"]["probabilities"])
        assert np.diag(found).min() > 0.8


@pytest.mark.parametrize(
    ("change", "text"), [(exact_at_the_helper, "told different things"), (columns_later, "did not announce")]
)
def test_a_central_that_tells_helper_and_stations_different_things_stops_the_job(change: Any, text: str) -> None:
    with pytest.raises(MessageError, match=text):
        fit(change)


def other_rules(name: str, value: Any) -> Any:
    """Central tells the first station another rule before records are matched: what it hashes is under keys that no other station has."""

    def change(request: Any) -> Any:
        if not isinstance(request, SubmitRequest):
            return request
        return {1: dataclasses.replace(request, setup=dataclasses.replace(request.setup, **{name: value})), 2: request}

    return change


@pytest.mark.parametrize("name", ALONE)
def test_no_stations_records_match_nobody_because_it_was_told_another_rule(name: str) -> None:
    with pytest.raises(MessageError, match="told different things"):
        fit(other_rules(name, ALONE[name]))


def test_nor_if_the_helper_does_not_hold_stations_to_it() -> None:
    """What a station was told when it hashed identifiers it is told in every later round."""
    held = mock.patch.object(announced, "digest_of", lambda setup: setup.private)
    with held, pytest.raises(MessageError, match="other roles or rules"):
        fit(other_rules("guarded", True))


def test_control_unchecked_every_record_counts_twice() -> None:
    """Once by the first station's rows, in which both columns are equal, and once by the second's: the two together are uniform."""
    unheld = mock.patch.object(workspace, "asked_once")
    with mock.patch.object(announced, "digest_of", lambda setup: setup.private), unheld:
        found = np.array(fit(other_rules("guarded", True))["model"]["tables"]["b"]["probabilities"])
    assert np.abs(found - 0.5).max() < 0.2


def test_a_central_that_names_a_pair_too_many_learns_nothing_of_shared_records() -> None:
    assert fit(a_pair_too_many, apart=True)["privacy"]["differentially_private"]
