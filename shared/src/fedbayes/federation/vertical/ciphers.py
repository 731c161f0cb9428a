"""Contents that travel enciphered once: each under a key of its own, which serves no other content."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import MessageError
from ..gate import Sealed


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
