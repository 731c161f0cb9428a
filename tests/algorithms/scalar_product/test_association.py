"""Chi-squared, odds ratio and the level of chance beside scipy and simulation."""

import numpy as np
import pytest
from scipy import stats

from fedbayes.federation.vertical import ColumnStates
from v6_scalar_product.association import association, null_level
from v6_scalar_product.model import information_gains


def states(*sizes, missing=False):
    return [
        ColumnStates(f"c{i}", (*map(str, range(size)), *([None] if missing else []))) for i, size in enumerate(sizes)
    ]


def gain(table):
    return information_gains([table])[0]


@pytest.mark.parametrize("seed", range(20))
def test_association_is_that_of_scipy(seed):
    draw = np.random.default_rng(seed)
    shape = draw.integers(2, 5, 2)
    counts = draw.integers(1, 60, shape)
    found = association(counts, states(*shape))
    statistic, p_value, freedom, expected = stats.chi2_contingency(counts, correction=False)
    assert found["chi_squared"] == pytest.approx(statistic)
    assert found["p_value"] == pytest.approx(p_value)
    assert found["degrees_of_freedom"] == freedom
    assert found["smallest_expected"] == pytest.approx(expected.min())
    assert (found["odds_ratio"] is not None) == (tuple(shape) == (2, 2))


def test_the_odds_ratio_of_two_by_two_leaves_missing_values_and_empty_states_out():
    counts = np.array([[20, 0, 5, 3], [10, 0, 30, 2], [4, 0, 1, 7]])
    found = association(counts, states(2, 3, missing=True))
    reference = stats.contingency.odds_ratio(np.array([[20, 5], [10, 30]]), kind="sample")
    interval = reference.confidence_interval(0.95)
    assert found["odds_ratio"] == pytest.approx(reference.statistic)
    assert found["odds_ratio_interval"] == pytest.approx([interval.low, interval.high])
    assert association(np.array([[3, 0], [9, 0]]), states(2, 2)) is None
    assert association(np.array([[3, 0], [9, 5]]), states(2, 2))["odds_ratio"] is None


def test_a_column_without_relation_exceeds_the_level_once_in_twenty_times():
    draw = np.random.default_rng(7)
    rows, above = 2_000, 0
    for _ in range(400):
        table = np.zeros((3, 4), dtype=np.int64)
        np.add.at(table, (draw.integers(0, 3, rows), draw.integers(0, 4, rows)), 1)
        above += gain(table) > null_level(table, gain)
    assert 6 <= above <= 40


@pytest.mark.audit
def test_with_noise_a_constant_column_stays_at_its_level_and_a_real_one_above_it():
    draw = np.random.default_rng(8)
    target, scale = draw.integers(0, 2, 3_000), 40.0
    real = np.where(draw.random(3_000) < 0.9, target, 1 - target)
    above = {"constant": 0, "real": 0}
    for _ in range(30):
        for name, column in {"constant": np.zeros(3_000, dtype=int), "real": real}.items():
            table = np.zeros((2, 6), dtype=np.int64)
            np.add.at(table, (target, column), 1)
            table += np.rint(draw.laplace(0, scale, table.shape)).astype(np.int64)
            above[name] += gain(table) > null_level(table, gain, scale)
    assert above["real"] == 30
    assert above["constant"] <= 10


@pytest.mark.parametrize(
    "counts", [[[0, 0, 4], [0, 0, 3], [2, 5, 0]], [[7, 5, 4], [0, 0, 3], [2, 5, 0]], [[0, 0, 0]] * 3]
)
def test_no_association_where_at_most_one_state_has_records_with_both_values(counts):
    assert association(np.array(counts), states(2, 2, missing=True)) is None
