"""A CSV file that is read in pieces gives the columns that it gives in one piece."""

import csv
import resource
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.missing import Reading
from fedbayes.federation.errors import DataProblem
from fedbayes.federation.tables import files, large_csv
from fedbayes.federation.tables.files import read_file
from fedbayes.federation.tables.large_csv import check_fields, read_large_csv

CELLS = [
    "",
    "1",
    "2",
    "-9",
    "007",
    "1.5",
    "NA",
    "None",
    "true",
    "False",
    "x",
    "a,b",
    'say "x"',
    "Zürich",
    " 3 ",
    "1e3",
    "inf",
    "9007199254740993",
    "-9007199254740995",
]
DOMAINS = [
    {},
    {"c": {"bounds": [0, 9]}},
    {"c": {"categories": ["1", "x", "NA"]}},
    {"c": {"bounds": [0, 9], "missing": ["-9"]}},
]


def plain(column) -> list:
    return [
        None if pd.isna(value) else (type(value).__name__.replace("64", "").rstrip("_"), value)
        for value in column.tolist()
    ]


@given(
    cells=st.lists(st.sampled_from(CELLS), min_size=1, max_size=12),
    numeric=st.booleans(),
    domain=st.sampled_from(DOMAINS),
    rows=st.integers(1, 5),
)
@example(cells=["", "NA", "", "true"], numeric=False, domain={}, rows=2)
@settings(deadline=None, max_examples=120)
def test_pieces_give_what_the_whole_gives(tmp_path_factory, cells, numeric, domain, rows):
    path = tmp_path_factory.mktemp("large") / "t.csv"
    kept = [
        cell if not numeric or cell in ("", "1", "2", "-9", "1.5", "NA", "9007199254740993") else "2" for cell in cells
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["n", "c", "other"], *([k, cell, "z"] for k, cell in enumerate(kept))])
    whole = read_file(path, "csv", Reading(domain), columns=["n", "c"])
    pieces = read_large_csv(path, ["n", "c"], Reading(domain), rows)
    assert list(whole.columns) == list(pieces.columns) == ["n", "c"]
    assert plain(pieces["c"]) == plain(whole["c"])
    assert pieces["n"].tolist() == whole["n"].tolist()
    for entry in ({"bounds": [0, 9]}, {"categories": ["1", "x", "NA", "true", "7"]}):
        schema = Schema.from_domain({"c": entry})
        np.testing.assert_array_equal(schema.encode(pieces, "absorb")["c"], schema.encode(whole, "absorb")["c"])


def test_a_station_reads_a_large_file_in_pieces(tmp_path, monkeypatch):
    table = pd.DataFrame({"a": ["x", "y"] * 50, "b": range(100), "unused": ["z"] * 100})
    table.to_csv(tmp_path / "t.csv", index=False)
    seen = []
    monkeypatch.setattr(files, "LARGE_BYTES", 10)
    monkeypatch.setattr(
        files,
        "read_large_csv",
        lambda path, names, rule, dialect: seen.append(names) or read_large_csv(path, names, rule, 7, dialect),
    )
    found = read_file(tmp_path / "t.csv", "csv", Reading(), columns=["a", "b"])
    assert seen == [["a", "b"]]
    assert found["a"].tolist() == table["a"].tolist()
    assert found["b"].tolist() == table["b"].tolist()


@pytest.mark.benchmark
def test_twenty_million_rows_stay_below_two_gibibytes(tmp_path):
    rows, pieces = 20_000_000, 20
    random = np.random.default_rng(0)
    path = tmp_path / "large.csv"
    for piece in range(pieces):
        count = rows // pieces
        table = {"sex": random.choice(["female", "male"], count), "age": random.integers(18, 90, count)}
        table |= {"stage": random.choice(["I", "II", "III", "IV"], count), "ill": random.integers(0, 2, count)}
        table |= {"unused": random.integers(0, 10**6, count)}
        pd.DataFrame(table).to_csv(path, index=False, header=piece == 0, mode="a")
    domain = {"sex": {"categories": ["female", "male"]}, "age": {"bounds": [18, 90]}, "ill": {"categories": [0, 1]}}
    domain |= {"stage": {"categories": ["I", "II", "III", "IV"]}}
    began = time.monotonic()
    frame = read_file(path, "csv", Reading(domain), columns=list(domain))
    encoded = Schema.from_domain(domain).encode(frame)
    seconds, most = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert sum(len(column) for column in encoded.values()) == 4 * rows
    print(f"{rows} rows of {path.stat().st_size / 2**20:.0f} MiB: {seconds:.0f} s, at most {most:.2f} GiB")
    assert most < 2.0


@pytest.mark.parametrize("piece", [3, 7, 2**24])
@given(rows=st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), min_size=1, max_size=8))
@settings(max_examples=60)
def test_a_row_with_too_many_fields_is_refused(tmp_path_factory, piece, rows):
    path = tmp_path_factory.mktemp("table") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "c"], *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_csv, "PIECE", piece)
        if any(len(row) > 3 for row in rows):
            with pytest.raises(DataProblem, match="more fields than its header"):
                check_fields(path)
        else:
            check_fields(path)


def test_a_stray_quotation_mark_refuses_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n5" tall,"x,y"\n6,"z,w"\n', encoding="utf-8")
    check_fields(path)


def test_a_large_file_is_checked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n", encoding="utf-8")
    with pytest.raises(DataProblem):
        read_large_csv(path, ["a"], Reading({}, {}))


def test_truth_values_after_a_piece_of_empty_cells_stay_truth_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,d\n,1\ntrue,2\n", encoding="utf-8")
    assert read_large_csv(path, ["c"], Reading({}, {}), rows=1)["c"][1] is True
