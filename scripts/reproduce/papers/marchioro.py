"""Marchioro et al. 2022: accuracy against epsilon, sensitivities of the stations, and the law of the error of the means."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from test_dp_naive_bayes import accuracy, noise_of, plan_of, vector

from dp_naive_bayes.baselines import centralized, vaidya, vanilla
from fedbayes.bayes.schema import Schema
from fedbayes.federation.horizontal import Columns, Query
from v6_dp_naive_bayes.model import UNITS, Plan, finalise, summarise
from v6_dp_naive_bayes.published import publish

from .. import core
from ..core import Item, Paper

SETS = ("adult", "accelerometer", "mushroom", "skin", "votes", "spect")
EPSILONS = (0.01, 0.1, 1.0, 10.0)  # of the paper's figures
STATIONS = (1, 10, 100, 1000)  # of the paper's figures
Domain = dict[str, dict[str, Any]]
Encoded = dict[str, np.ndarray]
LIMITS = {"fnlwgt": (0, 1.5e6), "capital-loss": (0, 5000), "education-num": (1, 16)}
"""Of the columns whose source tells none."""
SPLIT = 7  # any, kept so that tables repeat
REPEATS: dict[int | str, int] = {100: 3}  # stations that draw whole noise each take their time; a thousand are left out


def tables(name: str) -> tuple[pd.DataFrame, pd.DataFrame, Domain]:
    """Return training rows, test rows and public domain; a set without published split is cut 9:1 at a fixed seed, as the paper does."""
    entries = json.loads((core.DATA / "manifest.json").read_text(encoding="utf-8"))["datasets"]
    columns = next(entry["columns"] for entry in entries if entry["name"] == name)
    columns = [column for column in columns if column["role"] != "auxiliary"]
    kinds = {column["name"]: str for column in columns if column.get("categories")}
    domain = {
        column["name"]: {"categories": [str(value) for value in column["categories"]]}
        if column.get("categories")
        else {"bounds": [float(limit) for limit in column.get("bounds") or LIMITS[column["name"]]]}
        for column in columns
    }
    if name in ("adult", "spect"):
        train, test = (core.table(f"{name}_{part}", dtype=kinds) for part in ("train", "test"))
    else:
        frame = core.table(name, dtype=kinds).sample(frac=1, random_state=SPLIT)
        train, test = frame[len(frame) // 10 :], frame[: len(frame) // 10]
    return train[list(domain)], test[list(domain)], domain


def question_marks(frame: pd.DataFrame, domain: Domain) -> tuple[pd.DataFrame, Domain]:
    """Return the table and domain in which a missing category is one of its own, as in the authors' code."""
    names = [name for name, kind in domain.items() if "categories" in kind]
    wider = {
        name: {"categories": [*domain[name]["categories"], "?"]} if name in names else kind
        for name, kind in domain.items()
    }
    wider["class"] = domain["class"]
    return frame.fillna({name: "?" for name in names}), wider


class Task:
    """A data set, encoded for the published way and for ours."""

    def __init__(self, name: str) -> None:
        train, test, domain = tables(name)
        features = [column for column in domain if column != "class"]
        (filled, wider), (other, _) = question_marks(train, domain), question_marks(test, domain)
        self.rows = len(train)
        self.theirs = self._encoded(features, wider, filled, other)
        self.ours = self._encoded(features, domain, train, test)

    @staticmethod
    def _encoded(
        features: list[str], domain: Domain, train: pd.DataFrame, test: pd.DataFrame
    ) -> tuple[Columns, Encoded, Encoded]:
        schema = Schema.from_domain(domain)
        return Columns("class", features, domain), schema.encode(train), schema.encode(test)

    def published(self, epsilon: float, stations: int | str, seed: int) -> float:
        """Return the accuracy of one run as published: the noise follows the data, tables are not smoothed."""
        columns, train, test = self.theirs
        plan = replace(plan_of(columns, "local", epsilon, published=True), pseudocount=1e-6)
        if stations == "central":
            return float(accuracy(vaidya(plan, train), test))
        summed = published_sum(plan, shuffled(train, seed), int(stations))
        return float(accuracy(finalise(plan, summed, int(stations)), test))

    def default(self, epsilon: float, stations: int | str) -> float:
        """Return the accuracy of one run of ours: histograms, and noise inside the sum (sums of stations' tables are those of the pooled one)."""
        columns, train, test = self.ours
        if stations == "central":
            return float(accuracy(centralized(plan_of(columns, "local", epsilon), train), test))
        plan = plan_of(columns, "distributed", epsilon)
        exact = vector(plan, train)
        summed = exact + noise_of(plan, exact.size, int(stations)).sum(axis=0)
        return float(accuracy(finalise(plan, summed, int(stations)), test))

    def plain(self) -> tuple[float, float]:
        """Return the accuracies without privacy."""
        published = replace(plan_of(self.theirs[0], "none", 0.0, published=True), pseudocount=1e-6)
        return (
            accuracy(vanilla(replace(published, sensitivity="bounds"), self.theirs[1]), self.theirs[2]),
            accuracy(vanilla(plan_of(self.ours[0], "none", 0.0), self.ours[1]), self.ours[2]),
        )


def published_sum(plan: Plan, encoded: Encoded, stations: int) -> np.ndarray:
    """Return the sum of what `publish` gives of every station, rows dealt to them in turn, in one call: a class of a station is a class of its own."""
    classes = plan.columns.classes
    together = stations * classes
    labels = (np.arange(len(encoded["class"])) % stations) * classes + encoded["class"]
    domain = {**plan.columns.domain, "class": {"categories": [str(label) for label in range(together)]}}
    wide = replace(plan, columns=Columns("class", plan.columns.features, domain))
    parts = np.split(publish(wide, {**encoded, "class": labels}), np.cumsum(wide.sizes)[:-1])
    tables = 1 + len(plan.tabled)
    sums = [part.reshape(stations, classes, -1).sum(axis=0).ravel() for part in parts[:tables]]
    sums += [part.reshape(-1, stations, classes).sum(axis=1).ravel() for part in parts[tables:]]
    return np.concatenate(sums)


def shuffled(encoded: Encoded, seed: int) -> Encoded:
    """Return the rows in another order; every run deals them to stations anew."""
    order = np.random.default_rng(seed).permutation(len(encoded["class"]))
    return {name: values[order] for name, values in encoded.items()}


def cells(quick: bool) -> Iterator[tuple[str, float, int | str]]:
    """Yield (set, epsilon, stations), the central one first; a station holds at least two rows, as in the paper."""
    sizes = dict.fromkeys(SETS, 100) | {"spect": 10}
    for name in ("votes", "mushroom") if quick else SETS:
        held = [stations for stations in STATIONS if stations <= min(sizes[name], 10 if quick else 100)]
        for epsilon in EPSILONS:
            yield name, epsilon, "central"
            for stations in held:
                yield name, epsilon, stations


def figure_1(quick: bool) -> Item:
    item = Item("figure-1", 2 if quick else 10)
    known = core.published_numbers("marchioro").set_index(["data", "epsilon", "stations"])
    with item.timed():
        tasks = {name: Task(name) for name in (("votes", "mushroom") if quick else SETS)}
        for name, epsilon, stations in cells(quick):
            task, cell = tasks[name], (name, f"{epsilon:g}", str(stations))
            repeats = REPEATS.get(stations, item.repetitions)
            own = [task.published(epsilon, stations, seed) for seed in range(repeats)]
            ours = [task.default(epsilon, stations) for _ in own]
            theirs = known.loc[[cell]].iloc[0] if cell in known.index else None
            row = item.add(cell, None if theirs is None else theirs["accuracy"], own, ours)
            if theirs is not None:
                row["spread_theirs"] = float(theirs["spread"])
    return item


def upper_bounds(quick: bool) -> Item:
    item = Item("figure-1-line", 1)
    known = core.published_numbers("marchioro").query("epsilon == 'none' and stations == 'central'").set_index("data")
    with item.timed():
        for name in ("votes", "mushroom") if quick else SETS:
            published, default = Task(name).plain()
            item.add((name,), known["accuracy"][name], published, default)
    return item


def figure_2(quick: bool) -> Item:
    item = Item("figure-2", 1 if quick else 10)
    with item.timed():
        for name in ("skin",) if quick else ("adult", "skin"):
            train, _, domain = tables(name)
            for feature in (feature for feature, kind in domain.items() if "bounds" in kind):
                largest = max(abs(bound) for bound in domain[feature]["bounds"])
                values, labels = train[feature].to_numpy(float), pd.factorize(train["class"])[0]
                for stations in STATIONS:
                    medians = [
                        median_of_largest(values, labels, stations, seed) / largest for seed in range(item.repetitions)
                    ]
                    item.add((name, feature, stations), None, medians, 1.0)
    return item


def median_of_largest(values: np.ndarray, labels: np.ndarray, stations: int, seed: int) -> float:
    """Return the median over stations and classes of the largest absolute value, where a station has the class."""
    dealt = np.random.default_rng(seed).permutation(len(values)) % stations
    group = pd.Series(np.abs(values)).groupby([dealt, labels]).max()
    return float(group.median())


def figure_3(quick: bool) -> Item:
    item = Item("figure-3", 20 if quick else 40)
    with item.timed():
        columns, train, _ = Task("adult").theirs
        numeric = [name for name in columns.features if not columns.schema[name].is_categorical]
        narrow = Columns("class", numeric, {name: columns.schema.to_domain()[name] for name in [*numeric, "class"]})
        for stations in STATIONS[: 2 if quick else 3]:
            plan, vectors_by_method = told_sums(narrow, shuffled(train, 0), stations, item.repetitions)
            tails = [kurtosis(vectors[:, sums_at(plan)]) for vectors in vectors_by_method[:2]]
            truth = means(plan, vectors_by_method[2])
            away = [np.median(np.abs(means(plan, vectors) / truth - 1)) for vectors in vectors_by_method[:2]]
            item.add(("excess kurtosis of the sums", stations), None, *tails)
            item.add(("median relative error of the means", stations), None, *away)
    return item


def told_sums(columns: Columns, encoded: Encoded, stations: int, draws: int) -> tuple[Plan, list[np.ndarray]]:
    """Return our plan, and the summed vectors as published and ours, each (draws, cells), and the exact one (1, cells)."""
    published = plan_of(columns, "local", 1.0, published=True)
    plan = replace(plan_of(columns, "distributed", 1.0), statistics="gaussian", bins={})
    queries = summarise(plan, encoded)
    exact = np.concatenate([query.values.ravel() for query in queries]).astype(float)
    own = [published_sum(published, encoded, stations) for _ in range(draws)]
    ours = [exact + summed_noise(plan, queries, stations) for _ in range(draws)]
    return plan, [np.array(own), np.array(ours), exact[None]]


def means(plan: Plan, vectors: np.ndarray) -> np.ndarray:
    """Return the mean of every numeric feature and class, shape (draws, features * classes), in the features' units."""
    at, classes = sums_at(plan), plan.columns.classes
    rows = np.tile(vectors[:, :classes], len(at) // classes) - vectors[:, at + classes] / UNITS
    low, high = np.array([plan.columns.schema[name].bounds for name in plan.gaussian]).repeat(classes, axis=0).T
    return np.asarray((low + high) / 2 + (high - low) / 2 * vectors[:, at] / UNITS / rows)


def sums_at(plan: Plan) -> np.ndarray:
    """Return where the sums of the features are in the vector, classes side by side."""
    starts = np.concatenate([[0], np.cumsum(plan.sizes)])[:-1]
    firsts = [start for start, size in zip(starts, plan.sizes, strict=True) if size == 2 * plan.columns.classes]
    return np.concatenate([np.arange(start, start + plan.columns.classes) for start in firsts])


def summed_noise(plan: Plan, queries: list[Query], stations: int) -> np.ndarray:
    """Return what the shares of all stations add to the sum of a vector."""
    changes = [plan.noise.change(query.l1, query.l2, query.values.size, query.nonnegative) for query in queries]
    drawn = [
        np.sum([plan.noise.shares(query.values.size, len(queries), change, stations) for _ in range(stations)], axis=0)
        for query, change in zip(queries, changes, strict=True)
    ]
    return np.concatenate(drawn).astype(float)


def kurtosis(values: np.ndarray) -> float:
    """Return the excess kurtosis of columns that are each brought to deviation 1."""
    unit = (values - values.mean(axis=0)) / values.std(axis=0)
    return float(np.mean(unit**4) - 3)


def reproduce(quick: bool) -> Paper:
    return Paper("marchioro", [figure_1(quick), upper_bounds(quick), figure_2(quick), figure_3(quick)])
