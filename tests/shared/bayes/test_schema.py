"""Domains and encoding: one meaning for every way of writing a value, and errors without values."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.bayes.schema import Column, Schema, SchemaError
from fedbayes.bayes.values.encoding import bin_codes, canonical_text

SECRET = "secret-value-77"


@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", " 1 ", "01", "1e0", "+1", np.int64(1), np.float32(1)])
def test_every_way_of_writing_one_is_one(value):
    assert canonical_text(value) == "1"


@pytest.mark.parametrize("value", [np.inf, "inf", "Infinity", "+INF", " infinity "])
def test_every_way_of_writing_infinity_is_one(value):
    """A column of numbers with ``infinity`` in it has the state ``inf``; read again as text it must have the same."""
    assert canonical_text(value) == "inf"
    assert canonical_text(f"-{str(value).strip().lstrip('+')}") == canonical_text(-np.inf) == "-inf"
    assert Column("c", categories=("1", "inf")).encode(np.array(["1", value], dtype=object), "refuse").tolist() == [
        0,
        1,
    ]
    assert canonical_text("infirm") == "infirm"


DAY, NOON = "2020-01-31", "2020-01-31 12:30:00"


@pytest.mark.parametrize(
    "value", [DAY, f"{DAY} 00:00:00", f"{DAY}T00:00:00", pd.Timestamp(DAY), np.datetime64(DAY, "ns"), date(2020, 1, 31)]
)
def test_every_way_of_writing_a_day_is_one(value):
    assert canonical_text(value) == DAY
    assert canonical_text(pd.Timestamp(NOON)) == canonical_text(np.datetime64(NOON)) == canonical_text(NOON) == NOON


@pytest.mark.parametrize("dtype", [object, "datetime64[ns]", "category"])
def test_a_column_of_days_has_the_categories_of_its_domain(dtype):
    days = pd.Series(pd.to_datetime([DAY, "1999-12-01", None])).astype(dtype)
    column = Column("c", categories=("1999-12-01", DAY))
    for values in (days, days.to_numpy()):
        assert column.encode(values, "refuse").tolist() == [1, 0, -1]


@pytest.mark.parametrize("value", [None, np.nan, float("nan"), "", "  ", pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_values_have_no_text(value):
    assert canonical_text(value) is None


def test_text_keeps_its_case_and_inner_blanks():
    assert canonical_text(" Never married ") == "Never married"
    assert canonical_text("TRUE") == canonical_text(True) == "true"
    assert canonical_text("0.50") == canonical_text(0.5) == "0.5"
    assert canonical_text("nan-like") == "nan-like"
    assert canonical_text("9" * 5000) == "9" * 5000
    assert canonical_text("1e999") == "inf"


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2, 9]),
        pd.Series([1.0, 2.0, np.nan]),
        pd.Series(["1", "2.0", None]),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series(["1", "2", "nine"], dtype="category"),
        pd.Series(["1", "2", pd.NA], dtype="string"),
        pd.Series([1, 2, 2**63], dtype="uint64"),
        np.array([1, 2, -7]),
        pd.Series([1.0, 2.0, 1.5]),
        pd.Series([1.0, 2.0, np.inf]),
    ],
)
def test_a_column_means_the_same_in_every_dtype(values):
    codes = Column("a", categories=("2", 1)).encode(values)
    assert codes.dtype == np.int32
    assert codes.tolist() == [1, 0, -1]


def test_truth_values_stand_for_ones_and_zeros():
    assert Column("a", categories=(0, 1)).encode(pd.Series([True, False])).tolist() == [1, 0]
    assert Column("a", categories=(False, True)).encode(pd.Series([1, 0, 2])).tolist() == [1, 0, -1]
    assert Column("a", categories=("True", "False")).encode(pd.Series(["false", "TRUE"])).tolist() == [1, 0]


def test_wide_whole_categories_work():
    column = Column("icd", categories=(5, 10**15))
    assert column.encode(pd.Series([10**15, 5, 6])).tolist() == [1, 0, -1]


def test_numbers_are_clipped_or_refused():
    column = Column("age", bounds=(0.0, 10.0))
    values = pd.Series([5, -3, 99, None, "7"], dtype=object)
    assert np.array_equal(column.encode(values), [5, 0, 10, np.nan, 7], equal_nan=True)
    with pytest.raises(SchemaError, match=r"'age'.*bounds"):
        column.encode(values, "refuse")
    assert column.encode(pd.Series([1.0, np.nan]), "refuse")[0] == 1


@pytest.mark.parametrize(
    "cells", [["1", "1" + 29 * "0", "-3"], [str(2**63), "-1"], [str(2**64), "1.5", None, ""], [str(-(2**70)), " 7 "]]
)
def test_whole_numbers_of_any_length_are_numbers(cells):
    """64 bits hold nineteen digits; a longer one at a station is no reason to take its column for text."""
    column = Column("a", bounds=(-1e100, 1e100))
    wanted = [float(cell) if cell else np.nan for cell in cells]
    np.testing.assert_array_equal(column.encode(pd.Series(cells, dtype=object)), wanted)
    with pytest.raises(SchemaError, match="holds text"):
        column.encode(pd.Series([*cells, "x"], dtype=object))


def test_errors_name_the_column_and_no_value():
    numeric, text = Column("age", bounds=(0.0, 10.0)), Column("sex", categories=("f", "m"))
    for column, outside in ((numeric, "clip"), (text, "refuse")):
        with pytest.raises(SchemaError) as caught:
            column.encode(pd.Series(["f", SECRET]), outside)
        assert column.name in str(caught.value)
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(SchemaError, match="'age'"):
        numeric.encode(pd.Series(pd.to_datetime(["2020-01-01"])))
    with pytest.raises(SchemaError, match="'gone'"):
        Schema((Column("gone", bounds=(0, 1)),)).encode(pd.DataFrame({"here": [1]}))


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        (None, "domain"),
        ({}, "domain"),
        ([], "domain"),
        ({"a": {"categories": []}}, "between 1"),
        ({"a": {"categories": "xyz"}}, "list"),
        ({"a": {"categories": [1, "1.0"]}}, "the same"),
        ({"a": {"categories": [None, 1]}}, "none empty"),
        ({"a": {"categories": [[1]]}}, "text, numbers"),
        ({"a": {"bounds": [1, 0]}}, "lower first"),
        ({"a": {"bounds": [0, float("nan")]}}, "finite"),
        ({"a": {"bounds": [0, float("inf")]}}, "finite"),
        ({"a": {"bounds": [0, 10**400]}}, "finite"),
        ({"a": {"bounds": [False, True]}}, "two numbers"),
        ({"a": {"bounds": [1]}}, "two numbers"),
        ({"a": {"bounds": [0, 1], "categories": [1]}}, "give"),
        ({"a": 3}, "give"),
        ({"": {"bounds": [0, 1]}}, "name"),
        ({3: {"bounds": [0, 1]}}, "name"),
    ],
)
def test_malformed_domains_are_refused_with_the_remedy(domain, what):
    with pytest.raises(SchemaError, match=what):
        Schema.from_domain(domain)


def test_a_domain_survives_json():
    domain = {"a": {"categories": [1, "x", True]}, "b": {"bounds": [-1.5, 2.0]}}
    assert Schema.from_domain(json.loads(json.dumps(domain))).to_domain() == domain


def test_selecting_an_unknown_column_names_it():
    schema = Schema.from_domain({"a": {"bounds": [0, 1]}})
    with pytest.raises(SchemaError, match="'b'"):
        schema.select(["b"])
    assert "a" in schema
    assert len(schema) == 1


def test_public_edges():
    column = Column("x", bounds=(0.0, 10.0))
    assert column.edges(4).tolist() == [0, 2.5, 5, 7.5, 10]
    assert column.edges([-5, 1, 2, 30]).tolist() == [0, 1, 2, 10]
    for wrong in (0, 10**9, True, "4", [3, 2], [True], [float("nan"), 1.0, 1.0], [10**400], None):
        with pytest.raises(SchemaError, match="'x'"):
            column.edges(wrong)
    with pytest.raises(SchemaError, match="numeric"):
        Column("c", categories=(1, 2)).edges(3)


def test_edges_of_a_logarithmic_scale():
    column = Column("x", bounds=(0.0, 999.0))
    np.testing.assert_allclose(column.edges({"log": 3}), [0, 9, 99, 999])
    np.testing.assert_allclose(Column("x", bounds=(-5.0, 0.0)).edges({"log": 2, "unit": 0.05}), [-5, -4.54750622, 0])
    assert column.edges({"log": 1}).tolist() == [0, 999]
    ratios = np.diff(np.log1p(column.edges({"log": 16})))
    np.testing.assert_allclose(ratios, ratios[0])
    for wrong in (
        {},
        {"log": 0},
        {"log": True},
        {"log": 2.5},
        {"log": float("nan")},
        {"log": 10**9},
        {"log": "3"},
        {"log": 3, "unit": 0},
        {"log": 3, "unit": 999},
        {"log": 3, "unit": float("nan")},
        {"log": 3, "base": 2},
    ):
        with pytest.raises(SchemaError, match="'x'"):
            column.edges(wrong)
    with pytest.raises(SchemaError, match="numeric"):
        Column("c", categories=(1, 2)).edges({"log": 3})


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.integers(1, 40))
def test_uniform_bins_hold_their_values(values, bins):
    edges = Column("x", bounds=(0.0, 10.0)).edges(bins)
    codes = bin_codes(np.array(values), edges)
    assert np.all(np.array(values) >= edges[codes])
    assert np.all(np.array(values) <= edges[codes + 1])


@pytest.mark.parametrize(
    ("bounds", "bins"),
    [
        ((-14.0, 4.6), 3),
        ((-5e10, 7e13), 9),
        ((-1.0, 1.0), 20),
        ((0.0, 1.0), 10),
        ((1e6, 1e6 + 1e-3), 4),
        ((1e6, 1e6 + 2e-6), 3),
        ((-1e99, 1e99), 7),
    ],
)
def test_an_edge_is_what_people_write_and_opens_its_bin(bounds, bins):
    edges = Column("x", bounds=bounds).edges(bins)
    assert np.all(np.diff(edges) > 0)
    np.testing.assert_allclose(edges, np.linspace(*bounds, bins + 1), rtol=1e-13, atol=1e-14 * (bounds[1] - bounds[0]))
    assert bin_codes(edges, edges).tolist() == [*range(bins), bins - 1]
    if bounds == (-14.0, 4.6):
        assert edges.tolist() == [-14.0, -7.8, -1.6, 4.6]


def test_bins_of_missing_values_are_missing():
    assert bin_codes(np.array([np.nan, 0.0, 10.0]), np.array([0.0, 1.0, 10.0])).tolist() == [-1, 0, 1]
