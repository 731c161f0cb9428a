"""The database that a task asks for as one frame: a file or an SQL database; what goes wrong while it is read tells nothing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...bayes.encoding import SchemaError
from ...bayes.missing import Reading
from .. import node_databases
from ..errors import DataProblem, PolicyError, ThresholdError
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
    """
    label = (node_databases.requested_label() or "").upper()
    kind = node_databases.database_kind(label)
    if kind not in KINDS.values() and database is None:
        raise DataProblem(f"tasks cannot read a database of this kind; ask the node administrator for one of: {KNOWN}")
    steps = node_databases.preprocessing()
    filtered = tuple(str(step.get("parameters", {}).get("column")) for step in steps)
    typed = replace(reading, typed=filtered)
    if database is not None:
        frame = settled(database.frame(columns), typed)
    else:
        path, sheet = Path(os.environ[f"{label}_DATABASE_URI"]), os.environ.get(f"{label}_SHEET_NAME")
        frame = read_file(path, kind, typed, sheet, columns, dialect(path) if kind == "csv" else None)
    if not steps:
        return frame
    from vantage6.algorithm.tools.preprocessing import preprocess_data

    return settled(preprocess_data(frame, steps), reading)
