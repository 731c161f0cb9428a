"""A private task of which central changes requests, in this process, with noise of one number whose widths are noted: all that central gets.

Where central reads sums it is told what it was told in another run, so that both have one conversation to the last number.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from changed_cases import LIMITS, Task
from harness.inprocess import InProcess
from neighbours_kit import LAWS, Draw
from views_kit import Entry, recording

import v6_secure_naive_bayes.drawing as secure
import v6_vertibayes.sources as sources
import v6_verticox.horizontal.judging.private as table
import v6_verticox.horizontal.private.fitting as rows
import v6_verticox.noisy.fit as cox
from fedbayes.dp.laws import Change, law_of
from fedbayes.federation import decorators
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station
from fedbayes.federation.vertical import engine
from v6_verticox.shares.travel import unpack

Requests = dict[int, Any]
"""Member -> what it is asked."""


@dataclass(frozen=True)
class Asked:
    """One question on its way: whether central goes on with what comes back, and whether an honest one would ask it so."""

    function: str
    each: Requests
    counts: bool = True
    honest: bool = True


Changing = Callable[[int, str, Requests, Sequence[Asked]], list[Asked]]
"""Number of the round, function, honest requests, and all that was asked before -> what is asked in its place."""


@dataclass(frozen=True)
class Noise:
    """Noise that a member drew in a round."""

    draw: Draw
    organization: int
    round: int


@dataclass(frozen=True)
class Letter:
    """What a member seals for central's organization: numbers by name, words of a ring."""

    round: int
    organization: int
    topic: str
    numbers: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Kept:
    """What a station keeps with all of its noise: in which round, the numbers without noise, and its width."""

    round: int
    values: Any
    width: float


@dataclass
class Run:
    """One task: rounds are counted from 1, also those that no honest central asks."""

    entries: list[tuple[int, Entry]] = field(default_factory=list)
    noise: list[Noise] = field(default_factory=list)
    debits: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    asked: list[Asked] = field(default_factory=list)
    script: list[Any] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    error: str = ""

    @property
    def changed(self) -> bool:
        """Whether anything was asked otherwise than an honest central would."""
        return not all(one.honest for one in self.asked)

    @property
    def answered(self) -> bool:
        """Whether anybody answered in a round that was changed."""
        return any(not self.asked[number - 1].honest for number, _ in self.entries)


class Central:
    """In the place of what an honest central asks and reads, and of noise: `noise` is every party's share of it."""

    def __init__(self, change: Changing | None, script: Sequence[Any] | None, noise: int) -> None:
        self.found = Run()
        self._change, self._noise = change, noise
        self._script = None if script is None else iter(script)
        self._round, self._organization = 0, 0

    @contextlib.contextmanager
    def installed(self) -> Iterator[Run]:
        """Take the place of all this in a task."""
        replaced: dict[tuple[Any, str], Any] = {
            (Federation, "_ask"): self._ask(Federation._ask),
            (decorators, "_answer"): self._answer(decorators._answer),
            (Station, "charge"): self._charge(Station.charge),
            (Station, "seal"): self._sealed(Station.seal),
            (Station, "broadcast"): self._sealed(Station.broadcast),
            (engine, "without_check"): self._told(added),
            (engine, "summed"): self._told(engine.summed),
            (engine, "check_possible"): lambda *_: None,
            (sources, "summed"): self._told(sources.summed),
            **{(module, "whole_sums"): self._told(module.whole_sums) for module in (cox, rows, table)},
            (cox, "_read"): self._told(cox._read),
            (cox, "check_bound"): lambda *_: None,
            (secure, "_full_noise"): self._kept(secure._full_noise),
            **{(law, "shares"): self._shares for law in LAWS},
        }
        with contextlib.ExitStack() as stack:
            for (owner, name), by in replaced.items():
                stack.enter_context(mock.patch.object(owner, name, _function(by)))
            self._entries = stack.enter_context(recording())
            yield self.found

    def _ask(self, honest: Any) -> Any:
        def asking(federation: Any, function: str, requests: Any, members: Any, timeout: float, last: bool) -> Any:
            each = dict(requests) if isinstance(requests, Mapping) else dict.fromkeys(members, requests)
            number, answers = self._round + 1, None
            asked = [Asked(function, each)]
            if self._change is not None:
                asked = self._change(number, function, each, self.found.asked)
            for one in asked:
                with contextlib.nullcontext() if one.counts else contextlib.suppress(Exception):
                    replies = self._round_of(honest, federation, one, timeout, last and one is asked[-1])
                    answers = replies if one.counts else answers
            return answers

        return asking

    def _round_of(self, honest: Any, federation: Any, one: Asked, timeout: float, last: bool) -> Any:
        self._round += 1
        self.found.asked.append(one)
        try:
            return honest(federation, one.function, one.each, list(one.each), timeout, last)
        finally:
            self.found.entries += [(self._round, entry) for entry in self._entries]
            self._entries.clear()

    def _answer(self, honest: Any) -> Any:
        def answer(function: Any, kind: Any, visit: Any, mock_data: Any) -> Any:
            before, self._organization = self._organization, visit.run.organization
            try:
                return honest(function, kind, visit, mock_data)
            finally:
                self._organization = before

        return answer

    def _shares(self, law: Any, size: Any, width: float, parties: int, honest_fraction: float) -> Any:
        if np.prod(size):
            self.found.noise.append(Noise(Draw(law, width, parties), self._organization, self._round))
        return np.full(size, self._noise, dtype=np.int64)

    def _charge(self, honest: Any) -> Any:
        def charge(station: Any, *rest: Any, **named: Any) -> Any:
            before = station.spent["epsilon"]
            receipt = honest(station, *rest, **named)
            self.found.debits[station.organization] += station.spent["epsilon"] - before
            return receipt

        return charge

    def _sealed(self, honest: Any) -> Any:
        """Note arrays of a Cox fit that central's organization can open."""

        def sealed(station: Station, to: Any, payload: bytes, topic: str) -> Any:
            own = station.aggregator in ([to] if isinstance(to, int) else list(to))
            if own and station.organization != station.aggregator:
                with contextlib.suppress(ValueError, AttributeError, KeyError):
                    numbers = {name: one.to_words().reshape(-1) for name, one in unpack(payload).items()}
                    self.found.letters.append(Letter(self._round, station.organization, topic, numbers))
            return honest(station, to, payload, topic)

        return sealed

    def _told(self, honest: Any) -> Any:
        """Have central told what the script has, an error too; else note it."""

        def told(*rest: Any, **named: Any) -> Any:
            try:
                value: Any = honest(*rest, **named)
            except Exception as problem:
                value = problem
            if self._script is not None:
                value = next(self._script, value)
            self.found.script.append(value)
            if isinstance(value, Exception):
                raise value
            return value.copy() if isinstance(value, np.ndarray) else value

        return told

    def _kept(self, honest: Any) -> Any:
        def full_noise(values: Any, epsilon: float) -> Any:
            width = law_of(epsilon).width(Change(), 1, 1)
            self.found.kept.append(Kept(self._round, np.array(values, dtype=np.float64), width))
            return honest(values, epsilon)

        return full_noise


def _function(by: Any) -> Any:
    """Return a function, which a class makes a method of."""
    return lambda *rest, **named: by(*rest, **named)


def added(shares: Sequence[Any], cells: int, ring: Any) -> Any:
    """As `without_check`, whatever the sizes and rings of the shares, and whether masks cancel or not."""
    length = min(len(share) for share in shares)
    smallest = min((share.dtype for share in shares), key=lambda dtype: dtype.itemsize)
    total = sum(share[:length].astype(np.uint64) for share in shares).astype(smallest).astype(ring)
    return np.resize(np.pad(total, (0, max(0, cells - length))), cells)


def run(
    task: Task, place: int, change: Changing | None = None, script: Sequence[Any] | None = None, noise: int = 0
) -> Run:
    """Run a task on a table (0) or a neighbour of it, and return all that central got."""
    files = task.files(place)
    running = InProcess(f"v6_{task.method}", files, {name: dict(LIMITS) for name in files}, task.central)
    with running as platform, Central(change, script, noise).installed() as found:
        try:
            platform.run(task.function, dict(task.arguments))
        except Exception as problem:
            found.error = f"{type(problem).__name__}: {problem}"
    return found
