"""A member that deviates in what it says: every reply and every letter to another member changed in every way, each in a run of its own from there on.

A task runs in this process until a member says something. Then the process is copied, once for every change: the copy says the other thing and runs the task
to its end, within a limit of memory and time, and the files are put back for the next one. So a change costs what is left of its task.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
from harness.inprocess import InProcess
from test_plans_mutated import built, changed
from views_cases import Question, arguments_of, question_files

from fedbayes.federation import decorators
from fedbayes.federation.errors import AlgorithmError, describe
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.vertical import replication, workspace

SECONDS = 30
"""After which a task counts as hanging; the longest here takes two."""
ROOM = 2**30
"""Bytes that a copy may take beyond what the process has; the largest message of these tasks has some hundred thousand."""
PAGE = resource.getpagesize()
WHOLE = 8
"""Bytes of the longest number in a letter."""
NO = ["StationError", "no"]
CONTENTS: dict[str, Any] = {
    "nothing": {},
    "no reply": {"spent": {}, "token": ""},
    "a number": {"reply": 5, "spent": {}, "token": ""},
    "no spent": {"error": NO},
    "both": {"error": NO, "reply": {}, "spent": {}, "token": ""},
    "an error that is a number": {"error": 5, "spent": {}},
    "an error of nothing": {"error": None, "spent": {}},
    "an error of three": {"error": [*NO, "x"], "spent": {}},
    "an error of lists": {"error": [["x"], ["y"]], "spent": {}},
    "an error by name": {"error": {"kind": "x", "text": "y"}, "spent": {}},
    "an error without end": {"error": ["StationError", "x" * 2**20], "spent": {}},
    "an unknown kind": {"error": ["SystemExit", "no"], "spent": {}},
    "spent in words": {"error": NO, "spent": {"epsilon": "x"}},
    "spent in lists": {"error": NO, "spent": {"epsilon": [1.0]}},
    "spent of nobody": {"error": NO, "spent": {"x": 1.0}},
    "spent without end": {"error": NO, "spent": {"epsilon": 10**400}},
    "spent infinitely": {"error": NO, "spent": {"epsilon": "inf"}},
    "less than nothing spent": {"error": NO, "spent": {"epsilon": -1.0}},
}
"""What a station may seal in the place of a reply or a refusal."""
Options = Iterator[tuple[str, Callable[[], Any]]]
"""A change in words, and what makes it."""


def replies(content: Any) -> Options:
    """Yield other contents than a station's: of no kind, and its own with one part changed."""
    yield from ((f" {words}", lambda other=other: other) for words, other in CONTENTS.items())
    honest = _arrays(content)
    yield from ((words, lambda one=one: encode(built(honest, one), raw=True)) for words, one in changed(honest))


def _arrays(value: Any) -> Any:
    """Return an encoded value with its arrays."""
    if isinstance(value, dict) and set(value) == {"dtype", "shape", "data"}:
        return np.frombuffer(value["data"], dtype=value["dtype"]).reshape(value["shape"]).copy()
    if isinstance(value, dict):
        return {key: _arrays(part) for key, part in value.items()}
    return [_arrays(part) for part in value] if isinstance(value, list | tuple) else value


def letters(honest: bytes) -> Options:
    """Yield other bytes than those of a letter."""
    size, middle = len(honest), len(honest) // 2
    others = {
        "empty": b"",
        "short": honest[:-1],
        "a number short": honest[:-WHOLE],
        "half": honest[:middle],
        "longer": honest + b"x",
        "a number longer": honest + bytes(WHOLE),
        "twice": honest * 2,
        "zeros": bytes(size),
        "ones": b"\xff" * size,
        "large": b"\x7f" * size,
        "flipped": honest[:middle] + bytes([honest[middle] ^ 1]) + honest[middle + 1 :] if size else b"x",
        "drawn": os.urandom(size),
        "turned": honest[::-1],
        "all alike": (honest[:WHOLE] * (size // WHOLE + 1))[:size],
        "first for second": honest[WHOLE // 2 : WHOLE] + honest[WHOLE // 2 :],
    }
    yield from ((f" {words}", lambda other=other: other) for words, other in others.items() if other != honest)


@dataclass
class Deviating:
    """What came of a task in which members say something else, one thing at a time.

    Attributes
    ----------
    question : Question
        The task.
    step : int
        Of every how many changes one is made.
    only : str
        Words of the changes that are made.
    found : list of str
        Changes after which the task ended by an error that nobody foresaw, or not at all.
    told : Counter
        How tasks ended, by the kind of error.
    """

    question: Question
    step: int = 1
    only: str = ""
    found: list[str] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._pipe: int | None = None
        self._functions: list[str] = []

    def run(self) -> Deviating:
        """Run the task, and of every change a copy."""
        files, given = question_files(self.question, False), arguments_of(self.question)
        limits = {name: dict(self.question.limits) for name in files}
        self._running = InProcess(f"v6_{self.question.method}", files, limits, self.question.central)
        with self._running, np.errstate(all="ignore"), ExitStack() as patches:
            for owner, name, other in self._patches():
                patches.enter_context(mock.patch.object(owner, name, other))
            self._tell(lambda: self._running.run(self.question.function, given))
        return self

    @property
    def at_others(self) -> list[str]:
        """Those of `found` where a member ended by that error, not central: it is named before it."""
        return [one for one in self.found if ": unexpected" in one]

    def _patches(self) -> list[tuple[Any, str, Any]]:
        answer, seal = decorators._answer, decorators._seal
        letter, broadcast, encipher = Channel.seal, Channel.broadcast, workspace.encipher

        def answered(function: Any, *rest: Any) -> Any:
            self._functions.append(function.__name__)
            try:
                return answer(function, *rest)
            finally:
                self._functions.pop()

        def sealed(visit: Any, content: Any) -> Any:
            return seal(visit, self._said("reply", content, replies) if "reply" in content else content)

        def lettered(channel: Channel, receiver: int, payload: bytes, topic: str) -> bytes:
            return letter(channel, receiver, self._said("letter", payload, letters), topic)

        def broadcasted(channel: Channel, receivers: Any, payload: bytes, topic: str) -> Any:
            return broadcast(channel, receivers, self._said("broadcast", payload, letters), topic)

        def enciphered(key: bytes, plain: bytes, topic: str) -> bytes:
            return encipher(key, self._said("content", plain, letters), topic)

        return [
            (decorators, "_answer", answered),
            (decorators, "_seal", sealed),
            (Channel, "seal", lettered),
            (Channel, "broadcast", broadcasted),
            (workspace, "encipher", enciphered),
            (replication, "encipher", enciphered),
        ]

    def _said(self, kind: str, honest: Any, others: Callable[[Any], Options]) -> Any:
        """Return what is said: in a copy that was made here something else."""
        if self._pipe is not None or not self._functions:
            return honest
        folder = Path(self._running._folder.name)
        before = Path(f"{folder}.before")
        for words, make in others(honest):
            name = f"{self._functions[-1]}, {kind}{words}"
            if not self._is_next(name):
                continue
            if not before.exists():
                shutil.copytree(folder, before)
            if self._copied(name):
                return make()
            shutil.rmtree(folder)
            shutil.copytree(before, folder)
        shutil.rmtree(before, ignore_errors=True)
        return honest

    def _is_next(self, name: str) -> bool:
        if name in self.asked or self.only not in name:
            return False
        self.asked.add(name)
        return len(self.asked) % self.step == 0

    def _copied(self, name: str) -> bool:
        """Copy the process; return whether this is the copy. The other one waits for its end and notes it."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._pipe = writing
            signal.alarm(SECONDS)
            held = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
            resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))
            return True
        os.close(writing)
        with open(reading, encoding="utf-8") as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        kind, text = json.loads(told) if told else ("nothing", "unexpected end")
        self.told[kind] += 1
        if "unexpected" in text:
            self.found.append(f"{name} -> {text}")
        return False

    def _tell(self, task: Callable[[], Any]) -> None:
        """Run a task; in a copy, tell how it ended and end the copy."""
        try:
            kind, text = "answered", str(type(task()))
        except BaseException as failure:
            if self._pipe is None:
                raise
            kind, text = (
                describe(failure) if isinstance(failure, AlgorithmError) else ("other", f"unexpected {failure!r}")
            )
        if self._pipe is not None:
            os.write(cast(int, self._pipe), json.dumps([kind, text[:500]]).encode())
            os._exit(0)
