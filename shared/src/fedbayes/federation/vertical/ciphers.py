"""Contents that travel enciphered once: each under a key of its own, which serves no other content."""

from __future__ import annotations

from ..errors import MessageError


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
    except InvalidTag:
        raise MessageError("openings were changed, or are of another job or round; the job stops") from None
