"""The paper's baselines on one table: without privacy, and private with a single data holder.

None of them is remotely callable; they are for comparisons such as those of the README.

References
----------
.. [1] Vaidya, Shafiq, Basu, Hong (2013), Differentially private naive Bayes classification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import class_counts, feature_table, table_feature
from fedbayes.bayes.naive_bayes.features import Feature, Gaussian
from fedbayes.federation.horizontal import CountNoise
from fedbayes.typing import Array
from v6_dp_naive_bayes.model import TINY, Plan, finalise, summarise

Encoded = Mapping[str, Array]


def vanilla(plan: Plan, encoded: Encoded) -> NaiveBayes:
    """Return naive Bayes of the pooled table without noise (equations 2 to 5)."""
    exact = replace(plan, noise=CountNoise(), sensitivity="bounds")
    vector = np.concatenate([query.values.ravel() for query in summarise(exact, encoded)])
    return finalise(exact, vector, 1)


def centralized(plan: Plan, encoded: Encoded) -> NaiveBayes:
    """Return the model of a single data holder under the same budget, with global sensitivities."""
    alone = replace(plan, noise=replace(plan.noise, placement="local", delta=0.0), sensitivity="bounds")
    queries = summarise(alone, encoded)
    changes = [alone.noise.change(query.l1, query.l2, query.values.size, query.nonnegative) for query in queries]
    noisy = [
        query.values.ravel() + alone.noise.shares(query.values.size, len(queries), change, 1)
        for query, change in zip(queries, changes, strict=True)
    ]
    return finalise(alone, np.concatenate(noisy), 1)


def vaidya(plan: Plan, encoded: Encoded) -> NaiveBayes:
    """Return the centralized model of Vaidya et al. as published, which the paper compares with.

    Means get Laplace noise for (high - low)/(n + 1), standard deviations for sqrt(n) (high - low)/(n + 1). The scale
    uses the exact size n of the class, so this is **not differentially private** unless class sizes are public.
    """
    from fedbayes.dp.mechanisms import laplace

    columns, schema = plan.columns, plan.columns.schema
    labels = encoded[columns.label]
    exact = class_counts(labels, columns.classes)
    share = plan.noise.epsilon / (1 + len(plan.tabled) + 2 * len(plan.gaussian))
    counts = np.maximum(laplace(exact.astype(np.float64), 1.0 / share), TINY)
    features: dict[str, Feature] = {}
    for name in columns.features:
        if name in plan.tabled:
            table = feature_table(schema, columns.label, name, encoded, plan.bins).astype(np.float64)
            noisy = np.maximum(laplace(table, 1.0 / share), TINY)
            features[name] = table_feature(schema, name, noisy, plan.bins, 0.0, plan.pseudocount)
            continue
        low, high = schema[name].bounds or (0.0, 1.0)
        mean, deviation = np.full(columns.classes, (low + high) / 2), np.full(columns.classes, (high - low) / 4)
        for label in range(columns.classes):
            own = encoded[name][(labels == label) & ~np.isnan(encoded[name])]
            if len(own):
                change = (high - low) / (len(own) + 1)
                mean[label] = laplace(own.mean(), change / share)
                deviation[label] = laplace(own.std(), np.sqrt(len(own)) * change / share)
        features[name] = Gaussian.from_parameters(counts, mean, np.maximum(deviation, TINY) ** 2, (low, high))
    return NaiveBayes(schema, columns.label, counts, features)
