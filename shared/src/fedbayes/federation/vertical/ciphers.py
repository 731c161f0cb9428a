"""Contents that travel enciphered once: each under a key of its own, which serves no other content."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...typing import Integers
from ..errors import MessageError
from ..gate import Sealed
from ..messages.arrays import from_bytes

HASH = np.dtype("<u8")  # of an identifier, as stations send it
PLACE = np.dtype("<i4")
"""Of a row among the rows of a station, or in a union: as wide as the number of records may be (`engine.LARGE_RING_ROWS`)."""


def encipher(key: bytes, plain: bytes, topic: str) -> bytes:
    """Return a content under a key that serves this one content."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(bytes(12), plain, topic.encode())


def decipher(key: bytes, content: bytes, topic: str) -> bytes:
    """Return what `encipher` hid; `MessageError` if it was changed or is of another job, stage or sender."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), content, topic.encode())
    except (InvalidTag, ValueError):
        raise MessageError("openings were changed, or are of another job or round; the job stops") from None


def letter_of(letters: Mapping[int, Sealed], receiver: int) -> Sealed:
    """Return the letter for one organization; `MessageError` where there is none."""
    if receiver not in letters:
        raise MessageError("a parcel of the request is not for this station; the job stops")
    return letters[receiver]


def places_of(plain: bytes) -> Integers:
    """Return places of rows, which travelled as so many bytes."""
    return from_bytes(plain, PLACE).astype(np.int64)
