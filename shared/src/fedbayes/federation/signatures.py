"""What follows of declared arguments: a description in JSON, the help of the command, the table of a page, the entry of the store file.

``describe(fit)`` of a central function is::

    {"function": "fit", "summary": "Fit ...", "arguments": [
        {"name": "bins", "type": "integer", "allowed": "a whole number, at least 1 and at most 100", "description": "Bins of the column.",
         "required": false, "default": 20, "choices": [], "limits": {"low": 1, "high": 100}, "unit": "",
         "used_when": [{"argument": "noise", "is": "one of", "values": ["local"]}]}]}

``is`` is "one of" or "none of" (with values), "given" or "left out"; all conditions must hold. A form, a planner or a test makes its questions of this.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .declare import Argument, Arguments, When

TABLE = [{"name": "Table", "description": "The stations' tables."}]
WITHOUT_TABLE = ("partial_open_channel", "partial_close", "partial_schema", "disclosure_settings")
STEPS = {"central": "central_compute", "federated": "federated_compute"}
"""Type of a function in the store of vantage6 4 -> its step type in that of vantage6 5."""
DICTIONARY = {
    "name": "dictionary",
    "type": "json",
    "display_name": "Dictionary",
    "description": "The study's data dictionary: gives domain, bins and id_column where they are left out, and what stations recode and derive. "
    'May be {"columns": {name: {"type": ...}}}.',
    "has_default_value": True,
}
"""Every central function takes it beside its own arguments; `preflight` among those that it checks."""
CONDITIONAL = ("string", "column", "integer", "float", "boolean")
"""Types of arguments that the store lets a condition rest on."""


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


def page_of(module: ModuleType) -> str:
    """Return the tables of the arguments of a method's central functions, in Markdown.

    An argument that an earlier function of the method has in the same words is named below the table only.
    """
    seen: dict[tuple[str, str], str] = {}
    parts = []
    for name, function in central_functions(module):
        declared = arguments_class(function).declared()
        if name == "preflight" or not declared:
            continue
        described_with = {
            argument.name: seen[key]
            for argument in declared
            if (key := (call_of(argument), words_of(argument))) in seen
        }
        rows = [_row(argument) for argument in declared if argument.name not in described_with]
        table = ["\n".join([f"| `{name}` | may be | |", "|---|---|---|", *rows])] if rows else []
        parts += [*table, *_as_before(name, described_with)]
        seen = {(call_of(argument), words_of(argument)): name for argument in declared} | seen
    return "\n\n".join(parts)


def _row(argument: Argument) -> str:
    cells = (f"`{call_of(argument)}`", allowed_of(argument), meaning_of(argument))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _as_before(name: str, described_with: Mapping[str, str]) -> list[str]:
    """Return the sentences that name a function's arguments that are those of earlier functions."""
    sentences = []
    for earlier in dict.fromkeys(described_with.values()):
        names = [f"`{argument}`" for argument, function in described_with.items() if function == earlier]
        sentences.append(f"`{name}` takes {', '.join(names)} as `{earlier}` does.")
    return sentences


def central_functions(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    """Return the central functions of a method: fit first, preflight last."""
    named = [(name, getattr(module, name)) for name in module.__all__]
    central = [(name, function) for name, function in named if getattr(function, "fedbayes_remote", None) == "central"]
    return sorted(central, key=lambda pair: (pair[0] == "preflight", pair[0] != "fit"))


def store_of(module: ModuleType, image: str, version: str) -> dict[str, Any]:
    """Return what stands in a method's algorithm_store.json.

    Parameters
    ----------
    module : module
        The method's package, ``v6_NAME``; its module `arguments` has ``STORE``.
    image : str
        The image with its tag.
    version : str
        Of vantage6, such as 4.15.
    """
    store: Store = module.arguments.STORE
    central = central_functions(module)
    partials = [(name, getattr(module, name)) for name in module.__all__ if name not in dict(central)]
    functions = [_central(name, function, store) for name, function in central]
    page = f"https://example.org/fedbayes/algorithms/{module.__name__.removeprefix('v6_')}"
    return {
        "name": store.name,
        "description": store.description,
        "image": image,
        "partitioning": store.partitioning,
        "vantage6_version": version,
        "code_url": "https://example.org/fedbayes",
        "documentation_url": page,
        "functions": [*functions, *(_partial(name, function) for name, function in partials)],
    }


def in_version_5(store: Mapping[str, Any]) -> dict[str, Any]:
    """Return a store file's content in the form that the store of vantage6 5 reads: every function has `step_type` in the place of `type`."""
    functions = [
        {
            ("step_type" if key == "type" else key): (STEPS[value] if key == "type" else value)
            for key, value in function.items()
        }
        for function in store["functions"]
    ]
    return {**store, "functions": functions}


def _central(name: str, function: Callable[..., Any], store: Store) -> dict[str, Any]:
    declared = arguments_class(function)
    entry: dict[str, Any] = {
        "name": name,
        "display_name": _title(name),
        "description": first_line(function),
        "type": "central",
    }
    entry |= {"databases": TABLE} if declared.reads_table else {"standalone": True}
    entry["arguments"] = [_stored(argument, declared) for argument in declared.declared()]
    if name != "preflight":
        entry["arguments"].append(dict(DICTIONARY))
    if name in store.visualizations:
        entry["ui_visualizations"] = list(store.visualizations[name])
    return entry


def _partial(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "description": first_line(function), "type": "federated"}
    if name == "disclosure_settings":
        return entry | {"standalone": True, "arguments": []}
    if name not in WITHOUT_TABLE:
        entry["databases"] = TABLE
    message = {"name": "message", "type": "json", "description": "The round's request; made by the central function."}
    return entry | {"arguments": [message]}


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _stored(argument: Argument, among: type[Arguments]) -> dict[str, Any]:
    kind = argument.declared.kind
    entry: dict[str, Any] = {
        "name": argument.name,
        "type": kind.store,
        "display_name": _title(argument.name),
        "description": words_of(argument),
    }
    if kind.choices:
        entry["allowed_values"] = list(kind.choices)
    if argument.required:
        return entry
    entry["has_default_value"] = True
    if argument.default is not None:
        plain = kind.store in ("string", "column")
        entry["default_value"] = argument.default if plain else json.dumps(argument.default)
    return entry | _store_condition(argument, among)


def _store_condition(argument: Argument, among: type[Arguments]) -> dict[str, Any]:
    """Return the first condition that the store can express: one argument, one comparison."""
    others = {other.name: other.declared.kind for other in among.declared()}
    for condition in argument.declared.used_when:
        kind = others[condition.argument]
        rest = [choice for choice in kind.choices if choice not in condition.values]
        if kind.store not in CONDITIONAL or min(len(condition.values), len(rest) or 2) > 1:
            continue
        turned = len(condition.values) > 1  # all choices but one
        equal = (condition.holds_if is bool(condition.values)) is not turned
        value = rest[0] if turned else condition.values[0] if condition.values else None
        entry = {"conditional_on": condition.argument, "conditional_operator": "==" if equal else "!="}
        if value is not None:  # left out, it means null
            entry["conditional_value"] = value if isinstance(value, str) else json.dumps(value)
        return entry
    return {}
