"""Columns as states: public domains and bins, or what the owner of a column finds in its own table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...bayes.discretise import Bins, equal_width, published, quantile
from ...bayes.encoding import SchemaError, canonical_text, is_number
from ...bayes.missing import without_top
from ...bayes.schema import LARGEST_BOUND, Column
from .. import arguments
from ..errors import ArgumentError, DataProblem, PolicyError, ThresholdError

RULES = ("published", "quantile", "width")
DEFAULT_BINS = 5
FEW_VALUES = 10
"""A numeric column without domain or bins and with at most this many values keeps them as categories."""
MOST_STATES = 10_000

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ColumnStates:
    """The states of one column.

    Attributes
    ----------
    name : str
        The column.
    labels : tuple
        One a state: categories as given, bins as text such as "[5, 7.5)", None for "missing" (always the last).
    cuts : tuple of float or None
        Cut points of the bins of a numeric column: bin i holds cuts[i-1] <= value < cuts[i].
    owners : tuple of int
        The stations that hold the column.
    public : bool
        Whether states and bins were given, not found in data.
    """

    name: str
    labels: tuple[Any, ...]
    cuts: tuple[float, ...] | None = None
    owners: tuple[int, ...] = ()
    public: bool = True

    @property
    def cardinality(self) -> int:
        """Number of states, "missing" included where it is one."""
        return len(self.labels)

    @property
    def has_missing(self) -> bool:
        """Whether the last state means that the value is missing."""
        return bool(self.labels) and self.labels[-1] is None

    def to_json(self) -> dict[str, Any]:
        """Return the description that travels from the owner to central."""
        return {
            "labels": list(self.labels),
            "cuts": None if self.cuts is None else list(self.cuts),
            "public": self.public,
        }

    @classmethod
    def from_json(cls, name: str, entry: dict[str, Any], owners: tuple[int, ...] = ()) -> ColumnStates:
        """Read what `to_json` wrote."""
        cuts = entry["cuts"]
        return cls(name, tuple(entry["labels"]), None if cuts is None else tuple(cuts), owners, bool(entry["public"]))


def check_bins(bins: Any) -> Any:
    """Return `bins` if it is a rule, a number of bins, or an object with one of these, or a list of cut points, for columns.

    Raises
    ------
    ArgumentError
        Naming the argument and what it may be.
    """
    remedy = "bins must be one of published, quantile, width, a number of bins, or an object {column: rule, number or cut points}"
    entries = list(bins.values()) if isinstance(bins, dict) else [bins]
    for entry in entries:
        if isinstance(entry, str) and entry in RULES:
            continue
        if isinstance(entry, int) and not isinstance(entry, bool) and 1 <= entry <= MOST_STATES:
            continue
        if isinstance(bins, dict) and _are_cuts(entry):
            continue
        raise ArgumentError(remedy)
    return bins


def check_domain(domain: Any) -> dict[str, Any]:
    """Return public domains by column, checked; none is {}.

    Raises
    ------
    ArgumentError
        Naming the column and what its entry may be.
    """
    known: dict[str, Any] = without_top(arguments.check_mapping("domain", domain, optional=True) or {})
    for name, entry in known.items():
        try:
            Column.from_json(name, entry)
        except SchemaError as problem:
            raise ArgumentError(f"domain: {problem}") from None
    return known


def _are_cuts(entry: Any) -> bool:
    if not isinstance(entry, list | tuple) or len(entry) >= MOST_STATES:
        return False
    return all(map(is_number, entry)) and bool((np.diff(np.asarray(entry, dtype=np.float64)) > 0).all())


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
    try:
        states, codes = _resolve_public(name, values, entry, bins) if private else _resolve(name, values, entry, bins)
    except SchemaError as problem:
        raise DataProblem(str(problem)) from None
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
        known = Column.from_json(name, entry)
        return ColumnStates(name, tuple(known.categories or ())), known.encode(values, "refuse").astype(np.int64)
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


def cut_rule(name: str, entry: dict[str, Any] | None, bins: Any) -> Any:
    """Return how a numeric column becomes public bins: a list of cut points, or a number of bins of equal width; None where it cannot.

    Quantiles would be found in data, so a rule by name means `DEFAULT_BINS` bins of equal width over the bounds.
    """
    rule = bins.get(name) if isinstance(bins, dict) else bins
    if isinstance(rule, list | tuple):
        return list(rule)
    if entry is None or "bounds" not in entry:
        return None
    return rule if isinstance(rule, int) else DEFAULT_BINS


def check_public(columns: Sequence[str], domain: dict[str, Any], bins: Any) -> None:
    """Check that every column has public states, as an answer with noise needs: states found in data would be a release without any.

    Raises
    ------
    ArgumentError
        Naming the columns and the remedy.
    """
    without = [
        name
        for name in columns
        if "categories" not in domain.get(name, {}) and cut_rule(name, domain.get(name), bins) is None
    ]
    if without:
        raise ArgumentError(
            f"domain: with an epsilon every column needs public states; give categories, bounds, or cut points in bins, for: {', '.join(without)}"
        )


def public_states(name: str, domain: dict[str, Any], bins: Any, missing_state: bool) -> ColumnStates:
    """Return the states that domain and bins give a column, as its owner has them without a look at its data."""
    entry = domain.get(name)
    if entry is not None and "categories" in entry:
        labels, cuts = tuple(Column.from_json(name, entry).categories or ()), None
    else:
        binning = _public_bins(name, entry, bins)
        labels, cuts = binning.labels, binning.cuts
    return ColumnStates(name, (*labels, None) if missing_state else labels, cuts)


def _public_bins(name: str, entry: dict[str, Any] | None, bins: Any) -> Bins:
    rule = cut_rule(name, entry, bins)
    if rule is None:
        raise PolicyError(
            f"column '{name}' has no public states; with an epsilon give its categories, bounds or cut points"
        )
    if isinstance(rule, list):
        return Bins(tuple(float(cut) for cut in rule))
    low, high = (float(bound) for bound in (entry or {})["bounds"])
    return equal_width(low, high, rule)


def _resolve_public(name: str, values: Any, entry: dict[str, Any] | None, bins: Any) -> tuple[ColumnStates, Codes]:
    """Return public states and every row's, -1 for what is missing or not understood; nothing is refused because of data."""
    import pandas

    if entry is not None and "categories" in entry:
        known = Column.from_json(name, entry)
        return ColumnStates(name, tuple(known.categories or ())), known.encode(values, "clip").astype(np.int64)
    binning = _public_bins(name, entry, bins)
    numbers = np.asarray(pandas.to_numeric(values, errors="coerce"), dtype=np.float64)
    if entry is not None:
        low, high = (float(bound) for bound in entry["bounds"])
        numbers = np.clip(numbers, low, high)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    return ColumnStates(name, binning.labels, binning.cuts), binning.encode(numbers)


def check_bins_hold(states: ColumnStates, codes: Codes, minimum: int) -> None:
    """Raise `ThresholdError` where cut points that were given leave a few records, and not none, in a bin or on one side.

    Such bins are drawn around persons, and the column's owner alone can see it. Categories, and bins found in data, are not concerned.
    """
    if states.cuts is None or not states.public or minimum <= 1:
        return
    sizes = np.bincount(codes, minlength=states.cardinality)[: len(states.cuts) + 1]
    below = np.cumsum(sizes)[:-1]
    parts = np.concatenate([sizes, below, int(sizes.sum()) - below])
    if bool(((parts > 0) & (parts < minimum)).any()):
        raise ThresholdError(
            f"bins: the cut points of column '{states.name}' leave too few records of its station on one side or between two of them; "
            "give fewer or other ones, or an epsilon where the method takes one"
        )


def _is_numeric(values: Any) -> bool:
    kind = getattr(values.dtype, "kind", "O")
    return kind in "iuf" and int(values.nunique()) > FEW_VALUES


def _bins(rule: Any, numbers: npt.NDArray[np.float64], column: Column | None) -> tuple[Bins, bool]:
    """Return the bins and whether they are public."""
    if isinstance(rule, list | tuple):
        return Bins(tuple(float(cut) for cut in rule)), True
    if rule == "published":
        return published(numbers), False
    if rule == "quantile" or (column is None and rule not in ("published",)):
        return quantile(numbers, rule if isinstance(rule, int) else DEFAULT_BINS), False
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
    places = {text: code for code, text in enumerate(labels)}
    table = np.array([-1 if text is None else places[text] for text in texts] + [-1], dtype=np.int64)
    return ColumnStates(name, tuple(labels), None, (), False), table[positions]


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


def joint_codes(codes: Sequence[Codes], cardinalities: Sequence[int]) -> Codes:
    """Return the joint state of several columns, the last one fastest."""
    joint = np.zeros_like(codes[0])
    for code, cardinality in zip(codes, cardinalities, strict=True):
        joint = joint * cardinality + code
    return joint


def indicators(codes: Codes, width: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return (rows, width) with a 1 in the column of each row's state; states from `width` on have none."""
    ones: npt.NDArray[Any] = (codes[:, None] == np.arange(width)[None, :]).astype(dtype)
    return ones
