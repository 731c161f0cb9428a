"""The study of Torrijos et al.: twelve sets, 5 to 100 clients, 5 folds inside each client, several seeds.

A research simulation: all clients in one process (`studies/discriminative_naive_bayes/simulation.py`, equal to the federation's result by a test).
``python tests/benchmarks/discriminative_study.py DATA_FOLDER OUT.csv`` appends what is missing, cheap sets first, so it can be stopped and resumed.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from discriminative_naive_bayes.simulation import simulated
from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.learning import learn_locally
from v6_discriminative_naive_bayes.likelihood import Evidence, log_posterior
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.model import count, tables_from_counts

SMALL = ["votes", "tictactoe", "car", "flare", "krvskp", "soybean", "splice", "mushroom", "phishing", "nursery"]
LARGE = ["krvsk", "connect4"]
CLIENTS = (5, 10, 20, 50, 100)
SEEDS = range(5)
FOLDS = 5
ROUNDS = 20
STEPS = 17  # 20 rounds in all
MARKS = (1, 5, 20)
FIELDS = ("dataset", "clients", "seed", "method", "accuracy", "seconds")
REGULARIZATION = 1e-3


@dataclass(frozen=True)
class Table:
    """One data set as codes; the categories are those that its source declares."""

    codes: np.ndarray
    labels: np.ndarray
    domain: dict

    def shape(self, prior: str, tables: str) -> Shape:
        names = [name for name in self.domain if name != "class"]
        return Shape(Columns("class", names, self.domain), {}, prior=prior, tables=tables)


def load(folder: Path, name: str) -> Table:
    manifest = json.loads((folder / "manifest.json").read_text())
    columns = next(entry["columns"] for entry in manifest["datasets"] if entry["name"] == name)
    frame = pd.read_csv(folder / f"{name}.csv.gz", dtype=str)
    domain = {column["name"]: {"categories": [str(value) for value in column["categories"]]} for column in columns}
    codes = {
        column: pd.Categorical(frame[column], categories=kind["categories"]).codes for column, kind in domain.items()
    }
    labels = codes.pop("class").astype(np.int64)
    return Table(np.column_stack(list(codes.values())).astype(np.int32), labels, domain)


def dealt(labels: np.ndarray, clients: int, seed: int, drawn: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return every row's client, stratified by class, and its fold, stratified inside the client.

    Inside a client classes are dealt in the order in which they appear, as in WEKA. Were it the same order everywhere, the rare classes would be
    tested in the same fold at all clients, and then nobody could have learned them. They still are for the most part, because a frequent
    class appears first; with `drawn` each client's order of classes is drawn, so that no fold is poorer than another.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    client = np.empty(len(labels), dtype=int)
    client[order] = np.arange(len(labels)) % clients
    fold = np.empty(len(labels), dtype=int)
    for one in range(clients):
        rows = generator.permutation(np.flatnonzero(client == one))
        first = {label: place for place, label in reversed(list(enumerate(labels[rows].tolist())))}
        if drawn:
            first = dict(enumerate(generator.permutation(int(labels.max()) + 1).tolist()))
        rows = rows[np.argsort([first[label] for label in labels[rows].tolist()], kind="stable")]
        fold[rows] = np.arange(len(rows)) % FOLDS
    return client, fold


def share(layout, tables, weights, codes, labels) -> float:
    return float((log_posterior(layout, tables, weights, codes).argmax(axis=1) == labels).mean())


class Fold:
    """One fold of all clients: their rows for training and for testing."""

    def __init__(self, table: Table, client: np.ndarray, fold: np.ndarray, held: int) -> None:
        self.table = table
        self.train, self.test = [], []
        for one in range(int(client.max()) + 1):
            for rows, chosen in ((self.train, fold != held), (self.test, fold == held)):
                here = (client == one) & chosen
                rows.append((table.codes[here], table.labels[here]))

    def published(self) -> Iterator[tuple[str, float]]:
        """Averaged weights over local tables, as the authors' code does it; a missing value is there the first value."""
        shape = self.table.shape("published", "local")
        layout = shape.layout
        train = [(np.maximum(codes, 0), labels) for codes, labels in self.train]
        made = [tables_from_counts(layout, count(layout, *rows), "published") for rows in train]
        known = [Evidence.of(layout, own, rows[0]) for own, rows in zip(made, train, strict=True)]
        tests = [
            (Evidence.of(layout, own, np.maximum(codes, 0)), labels, number)
            for number, (own, (codes, labels)) in enumerate(zip(made, self.test, strict=True))
            if len(labels)
        ]

        def score(weights) -> float:
            hits = [(rows.log_posterior(weights[k]).argmax(axis=1) == labels).mean() for rows, labels, k in tests]
            return float(np.mean(hits))

        def improved(start) -> list:
            pairs = zip(known, train, strict=True)
            return [learn_locally(rows, start, labels, 5, 0.0) for rows, (_, labels) in pairs]

        yield "local", score(improved(np.zeros(layout.parameters)))
        clients, fit = simulated(shape, train, optimizer="fedavg", rounds=ROUNDS, tolerance=0.0)
        path = [*clients.asked, fit.weights]
        for mark in MARKS:
            yield f"averaged {mark}", score([path[min(mark, len(path) - 1)]] * len(train))
        yield "personal 20", score(improved(fit.weights))

    def ours(self, central: bool) -> Iterator[tuple[str, float]]:
        """Tables, loss and gradient summed over the clients."""
        shape = self.table.shape("log", "secure_sum")
        layout = shape.layout
        tables = tables_from_counts(layout, np.sum([count(layout, *rows) for rows in self.train], axis=0))

        def score(weights) -> float:
            return float(np.mean([share(layout, tables, weights, *rows) for rows in self.test if len(rows[1])]))

        yield "plain", score(np.ones(layout.parameters))
        yield "default", score(simulated(shape, self.train, rounds=STEPS)[1].weights)
        yield "regularized", score(simulated(shape, self.train, rounds=STEPS, regularization=REGULARIZATION)[1].weights)
        if central:
            pooled = [tuple(np.concatenate(part) for part in zip(*self.train, strict=True))]
            yield "central", score(simulated(shape, pooled, rounds=100)[1].weights)


def cell(table: Table, clients: int, seed: int, methods: str = "all", drawn: bool = False) -> dict[str, float]:
    """Return the mean accuracy, over folds and clients, of each method (``all``, ``ours``, or ``central``: ours and the pooled fit)."""
    client, fold = dealt(table.labels, clients, seed, drawn)
    found: dict[str, list[float]] = {}
    for held in range(FOLDS):
        part = Fold(table, client, fold, held)
        scores = [*part.ours(central=clients == CLIENTS[0] or methods == "central")] + (
            [*part.published()] if methods == "all" else []
        )
        for method, accuracy in scores:
            found.setdefault(method, []).append(accuracy)
    return {method: float(np.mean(values)) for method, values in found.items()}


def plan() -> Iterator[tuple[str, int, int]]:
    """Yield (set, clients, seed), cheap ones first."""
    for names in (SMALL, LARGE):
        for seed in SEEDS:
            for name in names:
                yield from ((name, clients, seed) for clients in CLIENTS if (name, clients) != ("votes", 100))


def main(folder: Path, out: Path) -> None:
    done = set()
    if out.exists():
        found = pd.read_csv(out)
        done = set(zip(found["dataset"], found["clients"], found["seed"], strict=True))
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(",".join(FIELDS) + "\n")
    for name, clients, seed in plan():
        if (name, clients, seed) in done:
            continue
        began = time.perf_counter()
        scores = cell(load(folder, name), clients, seed)
        seconds = round(time.perf_counter() - began, 1)
        with out.open("a", newline="") as file:
            lines = [(name, clients, seed, method, f"{value:.5f}", seconds) for method, value in scores.items()]
            csv.writer(file, lineterminator="\n").writerows(lines)
        print(name, clients, seed, seconds, {key: round(value, 3) for key, value in scores.items()}, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
