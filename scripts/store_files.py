"""What follows of declared arguments for a method's page and for its `algorithm_store.json`; `scripts/store` writes both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from fedbayes.federation.declare import Argument, Arguments
from fedbayes.federation.signatures import (
    Store,
    allowed_of,
    arguments_class,
    call_of,
    central_functions,
    first_line,
    meaning_of,
    words_of,
)

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
    partials = [(name, getattr(module, name)) for name in sorted(module.__all__) if name not in dict(central)]
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
