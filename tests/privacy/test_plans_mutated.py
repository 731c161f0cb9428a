"""A central that deviates by well-typed plans, one part of a request changed at a time in every round: no station ends with an error that nobody foresaw."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from harness.inprocess import InProcess
from views_cases import COUNTED, DP_FIT, JOINED, LABELLED, QUESTIONS, Question, arguments_of, question_files

from fedbayes.federation import decorators
from fedbayes.federation.errors import AlgorithmError, MessageError, describe
from fedbayes.federation.messages.codec import Message, decode, encode

NUMBERS = (0, -1, 1, 2, 16, 64, 2**31, 2**63 - 1, 2**64, 10**30)
FRACTIONS = (0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)
TEXTS = ("", "x", "\x00", "a" * 300, "1e999")
UNNAMED = (0, 1, 1.5, "x", True, [], {}, ["x"], [0], {"x": 1}, {"1": 1}, np.zeros(3), b"x" * 32)
"""What stands in the place of nothing."""
Changed = Iterator[tuple[str, Any]]
"""Where a value is changed and how, in words, and the whole with that change."""


def changed(value: Any) -> Changed:
    """Yield a value with one of its parts changed, each of every kind once."""
    if isinstance(value, Message):
        for one in fields(value):
            yield from _inside(getattr(value, one.name), f".{one.name}", lambda other, name=one.name: (name, other))
    elif isinstance(value, (list, tuple)):
        yield from _of_list(value)
    elif isinstance(value, dict):
        yield from _of_mapping(value)
    else:
        for other in _others(value):
            shown = f"{other.dtype} {other.shape}" if isinstance(other, np.ndarray) else repr(other)[:20]
            yield f" = {shown}", other


def _inside(value: Any, path: str, put: Any) -> Changed:
    for words, other in changed(value):
        yield path + words, _Put(put(other))


@dataclass(frozen=True)
class _Put:
    """A key and what stands there; made into the whole by `built`, so that a class's own checks are met there."""

    at: tuple[Any, Any]


def built(value: Any, change: Any) -> Any:
    """Return a value with a change of `changed`; its class may refuse it."""
    if not isinstance(change, _Put):
        return change
    key, other = change.at
    if isinstance(value, Message):
        return replace(value, **{key: built(getattr(value, key), other)})
    if isinstance(value, dict):
        return {**value, key: built(value[key], other)}
    return type(value)([built(item, other) if place == key else item for place, item in enumerate(value)])


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [other for other in (*NUMBERS, value + 1, value - 1) if other != value]
    if isinstance(value, float):
        return [*FRACTIONS, 2 * value, -value]
    if isinstance(value, str):
        return [*TEXTS, value + "x"]
    if isinstance(value, bytes):
        return [b"", value[:-1], bytes(len(value)), value + b"x"]
    return _of_array(value) if isinstance(value, np.ndarray) else list(UNNAMED)


def _of_array(value: Any) -> list[Any]:
    flat = value.reshape(-1)
    shaped = [flat, value[None], np.zeros_like(value), np.zeros((), value.dtype), value.astype(np.int32), flat[:0]]
    if value.ndim:
        shaped += [value[:-1], value[::-1].copy(), np.concatenate([value, value])]
    if value.dtype.kind == "f":
        shaped += [np.full_like(value, other) for other in FRACTIONS]
    if value.dtype.kind in "iu":
        shaped += [np.full_like(value, np.iinfo(value.dtype).max), np.full_like(value, np.iinfo(value.dtype).min)]
    return shaped


def _of_list(value: Any) -> Changed:
    kind, items = type(value), list(value)
    if not items:
        yield from ((f" = {[other]!r}", kind([other])) for other in ("x", 0, -1, 1.5, [], ["x"], {}))
        return
    wholes = {"empty": [], "short": items[:-1], "late": items[1:], "twice": [*items, items[-1]]}
    wholes |= {"turned": items[::-1], "alike": [items[0]] * len(items)}
    yield from ((f" {words}", kind(other)) for words, other in wholes.items())
    for place in {0, len(items) - 1}:
        yield from _inside(items[place], f"[{'first' if place == 0 else 'last'}]", lambda other, at=place: (at, other))


def _of_mapping(value: dict[Any, Any]) -> Changed:
    if not value:
        yield from ((f" = {other!r}", other) for other in ({"x": 1}, {"x": []}, {1: 0}, {"x": {"categories": []}}))
        return
    names = list(value)
    key = 10**6 if isinstance(names[0], int) else "zz"
    yield " empty", {}
    yield " short", {name: value[name] for name in names[:-1]}
    yield " more", {**value, key: value[names[0]]}
    yield " renamed", {key: value[names[0]], **{name: value[name] for name in names[1:]}}
    if len(names) > 1:
        yield " exchanged", {**value, names[0]: value[names[1]], names[1]: value[names[0]]}
    for name in names[:3]:
        yield from _inside(value[name], "{}", lambda other, at=name: (at, other))


@dataclass
class Deviating:
    """In the place of what a station does with a request: it does so with changes of it first, each time on a copy of what it keeps of the job."""

    step: int = 1
    """Of every how many changes one is made."""
    found: list[str] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[str, str]] = field(default_factory=set)
    answer: Any = decorators._answer

    def __call__(self, function: Any, request_class: type, visit: Any, mock_data: Any) -> Any:
        honest, kept = decode(request_class, visit.body), visit.memory.path
        copied = Path(f"{kept}.copy")
        shutil.copytree(kept, copied)
        for words, change in changed(honest):
            if (function.__name__, words) not in self.asked:
                self.asked.add((function.__name__, words))
                if len(self.asked) % self.step:
                    continue
                self.ask(f"{function.__name__}: {words}", honest, change, (function, request_class, visit, mock_data))
                self.restore(visit.memory, copied)
        shutil.rmtree(copied)
        return self.answer(function, request_class, visit, mock_data)

    def ask(self, words: str, honest: Any, change: Any, rest: tuple[Any, ...]) -> None:
        """Have the station answer a changed request; what is no refusal by name is found."""
        function, request_class, visit, mock_data = rest
        failures: list[BaseException] = []

        def told(failure: BaseException) -> tuple[str, str]:
            failures.append(failure)
            return describe(failure)

        with mock.patch.object(decorators, "describe", told):
            try:
                body = encode(built(honest, change), raw=True)
                self.answer(function, request_class, replace(visit, body=body), mock_data)
            except AlgorithmError as refusal:
                failures.append(refusal)
            except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
                failures.append(MessageError("refused by the class of the message, as `decode` says it"))
        kind, text = describe(failures[-1]) if failures else ("answered", "")
        self.told[kind] += 1
        if text.startswith("unexpected"):
            self.found.append(f"{words}: {text}")

    def restore(self, memory: Any, copied: Path) -> None:
        shutil.rmtree(memory.path)
        shutil.copytree(copied, memory.path)
        memory._facts.clear()
        memory._keys = None


def deviating(question: Question, step: int = 1) -> Deviating:
    """Return what came of a task in which every request of every round was changed in every way, or some, before it was asked as it is."""
    files, central = question_files(question, False), Deviating(step)
    given = arguments_of(question)
    running = InProcess(
        f"v6_{question.method}", files, {name: dict(question.limits) for name in files}, question.central
    )
    with mock.patch.object(decorators, "_answer", central), np.errstate(all="ignore"), running:
        assert running.run(question.function, given)
    return central


NETWORK = {"columns": ["x", "z", "w", "y"], "structure": [["z", "x"], ["x", "y"]], **JOINED}
FURTHER = [
    Question("scalar_product", "count", {**COUNTED, "protocol": "thesis"}),
    Question("scalar_product", "contingency", {"columns": ["x", "z", "w"], "helper": "none", **JOINED}),
    Question("scalar_product", "scalar_product", {"columns": ["x", "v", "w"], **JOINED}),
    Question("vertibayes", "fit", {**NETWORK, "label": "y", "validation": "svdg", "folds": 2}),
    Question("vertibayes", "fit", {**NETWORK, "split": "hybrid"}),
    Question(
        "dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "noise": "local", "aggregation": "gossip"}, "horizontal"
    ),
]
"""Tasks with rounds that no task of the views has."""
MANY, SOME, FEW = 2, 5, 15
"""Of the changes every second is made; of a Cox fit, which has many rounds, every fifth, and by `admm` every fifteenth. All were (six minutes)."""
SHORT = [one for one in (*FURTHER, *QUESTIONS) if one.method != "verticox" and one.function != "sample"]
"""All but those of Cox models, which take longer, and one that asks no station."""


def no_error(question: Question, step: int = 1) -> bool:
    """Return whether every change was answered or refused by name, and some were; name those that were not."""
    central = deviating(question, step)
    assert central.found == []
    return central.told["answered"] + central.told["MessageError"] > 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.few(1)
@pytest.mark.parametrize("question", SHORT, ids=lambda question: question.name)
def test_every_well_typed_change_of_a_request_is_answered_or_refused_by_name(question: Question) -> None:
    assert no_error(question, step=MANY)


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("question", [one for one in QUESTIONS if one.method == "verticox"], ids=lambda one: one.name)
def test_nor_has_a_cox_fit_any_other_error(question: Question) -> None:
    assert no_error(question, step=SOME if question.quick else FEW)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_control_without_the_checks_of_a_message_errors_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v6_dp_naive_bayes.model.check_asked", lambda *_: None)
    assert any("unexpected SchemaError" in text for text in deviating(DP_FIT).found)
