"""What a weighted naive Bayes model says of every value of every feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ...bayes.values.written import interval
from ...typing import Floats


def values_of(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (feature, value or bin) in the order of the model's tables; empty where it has no table of values by class."""
    if model.get("structure") != "naive" or model.get("continuous") != "binned" or not model.get("tables"):
        return []
    values = [
        (str(name), value)
        for name, entry in model["domain"].items()
        if name != model["label"]
        for value in _values(entry, (model.get("bins") or {}).get(name))
    ]
    return values if len(values) == len(model["tables"]["single"]) else []


def _values(entry: Mapping[str, Any], bins: Any) -> Iterator[str]:
    if "categories" in entry:
        yield from (str(value) for value in entry["categories"])
        return
    low, high = (float(bound) for bound in entry["bounds"])
    edges = np.array([low, *bins, high]) if isinstance(bins, list) else np.linspace(low, high, int(bins or 1) + 1)
    yield from (interval(left, right) for left, right in pairwise(edges))


def tables_of(model: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Return log P(value | class) and the weights, float64 (values, classes) each, in the order of `values_of`."""
    logs = np.asarray(model["tables"]["single"], dtype=np.float64)
    rest = np.asarray(model["weights"], dtype=np.float64)[logs.shape[1] :]
    if model.get("weighting") == "value":
        return logs, rest.reshape(logs.shape)
    places = {name: index for index, name in enumerate(dict.fromkeys(name for name, _ in values_of(model)))}
    return logs, np.stack([np.full(logs.shape[1], rest[places[name]]) for name, _ in values_of(model)])


def effects(model: Mapping[str, Any]) -> dict[str, float]:
    """Return how much each feature moves the odds of a class against the mean of all; the largest first.

    It is the standard deviation of the feature's part in the logarithm over its values, each as likely as in the mean of the classes:
    values that nobody has do not count, however far they would move the odds.
    """
    named = values_of(model)
    if not named:
        return {}
    logs, weights = tables_of(model)
    scores = logs * weights
    scores = scores - scores.mean(axis=1, keepdims=True)
    sizes: dict[str, float] = {}
    for feature in dict.fromkeys(name for name, _ in named):
        rows = [row for row, (name, _) in enumerate(named) if name == feature]
        share = np.exp(logs[rows]).mean(axis=1)
        share = share / share.sum()
        variance = share @ scores[rows] ** 2 - (share @ scores[rows]) ** 2
        sizes[feature] = float(np.sqrt(max(float(variance.max()), 0.0)))
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))
