"""The database that a task asks for as one frame: a file or an SQL database; what goes wrong while it is read tells nothing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bayes.formulae.formula import as_numbers, as_texts
from ...bayes.values.encoding import SchemaError, is_number
from ...bayes.values.missing import Reading
from ..errors import DataProblem, PolicyError, ThresholdError
from . import node_databases
from .dialect import Dialect, of_file
from .files import KINDS, NO_TEXT, read_file, settled

if TYPE_CHECKING:
    from .databases import Database

KNOWN = ", ".join([*KINDS.values(), *node_databases.ADDRESSED])


class ReadingErrors:
    """Turns whatever goes wrong while a table is read into an error that tells nothing of it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        if isinstance(error, (DataProblem, PolicyError, ThresholdError)):
            return
        if isinstance(error, SchemaError):
            raise DataProblem(str(error)) from None
        if isinstance(error, UnicodeDecodeError):
            raise DataProblem(NO_TEXT) from None
        if type(error).__name__ == "EmptyDataError":
            raise ThresholdError("the station's file has fewer rows than the node demands (minimum_rows)") from None
        raise DataProblem("the station's file cannot be read as a table; ask the node administrator") from None


def read_database(
    reading: Reading,
    database: Database | None = None,
    columns: Sequence[str] | None = None,
    dialect: Callable[[Path], Dialect] = of_file,
) -> Any:
    """Return the database that the task asks for as a pandas frame, with vantage6's preprocessing where the task wants that.

    Parameters
    ----------
    reading : Reading
        What is missing, and what stays text.
    database : Database, optional
        The node's SQL database, if it is one.
    columns : sequence of str, optional
        Only these; every one is there once, and no preprocessing is wanted.
    dialect : callable
        A CSV file -> how it is written.

    Raises
    ------
    DataProblem
        If the node's database is of a kind that tasks cannot read.
    PolicyError
        If the task's preprocessing is another than vantage6's filter, or by what is neither number nor text.
    """
    label = (node_databases.requested_label() or "").upper()
    kind = node_databases.database_kind(label)
    if kind not in KINDS.values() and database is None:
        raise DataProblem(f"tasks cannot read a database of this kind; ask the node administrator for one of: {KNOWN}")
    steps = node_databases.preprocessing()
    filtered = tuple(step["parameters"]["column"] for step in steps)
    typed = reading if reading.alone else replace(reading, typed=filtered)
    if database is not None:
        frame = settled(database.frame(columns), typed)
    else:
        path, sheet = Path(os.environ[f"{label}_DATABASE_URI"]), os.environ.get(f"{label}_SHEET_NAME")
        frame = read_file(path, kind, typed, sheet, columns, dialect(path) if kind == "csv" else None)
    return settled(_filtered(frame, steps), reading) if steps else frame


def _filtered(frame: Any, steps: Sequence[Mapping[str, Any]]) -> Any:
    """Return the rows that vantage6's `filter_range` keeps, but for one thing: a cell that cannot be compared leaves out its row.

    There it ends the task, which tells of that one cell also where the answer has noise.
    """
    for step in steps:
        asked = step["parameters"]
        for bound, included, sign in zip(node_databases.LIMITS, node_databases.INCLUDED, (1, -1), strict=True):
            if asked.get(bound) is not None:
                order = sign * _order(frame[asked["column"]], asked[bound])
                frame = frame[order >= 0 if asked.get(included) else order > 0]
    return frame


def _order(column: Any, limit: Any) -> Any:
    """Return the sign of each cell less a limit, shape (n,): of numbers, or of texts where the limit is one; NaN where a cell is missing or neither."""
    if is_number(limit):
        return np.sign(as_numbers(column) - limit)
    texts = as_texts(column)
    return np.where(texts == "", np.nan, (texts > limit).astype(np.float64) - (texts < limit))
