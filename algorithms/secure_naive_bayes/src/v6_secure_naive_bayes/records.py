"""Records that are to be classified: their checks and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.naive_bayes.counting import column_edges
from fedbayes.bayes.schema import SchemaError
from fedbayes.bayes.values.encoding import bin_codes
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns

from .messages import MOST_QUERIES


def check_records(records: list[dict[str, Any]], columns: Columns, bins: dict[str, Any]) -> npt.NDArray[np.int32]:
    """Return the codes (records, features) of the records to be classified, -1 for missing.

    Raises
    ------
    ArgumentError
        When they hold an unknown key or a value outside its domain.
    """
    known = set(columns.features)
    unknown = next((key for record in records for key in record if key not in known), None)
    if unknown is not None:
        meaning = "the label" if unknown == columns.label else "no feature of the task"
        raise ArgumentError(f"records hold the key '{str(unknown)[:100]}', which is {meaning}; leave it out")
    codes = [_column_codes(name, [record.get(name) for record in records], columns, bins) for name in columns.features]
    return np.stack(codes, axis=1).astype(np.int32)


def check_list(name: str, records: Any) -> list[dict[str, Any]]:
    """Return the records if they are a list of objects, not too many; what they hold is checked against the columns.

    Raises
    ------
    ArgumentError
        If they are not.
    """
    if not isinstance(records, list) or not 1 <= len(records) <= MOST_QUERIES:
        raise ArgumentError(f"{name} must be a list of 1 to {MOST_QUERIES} objects")
    if not all(isinstance(record, dict) for record in records):
        raise ArgumentError(f"{name} must hold objects {{feature: value}}, nothing else")
    return records


def _column_codes(name: str, values: list[Any], columns: Columns, bins: dict[str, Any]) -> npt.NDArray[Any]:
    """Return the codes (records,) of one feature."""
    if not all(_plain(value) for value in values):
        raise ArgumentError(f"records hold for '{name}' something else than text, a number or null; correct it")
    schema = columns.schema
    try:
        encoded = schema[name].encode(np.array(values, dtype=object), "refuse")
    except SchemaError:
        limits = "categories" if schema[name].is_categorical else "bounds"
        raise ArgumentError(
            f"records hold a value of '{name}' outside its {limits} in the domain; correct it, or leave it out as missing"
        ) from None
    return encoded if schema[name].is_categorical else bin_codes(encoded, column_edges(schema, name, bins))


def _plain(value: Any) -> bool:
    """Return whether a value is one that a table can hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**63
    return value is None or isinstance(value, str | float | bool)
