"""The parts that every result has, as strict JSON; ``docs/result.schema.json`` describes the whole."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import Any

import numpy as np

from .. import __version__
from ..dp import promise

RESULT_FORMAT = 1  # of docs/result.schema.json
OMITTED = "omitted"
LONGEST_ARGUMENT = 2_000_000
"""Characters: an ensemble of 20 networks is shorter; a result must not double by its question."""
SECRETS = re.compile(r"password|passphrase|secret_key|private_key|token|credential", re.I)
"""Names of arguments whose value no result repeats. No function of the images takes one: whoever adds one need not think of it."""

ROLES = ("researcher", "central", "stations", "label_holder", "group_leaders", "helper", "everyone", "assumption")
"""Keys of `reveals`: who learns something; `label_holder`: who holds the label or the outcome; `assumption`: what the statement rests on."""

RESEARCHER = "this result"
"""What the researcher learns of a task of which no more is to be said."""


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
        One of `ROLES` -> what it learns beyond its own input; a researcher of whom nothing is said gets the result.

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
        "reveals": {"researcher": RESEARCHER, **(reveals or {})},
    }


def not_private(reason: str, reveals: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the privacy statement of a result without a differential-privacy promise."""
    return privacy(False, reason=reason, reveals=reveals)


def predictions(label: str, states: Sequence[str], probabilities: Any, **beside: Any) -> dict[str, Any]:
    """Return the model of a result that predicts records.

    Parameters
    ----------
    label : str
        What is predicted.
    states : sequence of str
        Its states, in the order of the probabilities.
    probabilities : array_like, float64, shape (records, states)
        Of each record.
    **beside
        Further fields by record, such as `identifiers`.
    """
    likely = np.asarray(probabilities)
    predicted = [states[code] for code in likely.argmax(axis=1)]
    return {"label": label, "states": list(states), **beside, "predicted": predicted, "probabilities": likely}


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
    numbers = {
        "fedbayes": __version__,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "result": str(RESULT_FORMAT),
    }
    for name in ("numpy", "vantage6-algorithm-tools"):
        numbers.update(_version_of(name))
    return numbers


def provenance(algorithm: str, function: str, arguments: Mapping[str, Any], parties: Sequence[str]) -> dict[str, Any]:
    """Return when and what was computed, with which arguments and versions, and among whom: enough to ask it again.

    Parameters
    ----------
    algorithm : str
        The Python package of the image, or the algorithm's name.
    function : str
        The central function.
    arguments : mapping
        As the researcher gave them, plain JSON. What is named like a secret, or is longer than `LONGEST_ARGUMENT` characters, is replaced by
        ``{"omitted": reason, "sha256": digest}``; secrets without a digest, which could be guessed from.
    parties : sequence of str
        Names of the organizations that took part.
    """
    name = algorithm.removeprefix("v6_")
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "algorithm": name,
        "function": function,
        "arguments": {key: _recorded(key, value) for key, value in arguments.items()},
        "versions": {**versions(), **_version_of(f"v6_{name}")},
        "parties": list(parties),
    }


def _recorded(name: str, value: Any) -> Any:
    if SECRETS.search(name):
        return {OMITTED: "secret"}
    if isinstance(value, Mapping):
        value = {key: _recorded(str(key), entry) for key, entry in value.items()}
    elif isinstance(value, list):
        value = [_recorded("", entry) for entry in value]
    text = json.dumps(value, sort_keys=True)
    if len(text) <= LONGEST_ARGUMENT:
        return value
    return {OMITTED: "too long", "sha256": hashlib.sha256(text.encode()).hexdigest()}


@cache  # nothing is installed while a process runs
def _version_of(package: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {package: version(package)}
    except PackageNotFoundError:
        return {}
