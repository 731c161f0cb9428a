"""Pseudo-random expansion of a secret key into arrays that are uniform over a ring.

The stream is ChaCha20 under a subkey of its own for every name, dtype and shape, so two names never share a
byte of stream and a caller cannot reuse one by mistake.
"""

import hmac
from typing import Any

import numpy as np
import numpy.typing as npt

KEY_BYTES = 32  # of ChaCha20 (RFC 8439)
_DOMAIN = b"fedbayes/prg/1"
_CHUNK = bytes(1 << 20)  # zeros that are enciphered at a time


def _subkey(key: bytes, label: str) -> bytes:
    """Derive the stream's own key: HMAC-SHA256 of the domain and the label."""
    return hmac.digest(key, _DOMAIN + b"\x00" + label.encode(), "sha256")


def expand(
    key: bytes, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.uint64
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Expand a key into an array that is uniform over all values of an unsigned dtype.

    Parameters
    ----------
    key : bytes
        32 secret bytes.
    name : str
        The purpose: round, tensor and whatever else must not share a stream. Equal names give equal arrays.
    shape : int or tuple of int
        The array's shape.
    dtype : dtype
        uint8, uint16, uint32 or uint64.

    Returns
    -------
    ndarray of `shape` and `dtype`, little-endian content, the same on every machine

    Raises
    ------
    ValueError
        When the key is not 32 bytes long or the dtype is not unsigned.

    Notes
    -----
    **Reveals** nothing about the key or about other names to whoever lacks the key.
    **Assumes** that ChaCha20 and HMAC-SHA256 are pseudo-random functions.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    kind = np.dtype(dtype)
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key of an expansion has {KEY_BYTES} bytes")
    if kind.kind != "u":
        raise ValueError(f"an expansion fills an unsigned dtype, not {kind}")
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    values = np.empty(sizes, dtype=kind.newbyteorder("<"))
    stream_key = _subkey(key, f"uint{8 * kind.itemsize}{sizes}{name}")
    cipher = Cipher(algorithms.ChaCha20(stream_key, bytes(16)), mode=None)
    encryptor = cipher.encryptor()
    stream = values.reshape(-1).view(np.uint8).data
    for start in range(0, len(stream), len(_CHUNK)):
        piece = stream[start : start + len(_CHUNK)]
        encryptor.update_into(_CHUNK[: len(piece)], piece)
    return values.astype(kind, copy=False)
