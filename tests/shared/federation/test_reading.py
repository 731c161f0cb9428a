"""What is missing, and what is a value, is the same in every kind of file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_kit import database

from fedbayes.bayes.schema import Schema, SchemaError
from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.bayes.values.missing import USUAL, Reading, public_part
from fedbayes.federation import errors
from fedbayes.federation.errors import DataProblem
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.station import Station
from fedbayes.federation.tables import small_csv
from fedbayes.federation.tables.files import settled
from fedbayes.federation.tables.reading import Source

BITING = [*sorted(USUAL), "#N/A", "-nan", "true", "1.0", "007", "inf", "Infinity", "1e400", "0x10", "a,b", "?"]
BITING += ['say "x"', "two\nlines", "Zürich", "9007199254740993", "12345678901234567890", "x" * 300, " blank ", "-"]
texts = st.one_of(
    st.sampled_from(BITING),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
)
Reader = Callable[[list[str | None], Path, Any, Any], Any]


def as_csv(cells: list[str | None], folder: Path, domain: Any, schema: Any) -> Any:
    path = folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["c", "n"], *([cell or "", str(k)] for k, cell in enumerate(cells))])
    return with_database(path, "csv", domain, schema)


def as_excel(cells: list[str | None], folder: Path, domain: Any, schema: Any) -> Any:
    path = folder / "t.xlsx"
    pd.DataFrame({"c": cells, "n": range(len(cells))}).to_excel(path, index=False)
    return with_database(path, "excel", domain, schema)


def as_parquet(cells: list[str | None], folder: Path, domain: Any, schema: Any) -> Any:
    path = folder / "t.parquet"
    pd.DataFrame({"c": cells, "n": range(len(cells))}).to_parquet(path)
    return with_database(path, "parquet", domain, schema)


def as_frame(cells: list[str | None], folder: Path, domain: Any, schema: Any) -> Any:
    return Source([pd.DataFrame({"c": pd.Series(cells, dtype=object), "n": range(len(cells))})], schema).frame(domain)


def with_database(path: Path, kind: str, domain: Any, schema: Any) -> Any:
    with database(path, kind):
        return Source(None, schema).frame(domain)


READERS = {"csv": as_csv, "excel": as_excel, "parquet": as_parquet, "frame": as_frame}


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], list[str | None]]:
    """Categories that differ in their canonical texts, and cells of them with some that are empty."""
    categories = draw(st.lists(texts, min_size=2, max_size=5, unique_by=canonical_text))
    categories = [text for text in categories if canonical_text(text) is not None]
    cells = draw(st.lists(st.sampled_from([*categories, None]), min_size=2, max_size=12))
    return categories, cells


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["csv", "frame"])
@given(case=columns())
@settings(max_examples=250, deadline=None)
def test_any_text_category_of_the_domain_survives(
    kind: str, tmp_path_factory: pytest.TempPathFactory, case: tuple[list[str], list[str | None]]
) -> None:
    categories, cells = case
    if len(categories) < 2:
        return
    domain = {"c": {"categories": categories}}
    expected = [-1 if cell is None else categories.index(cell) for cell in cells]
    folder = tmp_path_factory.mktemp("table")
    frame = READERS[kind](cells, folder, domain, {})
    assert Schema.from_domain(domain).encode(frame, "refuse")["c"].tolist() == expected
    if kind == "csv":
        with database(folder / "t.csv", "csv"):
            small = Source(None, {}).arrays(["c"], domain)
        if small is not None:
            assert Schema.from_domain(domain).encode(small[0], "refuse")["c"].tolist() == expected


@given(case=columns())
@settings(max_examples=15, deadline=None)
def test_any_text_category_survives_in_excel(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[str], list[str | None]]
) -> None:
    categories, cells = case
    if len(categories) < 2 or any(text[0] in "#=" for text in categories):
        return  # Excel's own error values and formulas
    domain = {"c": {"categories": categories}}
    frame = as_excel(cells, tmp_path_factory.mktemp("table"), domain, {})
    expected = [-1 if cell is None else categories.index(cell) for cell in cells]
    assert Schema.from_domain(domain).encode(frame, "refuse")["c"].tolist() == expected


@pytest.mark.parametrize("kind", READERS)
def test_without_a_domain_only_the_empty_cell_of_a_text_is_missing(kind: str, tmp_path: Path) -> None:
    frame = READERS[kind](["None", "NA", None, "x", "nan"], tmp_path, {}, {})
    assert frame["c"].isna().tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("large", ["9007199254740993", "18446744073709551557"])
def test_whole_numbers_beside_missing_cells_keep_every_digit(kind: str, large: str, tmp_path: Path) -> None:
    column = READERS[kind](["1", large, None], tmp_path, {}, {})["c"]
    assert [canonical_text(value) for value in column] == ["1", large, None]


@pytest.mark.parametrize("cells", [["true", "False", "TRUE"], ["true", None, "false"]])
def test_truth_values_are_the_same_in_excel_and_csv(cells: list[str | None], tmp_path: Path) -> None:
    found = [READERS[kind](cells, tmp_path, {}, {})["c"] for kind in ("csv", "excel")]
    assert found[0].dtype == found[1].dtype
    assert found[0].tolist()[0] is found[1].tolist()[0] is True
    assert found[0].isna().tolist() == found[1].isna().tolist() == [cell is None for cell in cells]


@pytest.mark.parametrize("first", [1, True, 0, False, "x"])
def test_a_truth_value_of_a_sheet_is_none_of_the_numbers_beside_it(first: Any, tmp_path: Path) -> None:
    """pandas takes the first of cells that are equal for all: one row with a 1 made every TRUE below a 1, also under an epsilon."""
    domain = {"c": {"categories": ["True", "1", "False", "0", "x"]}}
    cells = [first, True, 1, None, False, 0, "x", True]
    found = as_excel(cells, tmp_path, domain, {})["c"]
    assert [canonical_text(value) for value in found] == [None if cell is None else str(cell).lower() for cell in cells]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "cells", [["2020-01-31", None, "1999-12-01"], ["2020-01-31 12:30:00", None, "1999-12-01 00:00:00"]]
)
def test_dates_are_text_as_in_csv(kind: str, cells: list[str | None], tmp_path: Path) -> None:
    written: Any = cells if kind == "csv" else pd.to_datetime(pd.Series(cells))
    for domain in ({}, {"c": {"categories": sorted(filter(None, cells))}}):
        found = READERS[kind](written, tmp_path, domain, {})["c"]
        assert [canonical_text(value) for value in found] == [canonical_text(cell) for cell in cells]
        assert found.dtype == object


@pytest.mark.parametrize(("value", "kind", "refused"), [(None, None, True), ("", "str", False), ("3", None, False)])
def test_formulas_of_excel_whose_values_are_not_stored_are_refused(
    value: str | None, kind: str | None, refused: bool, tmp_path: Path
) -> None:
    path, filled = tmp_path / "t.xlsx", tmp_path / "filled.xlsx"
    book = openpyxl.Workbook()
    for row in (["n", "c"], [1, "=1+2"], [2, 7]):
        book.active.append(row)
    book.save(path)
    with ZipFile(path) as old, ZipFile(filled, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if value is not None and name.startswith("xl/worksheets/"):
                stored = f"<v>{value}</v>" if value else "<v></v>"
                text = re.sub(
                    r'<c r="B2"[^>]*><f>1\+2</f><v ?/?>(</v>)?</c>',
                    f'<c r="B2" t="{kind or "n"}"><f>1+2</f>{stored}</c>',
                    text,
                )
            new.writestr(name, text)
    if refused:
        with pytest.raises(DataProblem, match="sheet column B has formulas"):
            with_database(filled, "excel", {}, {})
    else:
        found = with_database(filled, "excel", {}, {})["c"]
        assert found.tolist()[1] == 7
        assert pd.isna(found[0]) if kind else found[0] == 3


@pytest.mark.parametrize("other", [None, "a"])
def test_numbers_whose_last_digits_a_sheet_does_not_keep_are_refused_but_for_measured_ones(
    other: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"c": [1, 2**53, other], "n": range(3)}).to_excel(path, index=False)
    with pytest.raises(DataProblem, match="column 'c' of this station's Excel file has numbers above 2"):
        with_database(path, "excel", {}, {})
    assert with_database(path, "excel", {"c": {"bounds": [0, 1e20]}}, {})["c"].iloc[1] == 2**53
    pd.DataFrame({"c": [1, 2**53 - 1, other], "n": range(3)}).to_excel(path, index=False)
    column = with_database(path, "excel", {}, {})["c"]
    assert [canonical_text(value) for value in column] == ["1", str(2**53 - 1), other]


@pytest.mark.parametrize("code", [9.75e77, 1e20, -(2.0**53)])
def test_a_large_missing_code_of_a_measured_number_is_missing_in_a_sheet_too(code: float, tmp_path: Path) -> None:
    """Pandas makes a whole number of it, with more digits than the code has."""
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"c": [1.5, code, 3.0], "n": range(3)}).to_excel(path, index=False)
    domain = {"c": {"bounds": [0, 9], "missing": [repr(code)]}}
    assert with_database(path, "excel", domain, {})["c"].isna().tolist() == [False, True, False]


def test_whole_numbers_of_parquet_beside_missing_cells_keep_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"c": pd.array([1, 2**53 + 1, None], dtype="Int64")}).to_parquet(path)
    column = with_database(path, "parquet", {}, {})["c"]
    assert [canonical_text(value) for value in column] == ["1", str(2**53 + 1), None]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("usual", sorted(USUAL))
def test_the_usual_texts_are_missing_among_numbers(kind: str, usual: str, tmp_path: Path) -> None:
    frame = READERS[kind](["1", usual, "2.5", None], tmp_path, {}, {})
    assert frame["c"].isna().tolist() == [False, True, False, True]
    encoded = Schema.from_domain({"c": {"bounds": [0, 9]}}).encode(frame)["c"]
    assert np.array_equal(encoded, [1, np.nan, 2.5, np.nan], equal_nan=True)


@pytest.mark.parametrize("kind", READERS)
def test_among_numbers_a_listed_text_is_a_value(kind: str, tmp_path: Path) -> None:
    domain = {"c": {"categories": ["1", "2", "NA"]}}
    for given_domain, schema in ((domain, {}), ({}, domain)):
        frame = READERS[kind](["1", "NA", "nan", "2"], tmp_path, given_domain, schema)
        assert Schema.from_domain(domain).encode(frame)["c"].tolist() == [0, 2, -1, 1]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("place", ["task", "task top", "node", "node top"])
def test_declared_texts_are_missing(kind: str, place: str, tmp_path: Path) -> None:
    entry: dict[str, Any] = {"categories": ["a", "b"]}
    declared = ["", "unknown", "-9"]
    domain: dict[str, Any] = {"c": {**entry, "missing": declared} if place == "task" else entry}
    schema = {"node": {"c": {"missing": declared}}, "node top": {"missing": declared}}.get(place, {})
    if place == "task top":
        domain["missing"] = declared
    frame = READERS[kind](["a", "unknown", "-9", "b", None], tmp_path, domain, schema)
    assert frame["c"].isna().tolist() == [False, True, True, False, True]
    assert Schema.from_domain(domain).encode(frame, "refuse")["c"].tolist() == [0, -1, -1, 1, -1]
    numbers = READERS[kind](["3", "-9", "4"], tmp_path, {"c": {"bounds": [0, 9], "missing": declared}}, {})
    encoded = Schema.from_domain({"c": {"bounds": [0, 9]}}).encode(numbers)["c"]
    assert np.array_equal(encoded, [3, np.nan, 4], equal_nan=True)


def test_the_domain_alone_declares_too() -> None:
    domain = {"c": {"categories": ["a", "None"]}, "n": {"bounds": [0, 9]}, "missing": ["-9", "None"]}
    schema = Schema.from_domain(domain)
    frame = pd.DataFrame({"c": ["a", "None", "-9"], "n": [-9, 3, 12]})
    assert schema.encode(frame)["c"].tolist() == [0, 1, -1]
    assert np.array_equal(schema.encode(frame)["n"], [np.nan, 3, 9], equal_nan=True)
    assert Schema.from_domain(schema.to_domain()) == schema
    empty = Schema.from_domain({"c": {"categories": ["a", "None"], "missing": [""]}})
    assert empty.encode(frame)["c"].tolist() == [0, 1, -1]


def test_a_column_may_be_called_missing() -> None:
    schema = Schema.from_domain({"missing": {"categories": ["yes", "no"]}})
    assert schema.encode(pd.DataFrame({"missing": ["no", "yes"]}))["missing"].tolist() == [1, 0]


@pytest.mark.parametrize("declared", ["NA", [["NA"]], [None], [True], 5])
def test_what_is_declared_must_be_a_list_of_texts(declared: Any) -> None:
    with pytest.raises(SchemaError, match="missing"):
        Schema.from_domain({"c": {"categories": ["a", "b"], "missing": declared}})
    with pytest.raises(errors.DataProblem, match="missing"):
        Source([pd.DataFrame({"c": ["a"]})], {"c": {"missing": declared}}).frame()


def test_how_a_node_writes_what_is_missing_stays_there() -> None:
    schema = {"missing": ["NA"], "a": {"categories": ["x", "y"], "missing": ["-"]}, "b": {"missing": ["?"]}}
    assert public_part(schema) == {"a": {"categories": ["x", "y"]}}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("kind", ["csv", "excel"])
def test_identifiers_keep_their_text(kind: str, large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(small_csv, "LARGEST_BYTES", 0)
    READERS[kind](["00257", "8", None, "1e3", "7.0"], tmp_path, {}, {})
    with database(tmp_path / ("t.csv" if kind == "csv" else "t.xlsx"), kind):
        read = Source(None, {}).frame(identifiers=("c",))["c"]
    assert read.isna().tolist() == [False, False, True, False, False]
    assert read.dropna().tolist() == ["00257", "8", "1e3", "7.0"]


def test_preprocessing_of_the_platform_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"function": "filter_range", "parameters": {"column": "n", "min_": 1}}]
    monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps(steps))
    frame = as_csv(["y", "x", "None", None], tmp_path, {"n": {"categories": ["0", "1", "2", "3"]}}, {})
    assert frame["c"].isna().tolist() == [False, True]
    assert frame["n"].tolist() == [2, 3]


@pytest.mark.parametrize(
    "text", ["{", "[1]", '[{"function": "filter_range"}]', '[{"parameters": {"column": ["n"]}}]', "5"]
)
def test_preprocessing_that_cannot_be_read_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_PREPROCESSING", text)
    with pytest.raises(errors.PolicyError, match="preprocessing"):
        as_csv(["y"], tmp_path, {}, {})


def test_rows_are_left_out_by_allowed_columns_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"function": "filter_range", "parameters": {"column": "income", "min_": 1}}]
    monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps(steps))
    station = object.__new__(Station)
    memory = SimpleNamespace(read=lambda name: None)
    station.__dict__ |= {"dictionary": None, "_source": Source(None, {}), "memory": memory}
    path = tmp_path / "t.csv"
    path.write_text("age,income\n1,2\n")
    with database(path, "csv"):
        station.policy = Policy(denied_columns=("income",))
        with pytest.raises(errors.PolicyError, match="income"):
            station.check_columns(["age"])
        station.policy = Policy()
        station.check_columns(["age"])
        station.require_private(True)
        with pytest.raises(errors.PolicyError, match="FEDBAYES_ALLOW_FORMULAS"):
            station.require_private(False)


def test_a_file_that_is_no_table_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n\xff\xfe secret\n")
    with database(path, "csv"), pytest.raises(errors.DataProblem) as caught:
        Source(None, {}).frame()
    assert "secret" not in str(caught.value)
    path.write_text("")
    with database(path, "csv"), pytest.raises(errors.ThresholdError):
        Source(None, {}).frame()
    with pytest.raises(errors.DataProblem, match="no database"):
        Source([], {}).frame()


def test_the_given_frame_stays_as_it_is() -> None:
    frame = pd.DataFrame({"c": ["1", "NA"]})
    read = settled(frame, Reading())
    assert read["c"].isna().tolist() == [False, True]
    assert frame["c"].tolist() == ["1", "NA"]


FULL = {
    "age": {"bounds": [20, 80]},
    "sex": {"categories": ["f", "m"]},
    "smoker": {"categories": [True, False]},
    "cost": {"bounds": [0, 3]},
    "code": {"categories": ["007", "NA", "None"]},
    "when": {"categories": ["2020-01-02", "2020-01-03"]},
}


def frame_of_all_types(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(20, 80, rows), dtype="Int64"),
            "sex": pd.Categorical(rng.choice(["f", "m"], rows)),
            "smoker": pd.array(rng.random(rows) < 0.5, dtype="boolean"),
            "cost": [Decimal("1.50")] * rows,
            "code": pd.array(rng.choice(["007", "NA", "None"], rows), dtype="string"),
            "when": pd.to_datetime(rng.choice(["2020-01-02", "2020-01-03"], rows)),
        }
    )
    for place, name in enumerate(frame):
        frame.loc[place, name] = None
    return frame


def encoded(path: Path, kind: str) -> dict[str, list[Any]]:
    with database(path, kind):
        source = Source(None, {})
        frame = source.frame(FULL, (), list(FULL))
        assert source.names[:6] == list(FULL)
    return {name: column.tolist() for name, column in Schema.from_domain(FULL).encode(frame, "refuse").items()}


def test_parquet_means_what_the_same_csv_means(tmp_path: Path) -> None:
    frame = frame_of_all_types()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    left, right = encoded(tmp_path / "t.csv", "csv"), encoded(tmp_path / "t.parquet", "parquet")
    for name in FULL:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    assert [right["sex"][1], right["smoker"][2], right["code"][4], right["when"][5]] == [-1, -1, -1, -1]


def test_parquet_reads_the_columns_that_are_wanted_and_names_those_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = frame_of_all_types().assign(visits=[[1, 2]] * 40)
    frame.set_index(frame.index * 2).to_parquet(path)
    with database(path, "parquet"):
        source = Source(None, {})
        assert source.names == list(frame), "an index without a name is no column"
        assert list(source.frame(FULL, (), ["sex"]).columns) == ["sex"]
        with pytest.raises(DataProblem, match="'visits' of this station's file holds lists"):
            source.frame(None, (), ["sex", "visits"])
        assert "visits" not in source.frame().columns


def test_a_broken_parquet_file_is_named_as_one(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_text("no parquet", encoding="utf-8")
    with database(path, "parquet"), pytest.raises(DataProblem, match="cannot be read as a table"):
        Source(None, {}).frame(FULL, (), ["sex"])
