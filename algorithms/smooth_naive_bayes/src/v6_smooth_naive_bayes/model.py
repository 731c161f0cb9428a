"""Statistics, their noise, and the model made of many stations' noisy statistics; works without a federation.

A station releases, each with an equal part of its budget: one table by class for every categorical feature, the class counts
if there is no such feature (else they are margins of the tables), and per class the mean and the variance of every numeric
feature. One row is in one class, so the classes of one query cost its epsilon once. Stations hold different rows, so each may spend the whole budget.

Numeric values are measured from their lower bound in units of their range, at the stations and until the model is made: so neither the size of the numbers
nor their distance from 0 costs bits of the statistics or of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.counting import class_counts, feature_table, table_feature, table_width
from fedbayes.bayes.features import Feature, Gaussian
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import Schema
from fedbayes.dp import heavy_tails, mechanisms, smooth

from . import published
from .combination import combine_moments
from .messages import Settings, Statistics

Floats = NDArray[np.float64]

ONE_BIN = 1  # a numeric feature's table under global sensitivity: rows with and without a value
UNIT = (0.0, 1.0)
LARGEST_VARIANCE, LARGEST_DEVIATION = 0.25, 0.5
_STEP = 2.0**-24  # of the terms of a sum: sums of multiples of it are exact up to 2^29 rows, in any order


@dataclass(frozen=True)
class Summary:
    """A station's exact statistics (secret), and the scales of the noise that they need (secret too, under smooth sensitivity).

    Shapes as in `messages.Statistics`.
    """

    counts: NDArray[np.int64]
    first: Floats
    second: Floats
    first_scale: Floats
    second_scale: Floats


def table_names(schema: Schema, label: str, settings: Settings) -> list[str]:
    """Return the features that have a table: the categorical ones, and all under global sensitivity (there it counts the values)."""
    names = [name for name in schema.names if name != label]
    return [name for name in names if schema[name].is_categorical or settings.sensitivity == "global"]


def numeric_names(schema: Schema, label: str) -> list[str]:
    """Return the numeric features, in order."""
    return [name for name in schema.names if name != label and not schema[name].is_categorical]


def asks_class_counts(schema: Schema, label: str, settings: Settings) -> bool:
    """Return whether the class counts are a query of their own; else they are margins of the tables."""
    return settings.sensitivity == "as_published" or not table_names(schema, label, settings)


def query_epsilon(schema: Schema, label: str, settings: Settings) -> float:
    """Return the epsilon of one query and one row: an even split; under replace_one a row leaves and another comes, so half of it.

    A unit of several rows is so many neighbouring steps: each may cost that part (group privacy of pure differential privacy).
    """
    queries = len(table_names(schema, label, settings)) + 2 * len(numeric_names(schema, label))
    queries += asks_class_counts(schema, label, settings)
    steps = settings.rows * (2.0 if settings.neighbors == "replace_one" else 1.0) if settings.noisy else 1.0
    return settings.epsilon / queries / steps


def summarise(schema: Schema, label: str, encoded: dict[str, NDArray[Any]], settings: Settings) -> Summary:
    """Return the exact statistics of one table and the scales of their noise.

    Parameters
    ----------
    schema : Schema
        Of the features and the label.
    label : str
        The class column.
    encoded : dict of str to ndarray
        What ``schema.encode`` gave: codes (-1 missing) or floats (NaN missing), shape (n,) each.
    settings : Settings
        Budget and kind of release.
    """
    bins = dict.fromkeys(numeric_names(schema, label), ONE_BIN)
    names = table_names(schema, label, settings)
    tables = [feature_table(schema, label, name, encoded, bins).ravel() for name in names]
    if asks_class_counts(schema, label, settings):
        tables.append(class_counts(encoded[label], schema[label].cardinality))
    moments = [_moments(schema, label, name, encoded, settings) for name in bins]
    classes = schema[label].cardinality
    first, second, first_scale, second_scale = np.reshape(moments, (len(bins), 4, classes)).transpose(1, 0, 2).copy()
    return Summary(np.concatenate(tables).astype(np.int64), first, second, first_scale, second_scale)


def _moments(
    schema: Schema, label: str, name: str, encoded: dict[str, NDArray[Any]], settings: Settings
) -> list[Floats]:
    """Return [first, second, scale of first, scale of second] of one numeric feature by class."""
    epsilon, classes = query_epsilon(schema, label, settings), schema[label].cardinality
    present = ~np.isnan(encoded[name]) & (encoded[label] >= 0)
    values, labels = _unit(encoded[name][present], schema[name].bounds or UNIT), encoded[label][present]
    if settings.sensitivity == "global":
        total, squares = _exact_sums(2.0 * values - 1.0, labels, classes)
        return [total, squares, np.full_like(total, 1.0 / epsilon), np.full_like(squares, 0.5 / epsilon)]
    if settings.sensitivity == "as_published":
        return _printed_moments(encoded[name][present], labels, classes, schema[name].bounds or UNIT, epsilon)
    rows = [smooth_moments(values[labels == code], UNIT, epsilon, settings) for code in range(classes)]
    return list(np.array(rows).T)


def _printed_moments(
    values: Floats, labels: NDArray[Any], classes: int, bounds: tuple[float, float], epsilon: float
) -> list[Floats]:
    """Return the printed moments and scales in units of the range; computed in the column's own unit, on which they depend (see `published`)."""
    low, width = bounds[0], bounds[1] - bounds[0]
    rows = np.array([published.moments(values[labels == code], bounds, epsilon) for code in range(classes)])
    return list((rows - np.array([low, 0.0, 0.0, 0.0])).T / width)


def _unit(values: Floats, bounds: tuple[float, float]) -> Floats:
    """Return values measured from the lower bound in units of the range, in [0, 1]."""
    low, high = bounds
    return np.asarray(np.clip((values - low) / (high - low), *UNIT))


def _exact_sums(unit: Floats, labels: NDArray[Any], classes: int) -> tuple[Floats, Floats]:
    """Return the sums of u and of u^2 - 1/2 by class, of u in [-1, 1]; no rounding, so one row changes them by at most 1 and 1/2.

    The terms are rounded to multiples of 2^-24, hence floats hold their sums exactly.
    """
    terms = (np.rint(part / _STEP) * _STEP for part in (unit, unit**2 - 0.5))
    total, squares = (np.bincount(labels, weights=term, minlength=classes).astype(np.float64) for term in terms)
    return total, squares


def smooth_moments(
    values: Floats, bounds: tuple[float, float], epsilon: float, settings: Settings
) -> tuple[float, float, float, float]:
    """Return (mean, variance, scale of the mean's noise, scale of the variance's noise), each noise worth `epsilon` under add_remove."""
    beta = heavy_tails.default_beta(epsilon, settings.noise, settings.degrees_of_freedom)
    factor = noise_factor(epsilon, settings)
    of_mean, of_variance = smooth.mean_and_variance(values, bounds, beta, "add_remove")
    mean = float(values.mean()) if values.size else (bounds[0] + bounds[1]) / 2.0
    variance = float(values.var()) if values.size else 0.0
    return mean, variance, factor * of_mean.value, factor * of_variance.value


def perturb(summary: Summary, schema: Schema, label: str, settings: Settings) -> Statistics:
    """Return the statistics with noise: this alone may leave the station.

    Whole numbers get discrete Laplace noise, the moments Laplace (``global``) or heavy-tailed noise, clipped to what a mean or a variance of values in [0, 1]
    can be (central would do it anyway) and rounded to a public grid.
    """
    epsilon = query_epsilon(schema, label, settings)
    counts = mechanisms.discrete_laplace(summary.counts, 1.0 / epsilon)
    if settings.sensitivity == "as_published":
        classes = schema[label].cardinality
        counts[-classes:] = published.perturb_class_counts(summary.counts[-classes:], epsilon)
    if settings.sensitivity == "global":
        first = mechanisms.laplace(summary.first, 1.0 / epsilon)
        return Statistics(counts, first, mechanisms.laplace(summary.second, 0.5 / epsilon))
    printed = settings.sensitivity == "as_published"
    noise, freedom = "cauchy" if printed else settings.noise, settings.degrees_of_freedom
    limits = (0.0, LARGEST_DEVIATION if printed else LARGEST_VARIANCE)
    first = heavy_tails.perturb(summary.first, summary.first_scale, 1.0, noise, freedom, UNIT)
    return Statistics(
        counts, first, heavy_tails.perturb(summary.second, summary.second_scale, 1.0, noise, freedom, limits)
    )


def combine(schema: Schema, label: str, settings: Settings, replies: Sequence[Statistics]) -> NaiveBayes:
    """Return the model of all stations' releases: tables added, moments weighted by inverse variance.

    Raises
    ------
    ValueError
        If a reply does not have the shape that was asked for.
    """
    names, classes = table_names(schema, label, settings), schema[label].cardinality
    deviation = _laplace_deviation(query_epsilon(schema, label, settings))
    tables = [_split(reply, schema, label, settings) for reply in replies]
    noise = deviation * math.sqrt(len(replies))
    total = [np.sum([station[i] for station in tables], axis=0) for i in range(len(tables[0]))]
    features: dict[str, Feature] = {
        name: table_feature(schema, name, table, ONE_BIN, noise, 1.0)
        for name, table in zip(names, total, strict=False)
        if schema[name].is_categorical
    }
    rows = np.stack([_class_counts(station, classes) for station in tables])
    for position, name in enumerate(numeric_names(schema, label)):
        first = np.stack([reply.first[position] for reply in replies])
        second = np.stack([reply.second[position] for reply in replies])
        if settings.sensitivity == "global":
            present = total[names.index(name)][:, 0].astype(np.float64)
            limits, spread = (
                np.array(schema[name].bounds),
                math.sqrt(2.0 * len(replies)) / query_epsilon(schema, label, settings),
            )
            features[name] = Gaussian(present, first.sum(axis=0), second.sum(axis=0), limits, spread)
        else:
            features[name] = _gaussian(schema, label, name, settings, first, second, rows)
    ordered = {name: features[name] for name in schema.names if name != label}
    counts, spread = _class_counts(total, classes), noise / math.sqrt(_weights(total).sum())
    return NaiveBayes(schema, label, counts, ordered, spread)


def noise_of_means(schema: Schema, label: str, settings: Settings, replies: Sequence[Statistics]) -> dict[str, float]:
    """Return about how large the noise left in the means of each class is, as a part of a feature's range; from noisy counts alone.

    Counts are believed after taking twice their own noise off, so that a count that is noise only does not look like many rows. In units of the squared
    range, the variances' noise is as large under smooth sensitivity.
    """
    if not numeric_names(schema, label) or settings.sensitivity == "as_published":
        return {}
    epsilon, classes = query_epsilon(schema, label, settings), schema[label].cardinality
    tables = [_split(reply, schema, label, settings) for reply in replies]
    rows = np.stack([_class_counts(station, classes) for station in tables])
    doubt = 2.0 * _laplace_deviation(epsilon) / math.sqrt(_weights(tables[0]).sum())
    if settings.sensitivity == "global":
        sure = rows.sum(axis=0) - doubt * math.sqrt(len(replies))
        noise = math.sqrt(2.0 * len(replies)) / epsilon / 2.0 / np.maximum(sure, 1.0)
    else:
        noise = noise_factor(epsilon, settings) / np.sqrt((np.maximum(rows - doubt, 1.0) ** 2).sum(axis=0))
    names = schema[label].categories or ()
    return {str(name): min(1.0, float(part)) for name, part in zip(names, noise, strict=True)}


@lru_cache(maxsize=64)
def noise_factor(epsilon: float, settings: Settings) -> float:
    """Return the multiplier of smooth sensitivity in the scale of the noise, for one query's epsilon."""
    beta = heavy_tails.default_beta(epsilon, settings.noise, settings.degrees_of_freedom)
    return heavy_tails.multiplier(epsilon, beta, settings.noise, settings.degrees_of_freedom)


def _gaussian(
    schema: Schema, label: str, name: str, settings: Settings, first: Floats, second: Floats, rows: Floats
) -> Gaussian:
    epsilon = query_epsilon(schema, label, settings)
    if settings.sensitivity == "as_published":
        second, factor = second**2, 0.0  # as printed: no weight for the noise
    else:
        factor = noise_factor(epsilon, settings)
    count, mean, variance = combine_moments(first, second, rows, UNIT, factor)
    fitted = Gaussian.from_parameters(count, mean, variance, UNIT)
    return replace(fitted, bounds=np.array(schema[name].bounds), noise=2.0 * factor * math.sqrt(len(first)))


def _split(reply: Statistics, schema: Schema, label: str, settings: Settings) -> list[NDArray[np.int64]]:
    """Cut the counts into tables of shape (classes, values + 1), and the class counts as (classes, 1) where they are a query."""
    classes = schema[label].cardinality
    widths = [table_width(schema, name, ONE_BIN) for name in table_names(schema, label, settings)]
    widths += [1] * asks_class_counts(schema, label, settings)
    shape = (len(numeric_names(schema, label)), classes)
    if reply.counts.size != classes * sum(widths) or reply.first.shape != shape:
        raise ValueError("a station's statistics do not have the shape that was asked for; use one version everywhere")
    cuts = np.cumsum([classes * width for width in widths])[:-1]
    parts = np.split(reply.counts, cuts)
    return [part.reshape(classes, width) for part, width in zip(parts, widths, strict=True)]


def _weights(tables: Sequence[NDArray[Any]]) -> Floats:
    return np.array([1.0 / table.shape[1] for table in tables])


def _class_counts(tables: Sequence[NDArray[Any]], classes: int) -> Floats:
    """Return the margins of the tables, averaged with weights inverse to their variances; shape (classes,)."""
    margins = np.stack([table.sum(axis=1) for table in tables]).astype(np.float64)
    weights = _weights(tables)
    return np.asarray(weights @ margins / weights.sum()).reshape(classes)


def _laplace_deviation(epsilon: float) -> float:
    """Return the standard deviation of discrete Laplace noise of scale 1 / epsilon."""
    return math.sqrt(2.0 * math.exp(-epsilon)) / -math.expm1(-epsilon)
