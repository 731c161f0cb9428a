"""Zafarani and Clifton 2020: accuracy against epsilon on the public sets, and the allocation of the budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from test_smooth_naive_bayes import accuracy, exact, release, schema_of, vaidya

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import Schema

from .. import core
from ..core import Item, Paper

FIGURES = {"figure-4": "adult", "figure-5": "mushroom", "figure-6": "seeds", "figure-7": "skin"}
EPSILONS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)  # of the paper's figures
FOLDS = 10  # of the paper
RATIOS = ((1, 2), (1, 1), (2, 1), (4, 1))  # of the paper's table
Encoded = dict[str, np.ndarray]


def folds(name: str, repeats: int, held: int) -> Iterator[tuple[Schema, Encoded, Encoded]]:
    """Yield schema, training and test table of so many folds of each repeated ten-fold cross-validation; Adult is its two parts together."""
    import pandas as pd

    parts = ("adult_train", "adult_test") if name == "adult" else (name,)
    frame = pd.concat([core.table(part) for part in parts], ignore_index=True)
    schema = schema_of(name, core.DATA)
    encoded = schema.encode(frame)
    for repeat in range(repeats):
        fold = np.random.default_rng(repeat).permutation(len(frame)) % FOLDS
        for one in range(held):
            yield (
                schema,
                *({key: values[rows] for key, values in encoded.items()} for rows in (fold != one, fold == one)),
            )


def majority(train: Encoded, test: Encoded) -> float:
    """Return the accuracy of the most frequent class."""
    return float(np.mean(test["class"] == np.bincount(train["class"][train["class"] >= 0]).argmax()))


def compared(
    schema: Schema, train: Encoded, test: Encoded, epsilons: tuple[float, ...]
) -> dict[tuple[str, str], list[float]]:
    """Return {(epsilon, model): [as published, by default]} of one fold; what has no privacy has no epsilon."""
    plain = accuracy(exact(schema, train), test)
    accuracies = {("none", "no privacy"): [plain, plain], ("none", "majority class"): [majority(train, test)] * 2}
    for epsilon in epsilons:
        published = accuracy(release(schema, train, epsilon, sensitivity="published"), test)
        ours = accuracy(release(schema, train, epsilon), test)
        accuracies[f"{epsilon:g}", "smooth sensitivity"] = [published, ours]
        accuracies[f"{epsilon:g}", "global sensitivity"] = [
            accuracy(vaidya(schema, train, epsilon), test),
            accuracy(release(schema, train, epsilon, sensitivity="global"), test),
        ]
    return accuracies


def gathered(item: Item, runs: Iterator[dict[tuple[str, str], list[float]]]) -> Item:
    """Add the rows of all folds."""
    with item.timed():
        pairs_by_method: dict[tuple[str, str], list[list[float]]] = {}
        for run in runs:
            for key, pair in run.items():
                pairs_by_method.setdefault(key, []).append(pair)
        for key, values in pairs_by_method.items():
            columns = np.array(values, dtype=float).T
            item.add(key, None, *(None if np.isnan(column).all() else column for column in columns))
    return item


def figure(name: str, quick: bool) -> Item:
    """Return figure 4, 5, 6 or 7."""
    data, epsilons = FIGURES[name], (0.1, 1.0, 10.0) if quick else EPSILONS
    repeats, held = (1, 2) if quick else (5 if data == "seeds" else 2, FOLDS)
    runs = (compared(*parts, epsilons) for parts in folds(data, repeats, held))
    return gathered(Item(name, repeats * held), runs)


def figure_10(quick: bool) -> Item:
    """Return the figure of the allocations on Adult."""
    item = Item("figure-10", 2 if quick else FOLDS)

    def runs() -> Iterator[dict[tuple[str, str], list[float]]]:
        for schema, train, test in folds("adult", 1, item.repetitions):
            yield {
                (f"{epsilon:g}", f"{numeric}:{categorical}"): [
                    accuracy(allocated(schema, train, epsilon, numeric, categorical, **kind), test)
                    for kind in ({"sensitivity": "published"}, {})
                ]
                for epsilon in ((1.0,) if quick else (0.1, 1.0, 10.0))
                for numeric, categorical in RATIOS
            }

    return gathered(item, runs())


def allocated(
    schema: Schema, train: Encoded, epsilon: float, numeric: int, categorical: int, **kind: Any
) -> NaiveBayes:
    """Return the model whose numeric features have `numeric` parts of the budget each, categorical ones `categorical`: two releases that compose."""
    features = [name for name in schema.names if name != "class"]
    groups = [[name for name in features if schema[name].is_categorical is flag] for flag in (False, True)]
    weights = np.array([numeric * len(groups[0]), categorical * len(groups[1])]) / 1.0
    budgets = epsilon * weights / weights.sum()
    domain = schema.to_domain()
    models = [
        release(Schema.from_domain({name: domain[name] for name in [*group, "class"]}), train, budget, **kind)
        for group, budget in zip(groups, budgets, strict=True)
    ]
    joined = {**models[0].features, **models[1].features}
    return NaiveBayes(
        schema, "class", models[1].class_counts, {name: joined[name] for name in features}, models[1].class_noise
    )


def reproduce(quick: bool) -> Paper:
    names = ("figure-5", "figure-6") if quick else tuple(FIGURES)
    return Paper("zafarani", [*(figure(name, quick) for name in names), figure_10(quick)])
