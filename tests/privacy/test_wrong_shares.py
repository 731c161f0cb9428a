"""What a helper or a station that deals, or enters, something wrong does to answers: what is noticed, and what it learns if it sees the result.

No protocol here proves that shares are right: helper and stations are trusted to follow it (threat model). So some of these attacks succeed, as stated.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from one_process import OneProcess
from test_linked_alike import DOMAIN, federation, tables

from fedbayes.federation.errors import StationError
from fedbayes.federation.vertical import opening
from fedbayes.mpc import alignment
from fedbayes.mpc.shared_products import HelperSide

THREE = {"columns": ["sex", "ill", "where"], "id_column": "id"}
TWO = {"columns": ["sex", "ill"], "id_column": "id"}
PRIVATE = {"domain": {**DOMAIN, "where": {"categories": ["1", "2"]}}, "epsilon": 1.0}


def dealt_wrong(weight: int, at: int = 0) -> Any:
    """Have the helper add so much to its part of a row-wise product, in one record and one state of both columns."""
    honest = HelperSide.product_part

    def part(self: HelperSide, *given: Any) -> Any:
        own = honest(self, *given).copy()
        own[at, 0] += np.array(weight).astype(own.dtype)
        return own

    return mock.patch.object(HelperSide, "product_part", part)


def entered_wrong(weight: int) -> Any:
    """Have the station with `sex` enter its first record so many times."""
    honest = opening.Encoder._indicators

    def indicators(self: Any, own: list[str], *given: Any) -> Any:
        matrix = honest(self, own, *given).copy()
        if own == ["sex"]:
            matrix[0], matrix[0, 0] = 0, weight
        return matrix

    return mock.patch.object(opening.Encoder, "_indicators", indicators)


def counts(running: OneProcess, asked: dict[str, Any]) -> Any:
    return np.array(running.run("scalar_product", "contingency", asked)["counts"])


@pytest.mark.parametrize("weight", [5000, -5000, 200])
def test_counts_that_cannot_be_end_the_job(weight: int) -> None:
    with federation() as running, dealt_wrong(weight), pytest.raises(StationError, match="cannot be"):
        counts(running, THREE)


def test_a_record_entered_many_times_ends_the_job() -> None:
    with federation() as running, entered_wrong(500), pytest.raises(StationError, match="cannot be"):
        counts(running, TWO)


def test_a_table_of_two_columns_has_nothing_that_is_dealt_by_record() -> None:
    """The helper's share of it is one number a cell."""
    with federation() as running:
        honest = counts(running, TWO)
        with dealt_wrong(1):
            assert (counts(running, TWO) == honest).all()
    assert honest.sum() == len(tables()["a"])


@pytest.mark.parametrize("private", [False, True])
def test_stated_a_helper_that_deals_wrong_and_sees_the_result_reads_a_record(private: bool) -> None:
    """Which of the third column's states the record has at whose place it dealt one more: exact, in cells that stay counts; or far above the noise."""
    asked = {**THREE, **(PRIVATE if private else {})}
    weight, level = (5000, 2500) if private else (1, 0)
    with federation() as running:
        honest = counts(running, asked)
        with dealt_wrong(weight):
            changed = counts(running, asked) - honest
    state = np.abs(changed).sum(axis=(0, 1))
    assert (state > level).sum() == 1


def test_stated_a_station_that_lies_and_sees_the_result_reads_a_record() -> None:
    """Above any noise that is for one record."""
    with federation() as running, entered_wrong(5000):
        state = np.abs(counts(running, {**TWO, **PRIVATE})).sum(axis=0)
    assert (state > 2500).sum() == 1


def test_stated_a_helper_that_leaves_a_record_out_and_sees_two_results_reads_it() -> None:
    """Where nodes have no folder database; others refuse the second one (`tests/shared/federation/test_linked_records.py`)."""
    match = alignment.intersect

    def without_the_first(stations: Any, lists: Any) -> Any:
        return {party: places[1:] for party, places in match(stations, lists).items()}

    with federation() as running:
        honest = counts(running, TWO)
        with mock.patch.object(alignment, "intersect", without_the_first):
            fewer = counts(running, TWO)
    assert sorted((honest - fewer).ravel()) == [*([0] * (honest.size - 1)), 1]
