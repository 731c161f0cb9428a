"""A column as states for exact answers about one station's own rows, under every guard of its owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..station import Station
from .coding import Codes, check_bins_hold, check_categories_hold, resolve
from .states import ColumnStates


def check_unhidden(station: Station, states: ColumnStates, codes: Codes) -> None:
    """Refuse a column's states where small cells are told: those of categories that few have each, and of few values that the task takes for missing.

    Raises
    ------
    ThresholdError
        As of `check_categories_hold` and `check_made_missing`.
    """
    check_categories_hold(states, codes, station.policy.minimum_count)
    station.check_made_missing(states.name, codes == states.cardinality - 1)


def note_code(station: Station, columns: Sequence[str], domain: Mapping[str, Any]) -> None:
    """Hold a product of own columns of few values against earlier tables and counts, as the count that it is: of the rows in which none is 0.

    One column alone is a table too, of which the product adds up the cells.

    Raises
    ------
    ThresholdError
        If with an earlier answer it sets few rows apart.
    """
    if len(columns) == 1:
        station.history.note_bins(columns[0], domain, (), chosen=False)
    station.history.check_conditions([(column, "!=", 0) for column in columns], domain)


def own_states(
    station: Station, name: str, values: Any, domain: Mapping[str, Any], bins: Any
) -> tuple[ColumnStates, Codes]:
    """Return a column's states, of which the last is "missing", and the state of every row.

    Its cut points must leave enough records beside them, and are noted: the maker of exact answers holds them against those of other columns that are
    made of the same number, and of earlier exact answers.

    Parameters
    ----------
    station : Station
        Whose rows.
    name : str
        The column.
    values : pandas.Series
        Its values, (rows,).
    domain : mapping
        Public domains of columns.
    bins : object
        As checked by `check_bins`.

    Returns
    -------
    tuple of ColumnStates and int64 array (rows,)

    Raises
    ------
    DataProblem
        As of `resolve`.
    ThresholdError
        If given cut points leave few records on a side, or in a bin; as of `check_unhidden`; or the node remembers nothing.
    """
    states, codes = resolve(name, values, domain.get(name), bins, True, True)
    station.history.note_borders(name, states.cuts or ())
    station.history.note_bins(name, domain, states.cuts or (), states.public)
    check_bins_hold(states, codes, station.policy.minimum_count, station.cut)
    check_unhidden(station, states, codes)
    return states, codes
