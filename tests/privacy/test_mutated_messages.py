"""Mutated and hostile messages of every type end in an error of the project, fast, in bounded memory, and without a value of theirs."""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib
import json
import os
import pkgutil
import random
import sys
import time
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vantage6.algorithm.tools.exceptions import AlgorithmError

from fedbayes.federation.errors import KINDS
from fedbayes.federation.gate import REASONS
from fedbayes.federation.messages.codec import Message, Wrapped, decode, encode
from fedbayes.federation.messages.packing import unpack

ROOT = Path(__file__).resolve().parents[2]
SECRET = "SECRETVALUE42"
SLOW_SECONDS = 5.0
FEW, MANY = 150, 10_000
MUTATIONS_OF_ONE = 5  # of every plausible message; making one takes longer than to mutate and decode it


def _import_all() -> None:
    packages = ["fedbayes.federation", *(f"v6_{path.parent.name}" for path in (ROOT / "algorithms").glob("*/src"))]
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, name + "."):
            if "embedded" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _classes() -> list[type]:
    _import_all()
    seen: list[type] = []
    left = [Message]
    while left:
        for kind in left.pop().__subclasses__():
            left.append(kind)
            if dataclasses.is_dataclass(kind) and not issubclass(kind, Wrapped):
                seen.append(kind)
    named = (kind for kind in seen if kind.__module__.startswith(("fedbayes", "v6_")) and "toy" not in kind.__module__)
    real = {getattr(sys.modules[kind.__module__], kind.__name__) for kind in named}
    return sorted(real, key=lambda kind: f"{kind.__module__}.{kind.__name__}")


CLASSES = _classes()
DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]
ARRAYS = [
    {"dtype": "float64", "shape": [], "data": "AAAAAAAAAAA="},
    {"dtype": "object", "shape": [1], "data": ""},
    {"dtype": "uint64", "shape": [2**31 - 1, 0], "data": ""},
    {"dtype": "uint64", "shape": [2**30, 2**30], "data": "AAAA"},
    {"dtype": "float64", "shape": [0] * 9, "data": ""},
    {"dtype": "float64", "shape": [-1], "data": ""},
    {"dtype": "float64", "shape": [1], "data": base64.b64encode(b"\xff" * 8).decode()},
    {"dtype": "bool", "shape": [4], "data": "AgMEBQ=="},
]
HOSTILE = [10**400, -(10**400), 2**63, 2**64, -1, 0, 1e308, float("nan"), float("inf"), "inf", None, True, "", "\x00"]
HOSTILE += [SECRET, "a" * 5000, [], {}, [[]], [None], DEEP, "=", "AAAA", {"1": 1, "01": 2}, {"9" * 5000: 1}, *ARRAYS]


HOSTILE_TEXTS = [json.dumps(value) for value in HOSTILE]


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def plausible(kind: Any, rng: random.Random, depth: int = 0) -> Any:
    """Return the JSON of a value that could be of a kind."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if type(None) in parts and rng.random() < 0.3:
            return None
        return plausible(next(part for part in parts if part is not type(None)), rng, depth)
    if isinstance(origin, type) and origin in REASONS:
        return plausible(parts[0], rng, depth)
    if origin in (list, tuple):
        if origin is tuple and not (len(parts) == 2 and parts[1] is Ellipsis):
            return [plausible(part, rng, depth + 1) for part in parts]
        return [plausible(parts[0] if parts else int, rng, depth + 1) for _ in range(rng.randint(1, 3))]
    if origin is dict:
        keys = (str(rng.randint(1, 5)) if parts[0] is int else rng.choice("abc") for _ in range(2))
        return {key: plausible(parts[1], rng, depth + 1) for key in keys}
    if isinstance(kind, type) and issubclass(kind, Message) and depth < 6:
        return {name: plausible(part, rng, depth + 1) for name, part in _fields(kind).items()}
    return _plain(kind, rng)


def _plain(kind: Any, rng: random.Random) -> Any:
    if kind is bytes:
        return base64.b64encode(rng.randbytes(rng.choice([0, 28, 32, 64]))).decode()
    if kind is str:
        return rng.choice(["a", "states", "condition", "none", "distributed", "x|y"])
    if kind is bool:
        return rng.random() < 0.5
    if kind is int:
        return rng.choice([0, 1, 2, 3, 16, 32, 64])
    if kind is float:
        return rng.choice([0.0, 0.5, 1.0, None, "inf"])
    if "ndarray" in str(kind):
        dtype = rng.choice([np.uint64, np.int64, np.float64, np.int32])
        return encode(np.arange(6, dtype=dtype).reshape(rng.choice([(6,), (2, 3)])))
    return rng.choice([None, 1, "a", [1, 2], {"a": 1}])


def _paths(value: Any, path: tuple[Any, ...] = ()) -> typing.Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if len(path) < 8 and isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif len(path) < 8 and isinstance(value, list):
        for position in range(min(len(value), 6)):
            yield from _paths(value[position], (*path, position))


def mutated(text: str, rng: random.Random) -> Any:
    """Return a value, given as JSON, with one to three of its parts replaced, removed or added to."""
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = list(_paths(value))
        if not paths:
            return value
        path = rng.choice(paths)
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        what = rng.random()
        if what < 0.75 or not isinstance(holder, dict):
            holder[path[-1]] = json.loads(rng.choice(HOSTILE_TEXTS))
        elif what < 0.85:
            del holder[path[-1]]
        else:
            holder["extra"] = 1
    return value


def refusal_of(call: typing.Callable[[], Any]) -> str:
    """Return the text of the refusal, empty if there is none; any other error than one of the project is a failure."""
    try:
        call()
    except AlgorithmError as refusal:
        if type(refusal).__name__ not in KINDS:
            raise
        return str(refusal)
    return ""


def refusals(kind: type, times: int) -> Iterator[str]:
    """Decode mutated messages of a class; whatever is not accepted must be refused as it should. Yield what each is told, "" where it is accepted."""
    rng = random.Random(os.urandom(8) if times == MANY else f"{kind.__module__}.{kind.__name__}")
    for number in range(times):
        if number % MUTATIONS_OF_ONE == 0:
            text = json.dumps(plausible(kind, rng))
        message = mutated(text, rng)
        began = time.process_time()  # whatever else the machine does
        yield refusal_of(lambda: encode(decode(kind, message)))  # noqa: B023
        assert time.process_time() - began < SLOW_SECONDS


def test_every_message_class_is_attacked() -> None:
    assert len(CLASSES) > 60


@pytest.mark.few(90)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_mutated_messages_are_refused_as_such(kind: type) -> None:
    assert not any(SECRET in told for told in refusals(kind, FEW))


@pytest.mark.audit
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_ten_thousand_mutated_messages_are_refused_as_such(kind: type) -> None:
    assert not any(SECRET in told for told in refusals(kind, MANY))


@pytest.mark.parametrize("times", [2000])
def test_mutated_bytes_of_a_packed_message_are_refused_as_such(times: int) -> None:
    from fedbayes.federation.messages.packing import pack

    rng = random.Random(5)
    packed = pack({"a": b"xyz", "b": [1, {"c": b"\x00" * 40}], "d": SECRET})
    for _ in range(times):
        raw = bytearray(packed)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        cut = bytes(raw[: rng.choice([len(raw), rng.randrange(len(raw))])])
        assert SECRET not in refusal_of(lambda: unpack(cut))  # noqa: B023
