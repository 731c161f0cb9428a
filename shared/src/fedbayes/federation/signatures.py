"""What follows of declared arguments: a description in JSON, and the help of the command; pages and store files are written by `scripts/store_files.py`.

``describe(fit)`` of a central function is::

    {"function": "fit", "summary": "Fit ...", "arguments": [
        {"name": "bins", "type": "integer", "allowed": "a whole number, at least 1 and at most 100", "description": "Bins of the column.",
         "required": false, "default": 20, "choices": [], "limits": {"low": 1, "high": 100}, "unit": "",
         "used_when": [{"argument": "noise", "is": "one of", "values": ["local"]}]}]}

``is`` is "one of" or "none of" (with values), "given" or "left out"; all conditions must hold. A form, a planner or a test makes its questions of this.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .declare import Argument, Arguments, When


@dataclass(frozen=True)
class Store:
    """What the algorithm store is told of a method, beside its functions.

    Attributes
    ----------
    name, description : str
        For its list of algorithms.
    partitioning : str
        horizontal or vertical.
    visualizations : mapping of str to list of dict
        Function -> `ui_visualizations`.
    """

    name: str
    description: str
    partitioning: str
    visualizations: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def describe(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the description of a central function, as JSON; see the module's documentation for its form."""
    arguments = [_described(argument) for argument in arguments_class(function).declared()]
    return {"function": function.__name__, "summary": first_line(function), "arguments": arguments}


def arguments_class(function: Any) -> type[Arguments]:
    """Return the class of arguments of a central function; the bare one where it declares none."""
    return getattr(function, "fedbayes_declared", None) or Arguments


def _described(argument: Argument) -> dict[str, Any]:
    kind = argument.declared.kind
    return {
        "name": argument.name,
        "type": kind.store,
        "allowed": kind.allowed,
        "description": argument.declared.words,
        "required": argument.required,
        "default": None if argument.required else argument.default,
        "choices": list(kind.choices),
        "limits": dict(kind.limits),
        "unit": argument.declared.unit,
        "used_when": [_condition(condition) for condition in argument.declared.used_when],
    }


def _condition(condition: When) -> dict[str, Any]:
    if condition.values:
        relation = "one of" if condition.holds_if else "none of"
        return {"argument": condition.argument, "is": relation, "values": list(condition.values)}
    return {"argument": condition.argument, "is": "given" if condition.holds_if else "left out"}


def first_line(thing: Any) -> str:
    """Return the first line of a thing's documentation."""
    return (inspect.getdoc(thing) or "").strip().partition("\n")[0].strip()


def call_of(argument: Argument) -> str:
    """Return an argument as a call shows it: its name, or ``name=default``."""
    return argument.name if argument.required else f"{argument.name}={argument.default!r}"


def allowed_of(argument: Argument) -> str:
    """Return what an argument may be, in words, with its unit."""
    return argument.declared.kind.allowed + (f" ({argument.declared.unit})" if argument.declared.unit else "")


def meaning_of(argument: Argument) -> str:
    """Return what an argument means and when it is used."""
    used = " and ".join(condition.words(True) for condition in argument.declared.used_when)
    return argument.declared.words + (f" Used {used}." if used else "")


def words_of(argument: Argument) -> str:
    """Return what an argument means, when it is used and what it may be."""
    return f"{meaning_of(argument)} May be {allowed_of(argument)}."


def help_of(function: Callable[..., Any]) -> str:
    """Return the documentation of a central function with all its arguments, as text."""
    lines = [inspect.getdoc(function) or ""]
    described = [
        f"    {call_of(argument)}\n        {words_of(argument)}" for argument in arguments_class(function).declared()
    ]
    return "\n".join([*lines, "", "Arguments", *described] if described else lines)


def central_functions(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    """Return the central functions of a method: fit first, preflight last."""
    named = [(name, getattr(module, name)) for name in sorted(module.__all__)]
    central = [(name, function) for name, function in named if getattr(function, "fedbayes_remote", None) == "central"]
    return sorted(central, key=lambda pair: (pair[0] == "preflight", pair[0] != "fit"))
