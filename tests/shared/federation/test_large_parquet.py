"""A large parquet file, of which texts are read as codes, gives the columns that a small one gives."""

import datetime
import resource
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as file_format

from fedbayes.bayes.missing import Reading
from fedbayes.bayes.schema import Schema
from fedbayes.federation.tables.parquet import read

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
    "truths": ([True, False, None], [pa.bool_()]),
    "days": ([DAY, datetime.date(1999, 12, 31), None], [pa.date32(), pa.timestamp("us")]),
}


def plain(column) -> list:
    return [None if pd.isna(value) else (type(value).__name__, value) for value in column.tolist()]


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
