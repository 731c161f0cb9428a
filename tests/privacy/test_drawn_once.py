"""A central that asks one question under further keys of its own: an answer that is sealed anew would be drawn anew, of one debit, until the noise is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from test_honest_fraction import FILES, TASKS

from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.guards import arrival
from fedbayes.federation.node.policy import LEDGER_FILE
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.relay import KeyPair

SMOOTH = ("smooth_naive_bayes", "fit", "horizontal", {**TASKS["tables"][3]})
WHOLE = ("dp_naive_bayes", "fit", "horizontal", {**TASKS["tables"][3], "noise": "local"})
CASES = {
    "sums": (TASKS["tables"], "partial_statistics"),
    "noise of each station": (WHOLE, "partial_statistics"),
    "gossip": ((*WHOLE[:3], {**WHOLE[3], "aggregation": "gossip"}), "partial_gossip"),
    "columns": (TASKS["columns"], "partial_describe"),
    "steps": (TASKS["steps"], "partial_step"),
    "smooth": (SMOOTH, "partial_release"),
}


@contextmanager
def under_other_keys(function: str) -> Iterator[list[dict[int, Any]]]:
    """Central asks the first question of a function twice, under one name, and wants the second answer sealed for another key; yields what is answered."""
    asking, answers = Federation._ask, list[dict[int, Any]]()

    def ask(self: Federation, asked: str, request: Any, organizations: Any, timeout: float, last: bool) -> Any:
        if asked != function or answers:
            return asking(self, asked, request, organizations, timeout, last)
        own, transport = self.rounds, self._transport
        with mock.patch.object(Federation, "rounds", own):
            answers.append(asking(self, asked, request, organizations, timeout, False))
            transport._keys, kept = KeyPair.generate(), transport._keys
            answers.append(asking(self, asked, request, organizations, timeout, False))
            transport._keys = kept
        return answers[0]

    with mock.patch.object(Federation, "_ask", ask):
        yield answers


def asked_twice(case: str, ledger: Path | None = None) -> list[dict[int, Any]]:
    """Return both answers of every station."""
    (method, central, kind, arguments), function = CASES[case]
    with ExitStack() as stack:
        answers = stack.enter_context(under_other_keys(function))
        running = stack.enter_context(InProcess(f"v6_{method}", FILES[kind](False), {}, "a"))
        if ledger is not None:
            running.hand_over(1, ledger, "folder", "ledger")
            running.limit(1, {"FEDBAYES_LEDGER": "ledger"})
        with suppress(MessageError, AlgorithmError):
            running.run(central, arguments)
    return answers


@pytest.mark.parametrize("case", CASES)
def test_an_answer_is_drawn_once_whatever_key_it_is_sealed_for(case: str) -> None:
    first, second = asked_twice(case)
    assert all("error" not in answer for answer in first.values())
    assert all("other keys" in str(answer["error"]) for answer in second.values())


def test_control_unbound_two_draws_have_one_debit(tmp_path: Path) -> None:
    with mock.patch.object(arrival, "_check_keys"):
        first, second = asked_twice("noise of each station", tmp_path)
    assert first[1]["reply"] != second[1]["reply"]
    assert [entry.epsilon for entry in Ledger(tmp_path / LEDGER_FILE).entries()] == [1.0]
