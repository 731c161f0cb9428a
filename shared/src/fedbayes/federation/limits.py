"""What the first round tells of a node's limits, for results to keep: no more than `disclosure_settings` tells anybody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .errors import MessageError
from .policy import Policy

TOLD = (
    "minimum_rows",
    "minimum_organizations",
    "minimum_count",
    "maximum_epsilon",
    "maximum_delta",
    "maximum_queries",
    "budget_epsilon",
    "budget_delta",
    "budget_days",
    "allow_non_private",
    "allow_predictions",
    "allow_foreign_models",
    "allow_formulas",
    "allow_differences",
)
"""Limits that are told as they are; None is none."""

WHETHER = ("ledger", "pinned_keys", "schema", "cohort", "allowed_columns", "denied_columns", "allowed_functions")
"""Limits of which is told whether they are set: names of columns, files and peers stay at the node."""

KINDS = {field.name: str(field.type) for field in fields(Policy)}


def told(policy: Policy) -> dict[str, Any]:
    """Return a node's limits as public metadata, which has no fractions: these are texts.

    Parameters
    ----------
    policy : Policy
        Of the node.

    Returns
    -------
    dict
        Name -> true or false, whole number, text of a number, or None.
    """
    values = {name: getattr(policy, name) for name in TOLD}
    numbers = {name: repr(value) if isinstance(value, float) else value for name, value in values.items()}
    return {**numbers, **{name: getattr(policy, name) is not None for name in WHETHER}}


def read(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits that a station told, with numbers where they are numbers.

    Raises
    ------
    MessageError
        If they are not what `told` makes.
    """
    if set(limits) != {*TOLD, *WHETHER}:
        raise MessageError("a station tells limits that are not known here; the job stops")
    return {name: _value(name, limits[name]) for name in (*TOLD, *WHETHER)}


def _value(name: str, value: Any) -> Any:
    kind = "bool" if name in WHETHER else KINDS[name]
    if value is None and "None" in kind:
        return None
    if kind.startswith("bool") and isinstance(value, bool):
        return value
    if kind.startswith("int") and type(value) is int:
        return value
    if kind.startswith("float") and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise MessageError(f"a station tells a limit {name} that cannot be read; the job stops")
