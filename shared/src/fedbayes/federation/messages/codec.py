"""Typed messages and their one strict JSON form.

A message is a frozen dataclass, as whatever derives from `Message` is; its ``__post_init__`` checks ranges and shapes by ``ValueError``. `encode`
writes plain JSON, `decode` accepts exactly what `encode` writes: an unknown or a missing field, another type, or an array that does not
match its stated shape is a `MessageError`. Arrays travel as dtype, shape and base64 of their little-endian bytes; floats keep every bit, NaN is null.

What is sealed is packed instead (`pack`, `unpack`): the same JSON, with the bytes of arrays behind it as they are, so that nothing is base64 twice.

A field may be of a generic wrapper, such as ``Public[int]`` of `federation.gate`: a subclass of `Wrapped`, which travels as the value in it.
"""

from __future__ import annotations

import base64
import binascii
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

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
MOST_BYTES = 2**31  # of one array: below the server's limit on a result
LARGEST_WHOLE = 2**127  # numbers of the widest ring, Z/2^128, signed
DEEPEST = 60  # nested messages and lists; far below Python's recursion limit
AS_THEY_ARE = frozenset([type(None), bool, int, str])  # most values, and the same in JSON
PLAIN: dict[Any, type] = {kind: kind for kind in (bool, int, str, dict, list)}
T = TypeVar("T", bound="Text")


@dataclass_transform(frozen_default=True)
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
    fields = fields_of(cls)
    if set(payload) != set(fields):
        wrong = sorted({str(key) for key in payload} ^ set(fields))
        raise MessageError(f"{cls.__name__}: unknown or missing fields: {', '.join(wrong[:5])[:200]}")
    try:
        values = {name: _decoder(kind)(payload[name], f"{cls.__name__}.{name}") for name, kind in fields.items()}
    except (RecursionError, MemoryError, OverflowError):
        raise MessageError(f"{cls.__name__}: the message is too large or too deep") from None
    try:
        return cls(**values)
    except ValueError as error:
        raise MessageError(f"{cls.__name__}: {error}") from None
    except (TypeError, OverflowError, LookupError, AttributeError, RecursionError):
        # Not the error's own text, which quotes values.
        raise MessageError(f"{cls.__name__}: a field has a value that it cannot have") from None


def _unaliased(kind: Any) -> Any:
    """Return the type that an alias stands for, without its parameters: ``NDArray`` of NumPy 2.5 and later is one."""
    named = typing.get_origin(kind) or kind
    return getattr(named, "__value__", kind)


@cache
def _decoder(kind: Any) -> Callable[[Any, str], Any]:
    """Return how a value of a field's type is read, given its path; looked up once a type."""
    kind = _unaliased(kind)
    origin = typing.get_origin(kind)
    bare = BARE.get(np.ndarray if origin is np.ndarray else kind)
    if bare is not None:
        return bare
    if origin in COMPOSED:
        return partial(COMPOSED[origin], kind)
    if isinstance(origin, type) and issubclass(origin, Wrapped):
        return lambda value, path: cast(Any, origin)(_decoder(typing.get_args(kind)[0])(value, path))
    if isinstance(kind, type) and issubclass(kind, Message):
        return lambda value, path: decode(kind, value)
    return partial(_decode_text if isinstance(kind, type) and issubclass(kind, Text) else _decode_plain, kind)


def _shallow(value: Any, path: str) -> Any:
    """Return plain JSON that is not deeper than anything that is sent; without recursion, which it could exhaust."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
            if isinstance(part, dict | list)
        ]
        if not level:
            return value
    raise MessageError(f"{path}: is too deep")


def _decode_union(kind: Any, value: Any, path: str) -> Any:
    options = typing.get_args(kind)
    if value is None and type(None) in options:
        return None
    failure: MessageError | None = None
    for option in options:
        if option is not type(None):
            try:
                return _decoder(option)(value, path)
            except MessageError as error:
                failure = error
    raise failure or MessageError(f"{path}: a value is missing")


def _decode_sequence(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, list):
        raise MessageError(f"{path}: must be a list")
    inner, origin = typing.get_args(kind), typing.get_origin(kind)
    if origin is list or (len(inner) == 2 and inner[1] is Ellipsis):
        items = [_decoder(inner[0] if inner else Any)(item, path) for item in value]
    elif len(inner) == len(value):
        items = [_decoder(part)(item, path) for part, item in zip(inner, value, strict=True)]
    else:
        raise MessageError(f"{path}: must have {len(inner)} entries")
    return items if origin is list else tuple(items)


def _decode_mapping(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise MessageError(f"{path}: must be an object")
    key_kind, item_kind = typing.get_args(kind) or (str, Any)
    read = key_kind.read if issubclass(key_kind, Text) else key_kind
    try:
        return {read(key): _decoder(item_kind)(item, path) for key, item in value.items()}
    except ValueError:
        expected = "whole numbers" if key_kind is int else "names"
        raise MessageError(f"{path}: keys must be {expected}") from None


def _decode_text(kind: type[Text], value: Any, path: str) -> Text:
    try:
        return kind.read(value)
    except (ValueError, TypeError):
        raise MessageError(f"{path}: must be a name") from None


def _decode_plain(kind: Any, value: Any, path: str) -> Any:
    accepted = PLAIN.get(kind)
    if accepted is None:
        raise MessageError(f"{path}: the field's type has no JSON form")
    if not isinstance(value, accepted) or (kind is int and isinstance(value, bool)):
        raise MessageError(f"{path}: must be of type {kind.__name__}")
    if kind is int and not -LARGEST_WHOLE < cast(int, value) < LARGEST_WHOLE:
        raise MessageError(f"{path}: is too large a number")
    return value


def _float(value: Any, path: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MessageError(f"{path}: must be a number")
    try:
        return float(value)
    except OverflowError:
        raise MessageError(f"{path}: is too large a number") from None


def _bytes(value: Any, path: str) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise MessageError(f"{path}: is not base64") from None


def _decode_array(value: Any, path: str) -> np.ndarray[Any, Any]:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data"} or value["dtype"] not in DTYPES:
        raise MessageError(f"{path}: must be an array of a known dtype")
    shape = value["shape"]
    if not isinstance(shape, list) or len(shape) > 8 or not all(type(n) is int and 0 <= n < MOST_BYTES for n in shape):
        raise MessageError(f"{path}: the array's shape is malformed")
    data = _bytes(value["data"], path)
    dtype = np.dtype(value["dtype"]).newbyteorder("<")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise MessageError(f"{path}: the array does not have the stated shape")
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(value["dtype"])


BARE: dict[Any, Callable[[Any, str], Any]] = {
    bytes: _bytes,
    float: _float,
    np.ndarray: _decode_array,
    Any: _shallow,
    dict: lambda value, path: _decode_plain(dict, _shallow(value, path), path),
    list: lambda value, path: _decode_plain(list, _shallow(value, path), path),
}
COMPOSED: dict[Any, Callable[[Any, Any, str], Any]] = {
    **dict.fromkeys((typing.Union, types.UnionType), _decode_union),
    **dict.fromkeys((list, tuple), _decode_sequence),
    dict: _decode_mapping,
}
