"""What a row's score is, to the last digit, depends on no other row: else one row moves all others over a border of a bin, which no noise is for."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.evaluation.tallies import joint_table
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation.horizontal.tallying import JOINT_SCORE_BINS
from v6_discriminative_naive_bayes import likelihood
from v6_discriminative_naive_bayes.likelihood import Evidence, log_posterior, loss_and_gradient
from v6_discriminative_naive_bayes.model import Layout, Tables
from v6_verticox.cox.row_products import product
from v6_verticox.horizontal.judging.messages import Judged

ROWS, CATEGORIES, ATTRIBUTES = 200, 50, 6
LAYOUT = Layout((CATEGORIES,) * ATTRIBUTES, 2, "naive", "value", 0)
CODES = np.zeros((ROWS + 1, ATTRIBUTES), dtype=np.int32)


def opposed(draw: Any) -> Tables:
    """Tables whose terms for one class are of very different sizes and add up to 0 one by one, so that a matrix product ends beside it."""
    terms = draw.normal(size=ATTRIBUTES) * 10.0 ** draw.integers(0, 6, ATTRIBUTES)
    terms[-1] = -sum(terms[:-1].tolist())
    single = np.zeros((CATEGORIES * ATTRIBUTES, 2))
    single[::CATEGORIES, 1] = terms
    return Tables(np.zeros(2), single)


def moved(score: Callable[[Tables, Any], Any]) -> int:
    """Return the most cells by which one row more changes the table of an evaluation, where it is the one that makes the rows too many for a matrix."""
    draw, most = np.random.default_rng(0), 0
    for _ in range(60):
        tables = opposed(draw)
        with mock.patch.object(likelihood, "MOST_ENTRIES", ROWS * LAYOUT.values):
            logs = [score(tables, codes) for codes in (CODES[:ROWS], CODES)]
        one, other = (
            joint_table(np.zeros(len(log), dtype=np.int64), metrics.bounded_logs(log, 2), JOINT_SCORE_BINS)
            for log in logs
        )
        most = max(most, int(np.abs(one - other).sum()))
    return most


def test_one_row_changes_one_cell_of_an_evaluation_of_any_weighted_model() -> None:
    weights = np.ones(LAYOUT.parameters)
    assert moved(lambda tables, codes: log_posterior(LAYOUT, tables, weights, codes)) == 1


def test_control_scores_by_a_matrix_product_move_all_rows() -> None:
    weights = np.ones(LAYOUT.parameters)
    most = moved(lambda tables, codes: Evidence.of(LAYOUT, tables, codes).log_posterior(weights))
    if most == 1:
        pytest.skip("on this machine a matrix product adds one by one")
    assert most > ROWS


@pytest.mark.parametrize("rows", [1, 2, 7, 33, 100])
def test_a_private_gradient_grows_by_what_a_row_alone_has(rows: int) -> None:
    draw = np.random.default_rng(rows)
    weights, clip = draw.normal(size=LAYOUT.parameters), 1e-6
    codes = draw.integers(0, CATEGORIES, (rows + 1, ATTRIBUTES)).astype(np.int32)
    labels = draw.integers(0, 2, rows + 1)
    tables = opposed(draw)

    def scores(count: int) -> Any:
        return Evidence.of(LAYOUT, tables, codes[:count], alone=True).log_posterior(weights)

    assert np.array_equal(scores(rows), scores(rows + 1)[:rows])
    evidence = [Evidence.of(LAYOUT, tables, codes[:count], alone=True) for count in (rows, rows + 1)]
    one, other = (
        loss_and_gradient(part, weights, labels[:count], clip)[1]
        for part, count in zip(evidence, (rows, rows + 1), strict=True)
    )
    assert np.linalg.norm(other - one) <= clip * (1 + 1e-6)


@pytest.mark.parametrize("rows", [1, 3, 8, 15, 64, 257])
def test_a_score_of_naive_bayes_depends_on_its_row_alone(rows: int) -> None:
    draw = np.random.default_rng(rows)
    table = pd.DataFrame({"a": draw.choice(["p", "q"], rows + 1), "x": draw.random(rows + 1) * 10})
    counts = {"kind": "categorical", "missing": [0.0] * 2, "noise": 0.0, "pseudocount": 1.0}
    moments = {"kind": "gaussian", "count": [50.0] * 2, "total": [3.0, -7.0], "squares": [-4.0, 1.0], "noise": 0.0}
    model = NaiveBayes.from_dict(
        {
            "format": "fedbayes.naive_bayes/1",
            "label": "y",
            "domain": {
                "y": {"categories": ["no", "yes"]},
                "a": {"categories": ["p", "q"]},
                "x": {"bounds": [0, 10]},
            },
            "class_counts": [50.0, 50.0],
            "class_noise": 0.0,
            "features": {
                "a": {**counts, "counts": [[20.0, 30.0], [31.0, 19.0]]},
                "x": {**moments, "bounds": [0.0, 10.0]},
            },
            "provenance": {},
        }
    )
    fewer, more = (model.predict_log_proba(part) for part in (table[:rows], table))
    assert np.array_equal(fewer, more[:rows])


@pytest.mark.parametrize("columns", [2, 8, 33])
def test_a_linear_predictor_depends_on_its_row_alone(columns: int) -> None:
    draw = np.random.default_rng(columns)
    model = SimpleNamespace(coefficients=draw.normal(size=columns) * 10.0 ** draw.integers(0, 6, columns), offset=0.5)
    model.question = SimpleNamespace(spans=[(0.0, 1.0)] * columns)
    rows = np.repeat(draw.random((1, columns)), 104, axis=0)
    predictors = [Judged.predictors(model, rows[:count]) for count in range(1, len(rows))]
    assert len(np.unique(np.concatenate(predictors))) == 1


def test_a_product_by_rows_is_the_product() -> None:
    draw = np.random.default_rng(4)
    rows, matrix = draw.normal(size=(20, 5)), draw.normal(size=(5, 3))
    assert np.allclose(product(rows, matrix), rows @ matrix)
    assert np.allclose(product(rows, matrix[:, 0]), rows @ matrix[:, 0])
