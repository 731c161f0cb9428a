"""A plain table on the terminal, for the commands that list something."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TextIO

from ...bayes.values.written import printable


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line that has names of columns, categories or organizations; nothing in it acts on the terminal."""
    print(printable(text), file=stream)


def print_table(
    heading: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    right: Collection[str] = (),
    whole: Collection[str] = (),
) -> None:
    """Print rows under a heading; long cells are folded, nothing is taken for markup.

    Parameters
    ----------
    heading : sequence of str
        Names of the columns.
    rows : iterable of sequence
        One cell a column; None is an empty one.
    title : str, optional
        Above the table.
    right : collection of str
        Columns that are aligned to the right.
    whole : collection of str
        Columns whose cells stay on one line.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in heading:
        justify: Literal["left", "right"] = "right" if name in right else "left"
        table.add_column(printable(name), overflow="fold", justify=justify, no_wrap=name in whole)
    for row in rows:
        table.add_row(*("" if cell is None else printable(str(cell)) for cell in row))
    Console(markup=False, highlight=False).print(table)
