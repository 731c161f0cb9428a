"""What a cell is, where a domain says what its column holds, depends on no other cell: else one row would change what all others are counted as."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.counts import profile
from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.encoding import bin_codes
from fedbayes.bayes.values.missing import Reading
from fedbayes.federation.tables import files, parquet, small_csv
from fedbayes.federation.tables.databases import Database
from fedbayes.federation.tables.dialect import Dialect
from fedbayes.federation.tables.files import read_file, settled

Column = Callable[[Path, Sequence[Any], dict[str, Any]], Any]
MONDAY, NOON = pd.Timestamp("2020-01-31 12:30:00"), pd.Timestamp("2021-01-31")
BOUNDS = {"bounds": [0, 100]}


def csv_file(folder: Path, cells: Sequence[Any], separator: str = ",") -> Path:
    path = folder / "t.csv"
    lines = [f"x{separator}y", *(f'"{cell}"{separator}z' for cell in cells)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def small(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    """As a station reads a small file: without pandas where that can read it."""
    path = csv_file(folder, cells)
    table = small_csv.read_small_csv(path)
    arrays = None if table is None else table.arrays(["x"], Reading({"x": domain}))
    return whole(folder, cells, domain) if arrays is None else arrays["x"]


def whole(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    return read_file(csv_file(folder, cells), "csv", Reading({"x": domain}))["x"]


def commas(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    path, dialect = csv_file(folder, cells, ";"), Dialect(";", True)
    table = small_csv.read_small_csv(path, dialect)
    arrays = None if table is None else table.arrays(["x"], Reading({"x": domain}, comma=True))
    return read_file(path, "csv", Reading({"x": domain}), dialect=dialect)["x"] if arrays is None else arrays["x"]


def large(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LARGE_BYTES", -1)
        return whole(folder, cells, domain)


def frame(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    """Cells as objects, as of an Excel file."""
    return settled(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), Reading({"x": domain}))["x"]


def columnar(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    pd.DataFrame({"x": cells}).to_parquet(folder / "t.parquet")
    return parquet.read(folder / "t.parquet", Reading({"x": domain}))["x"]


def database(folder: Path, cells: Sequence[Any], domain: dict[str, Any]) -> Any:
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (place, x)")  # rows come in the order of all that they hold
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(cells)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEFAULT_DATABASE_URI", str(path))
        return settled(Database("default", "t", None).frame(["x"]), Reading({"x": domain}))["x"]


TEXTS = (small, whole, large)
ODD = ("x", "", "NA", "True", "0.5", "1e400", "-1", "18446744073709551615", "9007199254740993", "2020-01-31 12:30:00.5")
DIGITS = ["0.30000000000000004", "0.1234567890123456789", "2.675"]
CODES = ["9007199254740993", "9007199254740992", "9007199254740994"]
CASES: list[tuple[tuple[Column, ...], Sequence[Any], dict[str, Any], Sequence[Any]]] = [
    (TEXTS, ["True", "False", "True"], BOUNDS, ODD),
    (TEXTS, ["True", "FALSE"], {"categories": [0, 1]}, ODD),
    (TEXTS, ["1", "NA", "NA"], BOUNDS, ODD),
    (TEXTS, ["1", "NA", "2"], {"categories": [1, 2]}, ODD),
    (TEXTS, ["1", "NA", "2"], {"categories": ["1", "other"]}, ODD),
    (TEXTS, DIGITS, BOUNDS, ODD),
    (TEXTS, ["1e400", "-1e400", "5"], BOUNDS, ODD),
    (TEXTS, CODES, {"categories": [int(code) for code in CODES]}, ODD),
    ((commas,), ["1,5", "2", "3,25"], {"categories": [1.5, 2, 3.25]}, (*ODD, "1,5,5")),
    ((commas,), ["1,5", "2", "NA"], BOUNDS, ODD),
    ((frame,), [1, 0, 1], {"categories": [True, False, 1, 0]}, (True, False, "x", None)),
    ((frame,), [True, False, "NA"], BOUNDS, (1, "x", None)),
    ((columnar,), [MONDAY, NOON], {"categories": [str(MONDAY), "2021-01-31"]}, (pd.Timestamp(1), pd.NaT)),
    ((database,), [int(code) for code in CODES], {"categories": [int(code) for code in CODES]}, (None, 0.5, "x")),
]


def meant(values: Any, domain: dict[str, Any]) -> np.ndarray:
    """Return what a private fit and a private description make of every cell, shape (n, 2 or 3)."""
    column = Schema.from_domain({"x": domain})["x"]
    encoded = [column.encode(values, "absorb"), profile.cell_codes(column, values, 7)]
    if column.bounds is not None:  # a border at every number itself: its last bit decides
        edges = np.array([0.0, *sorted(map(float, DIGITS)), 100.0])
        encoded.append(bin_codes(encoded[0], edges))
    return np.stack([np.asarray(codes, dtype=np.float64) for codes in encoded], axis=1)


@pytest.mark.few(7)
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_cell_decides_how_another_is_read(
    case: int, private: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "Reading", partial(Reading, alone=private))
    readers, cells, domain, others = CASES[case]
    for read in readers:
        alone = meant(read(tmp_path, cells, domain), domain)
        for other in others:
            for position in (0, len(cells)):
                beside = meant(read(tmp_path, [*cells[:position], other, *cells[position:]], domain), domain)
                same = np.delete(beside, position, axis=0)
                np.testing.assert_array_equal(same, alone, f"{read.__name__}: {other!r} changes what others are")


def test_truth_values_are_numbers_and_codes_keep_their_digits(tmp_path: Path) -> None:
    assert meant(whole(tmp_path, ["True", "x", "FALSE"], BOUNDS), BOUNDS)[:, 0].tolist()[::2] == [1.0, 0.0]
    domain = {"categories": [int(code) for code in CODES]}
    assert meant(database(tmp_path, [int(CODES[0]), None], domain), domain)[:, 0].tolist() == [0, -1]
