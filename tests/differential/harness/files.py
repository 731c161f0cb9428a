"""Tables as the files that stations have: CSV with commas or semicolons, Excel and parquet, of texts and of what else loses nothing."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

PLAIN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def csv_text(columns: dict[str, list[str | None]] | None) -> str | None:
    """Return a table as CSV; a missing cell is empty and unquoted, everything else is quoted where it must be: the name of an only column with ";" in it."""
    if columns is None:
        return None
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    only = len(columns) == 1 and bool({";", "\t"} & set(next(iter(columns))))
    csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL if only else csv.QUOTE_MINIMAL).writerow(columns)
    for row in zip(*columns.values(), strict=True):
        if any("\r" in cell for cell in row if cell is not None):  # Python 3.10 to 3.12 leave it without quotes
            stream.write(",".join("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row) + "\n")
        else:
            writer.writerow(["" if cell is None else cell for cell in row])
    return stream.getvalue()


def semicolons(columns: dict[str, list[str | None]] | None) -> str | None:
    """Return a table as CSV with semicolons between columns, and columns of numbers with decimal commas if no other cell has a comma."""
    if columns is None:
        return None
    if not any("," in cell for cells in columns.values() for cell in cells if cell is not None):
        columns = {name: _with_commas(cells) for name, cells in columns.items()}
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=";", lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if cell is None else cell for cell in row])
    return stream.getvalue()


def _with_commas(cells: list[str | None]) -> list[str | None]:
    if not all(cell is None or PLAIN.fullmatch(cell) for cell in cells):
        return cells
    return [None if cell is None else cell.replace(".", ",") for cell in cells]


def by_semicolons(columns: dict[str, list[str | None]]) -> bool:
    """Whether `semicolons` writes a file whose line of names shows how it is written, and whose commas are decimal ones."""
    cells = [cell for own in columns.values() for cell in own if cell is not None]
    named = len(columns) > 1 and not any({",", "\t"} & set(name) for name in columns)
    return named and not any({",", "\r"} & set(cell) for cell in cells)


def excel(columns: dict[str, list[str | None]] | None) -> bytes | None:
    """Return a table as an Excel file of texts, also where one looks like a formula or an error; a missing cell is empty."""
    return None if columns is None else _sheet(columns)


def typed_excel(columns: dict[str, list[str | None]] | None) -> bytes | None:
    """Return a table as an Excel file of numbers, truth values and dates where nothing is lost by it, else texts."""
    return None if columns is None else _sheet({name: _for_sheet(cells) for name, cells in columns.items()})


def excel_by_cell(columns: dict[str, list[str | None]] | None) -> bytes | None:
    """Return a table as an Excel file in which every cell is what it alone would be in a sheet: numbers and truth values beside texts."""
    if columns is None:
        return None
    return _sheet({name: [value for cell in cells for value in _for_sheet([cell])] for name, cells in columns.items()})


def _for_sheet(cells: list[str | None]) -> list[Any]:
    values, _ = typed(cells)
    return list(cells) if any(map(_is_lost_in_a_sheet, values)) else values


def _is_lost_in_a_sheet(cell: Any) -> bool:
    """Whether a sheet, which keeps sixteen digits of a number, would keep another one."""
    if isinstance(cell, float):
        return abs(cell) >= 2**53 or float(f"{cell:.16g}") != cell
    return isinstance(cell, int) and abs(cell) >= 10**15


def _sheet(columns: dict[str, list[Any]]) -> bytes:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book, stream = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()

    def made(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        cell = WriteOnlyCell(sheet, value)
        cell.data_type = "s"
        return cell

    sheet.append([made(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        sheet.append([made(value) for value in row])
    book.save(stream)
    return stream.getvalue()


def parquet(columns: dict[str, list[str | None]] | None) -> bytes | None:
    """Return a table as a parquet file: columns of whole numbers, numbers, truth values or dates where nothing is lost by it, else texts.

    Numbers are of single precision where that tells them too; texts are now and then a dictionary, or bytes.
    """
    import pyarrow as pa
    from pyarrow import parquet as file_format

    if columns is None:
        return None
    stream = io.BytesIO()
    file_format.write_table(pa.table({name: pa.array(*typed(cells)) for name, cells in columns.items()}), stream)
    return stream.getvalue()


def typed(cells: list[str | None]) -> tuple[list[Any], Any]:
    """Return the values of cells, and their type in a parquet file: whole numbers, numbers, truth values or dates where nothing is lost by it."""
    import pyarrow as pa

    present = [cell for cell in cells if cell is not None]
    if present and all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", cell) for cell in present):
        return [None if cell is None else int(cell) for cell in cells], pa.int64()
    if (
        present
        and all(PLAIN.fullmatch(cell) and math.isfinite(float(cell)) for cell in present)
        and not any(map(_has_more_digits, present))
    ):
        kind = pa.float32() if all(_is_single(float(cell)) for cell in present) else pa.float64()
        return [None if cell is None else float(cell) for cell in cells], kind
    if present and set(present) <= {"true", "false"}:
        return [None if cell is None else cell == "true" for cell in cells], pa.bool_()
    if present and all(re.fullmatch(r"\d{4}-\d\d-\d\d", cell) for cell in present):
        return [None if cell is None else date.fromisoformat(cell) for cell in cells], pa.date32()
    kinds = [pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.binary()]
    return list(cells), kinds[len(cells) % 3 if len(set(cells)) < 100 else 0]


def _has_more_digits(cell: str) -> bool:
    """Whether double precision does not keep a whole number."""
    return bool(re.fullmatch(r"-?\d+", cell)) and int(float(cell)) != int(cell)


def _is_single(number: float) -> bool:
    """Whether a number is told as it is by single precision."""
    with np.errstate(over="ignore"):
        return float(str(np.float32(number))) == number


def texts_of_numbers(cells: list[str | None]) -> bool:
    """Whether cells are numbers that a parquet file keeps as texts, because something would be lost else: ``008``."""
    import pyarrow as pa

    kind = typed(cells)[1]
    is_text = not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind))
    return is_text and any(cell and cell.strip().lstrip("-+0").isdigit() for cell in cells)


WRITERS: dict[str, Callable[[Any], Any]] = {
    "csv": csv_text,
    "semicolons": semicolons,
    "excel": excel,
    "excel typed": typed_excel,
    "excel by cell": excel_by_cell,
    "parquet": parquet,
}
