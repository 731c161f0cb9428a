"""`preflight`: what the stations say to a task before it is submitted."""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any

from .arguments import check_mapping, check_name
from .decorators import central, check_arguments
from .errors import ArgumentError
from .results import not_private
from .rounds import Checked, Federation


@central
def preflight(federation: Federation, function: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask every station whether it would take part in a task: one round, nothing is spent, no value of a table is looked at.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    function : str
        Central function of this image.
    arguments : dict, optional
        Its arguments.

    Returns
    -------
    dict
        ``stations``: organization -> what it refuses, or None.
    """
    package = importlib.import_module(os.environ.get("PKG_NAME") or federation.package)
    target = getattr(package, check_name("function", function), None)
    body = getattr(target, "fedbayes_body", None)
    if body is None or body is preflight.fedbayes_body:  # type: ignore[attr-defined]
        raise ArgumentError("function must be a central function of this algorithm")
    given = check_mapping("arguments", arguments, optional=True) or {}
    signature = inspect.signature(body)
    check_arguments(function, signature, list(signature.parameters)[1:], given)
    federation.dry = True
    try:
        body(federation, **given)
    except Checked as done:
        return federation.result(privacy=not_private("nothing of any table was asked"), stations=done.table)
    raise ArgumentError("function does not open a channel, so that it cannot be checked")
