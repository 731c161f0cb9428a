"""A server that changes the results of sub-tasks in every way that it can: in every round, the job stops, or the answer is the honest one."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from views_cases import COUNT, DP_FIT, NETWORK, SECURE_FIT, Question, arguments_of, question_files

from fedbayes.federation.errors import AlgorithmError
from fedbayes.mpc.relay import KeyPair

Runs = list[dict[str, Any]]
Change = Callable[[Runs, Runs], Runs]
QUESTIONS = [COUNT, DP_FIT, SECURE_FIT, NETWORK]
ANSWERS = ("model", "count", "membership")


def bits(text: str, change: Callable[[bytearray], Any]) -> str:
    raw = bytearray(base64.b64decode(text))
    change(raw)
    return base64.b64encode(bytes(raw)).decode()


def each(runs: Runs, change: Callable[[dict[str, Any]], Any]) -> Runs:
    """Change the content of the last result."""
    changed = copy.deepcopy(runs)
    if changed[-1]["result"] is not None:
        changed[-1]["result"] = {**changed[-1]["result"], **change(changed[-1]["result"])}
    return changed


def flipped(raw: bytearray) -> None:
    raw[len(raw) // 2] ^= 1


def exchanged(runs: Runs, _: Runs) -> Runs:
    """Two stations' results change places."""
    changed = copy.deepcopy(runs)
    if len(changed) > 1:
        changed[0]["result"], changed[1]["result"] = changed[1]["result"], changed[0]["result"]
    return changed


def under_each_others_names(runs: Runs, _: Runs) -> Runs:
    changed = copy.deepcopy(runs)
    if len(changed) > 1 and all(run["result"] for run in changed[:2]):
        first, second = changed[0]["result"], changed[1]["result"]
        first["organization"], second["organization"] = second["organization"], first["organization"]
    return changed


def repeated(runs: Runs, _: Runs) -> Runs:
    """The last one's result stands for the first one's too."""
    return [{**run, "result": runs[-1]["result"]} for run in runs]


def of_the_round_before(runs: Runs, earlier: Runs) -> Runs:
    held = {run["organization"]["id"]: run["result"] for run in earlier}
    return [{**run, "result": held.get(run["organization"]["id"], run["result"])} for run in runs]


CHANGES: dict[str, Change] = {
    "exchanged": exchanged,
    "under each other's names": under_each_others_names,
    "repeated": repeated,
    "of the round before": of_the_round_before,
    "in another order": lambda runs, _: runs[::-1],
    "twice": lambda runs, _: [*runs, runs[-1]],
    "one missing": lambda runs, _: runs[:-1],
    "one lost": lambda runs, _: [*runs[:-1], {**runs[-1], "result": None, "status": "crashed"}],
    "empty": lambda runs, _: [{**run, "result": {}} for run in runs],
    "a list": lambda runs, _: [{**run, "result": [run["result"]]} for run in runs],
    "flipped": lambda runs, _: each(runs, lambda told: {"sealed": bits(told["sealed"], flipped)}),
    "cut short": lambda runs, _: each(runs, lambda told: {"sealed": bits(told["sealed"], lambda raw: raw.pop())}),
    "longer": lambda runs, _: each(runs, lambda told: {"sealed": bits(told["sealed"], lambda raw: raw.append(0))}),
    "nothing sealed": lambda runs, _: each(runs, lambda told: {"sealed": ""}),
    "left elsewhere": lambda runs, _: each(runs, lambda told: {"filed": base64.b64encode(bytes(32)).decode()}),
    "one field more": lambda runs, _: each(runs, lambda told: {"reply": {"vector": [0]}}),
    "a stranger's": lambda runs, _: each(runs, lambda told: {"organization": 99}),
    "under another key": lambda runs, _: each(runs, lambda told: {"public_key": of_another()}),
    "under a key that leads to zero": lambda runs, _: each(runs, lambda told: {"public_key": zero()}),
}


def of_another() -> str:
    return base64.b64encode(KeyPair.generate().public_bytes).decode()


def zero() -> str:
    return base64.b64encode(bytes(32)).decode()


def answer(question: Question, when: int | None, change: Change) -> tuple[Any, int]:
    """Return the answer and the number of rounds, the results of round `when` changed."""
    files = question_files(question, False)
    with InProcess(f"v6_{question.method}", files, {name: dict(question.limits) for name in files}, "a") as running:
        create, rounds = running.create, list[Runs]()

        def created(*asked: Any) -> dict[str, Any]:
            task = create(*asked)
            number, runs = task["id"], running.runs[task["id"]]
            if len(rounds) == when:
                running.runs[number] = change(runs, rounds[-1] if rounds else runs)
            rounds.append(runs)
            return task

        with mock.patch.object(running, "create", created):
            told = running.run(question.function, arguments_of(question))
    return {name: told.get(name) for name in ANSWERS if name in told}, len(rounds)


@cache
def honest(name: str) -> tuple[Any, int]:
    return answer(next(one for one in QUESTIONS if one.name == name), None, exchanged)


@pytest.mark.few(3)
@pytest.mark.parametrize("manner", CHANGES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_no_change_of_results_changes_an_answer(question: Question, manner: str) -> None:
    told, rounds = honest(question.name)
    for when in range(rounds):
        with suppress(AlgorithmError):
            assert answer(question, when, CHANGES[manner])[0] == told, f"in round {when + 1}"


HARMLESS = {"in another order", "exchanged", "one missing", "one lost", "a list"}
"""After these central has, or gets again, what every station answered: results say under their seals whose they are."""


@pytest.mark.parametrize("manner", sorted(CHANGES.keys() - HARMLESS))
def test_control_what_is_no_stations_answer_stops_the_job(manner: str) -> None:
    with pytest.raises(AlgorithmError):
        answer(DP_FIT, 1, CHANGES[manner])
