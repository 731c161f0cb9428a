"""The gate: everything that leaves a station says by its type why it may.

The fields of a reply are of the types below, or lists, tuples, mappings, optionals and messages of them. Two checks make sure that no method
can forget a guard:

1. When a partial function is defined, its reply class is refused if a field has any other type (`check_reply_class`).
2. When a reply is about to leave, it is refused if it holds a value that this station did not make in this round (`Gate.check`). Only the
   methods of `Station` make such values, and each of them applies the node's limits.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from .errors import MessageError, PolicyError
from .messages.codec import Message, Wrapped, fields_of

T = TypeVar("T")
MOST_PUBLIC_BYTES = 4096
"""Public bytes are keys, signatures and digests; the longest, a modulus of 8192 bits (`mpc.joye_libert`), takes a quarter of this."""


class Public(Wrapped, Generic[T]):
    """Public metadata: flags, whole numbers, names and keys that say nothing of the values in the table."""

    value: T


class Exact(Wrapped, Generic[T]):
    """An exact aggregate, under the node's guards; not differentially private."""

    value: T


class Released(Wrapped, Generic[T]):
    """Noisy numbers whose privacy loss was debited before the noise was drawn."""

    value: T


class Share(Wrapped, Generic[T]):
    """One share of a secret: uniformly distributed to anybody who lacks the other shares."""

    value: T


class Masked(Message):
    """Numbers modulo 2^64 under pairwise masks, which cancel in the sum over exactly the participants of the round.

    Attributes
    ----------
    value : ndarray of uint64
    check : ndarray of uint64, shape (1,)
        The masks of a zero: over all participants they must sum to 0, which shows that the masks of `value` cancel too.
    """

    value: np.ndarray
    check: np.ndarray

    def __post_init__(self) -> None:
        if self.value.dtype != np.uint64 or self.check.dtype != np.uint64 or self.check.shape != (1,):
            raise ValueError("masked numbers are of dtype uint64")


class Sealed(Message):
    """Bytes that only one organization can open."""

    receiver: int
    content: bytes


class Broadcast(Message):
    """Bytes that some organizations can open: enciphered once, with the key sealed for each.

    Attributes
    ----------
    content : bytes
    keys : dict of int to bytes
        Receiver -> the sealed key.
    """

    content: bytes
    keys: dict[int, bytes]

    def to_one(self, receiver: int) -> Broadcast:
        """Return it with the key of one receiver only, to be sent on to that one."""
        if receiver not in self.keys:
            raise MessageError("a station left out one of those that it has to tell something; the job stops")
        return Broadcast(self.content, {receiver: self.keys[receiver]})


@dataclass(frozen=True, slots=True)
class Receipt:
    """A debit of this round, as `Station.charge` returns it; `Station.released` asks for it."""

    epsilon: float
    delta: float


REASONS = (Public, Exact, Released, Share, Masked, Sealed, Broadcast)


def check_reply_class(reply: Any) -> None:
    """Refuse a reply class with a field that does not say why it may leave.

    Parameters
    ----------
    reply : type
        The message class that a partial function is annotated to return.

    Raises
    ------
    TypeError
        Naming the first such field.
    """
    if not (isinstance(reply, type) and issubclass(reply, Message)):
        raise TypeError("a partial function is annotated to return a message class")
    _check_kind(reply, reply.__name__)


def _check_kind(kind: Any, field_name: str) -> None:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind in REASONS or origin in REASONS or kind in (type(None), Ellipsis):
        return
    if origin in (typing.Union, types.UnionType, list, tuple):
        for part in parts:
            _check_kind(part, field_name)
    elif origin is dict:
        _check_kind(parts[1], field_name)
    elif isinstance(kind, type) and issubclass(kind, Message) and kind is not Message:
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(typing.cast(Any, kind)):
            _check_kind(hints[field.name], f"{field_name}.{field.name}")
    else:
        names = ", ".join(reason.__name__ for reason in REASONS)
        raise TypeError(f"{field_name} does not say why it may leave the station: it must be one of {names}")


def leaving(reply: Any) -> Iterator[Any]:
    """Yield the leaves of a reply, looking into messages, mappings, lists and tuples; each must be a value that the station made."""
    if reply is None:
        return
    if isinstance(reply, REASONS):
        yield reply
    elif isinstance(reply, Message):
        for field in dataclasses.fields(typing.cast(Any, reply)):
            yield from leaving(getattr(reply, field.name))
    elif isinstance(reply, Mapping):
        for key, part in reply.items():
            if not isinstance(key, int | str):
                yield key
            yield from leaving(part)
    elif isinstance(reply, list | tuple):
        for part in reply:
            yield from leaving(part)
    else:
        yield reply


def reasons(reply: Any, debited: bool) -> dict[str, set[str]]:
    """Return, for each field of a reply as central reads it, the names of the types of its leaves; fields without any are left out.

    Parameters
    ----------
    reply : Message
        As `codec.decode` reads it.
    debited : bool
        Whether the station has debited anything in this job. A wrapper such as `Exact` does not travel, only its value does; so in a field
        of type ``Exact | Released`` the value counts as `Released` if the station debited, else as `Exact`.
    """
    cls: type = type(reply)
    carried = {name: _reasons(kind, getattr(reply, name), debited) for name, kind in fields_of(cls).items()}
    return {name: names for name, names in carried.items() if names}


def _reasons(kind: Any, value: Any, debited: bool) -> set[str]:
    options = {typing.get_origin(part) for part in _options(kind)}
    either = {Released, Exact} <= options
    chosen = Released if debited else Exact
    return {(chosen if either and isinstance(part, Wrapped) else type(part)).__name__ for part in leaving(value)}


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def is_public(value: Any) -> bool:
    """Return whether a value is of the kinds that public metadata has: no array, no fraction, nothing long."""
    if value is None or isinstance(value, bool | int | str):
        return True
    if isinstance(value, bytes):
        return len(value) <= MOST_PUBLIC_BYTES
    if isinstance(value, Mapping):
        return all(isinstance(key, int | str) and is_public(part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return all(is_public(part) for part in value)
    if isinstance(value, Message) and not isinstance(value, REASONS):
        return all(is_public(getattr(value, field.name)) for field in dataclasses.fields(typing.cast(Any, value)))
    return False


class Gate:
    """Remembers the values that one station made in one round, and lets nothing else leave."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def made(self, value: T) -> T:
        """Remember a value that the station makes, and return it."""
        self._made[id(value)] = value
        return value

    def knows(self, value: Any) -> bool:
        """Return whether the station made this very value in this round."""
        return self._made.get(id(value)) is value

    def check(self, reply: Any) -> None:
        """Refuse a reply with a leaf that the station did not make.

        Raises
        ------
        PolicyError
            If there is one; nothing leaves then.
        """
        for part in leaving(reply):
            if not (isinstance(part, REASONS) and self.knows(part)):
                raise PolicyError(
                    f"a reply holds a {type(part).__name__} that does not say why it may leave the station; nothing left it"
                )
