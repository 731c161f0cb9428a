"""Huai et al. 2015: the accuracy of private naive Bayes on Car Evaluation against the number of parties, horizontal and vertical."""

from __future__ import annotations

import numpy as np
import pandas as pd
from test_secure_naive_bayes import EPSILONS, ROWS, figure_runs

from fedbayes.randomness import ResearchSampler
from secure_naive_bayes.simulation import Logs, accuracies, corrected, draw_runs
from v6_secure_naive_bayes.messages import Noise

from ..core import Item, Paper, table

SEED = 7  # any, kept so that tables repeat


def figure_1a(quick: bool) -> Item:
    item = Item("figure-1a", 40 if quick else 2000)
    with item.timed():
        for rows in (100, 1728) if quick else ROWS:
            runs = figure_runs(table("car"), rows, item.repetitions)
            plain = runs["plain", 0.0]
            for reading in ("as printed", "as claimed"):
                item.add((rows, "no noise", reading), None, plain, plain)
            for epsilon in EPSILONS:
                item.add((rows, epsilon, "as printed"), None, runs["printed", epsilon], runs["ours", epsilon])
                item.add((rows, epsilon, "as claimed"), None, runs["claimed", epsilon], runs["ours", epsilon])
    return item


def figure_1b(quick: bool) -> Item:
    item = Item("figure-1b", 40 if quick else 1000)
    frame = table("car")
    codes = np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in frame.columns])
    with item.timed():
        for parties in (2, 6) if quick else range(2, 7):
            runs = vertical_runs(codes, parties, item.repetitions)
            item.add((parties, "no noise"), None, runs["plain", 0.0], runs["plain", 0.0])
            for epsilon in EPSILONS:
                item.add((parties, epsilon), None, runs["printed", epsilon], runs["ours", epsilon])
    return item


def vertical_runs(codes: np.ndarray, parties: int, runs: int) -> dict[tuple[str, float], np.ndarray]:
    """Return accuracies of cross-validations in which so many parties hold one attribute each; the attributes are drawn in each batch.

    Every party draws the noise of its own tables alone, so the noise of a count is one term whatever the number of parties.
    """
    sampler, labels = ResearchSampler(SEED), codes[:, -1]
    by_method: dict[tuple[str, float], list[np.ndarray]] = {}
    for _ in range(runs // 20):
        chosen = np.sort(sampler.generator.permutation(codes.shape[1] - 1)[:parties])
        features = codes[:, chosen]
        widths = (features.max(axis=0) + 1).tolist()
        drawn = draw_runs(features, labels, widths, len(labels), 20, sampler)
        exact = corrected(drawn.tables, Noise("none", 0.0, 0.0, 1.0, "record", 0), sampler)
        by_method.setdefault(("plain", 0.0), []).append(accuracies(drawn, exact))
        for epsilon in EPSILONS:
            ours = Noise("polya", epsilon, 0.0, 1.0, "record", 0)
            fits = {"printed": alone(drawn.tables, epsilon, sampler), "ours": corrected(drawn.tables, ours, sampler)}
            for method, logs in fits.items():
                by_method.setdefault((method, epsilon), []).append(accuracies(drawn, logs))
    return {key: np.concatenate(parts) for key, parts in by_method.items()}


def alone(tables: list[np.ndarray], epsilon: float, sampler: ResearchSampler) -> Logs:
    """Return the logarithms of section 5.4: class counts are public, every party adds Laplace noise of 1 / epsilon to its own counts."""
    classes = tables[0].sum(axis=2).astype(float)
    noisy = [np.maximum(table + sampler.generator.laplace(0.0, 1 / epsilon, table.shape), 1.0) for table in tables]
    logs = [np.log(table[:, :, :-1] / classes[:, :, None]) for table in noisy]
    return np.log(classes / classes.sum(axis=1, keepdims=True)), logs


def reproduce(quick: bool) -> Paper:
    return Paper("huai", [figure_1a(quick), figure_1b(quick)])
