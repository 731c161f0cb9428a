"""The three ways of evaluating a likelihood agree, and both agree with a slow one."""

import numpy as np
import pytest

from v6_discriminative_naive_bayes import likelihood
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient, terms
from v6_discriminative_naive_bayes.model import Layout, count, tables_from_counts


def rows(layout, number, seed):
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(-1, size, number) for size in layout.cardinalities]).astype(np.int32)
    return codes, generator.integers(layout.classes, size=number)


def slow(layout, tables, weights, codes, labels, clip):
    """Return the loss and the gradient, row by row and class by class."""
    said, loss = terms(layout, tables, codes), 0.0
    total = np.zeros(layout.parameters)
    prior, by_value = layout.spread(weights)
    for row, label in enumerate(labels):
        places = [(a, layout.starts[a] + codes[row, a]) for a in range(len(layout.cardinalities)) if codes[row, a] >= 0]
        scores = prior * tables.base + sum((by_value[v] * said[a, row] for a, v in places), np.zeros(layout.classes))
        shares = np.exp(scores - np.logaddexp.reduce(scores))
        loss -= np.log(shares[label])
        residual = shares - np.eye(layout.classes)[label]
        values = np.zeros((layout.values, layout.classes))
        for a, v in places:
            values[v] = residual * said[a, row]
        gradient = layout.gather(residual * tables.base, values)
        length = np.linalg.norm(gradient)
        total += gradient * (1.0 if clip is None else min(1.0, clip / length))
    return loss, total


@pytest.mark.parametrize("structure", ["naive", "a1de"])
@pytest.mark.parametrize("weighting", ["value", "attribute"])
@pytest.mark.parametrize("clip", [None, 0.7])
@pytest.mark.parametrize("entries", [0, 1 << 24])
def test_every_way_gives_the_slow_loss_and_gradient(monkeypatch, structure, weighting, clip, entries):
    monkeypatch.setattr(likelihood, "MOST_ENTRIES", entries)
    layout = Layout((3, 2, 4), 3, structure, weighting)
    codes, labels = rows(layout, 40, 5)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    weights = np.random.default_rng(6).normal(1.0, 0.5, layout.parameters)
    loss, gradient = loss_and_gradient(Evidence.of(layout, tables, codes), weights, labels, clip)
    expected = slow(layout, tables, weights, codes, labels, clip)
    assert loss == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-10)


def test_no_rows_are_no_loss():
    layout = Layout((2, 2), 2)
    codes, labels = rows(layout, 0, 1)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    loss, gradient = loss_and_gradient(Evidence.of(layout, tables, codes), np.ones(layout.parameters), labels)
    assert loss == 0.0
    assert not gradient.any()
