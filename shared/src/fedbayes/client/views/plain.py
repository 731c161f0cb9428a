"""Any JSON as tables: records as rows, mappings as names and values, tables of numbers as tables; nothing is shown as raw JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures import steps
from ..figures.style import to_svg
from ..formats import OURS, WORDS, digits_of, is_plain, number, plain_items, title, word

MOST_ROWS = 60  # of a table
MOST_COLUMNS = 24  # of a table on a wide screen
MOST_ITEMS = 40  # of a list in a sentence
DEEPEST = 4  # nested headings
DRAWN = ("objective",)
"""Lists of numbers that follow one another step by step."""
LONGEST_OPEN = 15
"""Rows of a table that is shown without a click."""


def mapping(content: Mapping[str, Any], depth: int = 0) -> list[str]:
    """Return a mapping: its plain entries as one table, every other entry under its name."""
    rows = list(plain_items(content).items())
    pieces = [html.table("", ("Name", "Value"), rows)] if rows else []
    nested = {name: value for name, value in content.items() if not is_plain(value)}
    return pieces + [piece for name, value in nested.items() for piece in entry(str(name), value, depth)]


def shares(name: str, value: Mapping[str, Any]) -> str:
    """Return parts of a whole, by name, as per cent."""
    rows = [(str(key), "–" if part is None else f"{part:.1%}") for key, part in value.items()]
    return _long(title(name), len(rows), html.table(title(name), ("Name", "Value"), rows, (1,)))


def entry(name: str, value: Any, depth: int = 0) -> list[str]:
    """Return one entry that is not plain, under its name; nothing where it is empty."""
    if not value:
        return []
    heading = word(name) if depth else title(name)
    if depth >= DEEPEST:
        return [html.paragraph(f"{heading}: {len(value)} entries, see the result file.")]
    if isinstance(value, Mapping):
        if (name.endswith("_share") or name == "missing") and all(
            isinstance(item, float | int | None) for item in value.values()
        ):
            return [shares(name, value)]
        if all(is_plain(item) for item in value.values()):
            return [_long(heading, len(value), html.table(heading, ("Name", "Value"), _rows(value, name)))]
        columns = _columns(value)
        if columns is not None:
            return [_long(heading, len(columns[1]), html.table(heading, columns[0], columns[1], columns[2]))]
        crossed = _crossed(heading, value)
        return [html.fold(heading, *mapping(value, 0 if name in OURS else depth + 1)) if crossed is None else crossed]
    if name in DRAWN and len(value) > 1 and all(type(item) in (int, float) for item in value):
        text = f"{heading}, step by step: from {number(value[0])} to {number(value[-1])}."
        return [html.picture(to_svg(steps(value, heading)), text)]
    return _list(heading, list(value), name)


def _crossed(heading: str, value: Mapping[str, Any]) -> str | None:
    """Return a mapping of mappings with the same plain entries, such as features to classes, as one table; None if it is no such."""
    first = next(iter(value.values()), None)
    names = list(first) if isinstance(first, Mapping) else []
    if not 0 < len(names) <= MOST_COLUMNS or len(value) > MOST_ROWS:
        return None
    for row in value.values():
        if not isinstance(row, Mapping) or list(row) != names or not all(is_plain(cell) for cell in row.values()):
            return None
    rows = [[str(name), *(number(cell) for cell in row.values())] for name, row in value.items()]
    table = html.table(heading, ["", *map(str, names)], rows, tuple(range(1, len(names) + 1)))
    return _long(heading, len(rows), table)


def _long(name: str, rows: int, table: str) -> str:
    return table if rows <= LONGEST_OPEN else html.fold(f"{name} ({rows})", table)


def _rows(value: Mapping[str, Any], answer: str) -> list[tuple[str, str]]:
    return [
        (word(str(name), answer), number(item, digits_of(answer)))
        for name, item in value.items()
        if item is not None or name not in WORDS
    ]


def _columns(value: Mapping[str, Any]) -> tuple[list[str], list[list[str]], tuple[int, ...]] | None:
    """Return headers, rows and numeric columns of a mapping of lists of one length, not of texts alone, such as a calibration table; None if it is no such."""
    lists = {name: item for name, item in value.items() if isinstance(item, list)}
    lengths = {len(item) for item in lists.values()}
    if len(lists) < 2 or len(lengths) != 1 or len(lists) != len(value):
        return None
    cells = [cell for item in lists.values() for cell in item]
    if not all(is_plain(cell) for cell in cells) or all(isinstance(cell, str) for cell in cells):
        return None
    rows = [[number(cell) for cell in row] for row in zip(*lists.values(), strict=True)]
    return [title(name) for name in lists], rows[:MOST_ROWS], tuple(range(len(lists)))


def _list(heading: str, value: list[Any], answer: str) -> list[str]:
    if all(is_plain(item) for item in value):
        more = f" and {len(value) - MOST_ITEMS} more" if len(value) > MOST_ITEMS else ""
        return [html.paragraph(f"{heading}: {', '.join(number(item) for item in value[:MOST_ITEMS])}{more}.")]
    if all(isinstance(item, Mapping) for item in value):
        return [_long(heading, len(value), _records(heading, value, answer))]
    if all(isinstance(item, list) and all(is_plain(cell) for cell in item) for item in value):
        widest = max(len(item) for item in value)
        if widest <= MOST_COLUMNS:
            rows = [[number(cell) for cell in [*item, *[""] * (widest - len(item))]] for item in value[:MOST_ROWS]]
            headers = [str(position) for position in range(1, widest + 1)]
            return [_long(heading, len(value), html.table(heading, headers, rows, tuple(range(widest))))]
    return [html.paragraph(f"{heading}: {len(value)} entries, see the result file.")]


def _records(heading: str, value: list[Mapping[str, Any]], answer: str) -> str:
    fields = list(dict.fromkeys(str(key) for item in value for key in item))[:MOST_COLUMNS]
    rows = [[_cell(item.get(field)) for field in fields] for item in value[:MOST_ROWS]]
    numeric = tuple(
        position
        for position, field in enumerate(fields)
        if all(isinstance(item.get(field), int | float) for item in value)
    )
    cut = f" (the first {MOST_ROWS} of {len(value)})" if len(value) > MOST_ROWS else ""
    return html.table(heading + cut, [word(field, answer) for field in fields], rows, numeric)


def _cell(value: Any) -> str:
    if is_plain(value):
        return number(value)
    if isinstance(value, list) and all(is_plain(item) for item in value):
        return ", ".join(number(item) for item in value[:MOST_ITEMS])
    return f"{len(value)} entries"


def generic(model: Any) -> list[str]:
    """Return a model of no known kind as tables."""
    if not isinstance(model, Mapping):
        return [html.paragraph(number(model))] if is_plain(model) else entry("model", model)
    return mapping(model)


def nothing(model: Any) -> list[str]:
    """Return no pieces: of what is shown elsewhere."""
    return []
