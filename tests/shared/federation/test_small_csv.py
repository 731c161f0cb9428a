"""Small CSV files are read without pandas, and give what the reader with pandas gives."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.bayes.values.missing import Reading
from fedbayes.federation.tables.files import read_file
from fedbayes.federation.tables.small_csv import LARGEST_BYTES, read_small_csv

CELLS = ["1", "2", "01", "1.0", " 3", "4 ", "-5", "+6", "1e3", ".5", "5.", "inf", "-Infinity", "NaN", "NA", "", "True"]
CELLS += ["FALSE", "true", "yes", "x", "a b", "1_0", "0x10", "1,5", "é", "12345678901234567890", "1e400"]
CELLS += ["9007199254740993", "0.1", "3.3333333333333335", "None", "nan ", " NA", "1d", "--1", "$1", "١", 'say "a"']
CELLS += ["two\nlines", "a\\b", "null", "N/A", "  ", "-9", "-nan", "#N/A"]
DOMAINS: list[dict[str, Any]] = [
    {},
    {"a": {"bounds": [0, 9]}},
    {"a": {"categories": ["1", "NA"]}},
    {"a": {"categories": [1, 2]}},
    {"a": {"categories": ["x", "None"], "missing": ["yes", "-9"]}},
    {"missing": ["-9", "x", "None"], "a": {"bounds": [0, 1]}},
]


def write(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def small(path: Path, reading: Reading | None = None) -> Any:
    table = read_small_csv(path)
    return None if table is None else table.arrays(list(table.cells), reading or Reading())


def assert_same(column: np.ndarray, reference: np.ndarray) -> None:
    assert column.dtype == reference.dtype
    missing = pandas.isna(reference)
    assert (pandas.isna(column) == missing).all()
    assert column[~missing].tolist() == reference[~missing].tolist()


@pytest.mark.audit
@given(
    st.lists(st.sampled_from(CELLS), min_size=1, max_size=4).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=1, max_size=6)
    ),
    st.sampled_from(DOMAINS),
    st.sampled_from(DOMAINS),
    st.booleans(),
)
@settings(max_examples=800, deadline=None)
def test_every_column_that_it_reads_is_what_the_other_reader_reads(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str], domain: Any, schema: Any, identifier: bool
) -> None:
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", [["a", "key"], *([cell, "k"] for cell in cells)])
    reading = Reading(domain, schema, ("a",) if identifier else ())
    read = small(path, reading)
    if read is not None:
        assert_same(read["a"], read_file(path, "csv", reading)["a"].to_numpy())


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_without_usual_texts_it_is_what_pandas_reads(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", [["a", "key"], *([cell, "k"] for cell in cells)])
    read = small(path)
    if read is not None and not {cell.strip() for cell in cells} & {"NA", "None", "NaN", "nan", "null", "N/A"}:
        reference = pandas.read_csv(path, keep_default_na=False, na_values=["", "  "])["a"].to_numpy()
        assert_same(read["a"], reference)


@pytest.mark.parametrize(
    "cells",
    [["1", "2"], ["1", ""], ["0.5", "3"], ["a", ""], ["True", "false"], ["1", "NA"]],
    ids=["int", "gap", "float", "text", "truth", "usual"],
)
def test_ordinary_columns_are_read(tmp_path: Path, cells: list[str]) -> None:
    path = write(tmp_path / "a.csv", [["a", "key"], *([cell, "k"] for cell in cells)])
    read = small(path)
    assert read is not None
    assert_same(read["a"], pandas.read_csv(path)["a"].to_numpy())


@pytest.mark.parametrize(
    "text",
    ["", "a,b\n", "a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n", "a,\n1,2\n", "a,b\n1,inf\n", 'a,b\n1,"x\n'],
    ids=["empty", "no rows", "short", "long", "twice", "no name", "infinite", "open quote"],
)
def test_unusual_files_are_left_to_pandas(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert small(path) is None


def test_large_files_and_other_encodings_are_left_to_pandas(tmp_path: Path) -> None:
    large, latin = tmp_path / "large.csv", tmp_path / "latin.csv"
    large.write_text("a\n" + "1\n" * (LARGEST_BYTES // 2))
    latin.write_bytes("a\né\n".encode("latin-1"))
    assert read_small_csv(large) is None
    assert read_small_csv(latin) is None


def test_a_round_over_a_small_file_imports_no_pandas(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [["a", "b", "c"], ["x", "0.5", "1"], ["NA", "1", "NA"], ["y", "", "0"]])
    code = (
        "import sys, pathlib; from fedbayes.federation.tables.small_csv import read_small_csv; from fedbayes.bayes.schema import Schema;"
        "from fedbayes.bayes.values.missing import Reading; from fedbayes.federation.tables import reading;"
        "domain = {'a': {'categories': ['x', 'NA']}, 'b': {'bounds': [0, 1]}, 'c': {'categories': [0, 1]}};"
        f"table = read_small_csv(pathlib.Path({str(path)!r})).arrays(['a', 'b', 'c'], Reading(domain));"
        "encoded = Schema.from_domain(domain).encode(table);"
        "print(*(encoded[name].tolist() for name in 'abc'), 'pandas' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[0, 1, -1] [0.5, 1.0, nan] [1, -1, 0] False"
