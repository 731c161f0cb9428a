"""Typed messages and their one strict JSON form.

A message is a frozen, slotted dataclass that derives from `Message`; its ``__post_init__`` checks ranges and shapes by ``ValueError``. `encode`
writes plain JSON, `decode` accepts exactly what `encode` writes: an unknown or a missing field, another type, or an array that does not
match its stated shape is a `MessageError`. Arrays travel as dtype, shape and base64 of their little-endian bytes; floats keep every bit, NaN is null.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
import types
import typing
from functools import cache
from typing import Any

import numpy as np

from .errors import MessageError

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
)
MOST_BYTES = 2**31


class Message:
    """Base of every message; see the module's text."""

    __slots__ = ()


def encode(value: Any) -> Any:
    """Return the JSON form of a message, or of a value that a field may hold.

    Raises
    ------
    MessageError
        If the value has no JSON form here (an object array, say).
    """
    if isinstance(value, Message):
        fields = dataclasses.fields(typing.cast(Any, value))
        return {field.name: encode(getattr(value, field.name)) for field in fields}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else (None if math.isnan(value) else repr(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    raise MessageError(f"a field of type {type(value).__name__} cannot be sent")


def size_of(encoded: Any) -> int:
    """Return about how many bytes the JSON of an encoded value takes, without writing it."""
    if isinstance(encoded, dict):
        return 2 + sum(len(str(key)) + 4 + size_of(item) for key, item in encoded.items())
    if isinstance(encoded, list):
        return 2 + sum(2 + size_of(item) for item in encoded)
    return len(encoded) + 2 if isinstance(encoded, str) else len(str(encoded))


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.name not in DTYPES:
        raise MessageError(f"an array of dtype {array.dtype.name} cannot be sent")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


@cache
def _fields(cls: type) -> dict[str, Any]:
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
    fields = _fields(cls)
    if set(payload) != set(fields):
        wrong = sorted({str(key) for key in payload} ^ set(fields))
        raise MessageError(f"{cls.__name__}: unknown or missing fields: {', '.join(wrong[:5])[:200]}")
    values = {name: _decode(kind, payload[name], f"{cls.__name__}.{name}") for name, kind in fields.items()}
    try:
        return cls(**values)
    except (ValueError, TypeError, OverflowError) as error:
        raise MessageError(f"{cls.__name__}: {error}") from None


def _decode(kind: Any, value: Any, place: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _decode_union(kind, value, place)
    if kind is np.ndarray or origin is np.ndarray:
        return _decode_array(value, place)
    if origin in (list, tuple):
        return _decode_sequence(kind, origin, value, place)
    if origin is dict:
        return _decode_mapping(kind, value, place)
    if isinstance(kind, type) and issubclass(kind, Message):
        return decode(kind, value)
    return _decode_plain(kind, value, place)


def _decode_union(kind: Any, value: Any, place: str) -> Any:
    options = typing.get_args(kind)
    if value is None and type(None) in options:
        return None
    failure: MessageError | None = None
    for option in options:
        if option is not type(None):
            try:
                return _decode(option, value, place)
            except MessageError as error:
                failure = error
    raise failure or MessageError(f"{place}: a value is missing")


def _decode_sequence(kind: Any, origin: Any, value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise MessageError(f"{place}: must be a list")
    inner = typing.get_args(kind)
    if origin is list or (len(inner) == 2 and inner[1] is Ellipsis):
        items = [_decode(inner[0] if inner else Any, item, place) for item in value]
    elif len(inner) == len(value):
        items = [_decode(part, item, place) for part, item in zip(inner, value, strict=True)]
    else:
        raise MessageError(f"{place}: must have {len(inner)} entries")
    return items if origin is list else tuple(items)


def _decode_mapping(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise MessageError(f"{place}: must be an object")
    key_kind, item_kind = typing.get_args(kind) or (str, Any)
    try:
        return {
            (int(key) if key_kind is int else str(key)): _decode(item_kind, item, place) for key, item in value.items()
        }
    except ValueError:
        raise MessageError(f"{place}: keys must be whole numbers") from None


def _decode_plain(kind: Any, value: Any, place: str) -> Any:
    if kind is bytes:
        return _bytes(value, place)
    if kind is float:
        return _float(value, place)
    accepted = {bool: bool, int: int, str: str, dict: dict, list: list}.get(kind)
    if accepted is None:
        raise MessageError(f"{place}: the field's type has no JSON form")
    if not isinstance(value, accepted) or (kind is int and isinstance(value, bool)):
        raise MessageError(f"{place}: must be of type {kind.__name__}")
    return value


def _float(value: Any, place: str) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MessageError(f"{place}: must be a number")
    return float(value)


def _bytes(value: Any, place: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise MessageError(f"{place}: is not base64") from None


def _decode_array(value: Any, place: str) -> np.ndarray[Any, Any]:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data"} or value["dtype"] not in DTYPES:
        raise MessageError(f"{place}: must be an array of a known dtype")
    shape = value["shape"]
    if not isinstance(shape, list) or len(shape) > 8 or not all(type(n) is int and 0 <= n < MOST_BYTES for n in shape):
        raise MessageError(f"{place}: the array's shape is malformed")
    data = _bytes(value["data"], place)
    dtype = np.dtype(value["dtype"]).newbyteorder("<")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise MessageError(f"{place}: the array does not have the stated shape")
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(value["dtype"])
