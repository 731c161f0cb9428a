"""Typed messages and their one strict JSON form.

A message is a frozen dataclass, as whatever derives from `Message` is; its ``__post_init__`` checks ranges and shapes by ``ValueError``. `encode`
writes plain JSON, `decode` accepts exactly what `encode` writes: an unknown or a missing field, another type, or an array that does not
match its stated shape is a `MessageError`. Arrays travel as dtype, shape and base64 of their little-endian bytes; floats keep every bit, NaN is null.

What is sealed is packed instead (`pack`, `unpack`): the same JSON, with the bytes of arrays behind it as they are, so that nothing is base64 twice.

A field may be of a generic wrapper, such as ``Public[int]`` of `federation.gate`: a subclass of `Wrapped`, which travels as the value in it.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from ..errors import MessageError
from .frozen import dataclass_transform
from .values import DTYPES, read_array, read_bytes, read_float, read_plain, shallow

AS_THEY_ARE = frozenset([type(None), bool, int, str])  # most values, and the same in JSON
T = TypeVar("T", bound="Text")
Reader = Callable[[Any, str], Any]
"""How a value is read: JSON, and what the field is called in errors -> value."""


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Message:
    """Base of every message, which makes a frozen dataclass of it; see the module's text."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True)(cls)


class Text(str, ABC):
    """Base of a text that says more than itself, such as a name of several parts; it travels as it is, and can be a mapping's key."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def read(cls: type[T], text: str) -> T:
        """Return what a text says; `ValueError` where it is none of these."""


class Wrapped(Message):
    """Base of a generic message of one field, ``value``, that travels as the value alone."""


def encode(value: Any, raw: bool = False) -> Any:
    """Return the JSON form of a message, or of a value that a field may hold.

    Parameters
    ----------
    value : object
        A message, an array, or what plain JSON has.
    raw : bool
        Whether bytes stay bytes, for `pack`, instead of base64.

    Raises
    ------
    MessageError
        If the value has no JSON form here (an object array, say).
    """
    kind: Any = type(value)
    return value if kind in AS_THEY_ARE else _encoder(kind)(value, raw)


@cache
def _encoder(kind: Any) -> Callable[[Any, bool], Any]:
    """Return how values of a type are encoded, as the first of its bases in `ENCODERS`; looked up once a type."""
    for bases, encoder in ENCODERS:
        if issubclass(kind, bases):
            return encoder
    raise MessageError(f"a field of type {kind.__name__} cannot be sent")


def _encode_array(array: np.ndarray[Any, Any], raw: bool) -> dict[str, Any]:
    if array.dtype.name not in DTYPES:
        raise MessageError(f"an array of dtype {array.dtype.name} cannot be sent")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": encode(little.tobytes(), raw),
    }


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


ENCODERS: tuple[tuple[Any, Callable[[Any, bool], Any]], ...] = (
    ((str, int), lambda value, raw: value),
    (Wrapped, lambda value, raw: encode(value.value, raw)),
    (Message, lambda value, raw: {name: encode(getattr(value, name), raw) for name in _names(cast(Any, type(value)))}),
    (np.ndarray, _encode_array),
    (bytes, lambda value, raw: value if raw else base64.b64encode(value).decode("ascii")),
    (dict, lambda value, raw: {str(key): encode(item, raw) for key, item in value.items()}),
    ((list, tuple), lambda value, raw: [encode(item, raw) for item in value]),
    (np.generic, lambda value, raw: encode(value.item(), raw)),
    (float, lambda value, raw: value if math.isfinite(value) else (None if math.isnan(value) else repr(value))),
)


@cache
def fields_of(cls: type) -> dict[str, Any]:
    """Return the types of a message's fields by name, references resolved."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def decode(cls: type, payload: Any) -> Any:
    """Return the message of class `cls` that `payload` is the JSON form of.

    Raises
    ------
    MessageError
        If a field is unknown, missing or of another type, or the message's own checks refuse it.
    """
    if not isinstance(payload, dict):
        raise MessageError(f"{cls.__name__}: the message must be an object")
    readers = _readers(cls)
    if payload.keys() != readers.keys():
        wrong = sorted({str(key) for key in payload} ^ set(readers))
        raise MessageError(f"{cls.__name__}: unknown or missing fields: {', '.join(wrong[:5])[:200]}")
    try:
        values = {name: read(payload[name], path) for name, (read, path) in readers.items()}
    except (RecursionError, MemoryError, OverflowError):
        raise MessageError(f"{cls.__name__}: the message is too large or too deep") from None
    try:
        return cls(**values)
    except ValueError as error:
        raise MessageError(f"{cls.__name__}: {error}") from None
    except (TypeError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError):
        # Not the error's own text, which quotes values.
        raise MessageError(f"{cls.__name__}: a field has a value that it cannot have") from None


@cache
def _readers(cls: type) -> dict[str, tuple[Reader, str]]:
    """Return how each field of a message is read, and what it is called in errors; looked up once a class."""
    return {name: (_decoder(kind), f"{cls.__name__}.{name}") for name, kind in fields_of(cls).items()}


def _unaliased(kind: Any) -> Any:
    """Return the type that an alias stands for, without its parameters: ``NDArray`` of NumPy 2.5 and later is one."""
    named = typing.get_origin(kind) or kind
    return getattr(named, "__value__", kind)


@cache
def _decoder(kind: Any) -> Reader:
    """Return how a value of a field's type is read, given its path; looked up once a type."""
    kind = _unaliased(kind)
    origin = typing.get_origin(kind)
    bare = BARE.get(np.ndarray if origin is np.ndarray else kind)
    if bare is not None:
        return bare
    if origin in COMPOSED:
        return COMPOSED[origin](kind)
    if isinstance(origin, type) and issubclass(origin, Wrapped):
        inner = _decoder(typing.get_args(kind)[0])
        return lambda value, path: cast(Any, origin)(inner(value, path))
    if isinstance(kind, type) and issubclass(kind, Message):
        return lambda value, path: decode(kind, value)
    return partial(_decode_text if isinstance(kind, type) and issubclass(kind, Text) else read_plain, kind)


def _union(kind: Any) -> Reader:
    options = typing.get_args(kind)
    optional = type(None) in options
    readers = [_decoder(option) for option in options if option is not type(None)]

    def read(value: Any, path: str) -> Any:
        if value is None and optional:
            return None
        failure: MessageError | None = None
        for reader in readers:
            try:
                return reader(value, path)
            except MessageError as error:
                failure = error
        raise failure or MessageError(f"{path}: a value is missing")

    return read


def _sequence(kind: Any) -> Reader:
    inner, make = typing.get_args(kind), typing.get_origin(kind)
    alike = make is list or (len(inner) == 2 and inner[1] is Ellipsis)
    readers = [_decoder(part) for part in ((inner or (Any,))[:1] if alike else inner)]

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise MessageError(f"{path}: must be a list")
        if alike:
            return make([readers[0](item, path) for item in value])
        if len(readers) != len(value):
            raise MessageError(f"{path}: must have {len(readers)} entries")
        return tuple([reader(item, path) for reader, item in zip(readers, value, strict=True)])

    return read


def _mapping(kind: Any) -> Reader:
    key_kind, item_kind = typing.get_args(kind) or (str, Any)
    read_key = key_kind.read if issubclass(key_kind, Text) else key_kind
    read_item = _decoder(item_kind)
    expected = "whole numbers" if key_kind is int else "names"

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise MessageError(f"{path}: must be an object")
        try:
            return {read_key(key): read_item(item, path) for key, item in value.items()}
        except ValueError:
            raise MessageError(f"{path}: keys must be {expected}") from None

    return read


def _decode_text(kind: type[Text], value: Any, path: str) -> Text:
    try:
        return kind.read(value)
    except (ValueError, TypeError):
        raise MessageError(f"{path}: must be a name") from None


BARE: dict[Any, Reader] = {
    bytes: read_bytes,
    float: read_float,
    np.ndarray: read_array,
    Any: shallow,
    dict: lambda value, path: read_plain(dict, shallow(value, path), path),
    list: lambda value, path: read_plain(list, shallow(value, path), path),
}
COMPOSED: dict[Any, Callable[[Any], Reader]] = {
    **dict.fromkeys((typing.Union, types.UnionType), _union),
    **dict.fromkeys((list, tuple), _sequence),
    dict: _mapping,
}
