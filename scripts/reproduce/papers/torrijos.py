"""Torrijos et al. 2024: configurations of the federated discriminative naive Bayes, and it beside the other four."""

from __future__ import annotations

from collections.abc import Iterator

import discriminative_study as study
import numpy as np
import pandas as pd

from discriminative_naive_bayes.simulation import simulated
from v6_discriminative_naive_bayes.learning import learn_locally
from v6_discriminative_naive_bayes.likelihood import Evidence
from v6_discriminative_naive_bayes.model import Layout, Tables, count, tables_from_counts

from .. import core
from ..core import Item, Paper

STUDY = core.ROOT / "algorithms" / "discriminative_naive_bayes" / "study.csv"
WRITTEN = {"NBfed": "plain", "NBw5": "local", "NBw5 global": "averaged 20", "NBw5 personal": "personal 20"}
CONFIGURATIONS = ("NBw5 global", "NBw5 personal", "NBw global", "NBw personal")
ALGORITHMS = ("NB", "NBfed", "NBw", "NBw5", "NBw5 global")
FRESH = ("votes", "tictactoe", "car", "flare")
UNLIMITED, ROUNDS_UNLIMITED, ROUNDS = 1000, 3, 20  # local iterations and rounds of the paper's tables

Scores = dict[tuple[str, str], list[float]]


class Rows:
    """The rows of all clients under each client's own tables, or under the summed ones."""

    def __init__(self, layout: Layout, parts: list[tuple[np.ndarray, np.ndarray]], tables: list[Tables]) -> None:
        self.labels = [labels for _, labels in parts]
        self.known = [Evidence.of(layout, own, codes) for own, (codes, _) in zip(tables, parts, strict=True)]

    def accuracy(self, weights: list[np.ndarray]) -> float:
        """Return the mean over clients that have rows."""
        scored = zip(self.known, weights, self.labels, strict=True)
        hits = [(own.log_posterior(w).argmax(axis=1) == labels).mean() for own, w, labels in scored if len(labels)]
        return float(np.mean(hits))


def fold_scores(fold: study.Fold, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield (method, accuracy on training rows, on held-out rows) of the published algorithms in one fold."""
    parts = [[(np.maximum(codes, 0), labels) for codes, labels in rows] for rows in (fold.train, fold.test)]
    for name, shape in (("NB", fold.table.shape("log", "secure_sum")), ("", fold.table.shape("published", "local"))):
        layout = shape.layout
        counts = [count(layout, *rows) for rows in parts[0]]
        if name:
            ones = [np.ones(layout.parameters)] * len(counts)
            pooled = [tables_from_counts(layout, np.sum(counts, axis=0))] * len(counts)
            for kind, tables in (("NB", [tables_from_counts(layout, own) for own in counts]), ("NBfed", pooled)):
                train, test = (Rows(layout, rows, tables) for rows in parts)
                yield kind, train.accuracy(ones), test.accuracy(ones)
            continue
        tables = [tables_from_counts(layout, own, "published") for own in counts]
        train, test = (Rows(layout, rows, tables) for rows in parts)
        for kind, limit, many in (("NBw5", 5, rounds), ("NBw", UNLIMITED, ROUNDS_UNLIMITED)):
            local = improved(train, [np.zeros(layout.parameters)] * len(counts), limit)
            yield kind, train.accuracy(local), test.accuracy(local)
            shared = simulated(shape, parts[0], optimizer="fedavg", rounds=many, tolerance=0.0, local_iterations=limit)[
                1
            ]
            weights = [shared.weights] * len(counts)
            yield f"{kind} global", train.accuracy(weights), test.accuracy(weights)
            personal = improved(train, weights, limit)
            yield f"{kind} personal", train.accuracy(personal), test.accuracy(personal)


def improved(rows: Rows, start: list[np.ndarray], limit: int) -> list[np.ndarray]:
    """Return every client's weights after a local optimisation of so many iterations."""
    zipped = zip(rows.known, start, rows.labels, strict=True)
    return [learn_locally(own, weights, labels, limit, 0.0) for own, weights, labels in zipped]


def cell(name: str, clients: int, seeds: int, folds: int, rounds: int) -> Scores:
    """Return {(method, part): means over clients of every fold and seed} of a fresh run."""
    table = study.load(core.DATA, name)
    by_method: Scores = {}
    for seed in range(seeds):
        client, fold = study.dealt(table.labels, clients, seed)
        for held in range(folds):
            for method, *accuracies in fold_scores(study.Fold(table, client, fold, held), rounds):
                for part, accuracy in zip(("train", "test"), accuracies, strict=True):
                    by_method.setdefault((method, part), []).append(accuracy)
    return by_method


class Results:
    """Theirs, the committed study's cells and those run now."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.theirs = core.published_numbers("torrijos").set_index(["data", "clients", "method"])
        self.study = pd.read_csv(STUDY)
        self.fresh: dict[tuple[str, int], Scores] = {}
        sets, clients = (("votes",), (5,)) if quick else (FRESH, (5, 20, 50, 100))
        for name in sets:
            for number in (number for number in clients if (name, number) != ("votes", 100)):
                self.fresh[name, number] = cell(name, number, 1, 2 if quick else 5, 3 if quick else ROUNDS)

    def cells(self) -> list[tuple[str, int]]:
        """Return every (set, clients) that has numbers of ours."""
        names = [*study.SMALL, *study.LARGE]
        return [(name, number) for name in names for number in study.CLIENTS if (name, number) != ("votes", 100)]

    def published(self, name: str, clients: int, method: str, part: str) -> float | None:
        """Return theirs, measured with the authors' code."""
        key = (name, clients, method)
        return float(self.theirs.loc[[key], part].iloc[0]) if key in self.theirs.index else None

    def ours(self, name: str, clients: int, method: str, part: str) -> np.ndarray | list[float] | None:
        """Return the accuracies of the study's seeds, or of the folds of a fresh run."""
        if part == "test" and method in (*WRITTEN, "default"):
            chosen = self.study[(self.study["dataset"] == name) & (self.study["clients"] == clients)]
            chosen = chosen[chosen["method"] == WRITTEN.get(method, method)]
            return chosen["accuracy"].to_numpy() if len(chosen) else None
        return self.fresh.get((name, clients), {}).get((method, part))


def table_2(results: Results) -> Item:
    item = Item("table-2", len(study.SEEDS))
    for name, clients in results.cells():
        for method in CONFIGURATIONS:
            own = results.ours(name, clients, method, "test")
            if own is not None:
                theirs = results.published(name, clients, method, "test")
                item.add((name, clients, method), theirs, own, results.ours(name, clients, "default", "test"))
    return item


def figure(results: Results, name: str, part: str) -> Item:
    """Return figure 1 (training rows) or 2 (test rows)."""
    item = Item(name, 1 if part == "train" else len(study.SEEDS))
    for data, clients in results.cells():
        for method in ALGORITHMS:
            own = results.ours(data, clients, method, part)
            if own is not None:
                default = results.ours(data, clients, "default", part) if method == "NBw5 global" else None
                item.add((data, clients, method), results.published(data, clients, method, part), own, default)
    return item


def figure_3(results: Results, one: Item, two: Item) -> Item:
    """Return means over the sets that all columns have."""
    item = Item("figure-3", two.repetitions)
    for part, of in (("train", one), ("test", two)):
        rows = pd.DataFrame([[*row["row"], *(row[column] for column in core.COLUMNS)] for row in of.rows])
        rows = rows[rows[0].isin(["votes"] if results.quick else FRESH[1:])]
        rows[[3, 4, 5]] = rows[[3, 4, 5]].astype(float)
        for (clients, method), cells in rows.groupby([1, 2], sort=False):
            means = [None if cells[column].isna().any() else float(cells[column].mean()) for column in (3, 4, 5)]
            item.add((part, clients, method), *means)
    return item


def reproduce(quick: bool) -> Paper:
    timer = Item("table-2")
    with timer.timed():
        results = Results(quick)
    table, one, two = table_2(results), figure(results, "figure-1", "train"), figure(results, "figure-2", "test")
    table.seconds = timer.seconds
    three = figure_3(results, one, two)
    return Paper("torrijos", [table, one, two, three])
