"""Tables of an SQL database, by the node administrator's word alone: a table, a view, a query or an OMOP cohort file.

A researcher's query could look at any column and single out any row, so none is taken. The administrator names in ``FEDBAYES_COHORT`` what tasks read:

- ``study_view``, ``schema.study_view``: a table or view;
- ``cohort.sql``: a file beside the ledger with one SELECT;
- ``cohort.json``: a file beside the ledger that says which columns are made of an OMOP common data model (`fedbayes.federation.tables.omop`).

Connections are read-only, and only the columns that a task uses are asked for. Rows come in the order of all that they hold: a database promises no other one,
and gives columns that an index covers in that of the index, so that parts of one job would put different people together.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from ...bayes.values.written import EXACT, inexact
from ..errors import DataProblem, PolicyError

ROWS = 50_000  # fetched at a time
_PLAIN = {type(None), bool, int, float, str}
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*){0,2}")
_END = re.compile(r";\s*(--[^\n]*(\n\s*|\Z))*\Z")
_CLOSED = "the station's database cannot be opened; ask the node administrator to check its uri, user and password"
_UNREADABLE = (
    "what FEDBAYES_COHORT names in the station's database cannot be read; "
    "ask the node administrator to check the name (capitals too) or the SELECT, and that the user may read it"
)


class Database:
    """What tasks read of one SQL database.

    Parameters
    ----------
    label : str
        Of the database, as the node's configuration names it.
    cohort : str or None
        The administrator's setting.
    folder : pathlib.Path or None
        Where the administrator's files are.

    Raises
    ------
    PolicyError
        If the administrator has not said what may be read, or a task brings a query of its own.
    """

    def __init__(self, label: str, cohort: str | None, folder: Path | None) -> None:
        self._label = label.upper()
        if cohort is None:
            raise PolicyError(
                "this node does not say which table of its database tasks may read; ask the node administrator to set FEDBAYES_COHORT"
            )
        if os.environ.get(f"{self._label}_QUERY", "").strip() not in ("", cohort):
            raise PolicyError("this node reads its own cohort only; leave the query out of the task")
        self._relation = self._read(cohort, folder)

    def names(self) -> list[str]:
        """Return the names of the cohort's columns."""
        with self._connected() as (connection, text):
            return self._names(connection, text)

    def _names(self, connection: Any, text: Any) -> list[str]:
        return list(map(str, connection.execute(text(f"SELECT * FROM {self._relation} LIMIT 0")).keys()))

    def frame(self, columns: Sequence[str] | None = None) -> Any:
        """Return the cohort as a pandas frame.

        Parameters
        ----------
        columns : sequence of str, optional
            Only these; every one is there.

        Raises
        ------
        DataProblem
            If the database does not answer; the message tells nothing of it.
        """
        import pandas

        with self._connected() as (connection, text):
            chosen = "*" if columns is None else ", ".join(map(_quoted, columns))
            order = _order(connection.dialect.name, list(map(_quoted, self._names(connection, text))))
            cursor = connection.execution_options(stream_results=True).execute(
                text(f"SELECT {chosen} FROM {self._relation}{order}")
            )
            names = list(map(str, cursor.keys()))
            parts = []
            while rows := cursor.fetchmany(ROWS):
                parts.append(_by_column(names, list(map(_column, zip(*rows, strict=True)))))
        if not parts:
            return pandas.DataFrame(columns=names)
        return _joined(parts)

    def _read(self, cohort: str, folder: Path | None) -> str:
        """Return what stands behind FROM."""
        suffix = Path(cohort).suffix.lower()
        if suffix not in (".sql", ".json"):
            if not _NAME.fullmatch(cohort):
                raise _unreadable()
            return ".".join(map(_quoted, cohort.split(".")))
        if folder is None:
            raise PolicyError(
                "FEDBAYES_COHORT names a file, but there is no FEDBAYES_LEDGER folder; ask the node administrator"
            )
        try:
            content = (folder / Path(cohort).name).read_text(encoding="utf-8-sig").strip()
            if suffix == ".json":
                from .omop import query_of

                schema = os.environ.get(f"{self._label}_DB_PARAM_CDM_SCHEMA")
                content = query_of(json.loads(content), schema)
        except (OSError, ValueError):
            raise _unreadable() from None
        return f"({_END.sub('', content)}\n) AS cohort"

    def _connected(self) -> Any:
        return _Connection(_address(self._label))


class _Connection:
    """A read-only connection; whatever goes wrong inside becomes an error that tells nothing of the database."""

    def __init__(self, address: Any) -> None:
        self._address = address

    def __enter__(self) -> tuple[Any, Any]:
        import sqlalchemy

        try:
            self._engine = sqlalchemy.create_engine(self._address, poolclass=sqlalchemy.pool.NullPool)
            options = {"postgresql_readonly": True} if self._engine.dialect.name == "postgresql" else {}
            self._connection = self._engine.connect().execution_options(**options)
        except Exception:
            raise DataProblem(_CLOSED) from None
        return self._connection, _as_text(sqlalchemy)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._connection.close()
        self._engine.dispose()
        if isinstance(error, Exception):
            raise DataProblem(_UNREADABLE) from None


def _quoted(name: str) -> str:
    """Return a name in quotation marks; SQLAlchemy's own way doubles a percent sign, which `text` doubles again for PostgreSQL's driver."""
    return '"' + name.replace('"', '""') + '"'


def _order(dialect: str, quoted: Sequence[str]) -> str:
    """Return the clause that orders rows by all of their columns, as texts in PostgreSQL, where JSON has no order; none where two have one name."""
    if len(set(quoted)) < len(quoted):
        return ""
    return " ORDER BY " + ", ".join(name if dialect == "sqlite" else f"CAST({name} AS TEXT)" for name in quoted)


def _as_text(sqlalchemy: Any) -> Any:
    """Return a function that makes a statement of which no colon is a parameter."""
    return lambda statement: sqlalchemy.text(statement.replace(":", "\\:"))


def _address(label: str) -> Any:
    """Return the database's address as SQLAlchemy takes it: a file of SQLite, or an address with the node's user and password."""
    import sqlalchemy

    uri = os.environ[f"{label}_DATABASE_URI"]
    path = uri.removeprefix("sqlite:///")
    if Path(path).is_file():
        return f"sqlite:///file:{Path(path).resolve()}?mode=ro&uri=true"
    try:
        address = sqlalchemy.engine.make_url(uri)
    except Exception:
        raise DataProblem(_CLOSED) from None
    user, password = (os.environ.get(f"{label}_DB_PARAM_{name}") for name in ("USER", "PASSWORD"))
    return address.set(username=address.username or user, password=address.password or password)


def _column(cells: Sequence[Any]) -> Any:
    """Return the cells of a column with a type, as a file would have them: exact decimals as numbers, dates, bytes and JSON as text."""
    import pandas

    if not set(map(type, cells)) <= _PLAIN:
        cells = list(map(_plain, cells))
    return _typed(pandas.Series(cells, dtype=object))


def _plain(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return _number(cell)
    if isinstance(cell, bytes | memoryview):
        return bytes(cell).decode(errors="backslashreplace")
    if isinstance(cell, dict | list):  # JSON, of which PostgreSQL's driver makes objects, SQLite's gives the text
        return json.dumps(cell, ensure_ascii=False, default=str)
    return cell if cell is None or isinstance(cell, (bool, int, float, str)) else str(cell)


def _number(cell: Decimal) -> int | float:
    """Return an exact decimal as a number; a whole one keeps every digit, as identifiers need."""
    number = float(cell)
    return int(cell) if number.is_integer() and cell == cell.to_integral_value() else number


def _joined(parts: list[Any]) -> Any:
    """Return the parts of a table as one; whole numbers become float64 only where it holds them all."""
    names = parts[0].columns
    return _by_column(names, [_column_joined([part.iloc[:, at] for part in parts]) for at in range(len(names))])


def _by_column(names: Sequence[str], columns: Sequence[Any]) -> Any:
    """Return a frame; two columns may have one name."""
    import pandas

    return pandas.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)


def _typed(cells: Any) -> Any:
    """Return a column of objects with a type; whole numbers keep every digit, whatever is beside them, and stay whole beside gaps."""
    present = cells.dropna()
    kinds = set(map(type, present))
    if kinds == {int} and len(present) < len(cells) and all(-(2**63) <= cell < 2**63 for cell in present):
        return cells.astype("Int64")
    large = int in kinds and max(abs(cell) for cell in present if isinstance(cell, int)) >= EXACT
    return cells if large and (kinds != {int} or len(present) < len(cells)) else cells.infer_objects()


def _column_joined(columns: list[Any]) -> Any:
    import pandas

    whole = [column for column in columns if column.dtype.kind in "iu"]
    if any(inexact(column.dropna()) for column in whole) and any(column.dtype.kind == "f" for column in columns):
        columns = [column.astype(object) for column in columns]
    joined = pandas.concat(columns, ignore_index=True)
    joined = _typed(joined) if joined.dtype == object else joined
    nullable = not isinstance(joined.dtype, np.dtype) and (joined.dtype.kind == "f" or not inexact(joined.dropna()))
    return pandas.Series(joined.to_numpy(dtype=np.float64, na_value=np.nan)) if nullable else joined


def _unreadable() -> PolicyError:
    return PolicyError(
        "the node's setting FEDBAYES_COHORT, or its file, cannot be read; ask the node administrator to correct it"
    )
