"""What a station releases and what each of it costs; a function of public arguments alone.

With an equal part of the budget each: one table by class for every categorical feature, the class counts if there is no such feature (else they are margins
of the tables), and per class the mean and the variance of every numeric feature. Under smooth sensitivity also the rows of each class in which a numeric
feature is missing: a mean weighs as many rows as it was taken of. (Under global sensitivity every feature has a table.) A row either changes the two moments
of a feature or is counted as missing there, so that count may cost as much as both and adds nothing to the budget.
One row is in one class, so the classes of one query cost its epsilon once. Stations hold different rows, so each may spend the whole budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.counting import table_width
from fedbayes.bayes.schema import Schema

from .messages import Settings, Statistics

Floats = NDArray[np.float64]

ONE_BIN = 1  # a numeric feature's table under global sensitivity: rows with and without a value
MISSING_QUERIES = 2.0  # what a row with a value pays for its two moments, a row without may pay for its count
_CERTAIN = 2.0  # deviations of the noise: fewer missing rows are taken as none


def table_names(schema: Schema, label: str, settings: Settings) -> list[str]:
    """Return the features that have a table: the categorical ones, and all under global sensitivity (there it counts the values)."""
    names = [name for name in schema.names if name != label]
    return [name for name in names if schema[name].is_categorical or settings.sensitivity == "global"]


def numeric_names(schema: Schema, label: str) -> list[str]:
    """Return the numeric features, in order."""
    return [name for name in schema.names if name != label and not schema[name].is_categorical]


def missing_names(schema: Schema, label: str, settings: Settings) -> list[str]:
    """Return the numeric features whose rows without a value are counted beside their moments: all under smooth sensitivity."""
    return numeric_names(schema, label) if settings.sensitivity == "smooth" else []


def asks_class_counts(schema: Schema, label: str, settings: Settings) -> bool:
    """Return whether the class counts are a query of their own; else they are margins of the tables."""
    return settings.sensitivity == "published" or not table_names(schema, label, settings)


def query_epsilon(schema: Schema, label: str, settings: Settings) -> float:
    """Return the epsilon of one query and one row: an even split; under replace_one a row leaves and another comes, so half of it.

    A unit of several rows is so many neighbouring steps: each may cost that part (group privacy of pure differential privacy).
    """
    queries = len(table_names(schema, label, settings)) + 2 * len(numeric_names(schema, label))
    queries += asks_class_counts(schema, label, settings)
    steps = settings.rows * (2.0 if settings.neighbors == "replace_one" else 1.0) if settings.noisy else 1.0
    return settings.epsilon / queries / steps


@dataclass(frozen=True)
class Counted:
    """A station's noisy counts, cut into its queries.

    Parameters
    ----------
    tables : list of ndarray
        int64, shape (classes, values + 1) each, of `table_names`; then the class counts, (classes, 1), where they are a query.
    classes : ndarray
        float64, shape (classes,): rows of each class.
    present : ndarray
        float64, shape (numeric features, classes): rows with a value.
    """

    tables: list[NDArray[np.int64]]
    classes: Floats
    present: Floats


def counted(reply: Statistics, schema: Schema, label: str, settings: Settings) -> Counted:
    """Return a station's counts.

    Raises
    ------
    ValueError
        If a reply does not have the shape that was asked for.
    """
    classes, numeric = schema[label].cardinality, numeric_names(schema, label)
    names, lacking = table_names(schema, label, settings), missing_names(schema, label, settings)
    widths = [table_width(schema, name, ONE_BIN) for name in names]
    widths += [1] * asks_class_counts(schema, label, settings)
    sizes = (classes * sum(widths), (len(numeric), classes), (len(lacking), classes))
    if (reply.counts.size, reply.first.shape, reply.missing.shape) != sizes:
        raise ValueError("a station's statistics do not have the shape that was asked for; use one version everywhere")
    cuts = np.cumsum([classes * width for width in widths])[:-1]
    parts = [part.reshape(classes, width) for part, width in zip(np.split(reply.counts, cuts), widths, strict=True)]
    rows = class_rows(parts)
    if settings.sensitivity == "global":
        present = np.reshape([parts[names.index(name)][:, 0] for name in numeric], (len(numeric), classes))
        return Counted(parts, rows, present.astype(np.float64))
    absent = np.zeros(reply.first.shape)
    if lacking:
        doubt = _CERTAIN * laplace_deviation(MISSING_QUERIES * query_epsilon(schema, label, settings))
        absent = np.where(reply.missing > doubt, reply.missing, 0.0)
    return Counted(parts, rows, rows - np.minimum(absent, np.maximum(rows, 0.0)))


def class_rows(tables: Sequence[NDArray[Any]]) -> Floats:
    """Return the margins of the tables, averaged with weights inverse to their variances; shape (classes,)."""
    margins = np.stack([table.sum(axis=1) for table in tables]).astype(np.float64)
    weights = table_weights(tables)
    return np.asarray(weights @ margins / weights.sum())


def table_weights(tables: Sequence[NDArray[Any]]) -> Floats:
    """Return the weight of each table's margin: the inverse of its variance, in units of a cell's."""
    return np.array([1.0 / table.shape[1] for table in tables])


def laplace_deviation(epsilon: float) -> float:
    """Return the standard deviation of discrete Laplace noise of scale 1 / epsilon."""
    return math.sqrt(2.0 * math.exp(-epsilon)) / -math.expm1(-epsilon)
