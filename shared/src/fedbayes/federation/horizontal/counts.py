"""Tables of every feature by class: their queries at a station, and the model of their sum over all stations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import DEFAULT_BINS, Bins, feature_table, table_feature, table_width
from fedbayes.bayes.naive_bayes.features import Feature
from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.bin_edges import MAXIMUM_BINS
from fedbayes.bayes.values.names import nearest

from ...typing import Array, Floats, Integers
from .. import arguments
from ..errors import ArgumentError, MessageError, schema_errors
from .columns import Columns
from .noise import Query

MOST_CELLS = 4_000_000  # of all tables, 32 MB in a round


def check_bin_rules(name: str, value: Any) -> Any:
    """Return `value` if it is a number of bins, or an object; its entries are checked against the columns by `check_bins`.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    if isinstance(value, dict):
        return arguments.check_mapping(name, value)
    return arguments.check_number(name, value, low=1, high=MAXIMUM_BINS, integer=True)


def rule_of_each(numeric: Sequence[str], bins: Any, argument: str, which: str) -> dict[str, Any]:
    """Return the rule of bins of every numeric column.

    Raises
    ------
    ArgumentError
        If the rules name a column that is not `which`, or one rule for all is none.
    """
    if not isinstance(bins, Mapping):
        return dict.fromkeys(numeric, check_bin_rules(argument, bins))
    unknown = [name for name in bins if name not in numeric]
    if unknown:
        raise ArgumentError(
            f"{argument} names '{str(unknown[0])[:100]}', which is no {which}{nearest(str(unknown[0]), numeric)}; leave it out"
        )
    return {name: bins.get(name, DEFAULT_BINS) for name in numeric}


def check_bins(columns: Columns, bins: Any, argument: str = "bins") -> dict[str, Any]:
    """Return the bins of every numeric feature: a number for all, or {column: number, list of edges, or logarithmic scale}.

    A logarithmic scale (see `fedbayes.bayes.schema.Column.edges`) is returned as its edges.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy, also when the tables would have too many cells.
    """
    schema = columns.schema
    numeric = [name for name in columns.features if not schema[name].is_categorical]
    chosen = rule_of_each(numeric, bins, argument, "numeric feature")
    with schema_errors(ArgumentError):
        for name, rule in chosen.items():
            if isinstance(rule, dict):
                chosen[name] = schema[name].edges(rule)[1:-1].tolist()
        if cells(columns, chosen) > MOST_CELLS:
            raise ArgumentError(f"{argument} and categories make more than {MOST_CELLS} cells; give fewer")
    return chosen


def check_asked(columns: Columns, bins: Mapping[str, Any]) -> None:
    """Check the bins of a request.

    Raises
    ------
    ValueError
        If some are of no numeric column, or are none.
    """
    for name, rule in bins.items():
        if name not in columns.domain:
            raise ValueError("bins are of a column that is not asked for")
        columns.schema[name].edges(rule)


def cells(columns: Columns, bins: Bins) -> int:
    """Return the number of cells of all tables together."""
    schema = columns.schema
    return columns.classes * sum(table_width(schema, name, bins) for name in columns.features)


def table_queries(columns: Columns, encoded: dict[str, Any], bins: Bins) -> list[Query]:
    """Return one query a feature: its table by class, int64, (classes, values + 1), missing values last.

    One row is in one cell of every table, so each has the sensitivity 1 under ``add_remove``.
    """
    schema = columns.schema
    tables = (feature_table(schema, columns.label, name, encoded, bins) for name in columns.features)
    return [Query(table, nonnegative=True) for table in tables]


def signed(summed: Array, length: int) -> Integers:
    """Return a sum modulo 2^64 as signed numbers, int64 of shape (length,).

    Raises
    ------
    MessageError
        If the stations' answers have another length.
    """
    if summed.shape != (length,):
        raise MessageError(
            "the stations' answers do not have the length that was asked for; use one version everywhere"
        )
    return summed.astype(np.uint64).astype(np.int64)


def split_tables(columns: Columns, bins: Bins, vector: Integers) -> dict[str, Integers]:
    """Cut the vector of all tables into {feature: (classes, values + 1)}."""
    schema = columns.schema
    widths = [table_width(schema, name, bins) for name in columns.features]
    parts = np.split(vector, np.cumsum([columns.classes * width for width in widths])[:-1])
    return {
        name: part.reshape(columns.classes, width)
        for name, part, width in zip(columns.features, parts, widths, strict=True)
    }


def class_counts_from_margins(tables: dict[str, Array], deviation: float) -> tuple[Floats, float]:
    """Return the class counts and the deviation of their noise.

    Every table's margin is a class count; noisy margins are averaged with weights inverse to their variances,
    which are proportional to the numbers of cells summed.
    """
    weights = np.array([1.0 / table.shape[1] for table in tables.values()])
    margins = np.stack([table.sum(axis=1) for table in tables.values()]).astype(np.float64)
    counts = weights @ margins / weights.sum()
    if deviation == 0:
        return margins[0], 0.0
    return np.asarray(counts), float(deviation / np.sqrt(weights.sum()))


def model_from_tables(columns: Columns, tables: dict[str, Array], bins: Bins, deviation: float = 0.0) -> NaiveBayes:
    """Return the naive Bayes model of the tables, whose cells carry noise of this standard deviation; every cell counts one more."""
    schema: Schema = columns.schema
    features: dict[str, Feature] = {
        name: table_feature(schema, name, table, bins, deviation, 1.0) for name, table in tables.items()
    }
    counts, spread = class_counts_from_margins(tables, deviation)
    with schema_errors(ArgumentError):
        return NaiveBayes(schema, columns.label, counts, features, spread)
