"""What a plan knows of tasks that release tables of features by class: their sizes, noise, bytes, and the accuracy to expect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...bayes.values.missing import MISSING
from ..running.catalogue import declared_of
from ..running.local import Job
from .expected import Feature, Tables, accuracy
from .setting import Setting

USUAL_BINS = 20  # of a numeric column where a method does not say
STATION_BYTES, PEER_BYTES, FEATURE_BYTES = 3400, 200, 70
"""Of one station in two rounds: keys, names and seals; what of them grows with the other stations; a feature in the question. Measured over 3 and 6."""
EPSILON_FACTORS = (1.0 / 3.0, 3.0)  # budgets to compare with: a third and three times
USUAL_DELTA = 1e-6  # below one in a million rows
LEAST_BINS = 3
"""What is changed to show what would help: a third and three times of epsilon, Gaussian noise, half of the bins (not fewer than two), half of the features."""
CELL_BYTES = 32 / 3  # a masked count: 8 bytes, in base 64


def chosen_of(job: Job) -> dict[str, Any]:
    """Return what the task chooses of itself; nothing where the domain comes from the stations."""
    declared = declared_of(job)
    if set(job.arguments) - {one.name for one in declared.declared()}:
        return {}
    return declared.read(job.function, job.arguments).foreseen()


def tables_of(job: Job) -> tuple[int, list[Feature]] | None:
    """Return the classes and the features of the tables that a task releases; None for other tasks."""
    arguments, declared = job.arguments, declared_of(job)
    domain, label = arguments.get("domain"), arguments.get("label")
    if not declared.releases_tables or not isinstance(domain, Mapping) or label not in domain:
        return None
    if arguments.get("statistics") == "gaussian":
        return None
    features = _names_of(arguments)
    usual = getattr(declared, "bins", None)
    left = chosen_of(job)
    bins = left.get("bins", usual) if arguments.get("bins") is None else arguments["bins"]
    values = [_feature(domain.get(column, {}), _bins_of(bins, column, usual)) for column in features]
    groups = left.get("groups of states", {})
    values = [
        Feature(groups[column], numeric=True) if column in groups else feature
        for column, feature in zip(features, values, strict=True)
    ]
    return len(domain[label].get("categories", [])), values


def noise_of(job: Job, setting: Setting) -> dict[str, Any] | None:
    """Return the noise in a cell of a table of a feature by class, summed over the stations; None for other tasks."""
    sizes, deviation, rows = tables_of(job), _spread(job, setting), setting.rows
    if sizes is None or deviation is None:
        return None
    classes, features = sizes
    cells = classes * max((feature.values for feature in features), default=1)
    mean = rows / cells if rows and cells else None
    return {
        "deviation": deviation,
        "cells": cells,
        "mean_count": mean,
        "dominates": None if mean is None else deviation > mean,
    }


def _spread(job: Job, setting: Setting) -> float | None:
    """Return the deviation of the noise in a cell, by the law that the task will choose; None for tasks that add none."""
    arguments, sizes = job.arguments, tables_of(job)
    if sizes is None or not arguments.get("epsilon") or arguments.get("noise") == "none":
        return None
    law, delta = arguments.get("mechanism"), float(arguments.get("delta") or 0.0)
    deltas = (0.0,) if law == "laplace" else (delta,) if law == "gaussian" else (0.0, delta)
    return min(_deviation(arguments, spent, len(sizes[1]), setting.stations) for spent in deltas)


def _deviation(arguments: Mapping[str, Any], delta: float, tables: int, stations: int) -> float:
    """Return the standard deviation of the noise in a cell of one of so many tables, as the central function's own arithmetic has it."""
    from ...dp.shares import HONEST_FRACTION
    from ...federation.horizontal.noise import CountNoise

    alone = arguments.get("split") == "vertical"
    unit = arguments.get("unit")
    rows = arguments.get(UNIT_ROWS[unit]) if unit in UNIT_ROWS else 1
    added = CountNoise(
        "local" if alone or arguments.get("noise") == "local" else "distributed",
        float(arguments["epsilon"]),
        delta,
        str(arguments.get("neighbors") or "add_remove"),
        float(arguments.get("honest_fraction") or HONEST_FRACTION),
        int(rows or 1),
    )
    return added.deviation(tables, 1.0, 1.0, 1, 1 if alone else stations, nonnegative=True)


UNIT_ROWS = {"identifier": "max_rows_per_identifier", "party": "maximum_records"}
"""Unit of the promise -> the argument that bounds its rows."""


def expected_of(job: Job, setting: Setting) -> dict[str, Any] | None:
    """Return the accuracy on made-up records as the task is asked, without noise, and with one argument changed; None without rows, or for other tasks."""
    sizes = tables_of(job)
    if sizes is None or _spread(job, setting) is None or not setting.rows or not sizes[1] or sizes[0] < 2:
        return None

    def judged(changed: Job) -> float:
        classes, features = tables_of(changed) or sizes
        return accuracy(Tables(classes, features, _spread(changed, setting) or 0.0), setting.rows, setting.signal)

    instead = {words: judged(Job(job.algorithm, job.function, changed)) for words, changed in _changes(job, sizes[1])}
    exact = accuracy(Tables(*sizes, 0.0), setting.rows, setting.signal)
    return {"signal": setting.signal, "asked": judged(job), "without_noise": exact, "instead": instead}


def _changes(job: Job, features: list[Feature]) -> list[tuple[str, dict[str, Any]]]:
    """Return arguments with one of them changed, and what it is in words."""
    given = dict(job.arguments)
    epsilon, names = float(given["epsilon"]), _names_of(given)
    bins = max((feature.values for feature in features if feature.numeric), default=0)
    changes: list[tuple[str, dict[str, Any]]] = [
        (f"epsilon {factor * epsilon:.3g}", {"epsilon": factor * epsilon}) for factor in EPSILON_FACTORS
    ]
    if not given.get("delta") and given.get("mechanism") != "laplace":
        changes.append((f"delta {USUAL_DELTA:g}", {"delta": USUAL_DELTA}))
    if bins > LEAST_BINS and not isinstance(given.get("bins"), Mapping):
        changes.append((f"bins {bins // 2}", {"bins": bins // 2}))
    if len(names) > 1:
        half = len(names) // 2
        changes.append((f"{half} of {len(names)} features", {"features": names[:half]}))
    return [(words, {**given, **change}) for words, change in changes]


def bytes_of(job: Job, stations: int, rows: int) -> int | None:
    """Return the bytes of a task that adds up tables in two rounds, about; of another as its function tells, None where it does not."""
    sizes = tables_of(job)
    one_sum = job.arguments.get("aggregation") in (None, "sum") and job.arguments.get("split") in (None, "horizontal")
    if sizes is None or not one_sum:
        return declared_of(job).usual_bytes(job.arguments, stations, rows)
    classes, features = sizes
    cells = classes * sum(feature.values for feature in features)
    return round(
        stations * (STATION_BYTES + PEER_BYTES * stations + CELL_BYTES * cells + FEATURE_BYTES * len(features))
    )


def _names_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the features: all columns of the domain but the label and that of identifiers, where none are named."""
    beside = (arguments["label"], MISSING, arguments.get("id_column"))
    return list(arguments.get("features") or [column for column in arguments["domain"] if column not in beside])


def _bins_of(bins: Any, column: str, usual: Any) -> Any:
    """Return how many bins a column has, where they are given for all or by column: a number, cut points or ``{"log": number}``."""
    one = bins.get(column, usual) if isinstance(bins, Mapping) else bins
    if isinstance(one, Mapping):
        return one.get("log")
    return len(one) + 1 if isinstance(one, list) else one


def _feature(entry: Mapping[str, Any], bins: Any) -> Feature:
    if "categories" in entry:
        return Feature(len(entry["categories"]), numeric=False)
    return Feature(bins if isinstance(bins, int) else USUAL_BINS, numeric=True)
