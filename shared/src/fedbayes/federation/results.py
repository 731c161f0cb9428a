"""The parts that every result has, as strict JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import __version__
from ..dp import promise

RESULT_FORMAT = 1


ROLES = ("researcher", "central", "stations", "label_holder", "group_leaders", "helper", "everyone", "assumption")
"""Keys of `reveals`: who learns something; `label_holder`: who holds the label, target or outcome; `assumption`: what the statement rests on."""


def privacy(
    differentially_private: bool,
    reason: str | None = None,
    unit: str = "row",
    neighbors: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: str | None = None,
    composition: str | None = None,
    sensitivity: str | None = None,
    reveals: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the privacy statement of a result.

    A loss above what `dp.promise` lets anybody call private makes it one without a promise, with the reason; its numbers stay.

    Parameters
    ----------
    differentially_private : bool
        Whether the whole result is.
    reason : str, optional
        Why not; required when it is not.
    unit : str
        What one neighbouring step changes: a row, an identifier, a party.
    neighbors, epsilon, delta, mechanism, composition, sensitivity
        The promise in its parts; None where it does not apply.
    reveals : mapping of str to str
        One of `ROLES` -> what it learns beyond its own input.

    Raises
    ------
    ValueError
        If a result without a promise does not say why, or a role is unknown.
    """
    beyond = promise.excess(epsilon, delta) if differentially_private else None
    if beyond is not None:
        differentially_private, reason = False, beyond
    if not differentially_private and not reason:
        raise ValueError("a result that is not differentially private must say why")
    if not set(reveals or {}) <= set(ROLES):
        raise ValueError(f"reveals takes the roles {', '.join(ROLES)}")
    return {
        "differentially_private": differentially_private,
        "reason": reason,
        "unit": unit,
        "neighbors": neighbors,
        "epsilon": epsilon,
        "delta": delta,
        "mechanism": mechanism,
        "composition": composition,
        "sensitivity": sensitivity,
        "reveals": dict(reveals or {}),
    }


def not_private(reason: str, reveals: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the privacy statement of a result without a differential-privacy promise."""
    return privacy(False, reason=reason, reveals=reveals)


def strict_json(value: Any) -> Any:
    """Return plain JSON: numpy values become Python's, NaN and infinity null, tuples lists, keys text.

    Raises
    ------
    TypeError
        If the value holds something that has no JSON form.
    """
    if isinstance(value, np.ndarray):
        return strict_json(value.tolist())
    if isinstance(value, np.generic):
        return strict_json(value.item())
    if isinstance(value, Mapping):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [strict_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a result cannot hold a {type(value).__name__}")


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {
        "fedbayes": __version__,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "result": str(RESULT_FORMAT),
    }
    for name in ("numpy", "vantage6-algorithm-tools"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
