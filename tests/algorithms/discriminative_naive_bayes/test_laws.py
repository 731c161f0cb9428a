"""Laws of the weighted model: gradients, additivity, plain naive Bayes at weights of 1, JSON."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from fedbayes.bayes.values.encoding import SchemaError
from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.classifier import WeightedNaiveBayes, load_model
from v6_discriminative_naive_bayes.learning import learn_locally
from v6_discriminative_naive_bayes.likelihood import Evidence, log_posterior, loss_and_gradient, terms
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.model import Layout, count, tables_from_counts

LAYOUTS = [
    Layout((3, 2, 2), 3, structure, weights) for structure in ("naive", "a1de") for weights in ("value", "attribute")
]


def rows(layout, number, seed):
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(-1, size, number) for size in layout.cardinalities]).astype(np.int32)
    return codes, generator.integers(layout.classes, size=number)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_is_the_derivative_of_the_loss(layout):
    codes, labels = rows(layout, 40, 1)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    evidence = Evidence.of(layout, tables, codes)
    weights = np.random.default_rng(2).normal(1.0, 0.3, layout.parameters)
    error = check_grad(
        lambda w: loss_and_gradient(evidence, w, labels)[0],
        lambda w: loss_and_gradient(evidence, w, labels)[1],
        weights,
    )
    assert error < 1e-4


@pytest.mark.parametrize("layout", LAYOUTS)
def test_loss_gradient_and_counts_add_up_over_stations(layout):
    codes, labels = rows(layout, 60, 3)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    weights = np.linspace(0.5, 1.5, layout.parameters)
    whole = loss_and_gradient(Evidence.of(layout, tables, codes), weights, labels)
    parts = [loss_and_gradient(Evidence.of(layout, tables, codes[k::3]), weights, labels[k::3]) for k in range(3)]
    assert sum(part[0] for part in parts) == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(sum(part[1] for part in parts), whole[1], rtol=1e-9, atol=1e-9)
    counted = sum(count(layout, codes[k::3], labels[k::3]) for k in range(3))
    assert np.array_equal(counted, count(layout, codes, labels))


def slow_pairs(layout, codes, labels):
    pairs = np.zeros((layout.values, layout.values, layout.classes), dtype=int)
    starts = layout.starts
    for row, label in zip(codes, labels, strict=True):
        for i in range(len(row)):
            for j in range(len(row)):
                if i != j and row[i] >= 0 and row[j] >= 0:
                    pairs[starts[i] + row[i], starts[j] + row[j], label] += 1
    return pairs


def test_counts_of_pairs_equal_a_slow_count():
    layout = LAYOUTS[2]
    codes, labels = rows(layout, 50, 4)
    counted = count(layout, codes, labels)[layout.classes * (1 + layout.values) :]
    assert np.array_equal(counted.reshape(layout.values, layout.values, -1), slow_pairs(layout, codes, labels))


def test_weights_of_one_are_plain_naive_bayes():
    layout = LAYOUTS[0]
    codes, labels = rows(layout, 50, 5)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    logs = log_posterior(layout, tables, np.ones(layout.parameters), codes)
    slow = np.tile(tables.base, (50, 1))
    for position, row in enumerate(codes):
        for attribute, value in enumerate(row):
            if value >= 0:
                slow[position] += tables.single[layout.starts[attribute] + value]
    slow -= np.log(np.exp(slow).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logs, slow, atol=1e-12)


def test_tables_are_distributions():
    layout = LAYOUTS[2]
    codes, labels = rows(layout, 50, 6)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    sums = np.add.reduceat(np.exp(tables.single), layout.starts, axis=0)
    np.testing.assert_allclose(sums, 1.0)
    np.testing.assert_allclose(np.exp(tables.base).sum(), 1.0)
    conditional = np.add.reduceat(np.exp(tables.pairs), layout.starts, axis=1)
    for attribute, start in enumerate(layout.starts):
        own = conditional[start : start + layout.cardinalities[attribute]]
        others = [other for other in range(len(layout.cardinalities)) if other != attribute]
        np.testing.assert_allclose(own[:, others], 1.0)


@settings(max_examples=20)
@given(st.floats(0.01, 2.0), st.integers(0, 100))
def test_no_row_moves_the_clipped_gradient_further_than_the_clip(clip, seed):
    layout = LAYOUTS[seed % 4]
    codes, labels = rows(layout, 30, seed)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    weights = np.random.default_rng(seed).normal(1.0, 1.0, layout.parameters)
    whole = loss_and_gradient(Evidence.of(layout, tables, codes), weights, labels, clip)[1]
    without = loss_and_gradient(Evidence.of(layout, tables, codes[1:]), weights, labels[1:], clip)[1]
    assert np.linalg.norm(whole - without) <= clip * (1 + 1e-9)


def test_local_learning_improves_the_conditional_likelihood():
    layout = LAYOUTS[0]
    codes, labels = rows(layout, 80, 7)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    start = np.ones(layout.parameters)
    evidence = Evidence.of(layout, tables, codes)
    learned = learn_locally(evidence, start, labels, 5, 0.0)
    before, after = (loss_and_gradient(evidence, w, labels)[0] for w in (start, learned))
    assert after < before


def model():
    domain = {"a": {"categories": ["x", "y"]}, "z": {"bounds": [0, 1]}, "class": {"categories": [0, 1, 2]}}
    shape = Shape(Columns("class", ["a", "z"], domain), {"z": 4})
    layout = shape.layout
    codes, labels = rows(layout, 60, 8)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    return WeightedNaiveBayes(shape, np.linspace(0, 2, layout.parameters), tables)


def test_json_gives_the_same_numbers():
    import pandas as pd

    fitted = model()
    again = load_model(json.loads(json.dumps(fitted.to_dict())))
    frame = pd.DataFrame({"a": ["x", "y", None], "z": [0.1, 0.9, 0.5]})
    np.testing.assert_array_equal(again.predict_log_proba(frame), fitted.predict_log_proba(frame))
    np.testing.assert_allclose(again.predict_proba(frame).sum(axis=1), 1.0)
    assert set(again.predict(frame)) <= {0, 1, 2}


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"weights": [1.0]},
        {"weights": ["x"]},
        {"weights": None},
        {"tables": {"base": [0.0]}},
        {"structure": "tree"},
        {"domain": {}},
        {"extra": 1},
        {"bins": {"z": 10**9}},
        {"personal_iterations": 10**9},
        {"personal_iterations": 4},
    ],
)
def test_a_malformed_model_is_refused(change):
    with pytest.raises(SchemaError, match="model"):
        load_model({**model().to_dict(), **change})


def test_missing_values_say_nothing():
    layout = LAYOUTS[0]
    codes, labels = rows(layout, 20, 9)
    tables = tables_from_counts(layout, count(layout, codes, labels))
    empty = np.full((1, 3), -1, dtype=np.int32)
    assert np.all(terms(layout, tables, empty) == 0)
    logs = log_posterior(layout, tables, np.ones(layout.parameters), empty)
    np.testing.assert_allclose(logs[0], tables.base)


def test_a_frame_without_a_feature_is_refused_by_its_name():
    import pandas as pd

    with pytest.raises(SchemaError, match="'z'"):
        model().predict(pd.DataFrame({"a": ["x"]}))
