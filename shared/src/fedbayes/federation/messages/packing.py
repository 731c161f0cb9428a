"""Encoded values as bytes: JSON with the bytes of arrays behind it as they are, so that nothing that is sealed is base64 twice."""

from __future__ import annotations

import json
from typing import Any

from ..errors import MessageError
from .codec import AS_THEY_ARE

BUFFER = "\x00"  # the only key of an object that stands for bytes behind the JSON of a packed value


def pack(value: Any) -> bytes:
    """Return an encoded value as bytes: the length of its JSON (4 bytes), the JSON, then every run of bytes in it, one behind the other.

    Parameters
    ----------
    value : object
        What ``encode(..., raw=True)`` returns.
    """
    return b"".join(packed_parts(value))


def packed_parts(value: Any) -> list[bytes]:
    """Return what `pack` joins: runs of bytes may be long, and a digest needs no copy of them."""
    buffers: list[bytes] = []

    def hide(item: Any) -> Any:
        if type(item) in AS_THEY_ARE:
            return item
        if isinstance(item, bytes):
            buffers.append(item)
            return {BUFFER: len(item)}
        if isinstance(item, dict):
            return {key: hide(part) for key, part in item.items()}
        return [hide(part) for part in item] if isinstance(item, list) else item

    text = json.dumps(hide(value), separators=(",", ":")).encode()
    return [len(text).to_bytes(4, "big"), text, *buffers]


def unpack(packed: bytes) -> Any:
    """Return the value that `pack` packed, its bytes as they are.

    Raises
    ------
    MessageError
        If it is malformed.
    """
    start = 4 + int.from_bytes(packed[:4], "big")

    def restore(item: dict[str, Any]) -> Any:
        nonlocal start
        if set(item) != {BUFFER}:
            return item
        length = item[BUFFER]
        if type(length) is not int or not 0 <= length <= len(packed) - start:
            raise ValueError
        start += length
        return packed[start - length : start]

    try:
        value = json.loads(packed[4:start], object_hook=restore)
    except (ValueError, RecursionError):
        raise MessageError("a message is malformed") from None
    if start != len(packed):
        raise MessageError("a message is malformed")
    return value
