"""Counts and moments of one table by class: what a station computes, in one pass a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...typing import Array, Floats, Integers
from ..schema import Schema
from ..values.encoding import SchemaError, bin_codes, blocks
from .features import CategoricalTables, Feature, Gaussian, Histogram
from .model import NaiveBayes

Bins = int | Mapping[str, int | Sequence[float]]

DEFAULT_BINS = 20  # of a numeric feature, unless the caller says


def class_counts(labels: Array, classes: int) -> Integers:
    """Return the rows of each class, int64, shape (classes,); rows without a label (-1) are left out."""
    return np.bincount(labels[labels >= 0], minlength=classes).astype(np.int64)


def count_table(labels: Array, codes: Array, classes: int, cardinality: int) -> Integers:
    """Count rows by class and value.

    Parameters
    ----------
    labels, codes : ndarray
        Integers, shape (n,), -1 = missing; rows without a label are left out.
    classes, cardinality : int
        Numbers of classes and values.

    Returns
    -------
    ndarray, int64, shape (classes, cardinality + 1)
        The last column counts rows without a value.
    """
    width = cardinality + 1
    table = np.zeros((classes + 1) * width, dtype=np.int64)
    for rows in blocks(len(labels), len(table)):
        cells = labels[rows].astype(np.int64) * width
        cells += codes[rows]
        cells += 1 + width  # a missing label falls in the first row, a missing value in the first column
        table += np.bincount(cells, minlength=len(table))
    labelled = table.reshape(classes + 1, width)[1:]
    return np.concatenate([labelled[:, 1:], labelled[:, :1]], axis=1)


def unit_values(values: Floats, bounds: tuple[float, float]) -> Floats:
    """Map [low, high] on [-1, 1]; cut there after scaling, since rounding of the middle can lead beyond."""
    middle, half = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    return np.asarray(np.clip((values - middle) / half, -1.0, 1.0))


def bins_of(bins: Bins, name: str) -> int | Sequence[float]:
    """Return the bins of one column: a number for all, or an entry of its own (20 where it has none)."""
    return bins.get(name, DEFAULT_BINS) if isinstance(bins, Mapping) else bins


def column_edges(schema: Schema, name: str, bins: Bins) -> Floats:
    """Return the public bin edges of a numeric column."""
    return schema[name].edges(bins_of(bins, name))


def table_width(schema: Schema, name: str, bins: Bins) -> int:
    """Return the cells of one class in a column's table, the one for missing values included."""
    column = schema[name]
    return column.cardinality + 1 if column.is_categorical else len(column_edges(schema, name, bins))


def feature_table(schema: Schema, label: str, name: str, encoded: Mapping[str, Array], bins: Bins) -> Integers:
    """Count one feature, categorical or binned, by class: int64, shape (classes, values + 1), missing last."""
    column = schema[name]
    values, cardinality = encoded[name], 0
    if column.is_categorical:
        cardinality = column.cardinality
    else:
        edges = column_edges(schema, name, bins)
        values, cardinality = bin_codes(values, edges), len(edges) - 1
    return count_table(encoded[label], values, schema[label].cardinality, cardinality)


def gaussian_moments(
    schema: Schema, label: str, name: str, encoded: Mapping[str, Array]
) -> tuple[Integers, Floats, Floats]:
    """Return (rows, sum of u, sum of u**2 - 1/2) of a numeric column by class, each of shape (classes,)."""
    classes = schema[label].cardinality
    labels, values = encoded[label], encoded[name]
    there = (labels >= 0) & ~np.isnan(values)
    group = labels[there]
    unit = unit_values(values[there], schema[name].bounds or (0.0, 1.0))
    counts = np.bincount(group, minlength=classes).astype(np.int64)
    totals = np.bincount(group, weights=unit, minlength=classes).astype(np.float64)
    squares = np.bincount(group, weights=unit**2 - 0.5, minlength=classes).astype(np.float64)
    return counts, totals, squares


def table_feature(schema: Schema, name: str, table: Array, bins: Bins, noise: float, pseudocount: float) -> Feature:
    """Make the distribution of a feature from its table with the missing values' column last."""
    counts = np.asarray(table[:, :-1], dtype=np.float64)
    missing = np.asarray(table[:, -1], dtype=np.float64)
    if schema[name].is_categorical:
        return CategoricalTables(counts, missing, noise, pseudocount)
    return Histogram(counts, missing, column_edges(schema, name, bins), noise, pseudocount)


def fit_model(
    schema: Schema,
    label: str,
    encoded: Mapping[str, Array],
    statistics: str = "histogram",
    bins: Bins = DEFAULT_BINS,
    pseudocount: float = 1.0,
) -> NaiveBayes:
    """Fit one table without noise: the pooled reference of every federated method.

    Parameters
    ----------
    schema : Schema
        Domains of the label and the features (every other column).
    label : str
        The label's column.
    encoded : mapping of str to ndarray
        What ``schema.encode`` gave.
    statistics : {"histogram", "gaussian"}
        How numeric columns are modelled.
    bins : int or mapping
        Bins of histograms, for all columns or each.
    pseudocount : float
        Laplace smoothing of tables.

    Raises
    ------
    SchemaError
        `statistics` is none of the two.
    """
    if statistics not in ("histogram", "gaussian"):
        raise SchemaError('statistics must be "histogram" or "gaussian"')
    features: dict[str, Feature] = {}
    for column in schema:
        name = column.name
        if name == label:
            continue
        if statistics == "gaussian" and column.bounds is not None:
            count, total, squares = gaussian_moments(schema, label, name, encoded)
            features[name] = Gaussian(count.astype(np.float64), total, squares, np.array(column.bounds))
        else:
            table = feature_table(schema, label, name, encoded, bins)
            features[name] = table_feature(schema, name, table, bins, 0.0, pseudocount)
    counts = class_counts(encoded[label], schema[label].cardinality)
    return NaiveBayes(schema, label, counts.astype(np.float64), features)
