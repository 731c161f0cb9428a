"""A central that ends the job at the stations and opens it again in the same task: what may be asked once would be asked twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from test_honest_fraction import FILES, LABELLED

import v6_dp_naive_bayes
from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.node import memory as memory_module
from fedbayes.federation.node.memory import Memory
from fedbayes.federation.node.platform import Origin, Run
from fedbayes.federation.node.secrets import own_keys
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.relay import KeyPair

ASKED = {**LABELLED, "epsilon": 1.0}


def twice() -> dict[str, Any]:
    """Return the second of two fits of one task, for the budget of one."""
    honest, second = Federation.result, list[dict[str, Any]]()

    def result(self: Federation, *values: Any, **named: Any) -> dict[str, Any]:
        if not second:
            second.append({})
            second[0] = v6_dp_naive_bayes.fit.fedbayes_body(self, **ASKED)
        return honest(self, *values, **named)

    files = FILES["horizontal"](False)
    with InProcess("v6_dp_naive_bayes", files, {}, "a") as running, mock.patch.object(Federation, "result", result):
        running.run("fit", ASKED)
    return second[0]


def test_a_job_that_is_over_is_not_opened_again() -> None:
    with pytest.raises(AlgorithmError):
        twice()


def test_control_without_the_mark_one_task_has_the_budget_of_two() -> None:
    with mock.patch.object(Memory, "check_not_over"):
        debits = twice()["federation"]["debits"]
    assert {costs["epsilon"] for costs in debits.values()} == {2.0}


def test_a_round_that_runs_while_the_job_ends_keeps_nothing(tmp_path: Path) -> None:
    """Of two requests at once one ends the job: the other finds what was asked once forgotten, but the mark is there before."""
    memory = Memory(Run(1, 1, tmp_path, True), Origin(1, 1, "image", 1, "now"))
    memory.once("scored", b"by one label")
    memory.wipe()
    late = (
        lambda: memory.once("scored", b"by another"),
        lambda: memory.keep("scored"),
        lambda: memory.note("scored", 1),
        memory.keys,
    )
    for written in late:
        with pytest.raises(MessageError, match="the job is over at this station"):
            written()
    assert secrets_in(memory) == []


def test_nor_does_a_key_that_is_made_while_the_job_ends(tmp_path: Path) -> None:
    memory = Memory(Run(1, 1, tmp_path, True), Origin(1, 1, "image", 1, "now"))

    def made(folder: Path) -> KeyPair:
        memory.wipe()
        return own_keys(folder)

    with mock.patch.object(memory_module, "own_keys", made), pytest.raises(MessageError, match="the job is over"):
        memory.keys()
    assert secrets_in(memory) == []


def secrets_in(memory: Memory) -> list[str]:
    return [path.name for path in memory.path.iterdir() if path.name.startswith(("fact-", "kept-", "private_key"))]


def test_control_written_late_a_kept_array_stays(tmp_path: Path) -> None:
    memory = Memory(Run(1, 1, tmp_path, True), Origin(1, 1, "image", 1, "now"))
    memory.wipe()
    with mock.patch.object(Memory, "check_not_over"):
        memory.keep("scored")
    assert [name.partition("-")[0] for name in secrets_in(memory)] == ["kept"]
