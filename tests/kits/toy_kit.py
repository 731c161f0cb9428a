"""Central functions of toys, whose arguments are plain parameters of which nothing is checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from fedbayes.federation import central
from fedbayes.federation.declare import REQUIRED, Arguments, argument
from fedbayes.federation.kinds import json_value

ANYTHING = json_value("anything", lambda name, value: value)


def toy_central(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make ``function(federation, x, y=...)`` remotely callable: a class of arguments is made of its parameters."""
    declared = {
        name: argument(ANYTHING, "Of a toy.", REQUIRED if one.default is one.empty else one.default)
        for name, one in list(inspect.signature(function).parameters.items())[1:]
    }
    untold = {"reads_table": False}  # no plan or store asks
    asked_class = type("Asked", (Arguments,), {"__annotations__": dict.fromkeys(declared, Any), **untold, **declared})

    def called(federation: Any, asked: Any) -> dict[str, Any]:
        return function(federation, **{one.name: getattr(asked, one.name) for one in fields(asked)})

    called.__annotations__["asked"] = asked_class
    called.__name__, called.__module__, called.__doc__ = function.__name__, function.__module__, function.__doc__
    return central(called)
