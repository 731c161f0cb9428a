"""A table as the text of a CSV file, for files that people open in other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...bayes.values.encoding import number_written

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a text begins that a spreadsheet program takes for a formula, if it is no number."""

OURS = "-log2(p)"
"""A name of lifelines' table of coefficients, which is no file's: a program shows it as an error, and runs nothing."""


def csv_of(frame: pd.DataFrame, index: bool = False) -> str:
    """Return a table as CSV, cells as they are; warn on stderr of cells and names that a spreadsheet program would run: they are what stations' files hold."""
    columns = [frame.iloc[:, number] for number in range(frame.shape[1])]
    texts = [column for column in columns if column.dtype.kind not in "biufM"]
    cells = {str(cell) for column in (*texts, frame.columns, frame.index if index else ()) for cell in column}
    if any(cell.startswith(FORMULA) and number_written(cell) is None for cell in cells - {OURS}):
        print(
            "warning: cells begin as formulas do (=, +, - or @), which a spreadsheet program runs when it opens a CSV file; import its columns as text",
            file=sys.stderr,
        )
    return str(frame.to_csv(index=index, lineterminator="\n"))
