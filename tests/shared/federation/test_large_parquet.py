"""A large parquet file, of which texts are read as codes, gives the columns that a small one gives."""

import datetime
import resource
import time
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_process import OneProcess
from pyarrow import parquet as file_format

from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.missing import Reading
from fedbayes.federation.horizontal import Columns, CountNoise, added
from fedbayes.federation.tables import parquet
from fedbayes.federation.tables.files import read_file, settled
from fedbayes.federation.tables.parquet import parts, read

DOMAINS = [
    {},
    {"c": {"bounds": [0, 9]}},
    {"c": {"categories": ["1", "x", "NA"]}},
    {"c": {"bounds": [0, 9], "missing": ["-9"]}},
]
DAY = datetime.date(2020, 1, 31)
COLUMNS = {
    "texts": (
        ["", "1", "2", "-9", "007", "NA", "None", "x", "Zürich", None],
        [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    ),
    "numbers as texts": (["1", "2", "-9", "NA", "", None], [pa.string(), pa.large_string()]),
    "whole numbers": ([1, 2, -9, None], [pa.int8(), pa.int64(), pa.float64()]),
    "large whole numbers": ([2**53 + 1, 2**53 + 3, 9, None], [pa.int64(), pa.uint64()]),
    "numbers": ([1.5, -9.0, None], [pa.float32(), pa.float64()]),
    "numbers of single precision": ([0.1, 0.7, 1e-9, -9.0, None], [pa.float32(), pa.float64()]),
    "bytes": (["a", "b", "", "1", "Zürich", None], [pa.string(), pa.binary(), pa.large_binary()]),
    "truths": ([True, False, None], [pa.bool_()]),
    "days": ([DAY, datetime.date(1999, 12, 31), None], [pa.date32(), pa.timestamp("us")]),
}


def plain(column) -> list:
    return [None if pd.isna(value) else (type(value).__name__, value) for value in column.tolist()]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data(), domain=st.sampled_from(DOMAINS), rows=st.integers(1, 4))
@settings(max_examples=60)
def test_codes_give_what_cells_give(tmp_path_factory, kind, data, domain, rows):
    path = tmp_path_factory.mktemp("large") / "t.parquet"
    values, types = COLUMNS[kind]
    cells = data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=12))
    column = pa.array(cells, types[0]).cast(data.draw(st.sampled_from(types)))
    table = pa.table({"c": column, "n": range(len(cells))})
    file_format.write_table(table, path, row_group_size=rows)
    small = read(path, Reading(domain), ["n", "c"])
    large = read(path, Reading(domain), ["n", "c"], rows=1)
    assert list(small.columns) == list(large.columns) == ["n", "c"]
    assert large["n"].tolist() == small["n"].tolist()
    assert plain(large["c"]) == plain(small["c"])
    if kind not in ("truths", "days"):
        for entry in ({"bounds": [0, 9]}, {"categories": ["1", "x", "NA", "true", "7"]}):
            schema = Schema.from_domain({"c": entry})
            try:
                expected = schema.encode(small, "absorb")["c"]
            except ValueError as refusal:
                with pytest.raises(type(refusal)):
                    schema.encode(large, "absorb")
            else:
                np.testing.assert_array_equal(schema.encode(large, "absorb")["c"], expected)


ENTRIES = [
    {"bounds": [0, 9]},
    {"bounds": [0, 9], "missing": ["-9", 2]},
    {"categories": ["1", "x", "NA", "true", "7"]},
    {"categories": [2, -9, 9007199254740993], "missing": ["x", -9]},
]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if kind not in ("days", "bytes")])
@given(
    data=st.data(),
    rows=st.integers(1, 5),
    least=st.integers(1, 4),
    node=st.sampled_from([{}, {"missing": ["x", "2", "-9"]}]),
)
@settings(max_examples=60)
def test_parts_encode_as_parquet_csv_and_frames_do(tmp_path_factory, kind, data, rows, least, node):
    folder = tmp_path_factory.mktemp("parts")
    path, values, types = folder / "t.parquet", *COLUMNS[kind]
    cells = data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=12))
    column = pa.array(cells, types[0]).cast(data.draw(st.sampled_from(types)))
    file_format.write_table(pa.table({"c": column, "n": range(len(cells))}), path, row_group_size=rows)
    entry = data.draw(st.sampled_from(ENTRIES))
    domain = {"c": entry, "n": {"bounds": [0, 5]}}
    schema, reading = Schema.from_domain(domain), Reading(domain, node)
    with mock.patch.object(parquet, "PART", 1):
        found = [schema.encode(part, "absorb") for part in parts(path, reading, ["n", "c"], least, rows=1)]
    assert max(len(part["n"]) for part in found) <= least
    frame = pa.table({"c": column, "n": range(len(cells))}).to_pandas()
    frame.to_csv(folder / "t.csv", index=False)
    wholes = [read(path, reading)]
    if kind != "large whole numbers":  # which pandas makes floats of, in a frame, beside a missing cell
        wholes += [settled(frame, reading), read_file(folder / "t.csv", "csv", reading)]
    for whole in wholes:
        for name, expected in schema.encode(whole, "absorb").items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in found]), expected)


LABELS = {"ill": {"categories": ["no", "yes"]}, "sex": {"categories": ["f", "m"]}, "age": {"bounds": [0, 100]}}


def patients(rows):
    draw = np.random.default_rng(3)
    drawn = {name: draw.choice([*LABELS[name]["categories"], None, "?"], rows) for name in ("ill", "sex")}
    return pd.DataFrame({**drawn, "age": np.where(draw.random(rows) < 0.1, np.nan, draw.integers(-5, 110, rows))})


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_queries_of_parts_add_up_to_those_of_the_table(tmp_path, statistics):
    from v6_dp_naive_bayes.model import Plan, summarise

    table, path = patients(300), tmp_path / "t.parquet"
    table.to_parquet(path, row_group_size=70)
    columns = Columns("ill", ["sex", "age"], LABELS)
    plan = Plan(columns, {"age": 7}, statistics, "bounds", CountNoise(), 1.0)
    read_parts = partial(parts, path, Reading(LABELS), list(LABELS), rows=1)
    with mock.patch.object(parquet, "PART", 32):
        pieces = list(columns.parts(SimpleNamespace(parts=lambda *asked: read_parts(asked[2])), True, 20))
    sizes = [len(piece["age"]) for piece in pieces]
    assert max(sizes) == 32
    assert sum(sizes) == 300
    whole = summarise(plan, columns.schema.encode(table, "absorb"))
    for found, expected in zip(added(summarise(plan, piece) for piece in pieces), whole, strict=True):
        np.testing.assert_array_equal(found.values, expected.values)
        assert (found.l1, found.l2, found.nonnegative) == (expected.l1, expected.l2, expected.nonnegative)


def test_a_station_counts_parts_under_the_guards_of_the_whole_table(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(parquet, "parts", lambda *asked: (seen.append(asked[2]), parts(*asked, rows=1))[1])
    for name in "abc":
        patients(200).to_parquet(tmp_path / f"{name}.parquet")
    parties = {name: tmp_path / f"{name}.parquet" for name in "abc"}
    asked = {"label": "ill", "features": ["sex", "age"], "domain": LABELS, "epsilon": 20.0}
    with OneProcess(parties) as federation:
        counts = federation.run("dp_naive_bayes", "fit", asked)["model"]["class_counts"]
    expected = 3 * patients(200)["ill"].value_counts()[["no", "yes"]]
    np.testing.assert_allclose(counts, expected, atol=30)
    assert {tuple(sorted(names)) for names in seen} == {("age", "ill", "sex")}
    for limits, complaint in (
        ({"minimum_rows": "201"}, "fewer rows"),
        ({"denied_columns": "sex"}, "sex"),
    ):
        with (
            OneProcess(parties, policies=dict.fromkeys("abc", limits)) as federation,
            pytest.raises(Exception, match=complaint),
        ):
            federation.run("dp_naive_bayes", "fit", asked)
    with OneProcess(parties) as federation, pytest.raises(Exception, match="'gone'"):
        federation.run(
            "dp_naive_bayes",
            "fit",
            {**asked, "features": ["sex", "gone"], "domain": {**LABELS, "gone": {"bounds": [0, 1]}}},
        )


def test_a_file_that_cannot_be_counted_in_parts_is_read_as_a_whole(tmp_path):
    for name, values in (("days", [DAY, None]), ("lists", [[1], [2]])):
        file_format.write_table(pa.table({name: values, "n": [1, 2]}), tmp_path / "t.parquet")
        assert parts(tmp_path / "t.parquet", Reading(), [name, "n"], rows=1) is None
        assert parts(tmp_path / "t.parquet", Reading(), ["n"], rows=1) is not None
        assert parts(tmp_path / "t.parquet", Reading(), ["n"]) is None


def test_a_frame_with_an_index_loses_no_row(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"who": [7, 7, 9], "c": ["x", None, "y"], "n": [1, 2, 3]}).set_index("who")
    frame.to_parquet(path)
    for rows in (1, 100):
        found = read(path, Reading({}), rows=rows)
        assert plain(found["c"]) == [("str", "x"), None, ("str", "y")]
        assert found["n"].tolist() == [1, 2, 3]


@pytest.mark.benchmark
def test_twenty_million_rows_stay_below_two_gibibytes(tmp_path):
    rows, random, path = 20_000_000, np.random.default_rng(0), tmp_path / "large.parquet"
    writer = None
    for _ in range(20):
        count = rows // 20
        table = {"sex": random.choice(["female", "male"], count), "age": random.integers(18, 90, count)}
        table |= {"stage": random.choice(["I", "II", "III", "IV"], count), "ill": random.integers(0, 2, count)}
        piece = pa.table(table | {"unused": random.integers(0, 10**6, count)})
        writer = writer or file_format.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    writer.close()
    domain = {"sex": {"categories": ["female", "male"]}, "age": {"bounds": [18, 90]}, "ill": {"categories": [0, 1]}}
    domain |= {"stage": {"categories": ["I", "II", "III", "IV"]}}
    began = time.monotonic()
    frame = read(path, Reading(domain), list(domain))
    encoded = Schema.from_domain(domain).encode(frame)
    seconds, most = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert sum(len(column) for column in encoded.values()) == 4 * rows
    print(f"{rows} rows of {path.stat().st_size / 2**20:.0f} MiB: {seconds:.0f} s, at most {most:.2f} GiB")
    assert most < 2.0


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize(
    "cells", [pa.array([0.1, 0.7, None, 1e-9], pa.float32()), pa.array([b"x", "Zürich".encode(), None, b"007"])]
)
def test_a_file_has_the_cells_of_the_frame_that_it_was_made_from(tmp_path, cells, rows):
    """A frame is handed over as CSV, which has 0.1 and not 0.10000000149 for single precision; bytes were told as the text b'x'."""
    path = tmp_path / "t.parquet"
    file_format.write_table(pa.table({"c": cells}), path)
    found = read(path, Reading({}), ["c"], rows=rows)["c"]
    wanted = [0.1, 0.7, None, 1e-9] if pa.types.is_floating(cells.type) else ["x", "Zürich", None, "007"]
    assert [value for _, value in filter(None, plain(found))] == [value for value in wanted if value is not None]
    assert [value is None for value in plain(found)] == [value is None for value in wanted]


@pytest.mark.parametrize("rows", [1, 100], ids=["large", "small"])
def test_bytes_that_are_no_text_change_their_own_cell_alone(tmp_path, rows):
    path = tmp_path / "t.parquet"
    file_format.write_table(pa.table({"c": pa.array([b"a", b"\xff", "ü".encode(), None])}), path)
    assert list(read(path, Reading({}), ["c"], rows=rows)["c"].astype(object))[:3] == ["a", "\\xff", "ü"]


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32", "float[pyarrow]"])
@pytest.mark.parametrize("rows", [1, 10**6], ids=["large", "small"])
def test_short_numbers_of_any_type_are_the_decimals_that_were_meant(tmp_path, kind, rows):
    """Pandas writes its own types into the file and reads them as such: 0.1 was 0.10000000149 in a small file, and no category 0.1."""
    path = tmp_path / "station.parquet"
    pd.DataFrame({"dose": pd.Series([0.1, None, 2.5, 0.7], dtype=kind)}).to_parquet(path)
    found = parquet.read(path, Reading(), ["dose"], rows=rows)["dose"]
    np.testing.assert_array_equal(found.to_numpy(dtype=float, na_value=np.nan), [0.1, np.nan, 2.5, 0.7])
