"""A change of what central asks in a job: other values in places of requests, questions again or early, members that are not asked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from changed_kit import Asked, Requests

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.messages.codec import Message

FEW = 4
"""Of the items of a list or a mapping so many are looked into."""
INSTEAD, AGAIN, BEFORE, EARLY, FEWER = "instead", "again", "before", "early", "fewer"
"""A changed request in the place of the honest one, after it, before it; one of another round in a round of its own; some are not asked."""
REFUSED = (AlgorithmError, ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What classes of messages, or a place that is not there, raise."""
Keys = tuple[Any, ...]


@dataclass(frozen=True)
class Taken:
    """What stands somewhere in an earlier, or the present, request of the same run."""

    round: int
    member: int
    keys: Keys


@dataclass(frozen=True)
class Edit:
    """In a round some members are told another value in one place."""

    members: frozenset[int]
    keys: Keys
    value: Any


@dataclass(frozen=True)
class Swap:
    """From a round on everybody is told another value of the fields of a name, wherever the value is the old one; of a text, in all fields."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Change:
    """A change of a job.

    Attributes
    ----------
    round : int
        The first honest round in which something is asked otherwise.
    manner : str
        What is done.
    edits : dict of int to list of Edit or Swap
        By round.
    early : Asked, int or None
        With `EARLY` what is asked before that round: a question of another job, or that of an earlier round.
    members : frozenset of int
        With `FEWER` who is not asked.
    """

    round: int
    manner: str
    edits: Mapping[int, Sequence[Edit | Swap]] = field(default_factory=dict)
    early: Asked | int | None = None
    members: frozenset[int] = frozenset()

    def __call__(self, number: int, function: str, each: Requests, before: Sequence[Asked]) -> list[Asked]:
        """Return what is asked in the place of an honest round; `number` counts the others too."""
        past = [one for one in before if one.counts]
        honest, here = Asked(function, each), len(past) + 1 == self.round
        if self.manner == EARLY and here:
            early = past[self.early - 1] if isinstance(self.early, int) else self.early
            return [replace(early or honest, counts=False, honest=False), honest]
        made = self.made(len(past) + 1, each, [*past, honest])
        if self.manner == FEWER and here:
            made = {at: one for at, one in made.items() if at not in self.members}
        same = made.keys() == each.keys() and all(made[at] is each[at] for at in made)
        if same and not (here and self.manner in (AGAIN, BEFORE)):
            return [honest]
        if self.manner in (INSTEAD, FEWER):
            return [Asked(function, made, honest=False)]
        extra = Asked(function, made, counts=False, honest=False)
        return [honest, extra] if self.manner == AGAIN else [extra, honest]

    def made(self, place: int, each: Requests, past: Sequence[Asked]) -> Requests:
        """Return the requests of a round with all that is changed of them; a request that a change does not fit stays as it is."""
        edits = [one for at in range(1, place) for one in self.edits.get(at, ()) if isinstance(one, Swap)]
        for edit in (*self.edits.get(place, ()), *edits):
            each = {at: _edited(at, request, edit, past) for at, request in each.items()}
        return each


def _edited(member: int, request: Any, edit: Edit | Swap, past: Sequence[Asked]) -> Any:
    with contextlib.suppress(*REFUSED):
        if isinstance(edit, Swap):
            return swapped(request, edit, "")
        if member in edit.members:
            return put(request, edit.keys, taken(edit.value, past))
    return request


def taken(value: Any, past: Sequence[Asked]) -> Any:
    """Return a value, or what stands where it is taken from."""
    return get(past[value.round - 1].each[value.member], value.keys) if isinstance(value, Taken) else value


def get(value: Any, keys: Keys) -> Any:
    """Return what stands in a place of a message."""
    for key in keys:
        value = getattr(value, key) if isinstance(value, Message) else value[key]
    return value


def put(value: Any, keys: Keys, other: Any) -> Any:
    """Return a message with something else in a place."""
    if not keys:
        return other
    key, *rest = keys
    if isinstance(value, Message):
        return replace(value, **{key: put(getattr(value, key), tuple(rest), other)})
    if isinstance(value, dict):
        return {**value, key: put(value[key], tuple(rest), other)}
    return type(value)([put(item, tuple(rest), other) if at == key else item for at, item in enumerate(value)])


def swapped(value: Any, swap: Swap, name: str) -> Any:
    """Return a part of a message with all that is to be swapped; the same object where nothing is."""
    if isinstance(value, Message):
        made = {one.name: swapped(getattr(value, one.name), swap, one.name) for one in fields(value)}  # type: ignore[arg-type]
        return value if all(made[key] is getattr(value, key) for key in made) else replace(value, **made)
    if isinstance(value, dict):
        found = {swapped(key, swap, name): swapped(one, swap, name) for key, one in value.items()}
        return value if all(found.get(key) is one for key, one in value.items()) else found
    if isinstance(value, list | tuple):
        listed = [swapped(one, swap, name) for one in value]
        return value if all(one is other for one, other in zip(listed, value, strict=True)) else type(value)(listed)
    there = type(value) is type(swap.old) and not isinstance(value, np.ndarray) and value == swap.old
    return swap.new if there and (isinstance(value, str) or name == swap.name) else value


def parts(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Yield the places of a message, of the first few of every list."""
    if keys:
        yield keys
    if isinstance(value, Message):
        for one in fields(value):  # type: ignore[arg-type]
            yield from parts(getattr(value, one.name), (*keys, one.name))
    elif isinstance(value, dict):
        for key in list(value)[:FEW]:
            yield from parts(value[key], (*keys, key))
    elif isinstance(value, list | tuple):
        for place in range(min(len(value), FEW)):
            yield from parts(value[place], (*keys, place))


def named(request: Message, keys: Keys) -> tuple[str, ...]:
    """Return the names of the fields that lead to a place."""
    names, value = [], request
    for key in keys:
        names += [str(key)] if isinstance(value, Message) else []
        value = get(value, (key,))
    return tuple(names)
