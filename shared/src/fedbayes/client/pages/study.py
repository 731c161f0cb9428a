"""A data dictionary or a domain in a report: one row a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import html
from ..formats import number, title

MOST_VALUES = 40  # of a cell
LONGEST_OPEN = 15
"""Columns that are shown without a click."""
SHOWN = ("type", "categories", "bounds", "unit", "label")
HEADING = ("Column", "Type", "Values", "Besides")


def columns_table(name: str, columns: Any) -> list[str]:
    """Return the columns of a dictionary or of a domain as one table; nothing where they are none.

    Parameters
    ----------
    name : str
        Of the argument, above the table.
    columns : mapping
        Column -> entry, as in a dictionary.
    """
    if not isinstance(columns, Mapping) or not columns or not all(isinstance(e, Mapping) for e in columns.values()):
        return []
    rows = [_row(str(column), entry) for column, entry in columns.items()]
    used = [index for index in range(len(HEADING)) if not index or any(row[index] for row in rows)]
    table = html.table(
        title(name), [HEADING[index] for index in used], [[row[index] for index in used] for row in rows]
    )
    return [table if len(rows) <= LONGEST_OPEN else html.fold(f"{title(name)} ({len(rows)})", table)]


def dictionary(content: Any) -> list[str]:
    """Return a dictionary: its columns, then what holds for the file; nothing where it is none."""
    if not isinstance(content, Mapping):
        return []
    whole = [(title(str(name)), _text(value)) for name, value in content.items() if name != "columns"]
    table = html.table("", ("Of all columns", "Value"), whole) if whole else ""
    return [piece for piece in (*columns_table("dictionary", content.get("columns")), table) if piece]


def tables_of(arguments: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of those arguments that say what columns hold, by name; others, and what is no such content, are left out."""
    shown = {name: show(arguments[name]) for name, show in TABLES.items() if name in arguments}
    return {name: pieces for name, pieces in shown.items() if pieces}


def _row(column: str, entry: Mapping[str, Any]) -> tuple[str, str, str, str]:
    bounds, unit = entry.get("bounds"), entry.get("unit")
    values = _text(entry.get("categories"))
    if isinstance(bounds, list) and len(bounds) == 2:
        values = f"{number(bounds[0])} to {number(bounds[1])}" + (f" {unit}" if unit else "")
    named = f"{column} ({entry['label']})" if entry.get("label") else column
    besides = [f"{title(str(name))}: {_text(value)}" for name, value in entry.items() if name not in SHOWN]
    return named, _text(entry.get("type")), values, "; ".join(besides)


def _text(value: Any) -> str:
    """Return a value as words: of a mapping ``F = female``, of a list its entries; a text that is empty, or has a comma in a list, in quotes."""
    if isinstance(value, Mapping):
        parts = [f"{name} = {_text(item)}" for name, item in value.items()]
    elif isinstance(value, list):
        parts = [f'"{item}"' if isinstance(item, str) and "," in item else _text(item) for item in value]
    elif value is None:
        return ""
    else:
        return number(value) if value != "" else '""'
    more = f" and {len(parts) - MOST_VALUES} more" if len(parts) > MOST_VALUES else ""
    return ", ".join(parts[:MOST_VALUES]) + more


TABLES: dict[str, Callable[[Any], list[str]]] = {
    "domain": lambda columns: columns_table("domain", columns),
    "dictionary": dictionary,
}
"""Argument -> its tables."""
