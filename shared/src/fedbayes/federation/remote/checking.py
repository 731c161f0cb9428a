"""`preflight`: what the stations say to a task before it is submitted."""

from __future__ import annotations

import importlib
import os
from typing import Any, ClassVar

from ..arguments import check_mapping
from ..declare import Arguments, argument
from ..decorators import central
from ..errors import ArgumentError
from ..kinds import NAME, json_value
from ..perimeter.opening import Checked
from ..results import not_private
from ..rounds import Federation


class Questions(Arguments):
    """Of `preflight`."""

    reads_table: ClassVar[bool] = False
    rounds_usually: ClassVar[int] = 1

    function: str = argument(NAME, "Central function of this algorithm.")
    arguments: dict[str, Any] | None = argument(json_value("an object", check_mapping), "Its arguments.", None)


@central
def preflight(federation: Federation, asked: Questions) -> dict[str, Any]:
    """Ask every station whether it would take part in a task: one round, nothing is spent, no value of a table is looked at.

    Returns
    -------
    dict
        ``stations``: organization -> what it refuses, or None.
    """
    package = importlib.import_module(os.environ.get("PKG_NAME") or federation.package)
    target = getattr(package, asked.function, None)
    body = getattr(target, "fedbayes_body", None)
    if body is None or body is preflight.fedbayes_body:  # type: ignore[attr-defined]
        raise ArgumentError("function must be a central function of this algorithm")
    federation.dry = True
    try:
        body(federation, **(asked.arguments or {}))
    except Checked as done:
        return federation.result(privacy=not_private("no table was read"), stations=done.table)
    if federation.checked is not None:  # central asks nothing more
        return federation.result(privacy=not_private("no table was read"), stations=federation.checked)
    raise ArgumentError(f"{asked.function} asks no station: nothing is spent, and nobody can refuse it; run it")
