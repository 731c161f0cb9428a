"""A column as states at its owner: the state of every row, by public domains and bins, or by what the owner finds in its own table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...bayes.dictionaries.entry import Cut
from ...bayes.network.discretise import Bins, equal_width, published, quantile, rounded
from ...bayes.schema import LARGEST_BOUND, Column
from ...bayes.values import column_codes
from ...bayes.values.encoding import canonical_text, number_written
from ..errors import DataProblem, ThresholdError, schema_errors
from .states import DEFAULT_BINS, MOST_STATES, ColumnStates, public_states

FEW_VALUES = 10
"""A numeric column without domain or bins and with at most this many values keeps them as categories."""
MOST_FOUND_CUTS = 19
"""Of bins that are found in a column, and so told: each is the value of a record."""
MOST_IN_RARE = 0.1
"""Part of the records that may have rare categories where their counts are told: columns of names, dates or numbers have most, honest ones a few hundredths."""
LISTED = (
    "domain, dictionary: column '{}' has many categories that few records have each, of whom the answer would tell; give bounds or cut points of "
    "a number, leave the column out, or give an epsilon"
)

Codes = npt.NDArray[np.int64]


def resolve(
    name: str,
    values: Any,
    entry: dict[str, Any] | None,
    bins: Any,
    missing_state: bool,
    always: bool = False,
    private: bool = False,
) -> tuple[ColumnStates, Codes]:
    """Return a column's states and the state of every row.

    Parameters
    ----------
    name : str
        The column.
    values : pandas.Series
        Its values, (rows,).
    entry : dict or None
        Its public domain: ``{"categories": [...]}`` or ``{"bounds": [low, high]}``.
    bins : object
        As checked by `check_bins`.
    missing_state : bool
        Whether "missing" may be a state of its own: it is one where the states are public or a value is missing.
    always : bool
        Whether it is one in any case (united records).
    private : bool
        Whether states must be public and nothing may be refused because of data: what is unknown is then missing, always a state.

    Returns
    -------
    tuple of ColumnStates and int64 array (rows,)

    Raises
    ------
    DataProblem
        Naming the column: a value outside the domain, values missing without a state for them, or nothing but missing values.
    """
    with schema_errors(DataProblem):
        states, codes = _resolve_public(name, values, entry, bins) if private else _resolve(name, values, entry, bins)
    if private:
        return replace(states, labels=(*states.labels, None)), np.where(codes < 0, len(states.labels), codes)
    missing = codes < 0
    if len(codes) and missing.all():
        raise DataProblem(f"column '{name}' has no value in any row at this station; leave the column out")
    if missing.any() and not missing_state:
        raise DataProblem(f"column '{name}' has missing values; make missing a state, or drop the rows at the station")
    added = missing_state and (always or states.public or bool(missing.any()))
    labels = (*states.labels, None) if added else states.labels
    codes = np.where(missing, len(labels) - 1, codes)
    return ColumnStates(name, labels, states.cuts, (), states.public), codes


def _resolve(name: str, values: Any, entry: dict[str, Any] | None, bins: Any) -> tuple[ColumnStates, Codes]:
    if entry is not None and "categories" in entry:
        categories = Column.from_json(name, entry)
        return ColumnStates(name, tuple(categories.categories or ())), categories.encode(values, "refuse").astype(
            np.int64
        )
    rule = bins.get(name) if isinstance(bins, dict) else bins
    named = isinstance(bins, dict) and name in bins
    if entry is None and not named and not _is_numeric(values):
        return _found_categories(name, values)
    column: Column | None = None
    if entry is not None:
        column = Column.from_json(name, entry)
        numbers = np.asarray(column.encode(values, "clip"), dtype=np.float64)
    else:
        numbers = np.asarray(Column(name, bounds=(-LARGEST_BOUND, LARGEST_BOUND)).encode(values), dtype=np.float64)
    binning, public = _bins(rule, numbers, column)
    return ColumnStates(name, binning.labels, binning.cuts, (), public), binning.encode(numbers)


def _resolve_public(name: str, values: Any, entry: dict[str, Any] | None, bins: Any) -> tuple[ColumnStates, Codes]:
    """Return public states and every row's, -1 for what is missing or not understood; nothing is refused because of data."""
    states = public_states(name, {} if entry is None else {name: entry}, bins, False)
    if states.cuts is None:
        return states, Column.from_json(name, entry).encode(values, "clip").astype(np.int64)
    low, high = (-np.inf, np.inf) if entry is None else (float(bound) for bound in entry["bounds"])
    plain = column_codes.numbers(name, values, (low, high), "absorb")
    return states, Bins(states.cuts).encode(np.where(np.isfinite(plain), plain, np.nan))


def check_bins_hold(states: ColumnStates, codes: Codes, minimum: int, cut: Mapping[str, Cut]) -> None:
    """Raise `ThresholdError` where states would tell of persons, which the column's owner alone can see.

    Cut points that were given must not leave a few records, and not none, in a bin or on one side: they are drawn around persons. What is found in data is
    told with the answer, whatever counts are hidden: so there are no more cut points than quantiles of enough records have, and fewer than `minimum`
    categories that few records have each. Categories that were given are not concerned, but for those that a dictionary cuts from a number.

    Parameters
    ----------
    states : ColumnStates
        The states of the column.
    codes : int64 array (rows,)
        The state of every row.
    minimum : int
        Records that the owner demands.
    cut : mapping of str to Cut
        Columns that the dictionary cuts from numbers.
    """
    if minimum <= 1:
        return
    counts = np.bincount(codes, minlength=states.cardinality)
    if not states.public:
        _check_found(states, counts, minimum)
    if states.cuts is not None and states.public:
        sizes = counts[: len(states.cuts) + 1]
    elif states.name in cut:
        size_of = {canonical_text(label): counts[code] for code, label in enumerate(states.labels)}
        sizes = np.array([size_of.get(canonical_text(category), 0) for category in cut[states.name].categories])
    else:
        return
    below = np.cumsum(sizes)[:-1]
    parts = np.concatenate([sizes, below, int(sizes.sum()) - below])
    if bool(((parts > 0) & (parts < minimum)).any()):
        raise ThresholdError(
            f"bins, bounds, dictionary: the cut points of column '{states.name}' leave too few records of its station on one side or between two of them; "
            "give fewer or other ones, or an epsilon where the method takes one"
        )


def _check_found(states: ColumnStates, counts: npt.NDArray[np.intp], minimum: int) -> None:
    """Raise `ThresholdError` where states found in data are, in good part, the values of single records."""
    sizes = counts[: len(states.labels) - int(states.has_missing)]
    if states.cuts is not None:
        most = max(DEFAULT_BINS - 1, min(MOST_FOUND_CUTS, int(sizes.sum()) // minimum))
        if len(states.cuts) > most:
            raise ThresholdError(
                f"bins: so many cut points of column '{states.name}' would be values of its station's records; "
                "give fewer bins, or its bounds (in domain or dictionary) or cut points"
            )
    elif int(((sizes > 0) & (sizes < minimum)).sum()) >= minimum:
        raise ThresholdError(
            f"domain, dictionary: column '{states.name}' has many values that few of its station's records have each, and an answer would list them; "
            "give its categories, or leave it out"
        )


def singles_records_out(sizes: npt.NDArray[Any], minimum: float) -> bool:
    """Return whether categories are, in good part, the values of single records: as many as `minimum` have few each, and together some part of all.

    Parameters
    ----------
    sizes : ndarray, shape (categories,)
        Records that have each.
    minimum : float
        Fewer are few.
    """
    few = (sizes > 0) & (sizes < minimum)
    return bool(minimum > 1 and few.sum() >= minimum and sizes[few].sum() > MOST_IN_RARE * sizes.sum())


def check_categories_hold(states: ColumnStates, codes: Codes, minimum: int) -> None:
    """Raise `ThresholdError` where categories are, in good part, the values of single records, for answers in which small cells are told."""
    counts = np.bincount(codes, minlength=states.cardinality)[: len(states.labels) - int(states.has_missing)]
    if states.cuts is None and singles_records_out(counts, minimum):
        raise ThresholdError(LISTED.format(states.name))


def _is_numeric(values: Any) -> bool:
    kind = getattr(values.dtype, "kind", "O")
    return kind in "iuf" and int(values.nunique()) > FEW_VALUES


def _bins(rule: Any, numbers: npt.NDArray[np.float64], column: Column | None) -> tuple[Bins, bool]:
    """Return the bins and whether they are public; those that are found in data have no record's own value as a cut point, where others hold the same."""
    if isinstance(rule, list | tuple):
        return Bins(tuple(float(cut) for cut in rule)), True
    if rule == "published":
        return rounded(published(numbers), numbers), False
    if rule == "quantile" or (column is None and rule not in ("published",)):
        return rounded(quantile(numbers, rule if isinstance(rule, int) else DEFAULT_BINS), numbers), False
    low, high = column.bounds if column is not None and column.bounds is not None else (0.0, 1.0)
    return equal_width(low, high, rule if isinstance(rule, int) else DEFAULT_BINS), True


def _found_categories(name: str, values: Any) -> tuple[ColumnStates, Codes]:
    """Categories are the canonical texts of the values that occur, in order."""
    import pandas

    positions, distinct = pandas.factorize(values, use_na_sentinel=True)
    texts = [canonical_text(value) for value in distinct]
    labels = sorted({text for text in texts if text is not None}, key=_natural)
    if len(labels) > MOST_STATES:
        raise DataProblem(f"column '{name}' has too many values for a table; give bins or leave it out")
    code_of = {text: code for code, text in enumerate(labels)}
    table = np.array([-1 if text is None else code_of[text] for text in texts] + [-1], dtype=np.int64)
    return ColumnStates(name, tuple(labels), None, (), False), table[positions]


def _natural(text: str) -> tuple[int, float, str]:
    number = number_written(text)
    return (1, 0.0, text) if number is None else (0, number, text)


def joint_codes(codes: Sequence[Codes], cardinalities: Sequence[int]) -> Codes:
    """Return the joint state of several columns, the last one fastest."""
    joint = np.zeros_like(codes[0])
    for code, cardinality in zip(codes, cardinalities, strict=True):
        joint = joint * cardinality + code
    return joint


def indicators(codes: Codes, width: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return (rows, width) with a 1 in the column of each row's state; states from `width` on have none."""
    ones: npt.NDArray[Any] = (codes[None, :] == np.arange(width)[:, None]).astype(dtype).T
    return ones
