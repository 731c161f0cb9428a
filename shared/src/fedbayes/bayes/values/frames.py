"""Tables with more columns, of any name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_columns(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return a table with these columns in the place of its own of the same names, or behind them.

    ``DataFrame.assign`` takes names as keywords, of which it has one itself: a column ``self`` would be no column.

    Parameters
    ----------
    frame : pandas.DataFrame
        Not changed.
    columns : mapping
        Name -> values, one a row, or one for all rows.

    Returns
    -------
    pandas.DataFrame
    """
    made = frame.copy(deep=False)
    for name, values in columns.items():
        made[name] = values
    return made
