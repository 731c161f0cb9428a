"""Scores of records as sums over factors: equal to exact inference, also where leaves or lone parents are missing."""

import numpy as np
import pytest

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.inference import posteriors
from fedbayes.bayes.network.probability_tables import normalise
from fedbayes.bayes.network.record_scores import FRAC_BITS, Classifier, log_posteriors, log_scores
from fedbayes.randomness import ResearchSampler

PARENTS = {"c": ("r",), "r": (), "a": ("c",), "b": ("c", "a"), "d": ("c",)}


@pytest.fixture(scope="module")
def network() -> BayesianNetwork:
    draw = ResearchSampler(3).generator
    states = {name: tuple("xyz"[: 2 + (name in "ad")]) for name in PARENTS}
    shapes = {name: [len(states[n]) for n in (*PARENTS[name], name)] for name in PARENTS}
    tables = {name: normalise(draw.random(shape) + 0.1) for name, shape in shapes.items()}
    return BayesianNetwork(states, PARENTS, tables)


def scored(network: BayesianNetwork, codes: np.ndarray) -> np.ndarray:
    classifier = Classifier.of(network, "c")
    place = {name: position for position, name in enumerate(network.nodes)}
    logs = np.tile(classifier.prior, (len(codes), 1))
    for group, table in zip(classifier.groups, classifier.tables, strict=True):
        logs += table[tuple(codes[:, place[name]] for name in group)]
    return logs


def test_gaps_are_exact_where_one_child_is_observed(network) -> None:
    grid = np.array(np.meshgrid([-1], [-1, 0, 1], [-1, 0, 1, 2], [-1, 0, 1], [-1, 0, 2], indexing="ij"))
    codes = grid.reshape(5, -1).T
    logs = scored(network, codes)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected = posteriors(network, codes, "c")
    assert shares / shares.sum(axis=1, keepdims=True) == pytest.approx(expected, abs=1e-9)
    assert logs[(codes == -1).all(axis=1)][0] == pytest.approx(Classifier.of(network, "c").absent())


def test_weights_are_the_tables_in_fixed_point_and_shares_are_read_back(network) -> None:
    classifier = Classifier.of(network, "c")
    turned = [tuple(reversed(group)) for group in classifier.groups]
    for table, weights in zip(classifier.tables, classifier.weights(turned), strict=True):
        flat = np.moveaxis(np.transpose(table, [*reversed(range(table.ndim - 1)), table.ndim - 1]), -1, -1)
        assert weights / 2.0**FRAC_BITS == pytest.approx(flat.reshape(-1, 2), abs=2.0**-FRAC_BITS)
    ring = np.array([-(3 << FRAC_BITS), 1 << FRAC_BITS], dtype=np.int64).astype(np.uint32).astype(np.uint64)
    assert log_scores(ring, np.zeros(2), 1) == pytest.approx(np.array([[-3.0, 1.0]]))
    assert np.exp(log_posteriors(ring, np.zeros(2), 1)).sum() == pytest.approx(1.0)


def test_a_label_without_neighbours_is_refused() -> None:
    alone = BayesianNetwork({"a": ("x", "y"), "b": ("x", "y")}, {"a": (), "b": ()}, {n: np.full(2, 0.5) for n in "ab"})
    with pytest.raises(ValueError, match="connected to no other"):
        Classifier.of(alone, "a")
