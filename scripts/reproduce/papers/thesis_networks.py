"""Chapter 3: networks over vertically split records, on pooled counts that the federation's are equal to, and its times."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from test_bayesian_ensemble_study import _logs as logs_of
from test_bayesian_ensemble_study import three_areas
from test_vertibayes import fit
from test_vertibayes_tables import ARGUMENTS, FOLDS, Published

from fedbayes.bayes.counts.tables import PooledTables
from fedbayes.bayes.network import BayesianNetwork
from v6_vertibayes import validation
from v6_vertibayes.arguments import Fit
from v6_vertibayes.guards import observed
from v6_vertibayes.model import Learned, learn
from v6_vertibayes.result import criteria

from .. import core
from ..core import Item
from .thesis_products import known

DATA = {"Alarm": "alarm10k", "Asia": "asia10k", "Diabetes": "diabetes", "Iris": "iris"}
MISSING = (0, 5, 10, 30)  # per cent, of the thesis' tables
LIMITED = {"Alarm": 1, "Asia": 5, "Diabetes": 3}  # folds of ten that are run of the large sets
NETWORKS = {"asia": "asia", "iris_auto": "iris", "diabetes_few_bins": "diabetes", "alarm": "alarm"}


@cache
def experiment(name: str, missing: int) -> Published:
    """Return a published experiment: table, structure, bins."""
    stem = DATA[name]
    frame = core.table(stem if missing == 0 else f"{stem}_missing{missing:02d}")
    return Published(frame, network_of(stem))


def network_of(stem: str) -> dict[str, Any]:
    """Return the published structure and bins of a set."""
    path = core.DATA / "networks" / f"{stem.replace('10k', '')}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def learned(study: Published, rows: np.ndarray | slice, **arguments: Any) -> tuple[Fit, Learned]:
    """Return the options and the network of some rows, EM over synthetic rows as published."""
    asked = {**ARGUMENTS, "missing": "em", **arguments, "columns": study.columns, "structure": study.edges}
    options = Fit.read("fit", asked)
    codes = {name: code[rows] for name, code in study.codes.items()}
    return options, learn(options, study.variables, PooledTables(codes, study.sizes))


def held_out(study: Published, folds: int) -> np.ndarray:
    """Return (labelled, as the ensembles score, as VertiBayes scores) of every fold, on real records held out."""
    order = np.random.default_rng(0).permutation(study.rows)
    records = np.column_stack(
        [np.where(study.codes[v.name] < len(v.states), study.codes[v.name], -1) for v in study.variables]
    )
    column, areas = study.columns.index("class"), []
    for fold in range(folds):
        held = order[np.arange(study.rows) % FOLDS == fold]
        network = learned(study, np.setdiff1d(order, held))[1].network
        rows = records[held]
        truth = rows[:, column].copy()
        rows[:, column] = -1
        areas.append(three_areas(truth, logs_of(network, rows)))
    return np.array(areas)


def synthetic(study: Published, method: str, folds: int) -> float:
    """Return the area that the thesis' validation without real records gives."""
    options, made = learned(study, slice(None), validation=method, folds=folds)
    if method == "scv":
        return float(validation.synthetic_cross_validation(options, made)["auc"])
    fold = np.random.default_rng(0).permutation(study.rows) % folds
    codes, sizes = {**study.codes, "fold of a record": fold}, {**study.sizes, "fold of a record": folds}
    pooled = PooledTables(codes, sizes)
    by_fold = validation.held_out_generation(
        options, made, lambda asked: pooled([("fold of a record", *family) for family in asked])
    )
    return float(by_fold["auc"])


def gapped(study: Published) -> float:
    """Return the area on synthetic rows with their gaps, scored as VertiBayes scores."""
    made = learned(study, slice(None))[1]
    drawn = made.intermediate.sample(10_000)
    cards = np.array([len(made.network.states[node]) for node in made.network.nodes])
    rows = np.where(drawn < cards, drawn, -1)
    column = list(made.network.nodes).index("class")
    truth = rows[:, column].copy()
    rows[:, column] = -1
    return float(three_areas(truth, logs_of(made.network, rows))[2])


def table_3_2(quick: bool) -> Item:
    item, theirs = Item("table-3.2", 1 if quick else FOLDS), known("table-3.2")
    with item.timed():
        for name in ("Asia", "Iris") if quick else DATA:
            for missing in (0, 10) if quick else MISSING:
                study = experiment(name, missing)
                areas = held_out(study, 1 if quick else LIMITED.get(name, FOLDS))
                for kind in ("central", "public"):
                    own, default = areas[:, 2], areas[:, 0]
                    item.add((name, missing, kind), theirs[f"{name}|{missing}|{kind}"], own, default)
                for kind in ("SCV", "SVDG"):
                    gaps = gapped(study) if kind == "SCV" else None
                    area = (
                        synthetic(study, kind.lower(), 2 if quick or name == "Diabetes" else 5)
                        if name != "Alarm"
                        else None
                    )
                    if gaps is not None or area is not None:
                        item.add((name, missing, kind), theirs[f"{name}|{missing}|{kind}"], gaps, area)
    return item


def table_3_3(quick: bool) -> Item:
    item, theirs = Item("table-3.3"), known("table-3.3")
    with item.timed():
        for name in ("Asia", "Iris") if quick else DATA:
            for missing in (0, 10) if quick else MISSING:
                study = experiment(name, missing)
                made = learned(study, slice(None))[1]
                counts = observed(made.structure.counts, made.network)
                told = criteria(made.network, counts, study.rows)
                for kind in ("central", "federated"):
                    own = (told["aic_published"], told["aic"])
                    item.add((name, missing, kind), theirs[f"{name}|{missing}|{kind}"], *own)
    return item


def over_parties(name: str, missing: int, parties: int, rows: int) -> tuple[BayesianNetwork, float]:
    """Return the network and the seconds of a fit over the embedded federation."""
    stem = DATA[name]
    frame = core.table(stem if missing == 0 else f"{stem}_missing{missing:02d}").head(rows)
    network = network_of(stem)
    column_of = {node["name"]: node["column"] for node in network["nodes"]}
    edges = [[column_of[parent], column_of[child]] for parent, child in network["edges"]]
    result, seconds = fit(frame, parties, structure=edges, label="class", bins="published")
    return BayesianNetwork.from_dict(result["model"]), seconds


def figure_3_3(quick: bool) -> Item:
    item, theirs = Item("figure-3.3", 1 if quick else 3), known("figure-3.3")
    with item.timed():
        times = {}
        names = {"asia": "Asia", "iris_auto": "Iris", "diabetes_few_bins": "Diabetes", "alarm": "Alarm"}
        for key in ("asia", "iris_auto") if quick else names:
            runs = [over_parties(names[key], 0, 2, 10_000) for _ in range(item.repetitions)]
            times[key] = (np.array([seconds for _, seconds in runs]), runs[0][0])
        for key, (seconds, network) in times.items():
            study = experiment(names[key], 0)
            row = (names[key], study.rows, len(study.columns), sum(table.size for table in network.tables.values()))
            item.add(row, theirs[key] / theirs["asia"], None, seconds / times["asia"][0].mean())
    return item


def table_3_4(quick: bool) -> Item:
    item, theirs = Item("table-3.4"), known("table-3.4")
    with item.timed():
        for missing in (0,) if quick else (0, 10):
            for parties in (2, 4) if quick else range(2, 9):
                scores = asia_over(missing, parties)
                for kind, values in scores.items():
                    item.add((missing, parties, kind), theirs.get(f"{missing}|{parties}|{kind}"), *values)
    return item


def asia_over(missing: int, parties: int) -> dict[str, tuple[float | None, float]]:
    """Return area on the tenth that is held out and milliseconds of Asia over so many parties, scored as published and by default."""
    study = experiment("Asia", missing)
    network, seconds = over_parties("Asia", missing, parties, 9_000)
    states = [network.states[column] for column in study.columns]
    frame = core.table("asia10k" if missing == 0 else f"asia10k_missing{missing:02d}").tail(1_000)
    rows = np.column_stack(
        [pd.Categorical(frame[c].astype(str), categories=s).codes for c, s in zip(study.columns, states, strict=True)]
    )
    class_column = study.columns.index("class")
    truth = rows[:, class_column].astype(np.int64)
    rows = rows.astype(np.int64)
    rows[:, class_column] = -1
    order = [study.columns.index(node) for node in network.nodes]
    areas = three_areas(truth, logs_of(network, rows[:, order]))
    return {"public AUC": (areas[2], areas[0]), "milliseconds": (None, 1e3 * seconds)}


def reproduce(quick: bool) -> list[Item]:
    """Return the chapter's items."""
    return [table_3_2(quick), table_3_3(quick), figure_3_3(quick), table_3_4(quick)]
