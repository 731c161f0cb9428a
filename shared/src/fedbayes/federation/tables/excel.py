"""Excel files: what they hold is read by pandas; here is what pandas takes for missing though it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from ...bayes.values.missing import Reading
from ...bayes.values.written import EXACT
from ..errors import DataProblem
from .names import check_distinct

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RENAMED = re.compile(r"\.[0-9]+$")  # what pandas adds to a name that was there before
UNNAMED = "Unnamed: "  # as pandas calls a column without a name
_MERGED = re.compile(r'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z]+)[0-9]+:([A-Z]+)([0-9]+)"')
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def check_sheet(path: Path, sheet: str | None) -> None:
    """Refuse a file that is no workbook, a first sheet that is hidden, and a sheet with formulas whose values are not stored.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    sheet : str, optional
        Its sheet; the first one if not given.

    Raises
    ------
    DataProblem
        Naming the sheet's column by its letters, where it is one.
    """
    try:
        with ZipFile(path) as book:
            chosen = _chosen(book, sheet)
            if chosen is None:
                return
            if sheet is None and chosen.state != "visible":
                raise DataProblem(
                    "the first sheet of this station's Excel file is hidden; ask the node administrator to put the sheet of the table "
                    "first, or name it in the task"
                )
            _check_formulas(book, chosen.part)
    except BadZipFile:
        raise DataProblem(
            "this station's file is no Excel workbook (.xlsx) that can be opened: it is of another format, or has a password; "
            "ask the node administrator to save it as one"
        ) from None


def _check_formulas(book: ZipFile, part: str) -> None:
    """Refuse a sheet with formulas whose values are not stored, as programs write them that cannot compute: such cells would be read as missing."""
    if b"<f" not in book.read(part):
        return
    with book.open(part) as content:
        for _, cell in ElementTree.iterparse(content):
            if cell.tag != f"{MAIN}c":
                continue
            stored = cell.find(f"{MAIN}v")
            # A formula whose value is an empty text has a type.
            if cell.find(f"{MAIN}f") is not None and cell.get("t") != "str" and (stored is None or not stored.text):
                letters = re.sub("[0-9]", "", cell.get("r", ""))
                raise DataProblem(
                    f"sheet column {letters or 'of this file'} has formulas whose values are not stored in this station's Excel file; "
                    "ask the node administrator to open it in a spreadsheet program and save it"
                )
            cell.clear()


def check_digits(frame: Any, reading: Reading) -> None:
    """Refuse a column with numbers that a sheet cannot hold to the last digit: such codes and identifiers are other ones.

    Columns with bounds in the domain, and those that a dictionary computes with, are measured: of these the last digit does not matter. Nor does it where the
    task gives categories, of which none is such a number: whatever the digits are, the cell is none of them. Where every cell is read by itself, such a number
    is what the sheet stores: a refusal would tell of it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The sheet, cells as they are stored.
    reading : Reading
        Which columns hold measured numbers.

    Raises
    ------
    DataProblem
        Naming the column.
    """
    for position, name in enumerate(() if reading.alone else frame.columns):
        rule = reading.rule(str(name))
        harmless = (
            str(name) in reading.measured or rule.numeric or (rule.closed and not any(map(_is_long, rule.listed)))
        )
        if not harmless and any(map(_is_rounded, frame.iloc[:, position])):
            raise DataProblem(
                f"column '{str(name)[:60]}' of this station's Excel file has numbers above 2^53, whose last digits a sheet does not keep; "
                "codes and identifiers of more than 15 digits must be text cells (or a CSV file); of a measured number give the bounds in the domain"
            )


def as_stored(frame: Any) -> Any:
    """Return a sheet with its numbers above 2^53 as floats, as it stores them: pandas reads a missing code of 1e77 as a whole number of 78 digits."""
    stored = frame.copy(deep=False)
    for name, column in frame.items():
        if any(map(_is_rounded, column)):
            stored[name] = column.map(lambda cell: float(cell) if _is_rounded(cell) else cell).astype(object)
    return stored


def with_truths(path: Path, sheet: str | None, frame: Any) -> Any:
    """Return a sheet in which TRUE is told from 1 and FALSE from 0: of those that are equal pandas takes the first in a column for all.

    Parameters are those of `check_read`; nothing of the frame changes.
    """
    with ZipFile(path) as book:
        chosen = _chosen(book, sheet)
        truths = {} if chosen is None else _truths(book, chosen.part)
    changed = frame.copy(deep=False)
    for position in {column for _, column in truths if column < frame.shape[1]}:
        cells = [
            truths.get((row, position), int(cell) if isinstance(cell, bool) else cell) if cell in (0, 1) else cell
            for row, cell in enumerate(frame.iloc[:, position])
        ]
        changed.isetitem(position, _objects(cells))
    return changed


def _objects(cells: list[Any]) -> Any:
    import pandas

    return pandas.Series(cells, dtype=object)


def _truths(book: ZipFile, part: str) -> dict[tuple[int, int], bool]:
    """Return a sheet's truth values by (row below the names, column), from 0."""
    truths: dict[tuple[int, int], bool] = {}
    row, column = -2, -1
    with book.open(part) as content:
        for event, element in ElementTree.iterparse(content, ("start", "end")):
            if event == "start" and element.tag == f"{MAIN}row":
                row, column = int(element.get("r") or row + 3) - 2, -1
            elif event == "end" and element.tag == f"{MAIN}c":
                letters = re.sub("[0-9]", "", element.get("r", ""))
                column = _place(letters) if letters else column + 1
                if element.get("t") == "b":
                    truths[row, column] = element.findtext(f"{MAIN}v") == "1"
                element.clear()
    return truths


def check_read(path: Path, sheet: str | None, frame: Any) -> None:
    """Refuse a sheet of which pandas read something else than people see in it: a table below the first row, two columns of one name, or merged cells.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    sheet : str, optional
        Its sheet; the first one if not given.
    frame : pandas.DataFrame
        What pandas read of it.

    Raises
    ------
    DataProblem
        Naming the column, where it is one.
    """
    _check_heading(frame)
    _check_names(path, sheet, frame)
    _check_merged(path, sheet, frame)


def _check_heading(frame: Any) -> None:
    """Refuse a sheet whose first row names no column, or has a title alone: pandas takes that row for the names, and the names for a record."""
    unnamed = [str(name).startswith(UNNAMED) for name in frame.columns]
    if all(unnamed[1:]) and (unnamed[2:] or all(unnamed)) and len(frame):
        raise DataProblem(
            "the first row of this station's Excel file does not name its columns; ask the node administrator to delete the rows above the names"
        )


def _check_merged(path: Path, sheet: str | None, frame: Any) -> None:
    """Refuse cells of the table that are merged: people see one value in all of them, and the file has it in the first alone."""
    with ZipFile(path) as book:
        chosen = _chosen(book, sheet)
        regions = [] if chosen is None else _MERGED.findall(book.read(chosen.part).decode(errors="replace"))
    named = [not str(name).startswith(UNNAMED) for name in frame.columns]
    for first, last, row in regions:
        if int(row) > 1 and any(named[_place(first) : _place(last) + 1]):
            raise DataProblem(
                f"sheet column {first} has merged cells in this station's Excel file, which holds their value once; ask the node "
                "administrator to separate them and write the value in each"
            )


def _place(letters: str) -> int:
    """Return the place of a sheet's column, from 0."""
    return reduce(lambda place, letter: 26 * place + ord(letter) - ord("A") + 1, letters, 0) - 1


def _check_names(path: Path, sheet: str | None, frame: Any) -> None:
    """Refuse a sheet with two columns of one name: pandas renames the second one, or tells a number from its text, and the first would be taken."""
    names = list(map(str, frame.columns))
    if len(set(names)) == len(names) and not any(
        _RENAMED.sub("", name) in names for name in names if _RENAMED.search(name)
    ):
        return
    import pandas

    first = pandas.read_excel(
        path, sheet_name=sheet or 0, header=None, nrows=1, dtype=object, keep_default_na=False, na_values=[]
    )
    check_distinct(list(map(str, first.iloc[0])) if len(first) else [])


def _is_rounded(cell: Any) -> bool:
    return isinstance(cell, int | float) and EXACT <= abs(cell) < float("inf")


def _is_long(text: str) -> bool:
    """Return whether a category is a number that a sheet may not hold to the last digit."""
    try:
        return abs(float(text)) >= EXACT
    except ValueError:
        return False


@dataclass(frozen=True)
class _Sheet:
    """What a sheet is called, where in a file it is, and whether people see it: "visible", "hidden" or "veryHidden"."""

    name: str
    part: str
    state: str


def sheet_names(path: Path) -> list[str]:
    """Return the names of a workbook's sheets of cells that people see, in their order; none if that is no workbook, or its first sheet is hidden."""
    try:
        with ZipFile(path) as book:
            sheets = list(_sheets(book))
    except (BadZipFile, KeyError, OSError, ElementTree.ParseError):
        return []
    seen = [sheet for sheet in sheets if sheet.state == "visible"]
    return [sheet.name for sheet in seen] if seen[:1] == sheets[:1] else []


def _chosen(book: ZipFile, sheet: str | None) -> _Sheet | None:
    """Return a sheet of cells by its name, or the first one."""
    return next((one for one in _sheets(book) if sheet in (None, one.name)), None)


def _sheets(book: ZipFile) -> Iterator[_Sheet]:
    """Yield the sheets of cells; charts are none."""
    links = {link.get("Id"): link for link in ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))}
    for entry in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{MAIN}sheet"):
        link = links.get(entry.get(LINK))
        if link is None or not link.get("Type", "").endswith("/worksheet"):
            continue
        target = link.get("Target", "")
        part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        yield _Sheet(entry.get("name", ""), part, entry.get("state", "visible"))
