"""Files as spreadsheet programs and other systems leave them: read as people see them, or refused with the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from node_kit import database
from one_process import OneProcess
from openpyxl.chart import BarChart

from fedbayes.federation.embedded.federation import EmbeddedFederation
from fedbayes.federation.embedded.parties import Tables
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError
from fedbayes.federation.tables.reading import Source

FRAME = pd.DataFrame({"id": ["7", "8", "9"], "age": [41, 52, 63], "city": ["Köln", "Gießen", "Köln"]})
DOMAIN = {"age": {"bounds": [0, 100]}, "city": {"categories": ["Köln", "Gießen"]}}


@contextmanager
def station(path: Path, kind: str) -> Iterator[Source]:
    with database(path, kind):
        yield Source(None, {})


def read(path: Path, kind: str) -> Any:
    with station(path, kind) as source:
        assert set(DOMAIN) <= set(source.names)
        return source.frame(DOMAIN, ("id",), list(DOMAIN))


def sheet(folder: Path, change: Callable[[Any, Any], None]) -> Path:
    book = openpyxl.Workbook()
    page = book.active
    for row in [list(FRAME), *FRAME.to_numpy().tolist()]:
        page.append(row)
    change(book, page)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-32"])
def test_a_csv_file_in_another_encoding_is_told_as_that(encoding: str, tmp_path: Path) -> None:
    for text in (FRAME.to_csv(index=False), FRAME.replace({"Köln": "K", "Gießen": "G"}).to_csv(index=False)):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        if encoding == "cp1252" and text.isascii():
            continue
        with pytest.raises(
            DataProblem, match="no text in UTF-8; ask the node administrator to save it as CSV in UTF-8"
        ):
            read(tmp_path / "t.csv", "csv")


def hide(book: Any, page: Any) -> None:
    book.create_sheet("now").append(["other"])
    book.active = 1
    page.sheet_state = "hidden"


def merge(book: Any, page: Any) -> None:
    page.merge_cells("C2:C3")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (hide, "c: the first sheet of its Excel file is hidden; put the sheet of the table first"),
        (
            merge,
            "c: sheet column C has merged cells in its Excel file, which holds their value once; separate them and write the value in each",
        ),
    ],
)
def test_an_embedded_federation_tells_its_caller_of_a_file_of_the_party(change: Any, told: str, tmp_path: Path) -> None:
    """The caller is nobody's node administrator, and is at no station: the party's file is theirs."""
    with (
        EmbeddedFederation({"a": FRAME, "b": FRAME, "c": sheet(tmp_path, change)}) as federation,
        pytest.raises(DataProblem) as problem,
    ):
        federation.run("dp_naive_bayes", "describe", {"domain": DOMAIN})
    assert str(problem.value).split(" (nothing")[0] == told


def lower(book: Any, page: Any) -> None:
    page.insert_rows(1, 2)


def titled(book: Any, page: Any) -> None:
    page.insert_rows(1, 2)
    page["A1"] = "Export of ward 3"


NO_NAMES = "first row of this station's Excel file does not name its columns; ask .* to delete the rows above"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lower, NO_NAMES),
        (titled, NO_NAMES),
        (hide, "first sheet of this station's Excel file is hidden; ask the node administrator"),
        (merge, "sheet column C has merged cells in this station's Excel file.* ask the node administrator"),
    ],
)
def test_what_a_sheet_does_not_show_is_not_read(change: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=match):
        read(sheet(tmp_path, change), "excel")


def test_a_hidden_sheet_that_the_task_names_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_SHEET_NAME", "Sheet")
    assert read(sheet(tmp_path, hide), "excel")["age"].tolist() == [41, 52, 63]


def chart_first(book: Any, page: Any) -> None:
    chart = BarChart()
    chart.add_data(openpyxl.chart.Reference(page, min_col=2, min_row=1, max_row=4), titles_from_data=True)
    book.create_chartsheet("picture", 0).add_chart(chart)


def merge_beside(book: Any, page: Any) -> None:
    page.merge_cells("F2:G9")


@pytest.mark.parametrize("change", [chart_first, merge_beside])
def test_what_is_beside_the_table_does_not_matter(change: Any, tmp_path: Path) -> None:
    frame = read(sheet(tmp_path, change), "excel")
    assert frame["city"].tolist() == FRAME["city"].tolist()


def test_a_file_that_is_no_workbook_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    for content in (FRAME.to_csv(index=False).encode(), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        path.write_bytes(content)
        with pytest.raises(DataProblem, match=r"no Excel workbook \(.xlsx\).* a password"):
            read(path, "excel")


@pytest.mark.parametrize("index", [["id"], ["id", "city"], ["age"]])
def test_named_indices_of_pandas_are_columns_of_parquet_too(index: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.set_index(index).to_parquet(path)
    with station(path, "parquet") as source:
        assert set(source.names) == set(FRAME)
        frame = source.frame(DOMAIN, ("id",))
    pd.testing.assert_frame_equal(frame[list(FRAME)], FRAME, check_dtype=False)


def test_unnamed_indices_are_not(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.set_axis([3, 5, 9]).to_parquet(path)
    with station(path, "parquet") as source:
        assert source.names == list(FRAME)
        assert source.frame(DOMAIN, ("id",))["age"].tolist() == [41, 52, 63]


@pytest.mark.parametrize("name", ["T.CSV", "T.XLSX", "T.Parquet"])
def test_endings_may_be_in_capitals(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    writers = {".csv": FRAME.to_csv, ".xlsx": FRAME.to_excel, ".parquet": FRAME.to_parquet}
    lower = tmp_path / f"t{path.suffix.lower()}"
    writers[lower.suffix](lower, index=False)
    lower.rename(path)
    parties = {party: path for party in "abc"}
    with OneProcess(parties, policies={"*": {"minimum_rows": 1, "minimum_count": 0}}) as federation:
        found = federation.run("dp_naive_bayes", "describe", {"domain": DOMAIN})
    assert found["model"]["columns"]["city"]["categories"]["counts"] == [6, 3]
    (tmp_path / "t.tsv").write_text("a\tb\n")
    with pytest.raises(ArgumentError, match=r"must end in one of: .csv"):
        Tables("a", tmp_path / "t.tsv", tmp_path)


@pytest.mark.parametrize("name", ["City", " city ", "CITY", "cit\u200by"])
def test_a_name_that_differs_by_what_nobody_sees_is_told_so_without_the_name(name: str) -> None:
    other = FRAME.rename(columns={"city": name})
    asked = {"label": "city", "domain": DOMAIN, "noise": "none"}
    for denied, hint in (([], True), ([name], False)):
        limits = {"*": {"minimum_rows": 1}, "b": {"denied_columns": denied}}
        federation = OneProcess({"a": FRAME, "b": other, "c": FRAME}, policies=limits)
        with federation, pytest.raises((DataProblem, PolicyError), match="column 'city'") as refusal:
            federation.run("dp_naive_bayes", "fit", asked)
        assert ("one there differs only by blanks, capitals or accents" in str(refusal.value)) is hint
        assert name not in str(refusal.value)
