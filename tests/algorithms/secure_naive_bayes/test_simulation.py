"""The research simulation agrees with the embedded federation and with the library's shares."""

import numpy as np
import pytest

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.dp import shares
from fedbayes.randomness import ResearchSampler
from secure_naive_bayes.simulation import FOLDS, accuracies, corrected, draw_runs, published, smoothed
from v6_secure_naive_bayes.messages import Noise

from .conftest import DOMAIN

WIDTHS = (3, 2)


def rows(number):
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 2, number)
    return np.column_stack([(labels + generator.integers(0, 2, number)) % width for width in WIDTHS]), labels


@pytest.mark.few(1)
@pytest.mark.parametrize("budget", [{"noise": "none"}, {"epsilon": 0.5}, {"epsilon": 0.02}])
def test_the_same_counts_give_the_posteriors_of_the_embedded_federation(horizontal, table, budget):
    task = {"label": "kind", "domain": DOMAIN, "bins": 5, "modulus_bits": 2048, "organizations": list("pqrs")}
    fitted = NaiveBayes.from_dict(horizontal.run("secure_naive_bayes", "fit", {**task, **budget})["model"])
    features = list(fitted.features.values())
    counts = [np.column_stack([feature.counts, feature.missing])[None] for feature in features]
    prior, logs = smoothed(counts, features[0].noise)
    np.testing.assert_allclose(prior[0], fitted.log_prior, atol=1e-9)
    for log, feature in zip(logs, features, strict=True):
        np.testing.assert_allclose(log[0], np.log(feature.probabilities(fitted.positive_counts)), atol=1e-9)


def test_every_fold_counts_the_rows_of_the_others():
    codes, labels = rows(60)
    runs = draw_runs(codes, labels, WIDTHS, 40, 3, ResearchSampler(1))
    for group in range(3 * FOLDS):
        train = (runs.group // FOLDS == group // FOLDS) & (runs.group != group)
        for column, (table, width) in enumerate(zip(runs.tables, WIDTHS, strict=True)):
            expected = np.zeros((2, width + 1))
            np.add.at(expected, (runs.labels[train], runs.codes[train, column]), 1)
            assert np.array_equal(table[group], expected)


def test_accuracies_without_noise_are_those_of_the_exact_model():
    codes, labels = rows(60)
    runs = draw_runs(codes, labels, WIDTHS, 60, 2, ResearchSampler(2))
    prior, logs = corrected(runs.tables, Noise("none", 0.0, 0.0, 1.0, "record", 0), ResearchSampler(3))
    hits = [
        (prior[group] + sum(log[group, :, code] for log, code in zip(logs, row, strict=True))).argmax() == label
        for row, label, group in zip(runs.codes, runs.labels, runs.group, strict=True)
    ]
    np.testing.assert_allclose(accuracies(runs, (prior, logs)), np.reshape(hits, (2, 60)).mean(axis=1))


@pytest.mark.parametrize("printed", [False, True])
def test_the_noise_has_the_law_of_the_summed_shares(printed):
    """Class counts far above the noise carry it undiluted; compare deviations with the library's shares of six parties."""
    noise = Noise("published", 0.2, 0.3, 1.0, "record", 0)
    tables = [np.full((4000, 2, 3), 10**6)]
    prior, _ = published(tables, noise, 6, printed, ResearchSampler(4))
    odds = prior[:, 0] - prior[:, 1]
    drawn = [
        shares.diluted_geometric(40_000, 5.0, 6, 1.0, 0.3) if printed else shares.polya(40_000, 5.0, 6, 1.0)
        for _ in range(6)
    ]
    expected = np.sum(drawn, axis=0).std() * np.sqrt(2.0) / 3e6
    assert odds.std() == pytest.approx(expected, rel=0.12)


def test_more_budget_gives_more_accuracy():
    codes, labels = rows(200)
    runs = draw_runs(codes, labels, WIDTHS, 200, 20, ResearchSampler(6))
    found = [
        accuracies(runs, corrected(runs.tables, Noise("polya", e, 0.0, 1.0, "record", 0), ResearchSampler(7))).mean()
        for e in (0.01, 10.0)
    ]
    assert found[1] > found[0] + 0.1
