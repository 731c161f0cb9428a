"""When central looks at a round; what a round costs under the mock client."""

from __future__ import annotations

import copy

import pandas as pd
import pytest
from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

from fedbayes.federation.jobs import waiting as rounds


def test_the_first_look_of_a_round_is_early_enough_for_all_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.delenv("FEDBAYES_EMBEDDED", raising=False)
    monkeypatch.setattr(rounds.time, "monotonic", lambda: clock[0])
    first = rounds.pauses(100.0)
    waited = next(first)
    clock[0] += waited + 1.5
    assert waited == rounds.FIRST_LOOK_SECONDS
    assert next(first) == pytest.approx(
        (waited + 1.5) / 20
    )  # late by a twentieth at most, whatever the server has to do
    assert next(rounds.pauses(100.0)) == 0.0  # the next task of the same round, which others have finished meanwhile
    clock[0] += 1000.0
    assert next(first) == rounds.LONGEST_POLL_SECONDS


def test_a_sub_task_of_the_mock_has_lists_of_its_own_and_shares_messages_and_tables() -> None:
    table = pd.DataFrame({"x": [1, 2]})
    client = MockAlgorithmClient(datasets=[[{"database": table}], [{"database": table}]], module="v6_scalar_product")
    client.results.append({"id": 1, "result": "[]"})
    child = copy.deepcopy(client)
    child.organization_id = 1
    child.results.append({"id": 2, "result": "[]"})
    child.datasets_per_org[0].append(table)
    assert [entry["id"] for entry in client.results] == [1]
    assert (client.organization_id, len(client.datasets_per_org[0])) == (0, 1)
    assert child.task.parent is child
    assert child.results[0] is client.results[0]
    assert child.datasets_per_org[1][0] is client.datasets_per_org[1][0]
