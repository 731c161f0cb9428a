"""Whether numbers could be uniform: the gate's own look at what is said to be a share."""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST_BYTES = 256  # fewer cannot be tested: chance alone looks uneven
MOST_BYTES = 1 << 20  # of a share that are looked at
LARGEST_CHI_SQUARED = 255.0 + 11.0 * (2 * 255.0) ** 0.5
"""255 degrees of freedom, eleven standard deviations out: uniform bytes are refused once in far more than 10^12 times."""


def is_uniform(value: Any) -> bool:
    """Return False if the bytes of a value are plainly not uniform.

    Parameters
    ----------
    value : ndarray, bytes, or nested lists, tuples and dicts of these
        Anything else is not uniform. Fewer than 256 bytes say nothing.

    Returns
    -------
    bool
        By Pearson's chi-squared statistic of the byte values, of at most a million bytes spread over the whole.
    """
    if isinstance(value, dict):
        return all(is_uniform(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(is_uniform(part) for part in value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "ui":
            return value.size == 0
        content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    elif isinstance(value, bytes):
        content = np.frombuffer(value, dtype=np.uint8)
    else:
        return False
    if len(content) < LEAST_BYTES:
        return True
    if len(content) > MOST_BYTES:
        words = len(content) // 8
        step = -(-words * 8 // MOST_BYTES)
        content = content[: words * 8].reshape(words, 8)[::step].reshape(-1)
    expected = len(content) / 256.0
    observed = np.bincount(content, minlength=256)
    return bool(((observed - expected) ** 2).sum() / expected <= LARGEST_CHI_SQUARED)
