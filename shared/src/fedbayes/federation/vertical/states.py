"""Columns as states: what domain and bins say of them before any table is read; `coding` has what the owner of a column makes of its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bayes.network.discretise import Bins, equal_width
from ...bayes.network.variable import MISSING_STATE, Variable
from ...bayes.schema import Column
from ...bayes.values.encoding import canonical_text, is_number
from ...bayes.values.missing import without_top
from ...bayes.values.names import nearest
from .. import arguments
from ..errors import ArgumentError, PolicyError, schema_errors
from ..messages.codec import Message, decode

RULES = ("published", "quantile", "width")
DEFAULT_BINS = 5
"""Of a column with bounds for which the caller names no number."""
MOST_STATES = 10_000
"""Of one column: more make tables that nobody reads, and requests that fill a station's memory."""
MOST_CELLS = 2**22
"""Of one table, 32 MB of counts: what a search over a few parents asks for is far smaller."""


class Described(Message):
    """The states of a column on their way from its owner to central, see `ColumnStates`."""

    labels: list[Any]
    cuts: list[float] | None
    public: bool

    def __post_init__(self) -> None:
        values = [label for label in self.labels if label is not None]
        texts = {str(value) for value in values if isinstance(value, str | int | float)}
        if self.labels[: len(values)] != values or len(self.labels) > len(values) + 1:
            raise ValueError("the states of a column are malformed")
        if len(texts) != len(values) if self.cuts is None else len(values) != len(self.cuts) + 1:
            raise ValueError("the states of a column are malformed")
        if self.cuts and not _are_cuts(self.cuts):
            raise ValueError("the cut points of a column are malformed")


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

    def variable(self) -> Variable:
        """Return the column as a node of a network: its states as texts, "missing" apart.

        Raises
        ------
        ArgumentError
            If a category is called as networks call "missing".
        """
        values = (label for label in self.labels if label is not None)
        texts = tuple(label if isinstance(label, str) else str(canonical_text(label)) for label in values)
        if MISSING_STATE in texts:
            raise ArgumentError(
                f"column '{self.name[:60]}' has a category '{MISSING_STATE}', which is what a network calls a missing value; "
                "name it among the codes for missing values of the dictionary, or recode it there"
            )
        return Variable(self.name, texts, self.has_missing, self.cuts)

    def to_json(self) -> dict[str, Any]:
        """Return the description that travels from the owner to central."""
        return {
            "labels": list(self.labels),
            "cuts": None if self.cuts is None else list(self.cuts),
            "public": self.public,
        }

    @classmethod
    def from_json(cls, name: str, entry: dict[str, Any], owners: tuple[int, ...] = ()) -> ColumnStates:
        """Read what `to_json` wrote; `MessageError` if it is something else."""
        column: Described = decode(Described, entry)
        cuts = None if column.cuts is None else tuple(column.cuts)
        return cls(name, tuple(column.labels), cuts, owners, column.public)


def check_bins(bins: Any) -> Any:
    """Return `bins` if it is a rule, a number of bins, or an object with one of these, or a list of cut points, for columns.

    Raises
    ------
    ArgumentError
        Naming the argument and what it may be.
    """
    rules = "published, quantile, width, a number of bins, or an object {column: rule, number or cut points}"
    remedy = f"bins must be one of {rules}; cut points are finite and increase"
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


def check_binned(columns: Sequence[str], bins: Any, domain: Mapping[str, Any] | None) -> None:
    """Refuse bins that change nothing: of a column that the task does not have, as a misspelled one, or of one with categories.

    Raises
    ------
    ArgumentError
        Naming the column.
    """
    for name in bins if isinstance(bins, Mapping) else ():
        if name not in columns:
            raise ArgumentError(
                f"bins names '{str(name)[:60]}', which is no column of the task{nearest(str(name), columns)}; leave it out"
            )
        if "categories" in ((domain or {}).get(name) or {}):
            raise ArgumentError(f"bins names '{str(name)[:60]}', which has categories in the domain; leave it out")


def check_domain(domain: Any) -> dict[str, Any]:
    """Return public domains by column, checked; none is {}.

    Raises
    ------
    ArgumentError
        Naming the column and what its entry may be.
    """
    entries: dict[str, Any] = without_top({} if domain is None else arguments.check_mapping("domain", domain))
    for name, entry in entries.items():
        with schema_errors(ArgumentError, "domain"):
            Column.from_json(name, entry)
    return entries


def _are_cuts(entry: Any) -> bool:
    if not isinstance(entry, list | tuple) or len(entry) >= MOST_STATES:
        return False
    return all(map(is_number, entry)) and bool((np.diff(np.asarray(entry, dtype=np.float64)) > 0).all())


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
            "domain: tables with noise, and those of records that are split by rows, need public states; give categories, bounds, "
            f"or cut points in bins, for: {', '.join(without)}"
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


def check_cells(tables: Sequence[Sequence[str]], variables: Mapping[str, Variable]) -> None:
    """Raise `ArgumentError` before anything runs if one table would have too many cells."""
    for table in tables:
        if math.prod(len(variables[column].all_states()) for column in table) > MOST_CELLS:
            raise ArgumentError(
                f"a table over {', '.join(table)} would have too many cells; give coarser bins or lower max_parents"
            )


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
