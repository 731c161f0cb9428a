"""Conditions on columns: checked where a task comes in, and looked up in a station's table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...bayes.schema import LARGEST_BOUND, Column
from ...bayes.values import column_codes
from ...bayes.values.encoding import SchemaError, canonical_text, is_number, meant_texts
from ...typing import Array, Booleans
from ..errors import ArgumentError, DataProblem, ThresholdError
from .factor_info import Condition


def check_sides(holding: Booleans, minimum: int) -> None:
    """Raise `ThresholdError` where `holding`, bool (rows,), is True or False for a few of a station's records and not for none.

    Such a question is about these few, whatever other stations add to it; its owner alone can see it.
    """
    inside = int(holding.sum())
    if any(0 < side < minimum for side in (inside, len(holding) - inside)):
        raise ThresholdError(
            "the conditions on one station's columns single out too few of its records; ask a broader question, or give an epsilon"
        )


def holds(values: Any, condition: Condition, private: bool = False) -> Booleans:
    """Return where a condition holds. A missing value satisfies `missing` only; so does text among numbers, where answers are `private`.

    A condition's true and false hold for 1 and 0 too, and its 1 and 0 for true and false; as text they are themselves alone.

    Raises
    ------
    ArgumentError
        When the condition's value does not fit its operator.
    DataProblem
        When numbers are asked of a column of text.
    """
    absent = np.asarray(values.isna(), dtype=np.bool_)
    if condition.op == "missing":
        return absent
    if condition.op in ("==", "!=", "in"):
        wanted = condition.value if condition.op == "in" else [condition.value]
        texts = frozenset().union(*map(meant_texts, wanted))
        positions, distinct = column_codes.distinct_values(values)
        table = np.array([canonical_text(value) in texts for value in distinct] + [False], dtype=np.bool_)
        inside = table[positions]
        return np.asarray(~inside & ~absent if condition.op == "!=" else inside)
    if private:
        values = column_codes.numbers(condition.column, values, (-np.inf, np.inf), "absorb")
        absent = np.isnan(values)
    return _compared(values, condition, absent)


def _compared(values: Any, condition: Condition, absent: Booleans) -> Booleans:
    if values.dtype.kind in "iu":
        whole = np.asarray(values.fillna(0).to_numpy(dtype=getattr(values.dtype, "numpy_dtype", values.dtype)))
        return np.asarray(_whole_compared(whole, condition) & ~absent)
    try:
        numbers = np.asarray(
            Column(condition.column, bounds=(-LARGEST_BOUND, LARGEST_BOUND)).encode(values), dtype=np.float64
        )
    except SchemaError:
        raise DataProblem(f"column '{condition.column}' holds text; compare it with ==, != or in") from None
    with np.errstate(invalid="ignore"):
        if condition.op == "between":
            low, high = condition.value
            holding = (numbers >= low) & (numbers <= high)
        else:
            compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[condition.op]
            holding = compare(numbers, condition.value)
    return np.asarray(holding & ~absent)


def numbers_of(texts: Any) -> Any:
    """Return texts, shape (n,), as a series of numbers that conditions compare: whole ones with all their digits, others the nearest float64; NaN of none."""
    import pandas

    written = pandas.Series(texts, dtype=object)
    whole = pandas.to_numeric(written, errors="coerce")
    return whole if whole.dtype.kind in "iu" else pandas.Series(column_codes.floats_of(written), written.index)


def _whole_compared(whole: Array, condition: Condition) -> Booleans:
    """Compare whole numbers as such: float64 does not tell all of them apart from 2^53 on."""
    if condition.op == "between":
        low, high = condition.value
        return np.asarray((whole >= math.ceil(low)) & (whole <= math.floor(high)))
    if condition.op in ("<", ">="):
        below = np.asarray(whole < math.ceil(condition.value))
        return below if condition.op == "<" else ~below
    above = np.asarray(whole > math.floor(condition.value))
    return above if condition.op == ">" else ~above


def check_condition(entry: Any, position: int) -> Condition:
    """Return a condition of the task, checked.

    Raises
    ------
    ArgumentError
        Naming the condition by its position.
    """
    name = f"conditions[{position}]"
    if not isinstance(entry, dict) or not {"column", "op"} <= set(entry) <= {"column", "op", "value"}:
        raise ArgumentError(f'{name} must be {{"column": ..., "op": ..., "value": ...}}')
    column, operator, value = entry["column"], entry["op"], entry.get("value")
    if not isinstance(column, str) or not column:
        raise ArgumentError(f"{name}: column must be a name")
    try:
        condition = Condition(column, operator, value)
    except (ValueError, TypeError) as problem:
        raise ArgumentError(f"{name}: {problem}") from None
    _check_value(name, operator, value)
    return condition


def _check_value(name: str, operator: str, value: Any) -> None:
    scalar = isinstance(value, str | int | float | bool) and value == value and value != ""
    if operator in ("==", "!=") and not scalar:
        raise ArgumentError(f"{name}: value must be a text, number or truth value; for missing values use op missing")
    if operator in ("<", "<=", ">", ">=") and not is_number(value):
        raise ArgumentError(f"{name}: value must be a number")
    if operator == "in" and not (
        isinstance(value, list | tuple)
        and 0 < len(value) <= 1000
        and all(isinstance(v, str | int | float) for v in value)
    ):
        raise ArgumentError(f"{name}: value must be a list of 1 to 1000 texts or numbers")
    if operator == "between" and not (
        isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value)) and value[0] <= value[1]
    ):
        raise ArgumentError(f"{name}: value must be [low, high]")
