"""Bins: the published ones against the papers' files, and the laws of all of them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.bayes.network import discretise
from fedbayes.bayes.network.discretise import Bins


@pytest.mark.parametrize("name", ["diabetes", "iris"])
def test_published_bins_are_those_of_the_paper(name: str, paper_data, paper_folder) -> None:
    frame = paper_data(name)
    expected = json.loads((paper_folder / "networks" / f"{name}.json").read_text())
    for column, intervals in expected["bins"]["automatic_10"]["intervals"].items():
        assert list(discretise.published(frame[column]).cuts) == [low for low, _ in intervals[1:]], column


@given(st.lists(st.one_of(st.integers(-20, 20), st.just(float("nan"))), max_size=200))
def test_published_bins_are_full_and_cover_everything(values: list[float]) -> None:
    numbers = np.array(values, dtype=float)
    bins = discretise.published(numbers)
    codes = bins.encode(numbers)
    np.testing.assert_array_equal(codes < 0, np.isnan(numbers))
    counts = np.bincount(codes[codes >= 0], minlength=len(bins.labels))
    assert counts.sum() == (~np.isnan(numbers)).sum()
    if bins.cuts:
        assert counts.min() >= 10
        assert counts.min() >= 0.1 * len(numbers)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=200), st.integers(1, 8))
def test_quantile_bins_have_no_empty_bin(values: list[int], number: int) -> None:
    bins = discretise.quantile(values, number)
    assert len(bins.labels) <= number
    assert np.bincount(bins.encode(values), minlength=len(bins.labels)).min() >= 1


def test_labels_and_limits() -> None:
    bins = Bins((5.0, 7.5))
    assert bins.labels == ("(-inf, 5)", "[5, 7.5)", "[7.5, inf)")
    assert bins.encode([4.9, 5, 7.5, np.nan, 1e9]).tolist() == [0, 1, 2, -1, 2]
    assert Bins().labels == ("(-inf, inf)",)
    assert discretise.equal_width(0, 10, 4).cuts == (2.5, 5.0, 7.5)
    assert discretise.quantile([float("nan")]).cuts == ()


@given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(-50, 50).map(float) | st.just(float("nan")), max_size=60),
    st.integers(2, 8),
)
def test_rounded_bins_hold_the_same(values: list[float], number: int) -> None:
    for bins in (discretise.published(values), discretise.quantile(values, number)):
        told = discretise.rounded(bins, values)
        np.testing.assert_array_equal(told.encode(values), bins.encode(values))


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(57.01, 57.5196, 57.5), (41, 42, 42), (41, 57, 50), (57013, 57519, 57500), (-5.2, -3.7, -4), (-0.2, 0.3, 0), (-3, 0, 0)],
)  # fmt: skip
def test_a_rounded_cut_point_has_the_fewest_digits(low: float, high: float, told: float) -> None:
    assert discretise.rounded(Bins((float(high),)), [low, high]).cuts == (told,)


@pytest.mark.parametrize("cuts", [(2.0, 1.0), (1.0, 1.0), (float("nan"),), (float("inf"),)])
def test_bad_cuts_are_refused(cuts: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="increasing order"):
        Bins(cuts)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="bins"):
        discretise.quantile([1.0], 0)
    with pytest.raises(ValueError, match="bounds"):
        discretise.equal_width(1, 1, 2)
    with pytest.raises(ValueError, match="one row per fine bin"):
        discretise.minimum_description_length([[1, 2]], [0.5])


def test_description_length_finds_the_cut_that_separates_and_no_other(paper_data) -> None:
    frame = paper_data("iris")
    classes = np.unique(frame["class"], return_inverse=True)[1]
    values = frame["petallength"].to_numpy()
    middle = np.unique(values)
    cuts = (middle[1:] + middle[:-1]) / 2
    table = np.zeros((len(cuts) + 1, 3), dtype=int)
    np.add.at(table, (Bins(tuple(cuts)).encode(values), classes), 1)
    found = discretise.minimum_description_length(table, cuts)
    np.testing.assert_allclose(found.cuts, [2.45, 4.75])
    noise = np.full((20, 2), 5)
    assert discretise.minimum_description_length(noise, np.arange(19)).cuts == ()


@pytest.mark.parametrize("cuts", [(1e17 + 16, 1e17 + 32, 1e17 + 64), (1000000.123456012, 1000000.123456024)])
def test_bins_have_names_of_their_own(cuts):
    labels = Bins(cuts).labels
    assert len(set(labels)) == len(cuts) + 1
    assert [float(label[1:].split(",")[0]) for label in labels[1:]] == list(cuts)
