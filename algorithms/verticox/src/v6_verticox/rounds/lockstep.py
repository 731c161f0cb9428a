"""Several computations of central that take rounds together: one real round serves all that wait for one.

Each computation runs in a thread of its own and sees a federation whose `round` waits; the thread of central, the only one that sends anything,
collects what all of them ask, sends it as one round, and hands out the answers. The number of rounds is that of the longest
computation, not the sum.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Queue
from typing import Any, Generic, TypeVar, cast

from fedbayes.federation import Federation, Message

from ..messages.folds import FoldReply, FoldRequest, FoldsReply, FoldsRequest

T = TypeVar("T")


class _Stopped(Exception):
    """Another computation failed."""


@dataclass(slots=True)
class _Asked:
    """A round that one computation waits for: requests by organization."""

    fold: int
    function: str
    requests: dict[int, Any]


@dataclass(slots=True)
class _Ended(Generic[T]):
    """The end of a computation."""

    fold: int
    value: T | None
    failure: Exception | None


@dataclass
class FoldRounds:
    """The federation as one computation sees it: `round` and `rounds` only."""

    fold: int
    federation: Federation
    before: int
    asked: Queue[Any]
    answers: Queue[Any] = field(default_factory=Queue)

    @property
    def rounds(self) -> int:
        """Rounds since the computations began."""
        return self.federation.rounds - self.before

    @property
    def organization(self) -> int:
        """The organization that runs central."""
        return self.federation.organization

    def round(
        self, function: str, request: Any, organizations: Sequence[int], reply_type: type[Message]
    ) -> dict[int, Any]:
        """Ask as `Federation.round` does; wait until the real round is over."""
        requests = {member: request[member] if isinstance(request, dict) else request for member in organizations}
        self.asked.put(_Asked(self.fold, function, requests))
        answer = self.answers.get()
        if answer is None:
            raise _Stopped
        return cast(dict[int, Any], answer)


def in_lockstep(federation: Federation, tasks: Sequence[tuple[int, Callable[[Any], T]]]) -> list[T]:
    """Run computations that share rounds.

    Parameters
    ----------
    federation : Federation
        The rounds.
    tasks : sequence of (int, callable)
        The fold, and what is called with its `FoldRounds`.

    Returns
    -------
    list
        What they return, in order.

    Raises
    ------
    Exception
        What the first of them raises, or a station; the others end.
    """
    posted: Queue[Any] = Queue()
    views = {fold: FoldRounds(fold, federation, federation.rounds, posted) for fold, _ in tasks}
    for fold, task in tasks:
        arguments = (fold, task, views[fold], posted)
        threading.Thread(target=_run, args=arguments, name=f"fold {fold}", daemon=True).start()
    active, ended = set(views), cast(dict[int, _Ended[T]], {})
    try:
        while active:
            waiting = [entry for entry in (posted.get() for _ in range(len(active)))]
            for entry in (entry for entry in waiting if isinstance(entry, _Ended)):
                active.discard(entry.fold)
                if entry.failure is not None:
                    raise entry.failure
                ended[entry.fold] = entry
            asked = [entry for entry in waiting if isinstance(entry, _Asked)]
            if asked:
                _one_round(federation, asked, views)
    finally:
        for view in views.values():
            view.answers.put(None)
    return [cast(T, ended[fold].value) for fold, _ in tasks]


def _run(fold: int, task: Callable[[Any], T], view: FoldRounds, posted: Queue[Any]) -> None:
    try:
        posted.put(_Ended(fold, task(view), None))
    except Exception as failure:  # handed to the thread of central, which raises it
        posted.put(_Ended(fold, None, failure))


def _one_round(federation: Federation, asked: Sequence[_Asked], views: dict[int, FoldRounds]) -> None:
    """Send what all folds ask as one round; hand out the answers."""
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
    found: dict[int, dict[int, FoldReply]] = {
        member: {part.fold.value: part for part in reply.parts} for member, reply in replies.items()
    }
    for entry in ordered:
        views[entry.fold].answers.put(
            {member: getattr(found[member][entry.fold], entry.function) for member in entry.requests}
        )
