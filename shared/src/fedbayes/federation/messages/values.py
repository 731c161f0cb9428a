"""How values of fields that hold no message are read from JSON: numbers, bytes, arrays and plain JSON, as strictly as messages."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from typing import Any, cast

import numpy as np

from ..errors import MessageError

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
MOST_BYTES = 2**31  # of one array: below the server's limit on a result
LARGEST_WHOLE = 2**127  # numbers of the widest ring, Z/2^128, signed
DEEPEST = 60  # nested messages and lists; far below Python's recursion limit
PLAIN: dict[Any, type] = {kind: kind for kind in (bool, int, str, dict, list)}


def shallow(value: Any, path: str) -> Any:
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


def read_plain(kind: Any, value: Any, path: str) -> Any:
    """Return a truth value, whole number, text, object or list; `MessageError` if it is of another kind."""
    accepted = PLAIN.get(kind)
    if accepted is None:
        raise MessageError(f"{path}: the field's type has no JSON form")
    if not isinstance(value, accepted) or (kind is int and isinstance(value, bool)):
        raise MessageError(f"{path}: must be of type {kind.__name__}")
    if kind is int and not -LARGEST_WHOLE < cast(int, value) < LARGEST_WHOLE:
        raise MessageError(f"{path}: is too large a number")
    return value


def read_float(value: Any, path: str) -> float:
    """Return a number; null is NaN."""
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


def read_bytes(value: Any, path: str) -> bytes:
    """Return bytes, as they are or of their base64."""
    if isinstance(value, bytes):
        return value
    try:
        if sys.version_info >= (3, 11):
            return binascii.a2b_base64(value, strict_mode=True)  # without a copy of a text, which may be long
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise MessageError(f"{path}: is not base64") from None


def read_array(value: Any, path: str) -> np.ndarray[Any, Any]:
    """Return an array with the stated dtype and shape, and memory of its own."""
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data"} or value["dtype"] not in DTYPES:
        raise MessageError(f"{path}: must be an array of a known dtype")
    shape = value["shape"]
    if not isinstance(shape, list) or len(shape) > 8 or not all(type(n) is int and 0 <= n < MOST_BYTES for n in shape):
        raise MessageError(f"{path}: the array's shape is malformed")
    data = read_bytes(value["data"], path)
    dtype = np.dtype(value["dtype"]).newbyteorder("<")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise MessageError(f"{path}: the array does not have the stated shape")
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(value["dtype"])
