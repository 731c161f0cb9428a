"""What the arrays of messages must be: one check, in one wording, wherever a message is made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...typing import Array
from ..errors import MessageError


def check_array(
    name: str,
    array: Array,
    shape: tuple[int | None, ...],
    dtype: npt.DTypeLike = np.float64,
    least: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Raise `ValueError` unless an array is as a message's field must be.

    Parameters
    ----------
    name : str
        The field.
    array : ndarray
        Its value.
    shape : tuple of int or None
        Length of every axis; None is any.
    dtype : dtype
        Of its numbers, which are finite.
    least, most : float
        Bounds of the numbers, themselves allowed.
    """
    axes = ", ".join("any" if length is None else str(length) for length in shape)
    kind = f"{name} must be {np.dtype(dtype).name} of shape ({axes})"
    lengths = zip(array.shape, shape, strict=False)
    if array.dtype != dtype or array.ndim != len(shape) or any(wanted not in (None, own) for own, wanted in lengths):
        raise ValueError(kind)
    if not (np.isfinite(array) & (array >= least) & (array <= most)).all():
        bounds = [f" from {least:g}"] * (least > -np.inf) + [f" up to {most:g}"] * (most < np.inf)
        raise ValueError(f"{kind}, finite numbers{''.join(bounds)}")


def from_bytes(letter: bytes, dtype: npt.DTypeLike) -> Array:
    """Return the numbers that the bytes of a letter are, of a little-endian `dtype`; `MessageError` if they end within one."""
    kind = np.dtype(dtype)
    if len(letter) % kind.itemsize:
        raise MessageError("a letter of an organization has another length than it must; the job stops")
    return np.frombuffer(letter, dtype=kind).astype(kind.newbyteorder("="), copy=False)
