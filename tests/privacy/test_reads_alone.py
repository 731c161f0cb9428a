"""What a private task reads of a table, to the last cell: one row of another kind changes no other row's, whatever the task says or leaves out of its columns.

`test_cells_alone` holds it of columns with a domain, file by file. Here whole tasks are asked: where a column has none (another label that a model is
scored by, times and events, columns of a formula), a cell decided how all others of it were read.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from harness.cases import filled
from harness.inprocess import InProcess
from neighbours_kit import made_private
from test_refusals import COLUMNS, PERSON, Question, fits, plain
from test_refusals import QUESTIONS as REFUSED

from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.bayes.values.missing import Reading
from fedbayes.federation.errors import DataProblem, PolicyError
from fedbayes.federation.guards import announced
from fedbayes.federation.guards.table_reader import TableReader
from fedbayes.federation.tables import files
from fedbayes.federation.tables.excel import check_digits
from fedbayes.federation.tables.reading import Source

STUDY: dict[str, Any] = {
    **COLUMNS,
    "code": {"type": "category", "categories": ["1", "2", "NA"]},
    "half": {"type": "number", "bounds": [0, 50], "derive": "tenths / 20"},
    "few": {"type": "category", "categories": ["no", "yes"], "derive": "tenths < 500"},
}
"""Two columns are made of one that the dictionary does not know; and nothing knows of `second`, which is `code` once more."""
UNKNOWN = ("time", "event")
"""Columns of which tasks say no more than that they are the outcome; what is described has to be known."""
SCORED: dict[str, Any] = {"label": "code", "features": ["sex", "age"]}
QUESTIONS = [
    *REFUSED,
    *fits("dp_naive_bayes", "evaluate", about="second", **SCORED)[1:],
    *fits("smooth_naive_bayes", "evaluate", about="second", **SCORED)[1:],
    *fits("secure_naive_bayes", "evaluate", about="second", modulus_bits=2048, **SCORED)[1:],
    *fits("discriminative_naive_bayes", "evaluate", about="second", delta=1e-6, **SCORED)[1:],
    *fits("dp_naive_bayes", label="sex", features=["half", "few"]),
    Question("dp_naive_bayes", (("describe", {"columns": ["half", "few"]}),)),
]
Table = dict[str, list[str]]


def tables(question: Question) -> list[Table | None]:
    """Return columns as files with decimal commas have them, of which no cell is odd."""
    found = []
    for entry in plain(question).organizations:
        columns = copy.deepcopy(entry["columns"])
        for name in set(columns or ()) & {"age", "time"}:
            columns[name] = [f"{value},5" for value in columns[name]]
        if columns is not None and "sex" in columns and "age" in columns:
            columns["code"] = [("1", "2", "NA")[row % 3] for row in range(len(columns["sex"]))]
            columns |= {"second": list(columns["code"]), "tenths": [f"{value}0" for value in columns["age"]]}
        found.append(columns)
    return found


def csv(columns: Table | None) -> str | None:
    return None if columns is None else pd.DataFrame(columns).to_csv(index=False, sep=";")


@contextmanager
def reading() -> Iterator[dict[int, list[dict[str, list[str | None]]]]]:
    """Yield, by organization, the columns that its tasks read, one after the other, as canonical texts."""
    found: dict[int, list[dict[str, list[str | None]]]] = {}

    def noted(read: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(station: TableReader, columns: list[str], *rest: Any, **named: Any) -> Any:
            table = read(station, columns, *rest, **named)
            texts = {name: [canonical_text(cell) for cell in pd.Series(table[name]).tolist()] for name in columns}
            found.setdefault(station.organization, []).append(texts)
            return table

        return wrapped

    with (
        mock.patch.object(TableReader, "data", noted(TableReader.data)),
        mock.patch.object(TableReader, "arrays", noted(TableReader.arrays)),
    ):
        yield found


def read_by(question: Question, content: Sequence[Table | None]) -> dict[int, list[dict[str, list[str | None]]]]:
    """Return what all stations read in a task, steps before its last one too."""
    case = made_private(plain(question), 1.0, 1e-6)
    files = {entry["name"]: csv(table) for entry, table in zip(case.organizations, content, strict=True)}
    results: list[Any] = []
    described = any(function == "describe" for function, _ in case.steps)
    study = {"columns": {name: entry for name, entry in STUDY.items() if described or name not in UNKNOWN}}
    with InProcess(f"v6_{case.algorithm}", files, {}, case.central) as platform, reading() as found:
        for function, arguments in case.steps:
            given = {name: filled(value, results) for name, value in arguments.items()}
            results.append(platform.run(function, {**given, "dictionary": study}))
    return found


def others_changed(question: Question, column: str) -> bool:
    """Return whether an odd cell of a column changes what is read of any other row."""
    content = tables(question)
    before = read_by(question, content)
    holder = next(place for place, columns in enumerate(content) if columns is not None and column in columns)
    odd = copy.deepcopy(content)
    odd[holder][column][PERSON] = "x"  # type: ignore[index]
    after = read_by(question, odd)
    pairs = zip(before[holder + 1], after[holder + 1], strict=True)
    return any(_without_person(one) != _without_person(other) for one, other in pairs)


def _without_person(columns: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    return {name: [cell for row, cell in enumerate(cells) if row != PERSON] for name, cells in columns.items()}


def cases() -> list[Any]:
    found = []
    for question in QUESTIONS:
        text = repr(question.steps)
        named = [name for name in ("age", "time", "event", "sex", "dx", "second") if f"'{name}'" in text]
        for column in [*named, *(["tenths"] if "half" in text else [])]:
            found.append(pytest.param(question, column, id=f"{question}-{column}"))
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize(("question", "column"), cases())
def test_an_odd_cell_changes_no_other_row(question: Question, column: str) -> None:
    assert not others_changed(question, column)


def test_control_unprotected_it_does() -> None:
    with mock.patch.object(announced, "is_private", return_value=False):
        assert others_changed(QUESTIONS[-1], "tenths")


@pytest.mark.parametrize("control", [False, True], ids=["as it is", "control"])
def test_a_number_in_a_sheet_makes_no_truth_value_of_other_rows_a_number(control: bool, tmp_path: Path) -> None:
    """pandas takes the first of the cells of a column that are equal for all of them, and TRUE equals 1."""
    domain = {"c": {"categories": ["true", "false", "1"]}}

    def others(person: Any) -> list[str | None]:
        pd.DataFrame({"c": [person, True, False, True], "n": range(4)}).to_excel(tmp_path / "t.xlsx", index=False)
        read = files.read_file(tmp_path / "t.xlsx", "excel", Reading(domain, alone=True))["c"]
        return [canonical_text(cell) for cell in read.tolist()[1:]]

    as_pandas_reads = mock.patch.object(files, "with_truths", lambda path, sheet, frame: frame)
    with as_pandas_reads if control else nullcontext():
        assert (others(1) == others("x")) is not control


@pytest.mark.parametrize("alone", [True, False], ids=["private", "exact"])
@pytest.mark.parametrize(
    ("limits", "kept"), [({"min_": 2, "include_min": True}, [2, 4]), ({"max_": 3}, [0, 2]), ({"min_": "2"}, [1, 4])]
)
def test_a_cell_that_cannot_be_compared_refuses_no_filter(
    alone: bool, limits: dict[str, Any], kept: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform's own filter ended a task where one cell of its column was no number: a refusal for nothing, also under an epsilon."""
    path = tmp_path / "t.csv"
    path.write_text("n,row\n1,0\nx,1\n2,2\n,3\n30,4\n")
    steps = [{"function": "filter_range", "parameters": {"column": "n", **limits}}]
    for name, value in {"URI": str(path), "TYPE": "csv"}.items():
        monkeypatch.setenv(f"DEFAULT_DATABASE_{name}", value)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps(steps))
    assert [int(row) for row in Source(None, {}, alone=alone).frame()["row"]] == kept


def test_other_steps_of_preprocessing_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n\n1\n")
    for name, value in {"DATABASE_URI": str(path), "DATABASE_TYPE": "csv"}.items():
        monkeypatch.setenv(f"DEFAULT_{name}", value)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    for step in (
        {"function": "impute", "parameters": {"column": "n"}},
        {"function": "filter_range", "parameters": {"column": "n", "min_": [1]}},
        {"function": "filter_range", "parameters": {"column": "n", "quantile": 1}},
        {"function": "filter_range", "parameters": {"min_": 1}},
    ):
        monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps([step]))
        with pytest.raises(PolicyError, match="preprocessing"):
            Source(None, {}).frame()


def test_a_long_number_in_a_sheet_refuses_exact_answers_alone() -> None:
    """Whose identifier is a number of more than 15 digits was told by the refusal, also under an epsilon."""
    frame = pd.DataFrame({"id": pd.Series([5, 2**53 + 2, "x"], dtype=object)})
    check_digits(frame, Reading(identifiers=("id",), alone=True))
    with pytest.raises(DataProblem, match="2\\^53"):
        check_digits(frame, Reading(identifiers=("id",)))


BROKEN = {
    "a name in another encoding": b"f,2,M\xfcller",
    "a field too many": b"f,2,x,y",
    "many too many": b"f,2,x,y,z,,",
    "a field too few": b"f,2",
    "a quotation mark": b'f,2,x"y',
    "nothing in it": b",,",
}
"""One row of a file, as it should not be written: in columns that the task asks for the row is what it says, or missing, and no other row is otherwise."""


@pytest.mark.parametrize("place", [1, 20, 40])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("row", BROKEN.values(), ids=BROKEN)
def test_a_row_that_is_written_wrongly_refuses_nothing(
    row: bytes, large: bool, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether somebody's name has an umlaut decided, for nothing and under an epsilon, whether a task was answered that did not ask for names."""
    rows = [f"{'fm'[number % 2]},{number % 3},x".encode() for number in range(40)]
    path = tmp_path / "t.csv"
    path.write_bytes(b"\n".join([b"sex,dx,name", *rows[: place - 1], row, *rows[place - 1 :]]))
    if large:
        monkeypatch.setattr(files, "LARGE_BYTES", -1)
    domain = {"sex": {"categories": ["f", "m"]}, "dx": {"categories": [0, 1]}}
    for name, value in {"DATABASE_URI": str(path), "DATABASE_TYPE": "csv"}.items():
        monkeypatch.setenv(f"DEFAULT_{name}", value)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    source = Source(None, {}, alone=True)
    assert source.names == ["sex", "dx", "name"]
    read = source.frame(domain, (), ["sex", "dx"])
    assert len(read) == 41
    texts = [[canonical_text(cell) for cell in cells] for cells in read[["sex", "dx"]].itertuples(index=False)]
    del texts[place - 1]
    assert texts == [list(line.decode().split(","))[:2] for line in rows]


@pytest.mark.parametrize("large", [False, True])
def test_separators_at_the_ends_of_lines_lose_no_row(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some programs write each line: all rows were missing, and a private answer noise alone."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"sex,dx,name\nf,1,x,\nm,0,y,,\nf,0,z,w\n")
    if large:
        monkeypatch.setattr(files, "LARGE_BYTES", -1)
    for name, value in {"DATABASE_URI": str(path), "DATABASE_TYPE": "csv"}.items():
        monkeypatch.setenv(f"DEFAULT_{name}", value)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    domain = {"sex": {"categories": ["f", "m"]}, "dx": {"categories": [0, 1]}}
    read = Source(None, {}, alone=True).frame(domain, (), ["sex", "dx"])
    assert [canonical_text(cell) for cell in read["sex"][:2]] == ["f", "m"]
    assert [canonical_text(cell) for cell in read["dx"][:2]] == ["1", "0"]
    assert read.iloc[2].isna().all()


@pytest.mark.parametrize("broken", ["a name in another encoding", "a field too many"])
def test_control_exact_tasks_say_what_is_wrong_with_a_file(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"sex,dx,name\nf,1,x\nm,0,x\n" + BROKEN[broken])
    for name, value in {"DATABASE_URI": str(path), "DATABASE_TYPE": "csv"}.items():
        monkeypatch.setenv(f"DEFAULT_{name}", value)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
    with pytest.raises(DataProblem, match=r"UTF-8|as a table|more fields"):
        Source(None, {}).frame()
