"""Bins for numeric columns: [low, high), open at both ends, so that later values always have a bin.

Cut points found in data are facts about the data (order statistics): where they may not be public, give the
cuts. `rounded` puts them between two values, so that none need be a record's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import numpy.typing as npt

from ...typing import Floats
from ..values.digits import in_few_digits
from ..values.encoding import equal_widths
from .model import MISSING, Codes

MINIMUM_RECORDS = 10  # of a published bin (van Daalen et al.)
MINIMUM_SHARE = 0.1  # of a published bin, of all records


@dataclass(frozen=True)
class Bins:
    """Bins of a numeric column.

    Attributes
    ----------
    cuts : tuple[float, ...]
        Strictly increasing, finite; bin i holds cuts[i-1] <= value < cuts[i]. No cut: one bin.
    """

    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not np.isfinite(self.cuts).all() or (np.diff(self.cuts) <= 0).any():
            raise ValueError("bins are given by finite cut points in increasing order")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the bins, such as "(-inf, 5)", "[5, 7.5)", "[7.5, inf)"; in twelve digits, or all where these do not tell points apart."""
        texts = [format(cut, ".12g") for cut in self.cuts]
        if len(set(texts)) < len(texts):
            texts = [repr(float(cut)) for cut in self.cuts]
        lows = ["(-inf", *(f"[{text}" for text in texts)]
        return tuple(f"{low}, {high})" for low, high in zip(lows, [*texts, "inf"], strict=True))

    def encode(self, values: npt.ArrayLike) -> Codes:
        """Return the bin of each value, int64, -1 for NaN."""
        numbers = np.asarray(values, dtype=np.float64)
        codes = np.searchsorted(np.asarray(self.cuts), numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), MISSING, codes)


def published(
    values: npt.ArrayLike, minimum_records: int = MINIMUM_RECORDS, minimum_share: float = MINIMUM_SHARE
) -> Bins:
    """Return the bins of VertiBayes: from the smallest value up until a bin is full; a remainder joins the
    last bin.

    Parameters
    ----------
    values : float array, shape (rows,)
        NaN = missing.
    minimum_records, minimum_share : int, float
        A bin is full with this many records and this share of all rows, missing ones included.

    References
    ----------
    van Daalen et al. (2024), VertiBayes, section on discretisation.
    """
    numbers = np.asarray(values, dtype=np.float64)
    needed = max(float(minimum_records), minimum_share * len(numbers))
    distinct, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    cuts: list[float] = []
    inside, left = 0, int(counts.sum())
    for value, count in zip(distinct, counts, strict=True):
        if inside >= needed and left >= needed:
            cuts.append(float(value))
            inside = 0
        inside += int(count)
        left -= int(count)
    return Bins(tuple(cuts))


def quantile(values: npt.ArrayLike, bins: int = 5) -> Bins:
    """Return bins of about equal frequency; fewer where values repeat.

    Raises
    ------
    ValueError
        Fewer than one bin.
    """
    if bins < 1:
        raise ValueError("bins must be 1 or more")
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return Bins()
    inner = np.quantile(numbers, np.arange(1, bins) / bins, method="higher")
    return Bins(tuple(float(cut) for cut in np.unique(inner) if cut > numbers.min()))


def rounded(bins: Bins, values: npt.ArrayLike) -> Bins:
    """Return bins that hold the same of some values, with cut points of the fewest digits: each was a value, and lies now between it and the next lower one.

    Parameters
    ----------
    bins : Bins
        Of which every cut point is a value, and not the least.
    values : float array, shape (rows,)
        NaN = missing.
    """
    numbers = np.asarray(values, dtype=np.float64)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    lower = distinct[np.searchsorted(distinct, bins.cuts) - 1]
    return Bins(tuple(in_few_digits(cut, low, tens=True) for low, cut in zip(lower.tolist(), bins.cuts, strict=True)))


def equal_width(low: float, high: float, bins: int) -> Bins:
    """Return ``bins`` bins of equal width over public bounds; the outer two are open.

    Raises
    ------
    ValueError
        Bounds that do not increase, or fewer than one bin.
    """
    if not low < high or bins < 1:
        raise ValueError("give bounds in increasing order and 1 bin or more")
    return Bins(tuple(float(cut) for cut in equal_widths(low, high, bins)[1:-1]))


def minimum_description_length(counts: npt.ArrayLike, cuts: Sequence[float]) -> Bins:
    """Return the bins that the Fayyad-Irani criterion keeps out of finer ones, from their class counts alone.

    Parameters
    ----------
    counts : int array, shape (len(cuts) + 1, classes)
        Records of each fine bin and class.
    cuts : sequence of float
        Cut points of the fine bins.

    Raises
    ------
    ValueError
        The counts do not have a row per fine bin.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes, section 3.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(cuts) + 1:
        raise ValueError("the counts need one row per fine bin and one column per class")
    cumulative = np.vstack([np.zeros(table.shape[1]), np.cumsum(table, axis=0)])
    kept: list[int] = []
    waiting = [(0, len(table))]
    while waiting:
        low, high = waiting.pop()
        cut = _best_cut(cumulative, low, high)
        if cut is not None:
            kept.append(cut)
            waiting += [(low, cut), (cut, high)]
    return Bins(tuple(float(cuts[cut - 1]) for cut in sorted(kept)))


def _best_cut(cumulative: Floats, low: int, high: int) -> int | None:
    """Return the cut with the least class entropy in fine bins [low, high) if it pays for itself, else
    None.
    """
    whole = cumulative[high] - cumulative[low]
    rows = whole.sum()
    best, best_cut = float("inf"), None
    for cut in range(low + 1, high):
        left, right = cumulative[cut] - cumulative[low], cumulative[high] - cumulative[cut]
        if left.sum() == 0 or right.sum() == 0:
            continue
        rest = (left.sum() * _entropy(left) + right.sum() * _entropy(right)) / rows
        if rest < best - 1e-12:
            best, best_cut = rest, cut
    if best_cut is None:
        return None
    left, right = cumulative[best_cut] - cumulative[low], cumulative[high] - cumulative[best_cut]
    parts = [(int((part > 0).sum()), _entropy(part)) for part in (whole, left, right)]
    (k, entropy), (k1, entropy1), (k2, entropy2) = parts
    delta = log2(3.0**k - 2.0) - (k * entropy - k1 * entropy1 - k2 * entropy2)
    gain = entropy - best
    return best_cut if gain > (log2(rows - 1.0) + delta) / rows else None


def _entropy(counts: Floats) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
