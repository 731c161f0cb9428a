"""Masked parts of a sum that one station learns: they travel sealed for it, with the word that shows whether they fit together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...mpc.secure_sum import reconstruct
from ...typing import Words
from ..errors import MessageError
from ..gate import Masked

UNFITTING = "the masks of the stations do not fit together: they were not asked the same, or do not have the same records linked; the job stops"


def letter_of(part: Masked) -> Words:
    """Return a station's part of a sum and its word of check, flat: what is kept by the station that adds up, and sealed for it by the others."""
    return np.concatenate([part.value.reshape(-1), part.check])


def added_up(letters: Sequence[Words], size: int) -> Words:
    """Return the sum of everybody's parts, (size,), after their masks were seen to cancel.

    Parameters
    ----------
    letters : sequence of ndarray of uint64
        What `letter_of` made, of all who take part.
    size : int
        How many numbers the sum has.

    Raises
    ------
    MessageError
        When a part has another length, or the masks do not cancel: somebody was asked something else, or linked other records.
    """
    if any(letter.shape != (size + 1,) for letter in letters):
        raise MessageError("a part of a sum has another length than it must; the job stops")
    total = reconstruct(list(letters))
    if int(total[-1]) != 0:
        raise MessageError(UNFITTING)
    sums: Words = total[:-1]
    return sums
