"""Recodes of numbers: what is only another name of a category is another part in a sum, or another place in a model, of a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...bayes.values.encoding import number_of
from ...typing import Integers


def moves_few(
    recodes: Sequence[Mapping[str | None, str | None]],
    texts: Sequence[str | None],
    groups: Integers,
    rows: Integers,
    minimum: int,
) -> bool:
    """Return whether readings of a column take values of fewer than `minimum` rows for different numbers, or may, of all others, leave so few as they are.

    Two sums that differ in one record's number differ by what this record has at another station. Where all but a few rows have values of many, readings that
    move these one after the other tell of the few that none moves.

    Parameters
    ----------
    recodes : sequence of mapping
        Of each reading: text of a value -> text of what it is taken for.
    texts : sequence of str or None
        Values, with decimal points.
    groups : int64 array, shape (readings, values)
        Group of each value by every reading, negative where it is missing.
    rows : int64 array, shape (values,)
        Rows that have the value.
    minimum : int
        Rows.
    """
    recoded = [row for row, text in enumerate(texts) if any(text in recode for recode in recodes)]
    values = [texts[row] for row in recoded]
    written = np.array([_number(text) for text in values])
    read = np.array([[_number(recode.get(text, text)) for text in values] for recode in recodes])
    named = np.isnan(read) & ~np.isnan(written)  # taken for a name, and so in no sum
    numbers = np.where(named, written, np.where(np.isnan(read), np.inf, read))
    moved = np.zeros(len(texts), dtype=np.bool_)
    moved[recoded] = (numbers != numbers[0]).any(axis=0)
    if not moved.any():
        return False
    _, together = np.unique(groups, axis=1, return_inverse=True)
    sizes = np.bincount(together.ravel(), weights=rows)[together.ravel()]
    few = (sizes > 0) & (sizes < minimum) & (groups >= 0).any(axis=0)
    numeric = np.array([any(not np.isnan(_number(recode.get(text, text))) for recode in recodes) for text in texts])
    return bool((moved & few).any() or 0 < rows[few & numeric].sum() < minimum)


def _number(text: str | None) -> float:
    number = number_of(text)
    return np.nan if number is None else number
