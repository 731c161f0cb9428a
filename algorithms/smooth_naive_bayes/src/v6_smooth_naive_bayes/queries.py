"""What a station releases and what each of it costs; a function of public arguments alone.

With an equal part of the budget each: one table by class for every categorical feature, the class counts if there is no such feature (else they are margins
of the tables), and per class the mean and the variance of every numeric feature. Under smooth sensitivity also the rows of each class in which a numeric
feature is missing: a mean weighs as many rows as it was taken of. (Under global sensitivity every feature has a table.) A row either changes the two moments
of a feature or is counted as missing there, so that count may cost as much as both and adds nothing to the budget.
One row is in one class, so the classes of one query cost its epsilon once. Stations hold different rows, so each may spend the whole budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbayes.bayes.naive_bayes.counting import table_width
from fedbayes.bayes.schema import Schema
from fedbayes.dp.laws import law_of
from fedbayes.typing import Array, Floats, Integers

from .messages import Settings, Statistics

ONE_BIN = 1  # a numeric feature's table under global sensitivity: rows with and without a value
MISSING_QUERIES = 2.0  # what a row with a value pays for its two moments, a row without may pay for its count
_CERTAIN = 2.0  # deviations of the noise: fewer missing rows are taken as none


@dataclass(frozen=True)
class Release:
    """What every station releases of these columns.

    Parameters
    ----------
    schema : Schema
        Of the features and the label.
    label : str
        The class column.
    settings : Settings
        Budget and kind of release.
    """

    schema: Schema
    label: str
    settings: Settings

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.schema[self.label].cardinality

    @property
    def numeric(self) -> list[str]:
        """The numeric features, in order."""
        return [name for name in self.schema.names if name != self.label and not self.schema[name].is_categorical]

    @property
    def tables(self) -> list[str]:
        """The features that have a table: the categorical ones, and all under global sensitivity (there it counts the values)."""
        names = [name for name in self.schema.names if name != self.label]
        whole = self.settings.sensitivity == "global"
        return [name for name in names if whole or self.schema[name].is_categorical]

    @property
    def missing(self) -> list[str]:
        """The numeric features whose rows without a value are counted beside their moments: all under smooth sensitivity."""
        return self.numeric if self.settings.sensitivity == "smooth" else []

    @property
    def asks_class_counts(self) -> bool:
        """Whether the class counts are a query of their own; else they are margins of the tables."""
        return self.settings.sensitivity == "published" or not self.tables

    @cached_property
    def query_epsilon(self) -> float:
        """The epsilon of one query and one row: an even split; under replace_one a row leaves and another comes, so half of it.

        A unit of several rows is so many neighbouring steps: each may cost that part (group privacy of pure differential privacy).
        """
        queries = len(self.tables) + 2 * len(self.numeric) + self.asks_class_counts
        settings = self.settings
        steps = settings.rows * (2.0 if settings.neighbors == "replace_one" else 1.0) if settings.noisy else 1.0
        return settings.epsilon / queries / steps


@dataclass(frozen=True)
class Counted:
    """A station's noisy counts, cut into its queries.

    Parameters
    ----------
    tables : list of ndarray
        int64, shape (classes, values + 1) each, of `Release.tables`; then the class counts, (classes, 1), where they are a query.
    classes : ndarray
        float64, shape (classes,): rows of each class.
    present : ndarray
        float64, shape (numeric features, classes): rows with a value.
    """

    tables: list[Integers]
    classes: Floats
    present: Floats


def counted(reply: Statistics, release: Release) -> Counted:
    """Return a station's counts.

    Raises
    ------
    ValueError
        If a reply does not have the shape that was asked for.
    """
    classes, numeric, names, lacking = release.classes, release.numeric, release.tables, release.missing
    widths = [table_width(release.schema, name, ONE_BIN) for name in names] + [1] * release.asks_class_counts
    sizes = (classes * sum(widths), (len(numeric), classes), (len(lacking), classes))
    if (reply.counts.size, reply.first.shape, reply.missing.shape) != sizes:
        raise ValueError("a station's statistics do not have the shape that was asked for; use one version everywhere")
    cuts = np.cumsum([classes * width for width in widths])[:-1]
    parts = [part.reshape(classes, width) for part, width in zip(np.split(reply.counts, cuts), widths, strict=True)]
    rows = class_rows(parts)
    if release.settings.sensitivity == "global":
        present = np.reshape([parts[names.index(name)][:, 0] for name in numeric], (len(numeric), classes))
        return Counted(parts, rows, present.astype(np.float64))
    absent = np.zeros(reply.first.shape)
    if lacking:
        doubt = _CERTAIN * laplace_deviation(MISSING_QUERIES * release.query_epsilon)
        absent = np.where(reply.missing > doubt, reply.missing, 0.0)
    return Counted(parts, rows, rows - np.minimum(absent, np.maximum(rows, 0.0)))


def class_rows(tables: Sequence[Array]) -> Floats:
    """Return the margins of the tables, averaged with weights inverse to their variances; shape (classes,)."""
    margins = np.stack([table.sum(axis=1) for table in tables]).astype(np.float64)
    weights = table_weights(tables)
    return np.asarray(weights @ margins / weights.sum())


def table_weights(tables: Sequence[Array]) -> Floats:
    """Return the weight of each table's margin: the inverse of its variance, in units of a cell's."""
    return np.array([1.0 / table.shape[1] for table in tables])


def laplace_deviation(epsilon: float) -> float:
    """Return the standard deviation of discrete Laplace noise of scale 1 / epsilon."""
    return law_of(epsilon).deviation(1.0 / epsilon)
