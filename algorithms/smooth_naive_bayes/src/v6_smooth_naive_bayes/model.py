"""Statistics, their noise, and the model made of many stations' noisy statistics; works without a federation.

Numeric values are measured from their lower bound in units of their range, at the stations and until the model is made: so neither the size of the numbers
nor their distance from 0 costs bits of the statistics or of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import class_counts, feature_table, table_feature
from fedbayes.bayes.naive_bayes.features import Feature, Gaussian
from fedbayes.dp import heavy_tails, mechanisms, smooth
from fedbayes.typing import Array, Floats, Integers

from . import published
from .combination import combine_moments
from .messages import Settings, Statistics
from .queries import MISSING_QUERIES, ONE_BIN, Release, class_rows, counted, laplace_deviation, table_weights

UNIT = (0.0, 1.0)  # bounds of a feature in units of its range
LARGEST_VARIANCE, LARGEST_DEVIATION = 0.25, 0.5  # of values from 0 to 1: half at either end
_STEP = 2.0**-24  # of the terms of a sum: sums of multiples of it are exact up to 2^29 rows, in any order


@dataclass(frozen=True)
class Summary:
    """A station's exact statistics (secret), and the scales of the noise that they need (secret too, under smooth sensitivity).

    Shapes as in `messages.Statistics`.
    """

    counts: Integers
    missing: Integers
    first: Floats
    second: Floats
    first_scale: Floats
    second_scale: Floats


def summarise(release: Release, encoded: Mapping[str, Array]) -> Summary:
    """Return the exact statistics of one table and the scales of their noise.

    Parameters
    ----------
    release : Release
        What is asked for.
    encoded : mapping of str to ndarray
        What ``schema.encode`` gave: codes (-1 missing) or floats (NaN missing), shape (n,) each.
    """
    schema, label, classes = release.schema, release.label, release.classes
    bins = dict.fromkeys(release.numeric, ONE_BIN)
    tables = [feature_table(schema, label, name, encoded, bins).ravel() for name in release.tables]
    if release.asks_class_counts:
        tables.append(class_counts(encoded[label], classes))
    moments = [_moments(release, name, encoded) for name in bins]
    first, second, first_scale, second_scale = np.reshape(moments, (len(bins), 4, classes)).transpose(1, 0, 2).copy()
    counts = np.concatenate(tables).astype(np.int64)
    return Summary(counts, _missing(release, encoded), first, second, first_scale, second_scale)


def _missing(release: Release, encoded: Mapping[str, Array]) -> Integers:
    """Return the rows of each class in which a numeric feature has no value, shape (features, classes); of no feature where they are not asked for."""
    labels, names = encoded[release.label], release.missing
    rows = [class_counts(labels[np.isnan(encoded[name])], release.classes) for name in names]
    return np.reshape(np.array(rows, dtype=np.int64), (len(names), release.classes))


def _moments(release: Release, name: str, encoded: Mapping[str, Array]) -> list[Floats]:
    """Return [first, second, scale of first, scale of second] of one numeric feature by class."""
    schema, label, settings = release.schema, release.label, release.settings
    epsilon, classes = release.query_epsilon, release.classes
    present = ~np.isnan(encoded[name]) & (encoded[label] >= 0)
    values, labels = _unit(encoded[name][present], schema[name].bounds or UNIT), encoded[label][present]
    if settings.sensitivity == "global":
        total, squares = _exact_sums(2.0 * values - 1.0, labels, classes)
        return [total, squares, np.full_like(total, 1.0 / epsilon), np.full_like(squares, 0.5 / epsilon)]
    if settings.sensitivity == "published":
        return _printed_moments(encoded[name][present], labels, classes, schema[name].bounds or UNIT, epsilon)
    rows = [smooth_moments(values[labels == code], UNIT, epsilon, settings) for code in range(classes)]
    return list(np.array(rows).T)


def _printed_moments(
    values: Floats, labels: Array, classes: int, bounds: tuple[float, float], epsilon: float
) -> list[Floats]:
    """Return the printed moments and scales in units of the range; computed in the column's own unit, on which they depend (see `published`)."""
    low, width = bounds[0], bounds[1] - bounds[0]
    rows = np.array([published.moments(values[labels == code], bounds, epsilon) for code in range(classes)])
    return list((rows - np.array([low, 0.0, 0.0, 0.0])).T / width)


def _unit(values: Floats, bounds: tuple[float, float]) -> Floats:
    """Return values measured from the lower bound in units of the range, in [0, 1]."""
    low, high = bounds
    return np.asarray(np.clip((values - low) / (high - low), *UNIT))


def _exact_sums(unit: Floats, labels: Array, classes: int) -> tuple[Floats, Floats]:
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


def perturb(summary: Summary, release: Release) -> Statistics:
    """Return the statistics with noise: this alone may leave the station.

    Whole numbers get discrete Laplace noise, the moments Laplace (``global``) or heavy-tailed noise, clipped to what a mean or a variance of values in [0, 1]
    can be (central would do it anyway) and rounded to a public grid.
    """
    epsilon, settings = release.query_epsilon, release.settings
    counts = mechanisms.discrete_laplace(summary.counts, 1.0 / epsilon)
    missing = mechanisms.discrete_laplace(summary.missing, 1.0 / (MISSING_QUERIES * epsilon))
    if settings.sensitivity == "published":
        classes = release.classes
        counts[-classes:] = published.perturb_class_counts(summary.counts[-classes:], epsilon)
    if settings.sensitivity == "global":
        first = mechanisms.laplace(summary.first, 1.0 / epsilon)
        return Statistics(counts, missing, first, mechanisms.laplace(summary.second, 0.5 / epsilon))
    printed = settings.sensitivity == "published"
    noise, freedom = "cauchy" if printed else settings.noise, settings.degrees_of_freedom
    limits = (0.0, LARGEST_DEVIATION if printed else LARGEST_VARIANCE)
    first = heavy_tails.perturb(summary.first, summary.first_scale, 1.0, noise, freedom, UNIT)
    second = heavy_tails.perturb(summary.second, summary.second_scale, 1.0, noise, freedom, limits)
    return Statistics(counts, missing, first, second)


def combine(release: Release, replies: Sequence[Statistics]) -> NaiveBayes:
    """Return the model of all stations' releases: tables added, moments weighted by inverse variance.

    Raises
    ------
    ValueError
        If a reply does not have the shape that was asked for.
    """
    schema, label = release.schema, release.label
    noise = laplace_deviation(release.query_epsilon) * math.sqrt(len(replies))
    stations = [counted(reply, release) for reply in replies]
    total = [np.sum(parts, axis=0) for parts in zip(*(station.tables for station in stations), strict=True)]
    features: dict[str, Feature] = {
        name: table_feature(schema, name, table, ONE_BIN, noise, 1.0)
        for name, table in zip(release.tables, total, strict=False)
        if schema[name].is_categorical
    }
    present = np.stack([station.present for station in stations])
    for position, name in enumerate(release.numeric):
        first = np.stack([reply.first[position] for reply in replies])
        second = np.stack([reply.second[position] for reply in replies])
        make = _summed if release.settings.sensitivity == "global" else _weighed
        features[name] = make(release, name, first, second, present[:, position])
    ordered = {name: features[name] for name in schema.names if name != label}
    return NaiveBayes(schema, label, class_rows(total), ordered, noise / math.sqrt(table_weights(total).sum()))


def noise_of_means(release: Release, replies: Sequence[Statistics]) -> dict[str, dict[str, float]]:
    """Return about how large the noise left in a numeric feature's mean of each class is, as a part of its range; from noisy counts alone.

    Feature -> {class: part}. Rows count that have a value of the feature. Counts are believed after taking twice their own noise off, so that a count that is
    noise only does not look like many rows. In units of the squared range, the variances' noise is as large under smooth sensitivity.
    """
    epsilon, settings = release.query_epsilon, release.settings
    if not release.numeric or settings.sensitivity == "published":
        return {}
    stations = [counted(reply, release) for reply in replies]
    rows = np.stack([np.minimum(station.classes, station.present) for station in stations])
    doubt = 2.0 * laplace_deviation(epsilon) / math.sqrt(table_weights(stations[0].tables).sum())
    if settings.sensitivity == "global":
        sure = rows.sum(axis=0) - doubt * math.sqrt(len(replies))
        noise = math.sqrt(2.0 * len(replies)) / epsilon / 2.0 / np.maximum(sure, 1.0)
    else:
        noise = noise_factor(epsilon, settings) / np.sqrt((np.maximum(rows - doubt, 1.0) ** 2).sum(axis=0))
    classes = [str(name) for name in release.schema[release.label].categories or ()]
    return {
        name: dict(zip(classes, parts, strict=True))
        for name, parts in zip(release.numeric, np.minimum(noise, 1.0).tolist(), strict=True)
    }


@lru_cache(maxsize=64)
def noise_factor(epsilon: float, settings: Settings) -> float:
    """Return the multiplier of smooth sensitivity in the scale of the noise, for one query's epsilon."""
    beta = heavy_tails.default_beta(epsilon, settings.noise, settings.degrees_of_freedom)
    return heavy_tails.multiplier(epsilon, beta, settings.noise, settings.degrees_of_freedom)


def _summed(release: Release, name: str, first: Floats, second: Floats, present: Floats) -> Gaussian:
    """Return the feature of noisy sums: they are added."""
    spread = math.sqrt(2.0 * len(first)) / release.query_epsilon
    limits = np.array(release.schema[name].bounds)
    return Gaussian(present.sum(axis=0), first.sum(axis=0), second.sum(axis=0), limits, spread)


def _weighed(release: Release, name: str, first: Floats, second: Floats, present: Floats) -> Gaussian:
    """Return the feature of noisy means and variances: they are weighed by what they were taken of, and by their noise."""
    if release.settings.sensitivity == "published":
        second, factor = second**2, 0.0  # as printed: no weight for the noise
    else:
        factor = noise_factor(release.query_epsilon, release.settings)
    count, mean, variance = combine_moments(first, second, present, UNIT, factor)
    fitted = Gaussian.from_parameters(count, mean, variance, UNIT)
    return replace(fitted, bounds=np.array(release.schema[name].bounds), noise=2.0 * factor * math.sqrt(len(first)))
