"""Computations that take rounds: one alone, or several that take them together.

What takes rounds is a coroutine: it awaits the answer of each round, and everything else in it is plain arithmetic. Alone, a round is the federation's.
Several go on in turn, each up to the next round that it needs; what all of them ask is sent as one round, and each
goes on with its part of the answers. So the number of rounds is that of the longest computation, not the sum; nothing runs at the same
time as anything else, and who asks what does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from types import coroutine
from typing import Any, TypeVar

from fedbayes.federation import Federation, Message

from ..messages.folds import FoldReply, FoldRequest, FoldsReply, FoldsRequest

T = TypeVar("T")
M = TypeVar("M", bound=Message)
Replies = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Alone:
    """The rounds of a computation that shares them with none."""

    federation: Federation

    @property
    def rounds(self) -> int:
        """Rounds of the job so far."""
        return self.federation.rounds

    @property
    def organization(self) -> int:
        """The organization that runs central."""
        return self.federation.organization

    async def round(
        self, function: str, request: Any, organizations: Sequence[int], reply_type: type[M]
    ) -> dict[int, M]:
        """Ask at once."""
        return self.federation.round(function, request, organizations, reply_type)


def alone(computation: Coroutine[Any, Any, T]) -> T:
    """Run one computation to its end, whose rounds are shared with none (`Alone`)."""
    try:
        computation.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    computation.close()
    raise RuntimeError("a computation that shares its rounds was run alone; run it with in_lockstep")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A round that one computation waits for: requests by organization."""

    fold: int
    function: str
    requests: dict[int, Any]


@dataclass(frozen=True, slots=True)
class FoldRounds:
    """The rounds of one of several computations."""

    fold: int
    federation: Federation
    before: int

    @property
    def rounds(self) -> int:
        """Rounds since the computations began."""
        return self.federation.rounds - self.before

    @property
    def organization(self) -> int:
        """The organization that runs central."""
        return self.federation.organization

    async def round(
        self, function: str, request: Any, organizations: Sequence[int], reply_type: type[M]
    ) -> dict[int, M]:
        """Wait until all computations have asked, and their round is over."""
        requests = {member: request[member] if isinstance(request, dict) else request for member in organizations}
        return await _shared(_Asked(self.fold, function, requests))


Rounds = Alone | FoldRounds
"""The federation as a computation sees it."""


@coroutine
def _shared(asked: _Asked) -> Generator[_Asked, Replies, Replies]:
    """Leave the computation with what it asks; come back to it with the replies."""
    return (yield asked)


def in_lockstep(
    federation: Federation, tasks: Sequence[tuple[int, Callable[[FoldRounds], Coroutine[Any, Any, T]]]]
) -> list[T]:
    """Run computations that share rounds.

    Parameters
    ----------
    federation : Federation
        The rounds.
    tasks : sequence of (int, callable)
        The fold, and what makes the computation of its `FoldRounds`.

    Returns
    -------
    list
        What they return, in order.

    Raises
    ------
    Exception
        What the first of them raises, or a station; the others end.
    """
    before, values = federation.rounds, dict[int, T]()
    running = {fold: task(FoldRounds(fold, federation, before)) for fold, task in tasks}
    answers: dict[int, Any] = dict.fromkeys(running)
    try:
        while running:
            asked = []
            for fold, computation in list(running.items()):
                try:
                    asked.append(computation.send(answers[fold]))
                except StopIteration as end:
                    values[fold] = end.value
                    del running[fold]
            answers = _one_round(federation, asked) if asked else {}
    finally:
        for computation in running.values():
            computation.close()
    return [values[fold] for fold, _ in tasks]


def _one_round(federation: Federation, asked: Sequence[_Asked]) -> dict[int, Replies]:
    """Send what all folds ask as one round; return the answers of each."""
    ordered = sorted(asked, key=lambda entry: entry.fold)
    members = sorted({member for entry in ordered for member in entry.requests})
    requests = {
        member: FoldsRequest(
            [
                FoldRequest(entry.fold, **{entry.function: entry.requests[member]})
                for entry in ordered
                if member in entry.requests
            ]
        )
        for member in members
    }
    replies = federation.round("partial_folds", requests, members, FoldsReply)
    by_fold: dict[int, dict[int, FoldReply]] = {
        member: {part.fold.value: part for part in reply.parts} for member, reply in replies.items()
    }
    return {
        entry.fold: {member: getattr(by_fold[member][entry.fold], entry.function) for member in entry.requests}
        for entry in ordered
    }
