"""Expectation maximisation: monotone, right on complete data, right on counted patterns, better than dropping
rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.bayes.exchange.bif import from_bif
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.em import EmSettings, check_monotone, distinct, expectation_maximisation, saturated
from fedbayes.bayes.network.inference import JunctionTree

STATES = {"a": ("x", "y"), "b": ("x", "y", "z"), "c": ("x", "y"), "d": ("x", "y")}
PARENTS = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c",)}


def incomplete(seed: int, rows: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    tables = {}
    for node, parents in PARENTS.items():
        table = rng.exponential(size=[len(STATES[n]) for n in (*parents, node)])
        tables[node] = table / table.sum(axis=-1, keepdims=True)
    codes = BayesianNetwork(STATES, PARENTS, tables).sample(rows, lambda shape: rng.random(shape))
    codes[rng.random(codes.shape) < share] = -1
    return codes


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.6), st.sampled_from([0.0, 0.5, 2.0]))
def test_objective_never_falls_and_likelihood_is_that_of_the_result(
    seed: int, share: float, pseudocount: float
) -> None:
    codes = incomplete(seed, 200, share)
    found = expectation_maximisation(STATES, PARENTS, codes, settings=EmSettings(starts=2, pseudocount=pseudocount))
    assert all(b >= a - 1e-6 for a, b in zip(found.trace, found.trace[1:], strict=False))
    assert found.log_likelihood == pytest.approx(JunctionTree(found.network).log_likelihood(codes).sum())
    for node in PARENTS:
        assert found.counts[node].sum() == pytest.approx(200)


def test_complete_records_give_the_counts_at_once() -> None:
    codes = incomplete(1, 500, 0.0)
    found = expectation_maximisation(STATES, PARENTS, codes, settings=EmSettings(pseudocount=0.0))
    table = np.zeros((2, 3))
    np.add.at(table, (codes[:, 0], codes[:, 1]), 1)
    np.testing.assert_allclose(found.counts["b"], table)
    np.testing.assert_allclose(found.network.tables["b"], table / table.sum(axis=1, keepdims=True))
    assert found.converged
    assert found.start == 0


def test_one_missing_value_is_the_textbook_fixed_point() -> None:
    """Two binary nodes a -> b without link in the data: the missing b takes the observed share."""
    codes = np.array([[0, 0], [0, 1], [0, 1], [0, -1]])
    found = expectation_maximisation(
        {"a": ("x",), "b": ("x", "y")},
        {"a": (), "b": ("a",)},
        codes,
        settings=EmSettings(pseudocount=0.0, tolerance=1e-12),
    )
    assert found.network.tables["b"][0, 1] == pytest.approx(2 / 3)
    assert found.counts["b"].sum() == pytest.approx(4)


def test_distinct_records_with_their_weights_equal_the_records() -> None:
    codes = incomplete(7, 400, 0.3)
    patterns, weights = distinct(codes)
    chosen = EmSettings(starts=1)
    direct = expectation_maximisation(STATES, PARENTS, codes, settings=chosen)
    weighed = expectation_maximisation(STATES, PARENTS, patterns, weights, chosen)
    assert weights.sum() == 400
    assert len(patterns) < 400
    assert weighed.log_likelihood == pytest.approx(direct.log_likelihood)
    np.testing.assert_allclose(weighed.network.tables["c"], direct.network.tables["c"], atol=1e-9)


def counted(codes: np.ndarray, shape: list[int]) -> np.ndarray:
    table = np.zeros([size + 1 for size in shape])
    np.add.at(table, tuple(np.where(column < 0, size, column) for column, size in zip(codes.T, shape, strict=True)), 1)
    return table


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.6), st.integers(10, 300))
def test_a_saturated_family_is_at_least_as_likely_as_after_a_thousand_plain_steps(
    seed: int, share: float, rows: int
) -> None:
    codes = incomplete(seed, rows, share)[:, :3]
    if (codes < 0).all():
        return
    family = {name: STATES[name] for name in "abc"}
    cells, converged, _ = saturated(counted(codes, [2, 3, 2]), [2, 3, 2])
    plain = expectation_maximisation(
        family, {"a": (), "b": ("a",), "c": ("a", "b")}, codes, settings=EmSettings(1, 0.0, 1e-15, 1000)
    )
    joint = cells / cells.sum()
    likelihood = 0.0
    for row in codes:
        likelihood += np.log(joint[tuple(slice(None) if code < 0 else code for code in row)].sum())
    assert converged
    assert cells.sum() == pytest.approx(rows)
    assert likelihood >= plain.log_likelihood - 1e-6


def test_a_configuration_that_the_records_speak_against_is_given_up() -> None:
    table = np.array([[0, 0, 0], [8, 10, 0], [1, 2, 0]])  # nobody is known to be in the first; three might be
    cells, converged, _ = saturated(table.astype(float), [2, 2])
    np.testing.assert_allclose(cells, [[0, 0], [9, 12]], atol=1e-5)
    assert converged


def test_columns_that_no_record_has_together_stay_independent() -> None:
    """The likelihood is the same whatever their dependence; nothing may be made up of it."""
    table = np.array([[0.0, 0, 298], [0, 0, 2], [93, 207, 0]])
    cells, converged, _ = saturated(table, [2, 2])
    np.testing.assert_allclose(cells, 600 * np.outer([298 / 300, 2 / 300], [0.31, 0.69]), rtol=1e-9)
    assert converged
    cells, _, _ = saturated(np.array([[0.0, 0, 0], [0, 0, 0], [93, 207, 4]]), [2, 2])  # nobody has the first
    np.testing.assert_allclose(cells, 304 * np.outer([0.5, 0.5], [0.31, 0.69]), rtol=1e-9)


@pytest.mark.parametrize("empty", [np.zeros((3, 3)), np.full((3, 3), -2.0)])
def test_a_saturated_family_needs_a_record(empty) -> None:
    with pytest.raises(ValueError, match="no record"):
        saturated(empty, [2, 2])


def test_counts_that_noise_made_negative_are_none() -> None:
    """No record is known to be in either state: the fewer seem to be, the likelier a state must not become."""
    cells, _, _ = saturated(np.array([-4.0, -0.4, 20.0]), [2])
    np.testing.assert_allclose(cells, [10.0, 10.0])
    noisy = np.random.default_rng(0).normal(1.0, 6.0, (200, 3, 4, 2))
    for table in noisy:
        cells, _, _ = saturated(table, [2, 3, 1])
        assert (cells >= 0).all()
        assert cells.sum() == pytest.approx(np.maximum(table, 0).sum())


@pytest.mark.parametrize(
    ("table", "shape", "wanted"),
    [
        ([5.0], [1], [5.0]),
        ([5.0, 3.0], [1], [8.0]),
        ([0.0, 0.0, 7.0], [2], [3.5, 3.5]),
        ([3e9, 3.0], [2], [3e9, 3.0]),
        ([[0.25, 0.5], [0.75, 0.0]], [2, 2], [[0.25, 0.5], [0.75, 0.0]]),
    ],
)
def test_edges_of_saturated_families(table, shape, wanted) -> None:
    """One state, no value at all, a few of very many records, parts of records."""
    cells, converged, _ = saturated(np.array(table), shape)
    assert converged
    np.testing.assert_allclose(cells, wanted, rtol=1e-6, atol=1e-6)


def test_missing_values_of_asia_come_close_to_the_truth(paper_folder, paper_data) -> None:
    truth = from_bif((paper_folder / "networks" / "asia.bif").read_text())
    frame = paper_data("asia10k_missing10").rename(columns={"class": "lung"})
    codes = truth.encode({name: frame[name].tolist() for name in frame})
    found = expectation_maximisation(truth.states, truth.parents, codes, settings=EmSettings(starts=2))
    assert found.log_likelihood >= JunctionTree(truth).log_likelihood(codes).sum()
    for node in ("smoke", "bronc", "xray"):
        np.testing.assert_allclose(found.network.tables[node], truth.tables[node], atol=0.04)


def test_bad_settings_and_empty_records() -> None:
    with pytest.raises(ValueError, match="starts"):
        EmSettings(starts=0)
    with pytest.raises(ValueError, match="tolerance"):
        EmSettings(tolerance=0)
    with pytest.raises(ValueError, match="no record"):
        expectation_maximisation(STATES, PARENTS, np.zeros((3, 4), dtype=np.int64), np.zeros(3))
    with pytest.raises(ArithmeticError, match="fell"):
        check_monotone([-5.0, -6.0])
    check_monotone([-5.0, -5.0])


def test_distinct_merges_equal_records() -> None:
    patterns, weights = distinct(np.array([[0, 1], [0, 1], [1, -1], [0, 0]]), np.array([1.0, 2.0, 4.0, 0.0]))
    assert patterns.tolist() == [[0, 1], [1, -1]]
    assert weights.tolist() == [3.0, 4.0]
