"""What the first round tells of a node's limits, for results to keep: no more than `disclosure_settings` tells anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..errors import MessageError
from .policy import KINDS, Policy

KEPT_BACK = ("long_term_key", "csv_separator", "csv_decimal")
"""Limits that are not told: a result's `without_lasting_key` tells what the first led to; how a file is written limits nothing."""
TOLD = tuple(name for name, kind in KINDS.items() if kind.told and name not in KEPT_BACK)
"""Limits that are told as they are; None is none."""
WHETHER = tuple(name for name, kind in KINDS.items() if not kind.told and name not in KEPT_BACK)
"""Limits of which is told whether they are set."""
NONE_BY_DEFAULT = {field.name for field in fields(Policy) if field.default is None}


def as_public(policy: Policy) -> dict[str, Any]:
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
        If they are not what `as_public` makes.
    """
    if set(limits) != {*TOLD, *WHETHER}:
        raise MessageError("a station tells limits that are not known here; the job stops")
    return {name: _value(name, limits[name]) for name in (*TOLD, *WHETHER)}


def _value(name: str, value: Any) -> Any:
    if name in TOLD and value is None and name in NONE_BY_DEFAULT:
        return None
    try:
        return KINDS[name].heard(value)
    except ValueError:
        raise MessageError(f"a station tells a limit {name} that cannot be read; the job stops") from None
