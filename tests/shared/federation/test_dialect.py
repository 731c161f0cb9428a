"""CSV files with semicolons, tabs and decimal commas are read as the same table with commas and points is."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_process import OneProcess

from fedbayes.bayes.values.missing import Reading
from fedbayes.bayes.values.written import pointed
from fedbayes.client.exits import UsageProblem
from fedbayes.client.inputs.tables import read_table
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import DataProblem, PolicyError
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.tables.dialect import Dialect, of_file
from fedbayes.federation.tables.files import read_file
from fedbayes.federation.tables.large_csv import check_fields, read_large_csv
from fedbayes.federation.tables.reading import Source
from fedbayes.federation.tables.small_csv import read_small_csv

CELLS = [
    "1",
    "-2",
    "0.5",
    "1,5",
    "-0,25",
    ",5",
    "5,",
    "1,234",
    "1,2,3",
    "1.234,5",
    "x",
    "a,b",
    "",
    "NA",
    "1,5e3",
    "-9,0",
]
DOMAINS: list[dict[str, Any]] = [
    {},
    {"a": {"bounds": [0, 9]}},
    {"a": {"bounds": [0, 9], "missing": ["-9"]}},
    {"a": {"categories": ["1,5", "x"]}},
    {"a": {"categories": ["1.5", "5,", "-0.25", "x"]}},
    {"a": {"categories": [1.5, 1]}},
]


def write(path: Path, rows: list[list[str]], separator: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def source(monkeypatch: pytest.MonkeyPatch, path: Path, *declared: str | None) -> Source:
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    monkeypatch.setenv("DEFAULT_DATABASE_URI", str(path))
    monkeypatch.setenv("DEFAULT_DATABASE_TYPE", "csv")
    return Source(None, {}, None, None, None, *declared)


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("a,b", ","),
        ("a;b", ";"),
        ("a\tb", "\t"),
        ("a", ","),
        ("a;b,c", ","),
        ("a;b\tc", ","),
        ('"a,x";b', ";"),
        ('"a;x","b"', ","),
        ("\ufeffa;b", ";"),
        ("\n\na;b", ";"),
        ("a|b", ","),
    ],
)
def test_the_line_of_names_shows_the_separator(tmp_path: Path, line: str, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(line + "\n1;2\n", encoding="utf-8")
    assert of_file(path) == Dialect(separator, separator != ",")
    assert of_file(path, "comma") == Dialect(",", False)
    assert of_file(path, None, "comma") == Dialect(separator, True)
    assert of_file(path, "tab", "point") == Dialect("\t", False)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,5", "1.5"),
        ("-,5", "-.5"),
        (" 5, ", " 5. "),
        ("1,5e-3", "1.5e-3"),
        ("1,2,3", None),
        ("1.234,5", None),
        (",", None),
    ],
)
def test_a_decimal_comma_is_one_comma_in_a_number(text: str, number: str | None) -> None:
    assert pointed(text) == (text if number is None else number)


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("size", ["small", "one piece", "pieces"])
def test_semicolons_and_decimal_commas_are_the_table_with_commas_and_points(
    tmp_path: Path, separator: str, size: str
) -> None:
    numbers = np.random.default_rng(1).normal(size=40).round(6)
    frame = pandas.DataFrame(
        {"n": numbers, "k": range(40), "c": ["x", "y"] * 20, "gap": [None if k % 7 == 0 else k / 4 for k in range(40)]}
    )
    plain, foreign = tmp_path / "plain.csv", tmp_path / "foreign.csv"
    frame.to_csv(plain, index=False)
    frame.to_csv(foreign, index=False, sep=separator, decimal=",")
    names, dialect = list(frame.columns), of_file(foreign)
    if size == "small":
        table = read_small_csv(foreign, dialect)
        assert table is not None
        found = pandas.DataFrame(table.arrays(names, Reading(comma=True)))
    elif size == "one piece":
        found = read_file(foreign, "csv", Reading())
    else:
        found = read_large_csv(foreign, names, Reading(comma=True), rows=7, dialect=dialect).astype({"c": object})
    pandas.testing.assert_frame_equal(found, read_file(plain, "csv", Reading()), check_exact=True)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), st.sampled_from(DOMAINS), st.sampled_from([";", "\t"]))
def test_every_reader_gives_the_same(tmp_path_factory, cells, domain, separator) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path_factory.mktemp("t") / "t.csv", [["a", "b"], *([cell, "1"] for cell in cells)], separator)
    reading, dialect = Reading(domain, comma=True), of_file(path)
    whole = read_file(path, "csv", Reading(domain))["a"].to_numpy(dtype=object)
    pieces = read_large_csv(path, ["a", "b"], reading, rows=2, dialect=dialect)["a"].to_numpy(dtype=object)
    table = read_small_csv(path, dialect)
    arrays = table.arrays(["a"], reading) if table is not None else None
    for other in (pieces, *([] if arrays is None else [arrays["a"].astype(object)])):
        gone = pandas.isna(whole)
        assert (pandas.isna(other) == gone).all()
        assert other[~gone].tolist() == whole[~gone].tolist()


def test_a_text_among_numbers_with_bounds_changes_no_other_cell(tmp_path: Path) -> None:
    rows = [["a", "b"], ["1,5", "1"], ["2,5", "1"], ["x", "1"]]
    path = write(tmp_path / "t.csv", rows, ";")
    assert read_file(path, "csv", Reading({"a": {"bounds": [0, 9]}}))["a"].tolist() == ["1.5", "2.5", "x"]
    assert read_file(path, "csv", Reading({"a": {"categories": ["1,5", "2,5", "x"]}}))["a"].tolist() == [
        "1,5",
        "2,5",
        "x",
    ]


def test_a_category_given_as_text_is_found_with_a_decimal_comma(tmp_path: Path) -> None:
    """As in the files of stations that write points, whatever stands beside it; a text that is a category itself stays as it is."""
    path = write(tmp_path / "t.csv", [["a", "b"], ["0,5", "1"], ["1e3", "1"], ["-1,5", "1"]], ";")
    for private in (False, True):
        reading = Reading({"a": {"categories": ["0.5", "1e3", "-1,5"]}}, alone=private)
        assert read_file(path, "csv", reading)["a"].tolist() == ["0.5", "1e3", "-1,5"]


def test_rows_that_are_too_long_are_found_by_their_separator(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2,5\n")
    check_fields(path, ";")
    path.write_text("a;b\n1,5;2,5\n1;2;3\n")
    with pytest.raises(DataProblem, match="more fields"):
        check_fields(path, ";")


@pytest.mark.parametrize("text", ["a,b\n1,5,2\n2,5,3\n", "a\n1,5\n2,5\n", "a;b\n1;2;\n3;4;\n"])
def test_values_are_never_taken_for_those_of_the_column_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataProblem, match="more fields"):
        source(monkeypatch, path).frame(columns=["a"])
    with pytest.raises(UsageProblem, match="more fields than its line of names"):
        read_table(path)


def test_a_declaration_is_above_what_the_file_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.csv", [["a;x", "b"], ["1,5", "2"]], ",")
    assert source(monkeypatch, path).names == ["a;x", "b"]
    assert source(monkeypatch, path).frame()["a;x"].tolist() == ["1,5"]
    assert source(monkeypatch, path, None, "comma").frame()["a;x"].tolist() == [1.5]
    path.write_text("a;b\n1,234;2\n")
    assert source(monkeypatch, path).frame()["a"].tolist() == [1.234]
    assert source(monkeypatch, path, None, "point").frame()["a"].tolist() == ["1,234"]
    assert source(monkeypatch, path, "comma").names == ["a;b"]


def test_a_setting_that_is_no_word_stops_the_node() -> None:
    assert Policy.from_environment({"FEDBAYES_CSV_SEPARATOR": "tab"}).csv_separator == "tab"
    for variable in ("FEDBAYES_CSV_SEPARATOR", "FEDBAYES_CSV_DECIMAL"):
        with pytest.raises(PolicyError, match=f"{variable} cannot be read"):
            Policy.from_environment({variable: ";"})


def test_a_frame_is_read_as_it_was_written_whatever_its_names() -> None:
    frame = pandas.DataFrame({"x;y": [1.5, 2.5] * 20})
    asked = {"domain": {"x;y": {"bounds": [0, 10]}}}
    with EmbeddedFederation({name: frame for name in "abc"}, policies={"*": {"csv_separator": "semicolon"}}) as place:
        told = place.run("dp_naive_bayes", "describe", asked)
    assert told["model"]["columns"]["x;y"]["missing"] == 0


@pytest.mark.parametrize("private", [{}, {"epsilon": 20.0}], ids=["exact", "private"])
def test_an_identifier_with_a_decimal_comma_is_the_one_with_a_point(tmp_path: Path, private: dict[str, float]) -> None:
    """As a spreadsheet saves it where decimals have commas: 257,0 is the 257 of the other station, and 0,5 its 0.5; a code is as it was."""
    ours = [f"{row},0" if row % 2 else f"{row},5" for row in range(50)] + ["p,x", "1,2,3"]
    theirs = [f"{row}" if row % 2 else f"{row}.5" for row in range(50)] + ['"p,x"', '"1,2,3"']
    (tmp_path / "a.csv").write_text("id;z\n" + "".join(f"{name};{row % 2}\n" for row, name in enumerate(ours)))
    (tmp_path / "b.csv").write_text("id,w\n" + "".join(f"{name},{row % 4 // 2}\n" for row, name in enumerate(theirs)))
    conditions = [{"column": name, "op": "==", "value": 1} for name in "zw"]
    with OneProcess({name: tmp_path / f"{name}.csv" for name in "ab"}, ["helper"]) as running:
        told = running.run("scalar_product", "count", {"conditions": conditions, "id_column": "id", **private})
    assert abs(told["count"] - len(ours) // 4) <= (6 if private else 0)
