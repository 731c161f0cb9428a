"""A server that changes requests in every field, in every round: the job stops, or the answer is the honest one, and nobody is asked another question."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from test_replies_changed import ANSWERS
from views_cases import COUNT, DP_FIT, Question, arguments_of, question_files

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.perimeter.envelope import Request
from fedbayes.mpc.relay import KeyPair, SigningPair
from fedbayes.randomness import secret_bytes

Message = dict[str, Any]
Change = Callable[[Message, Message], Any]
FIELDS = [field.name for field in fields(Request)]
OTHERS = [None, "", "1", 1, 2**70, True, False, [], [1, 1], {"1": ""}, base64.b64encode(bytes(32)).decode()]
"""What may stand in the place of a field."""
SOME = 3
"""Of a task about linked records, which has more rounds, each change is made in every third of them; it was in all (two minutes)."""


def without(name: str) -> Change:
    return lambda message, _: {key: value for key, value in message.items() if key != name}


def other(name: str, value: Any) -> Change:
    return lambda message, _: {**message, name: value}


def earlier(name: str) -> Change:
    """The field is that of the round before."""
    return lambda message, before: {**message, name: before.get(name)}


def resigned(name: str) -> Change:
    """As `earlier`, signed anew by the server; replies are sealed for it too."""

    def change(message: Message, before: Message) -> Any:
        pair = SigningPair.from_bytes(secret_bytes(32))
        changed = decode(Request, {**message, name: before.get(name)})
        own = replace(changed, signer=pair.public_bytes, reply_key=KeyPair.generate().public_bytes, lasting=False)
        return encode(own.sign(pair))

    return change


def changes() -> Iterator[tuple[str, Change]]:
    for name in FIELDS:
        yield f"{name} left out", without(name)
        yield f"{name} of the round before", earlier(name)
        yield f"{name} of the round before, signed anew", resigned(name)
        for value in OTHERS:
            yield f"{name}={value!r}", other(name, value)
    yield "one field more", lambda message, _: {**message, "more": 1}
    yield "the round before", lambda _, before: before
    yield "a text", lambda message, _: str(message)
    yield "nothing", lambda *_: None


def answer(question: Question, when: int | None, change: Change) -> tuple[Any, int]:
    """Return the answer and the number of rounds; the requests of round `when` are changed for all stations, as often as central asks."""
    files = question_files(question, False)
    with InProcess(f"v6_{question.method}", files, {name: dict(question.limits) for name in files}, "a") as running:
        create, asked = running.create, dict[str, Message]()

        def created(content: Any, *rest: Any) -> dict[str, Any]:
            message = copy.deepcopy(content["kwargs"]["message"])
            before = [one for name, one in asked.items() if name != message["round_name"]]
            if len(before) == when:
                changed = message
                with suppress(AlgorithmError, TypeError, ValueError):  # what the server cannot even write
                    changed = change(message, before[-1] if before else message)
                content = {**content, "kwargs": {"message": changed}}
            asked.setdefault(message["round_name"], message)
            return create(content, *rest)

        with mock.patch.object(running, "create", created):
            told = running.run(question.function, arguments_of(question))
    return {name: told.get(name) for name in ANSWERS if name in told}, len(asked)


@cache
def honest(name: str) -> tuple[Any, int]:
    return answer(next(one for one in (COUNT, DP_FIT) if one.name == name), None, without(""))


def otherwise(question: Question, name: str, step: int = 1) -> tuple[list[str], int]:
    """Return which changes of one field (or, without a name, of the whole) gave another answer than the honest one, and how many were refused.

    Each change is made in every round, or in every `step`th, the first of which is another for the next change.
    """
    told, rounds = honest(question.name)
    found, refused = [], 0
    for number, (manner, change) in enumerate(changes()):
        if (manner.partition(" ")[0].partition("=")[0] == name) if name else not manner.startswith(tuple(FIELDS)):
            for when in range(number % step, rounds, step):
                try:
                    same = answer(question, when, change)[0] == told
                except AlgorithmError:
                    refused += 1
                else:
                    found += [] if same else [f"{manner} in round {when + 1}"]
    return found, refused


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [*FIELDS, ""])
def test_no_change_of_requests_changes_an_answer(name: str) -> None:
    found, refused = otherwise(DP_FIT, name)
    assert found == []
    assert refused > 0


@pytest.mark.audit
@pytest.mark.parametrize("name", [*FIELDS, ""])
def test_nor_of_those_about_linked_records(name: str) -> None:
    found, refused = otherwise(COUNT, name, step=SOME)
    assert found == []
    assert refused > 0


@pytest.mark.parametrize("question", [COUNT, DP_FIT], ids=lambda question: question.name)
def test_control_a_request_as_it_is_has_the_honest_answer(question: Question) -> None:
    told, rounds = honest(question.name)
    assert told
    assert all(answer(question, when, lambda message, _: message)[0] == told for when in range(rounds))
