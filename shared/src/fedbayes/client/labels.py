"""Results with the labels that the study's dictionary has for categories: for people to read; models, files and predictions keep the codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..bayes.values.written import printable
from .kinds import DESCRIPTION, PREDICTIONS, SAMPLE, arguments_of
from .view import view_of_result

Labels = Mapping[str, Mapping[str, str]]
"""Column -> {category: label}."""

STATES = {"domain": "categories", "nodes": "states"}
"""Mappings of columns in a model, and what names the categories there."""
OF_CLASSES = ("classes", "states", "predicted")
BY_CLASS = ("class_counts", "noise_of_means")
"""Entries that are mappings of classes, or of features to such mappings."""


def labels_of(result: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the labels of categories by column, as the dictionary of the task has them; a label that two categories share names its category too."""
    return {
        column: _distinct(entry["categories"])
        for column, entry in _entries_of(result).items()
        if isinstance(entry.get("categories"), Mapping)
    }


def _entries_of(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the columns of the dictionary of a result's task."""
    dictionary = arguments_of(result).get("dictionary")
    columns = dictionary.get("columns") if isinstance(dictionary, Mapping) else None
    entries = columns if isinstance(columns, Mapping) else {}
    return {str(column): entry for column, entry in entries.items() if isinstance(entry, Mapping)}


def _distinct(categories: Mapping[Any, Any]) -> dict[str, str]:
    named = {str(code): str(label).strip() or str(code) for code, label in categories.items()}
    often = Counter([*named.values(), *(code for code, label in named.items() if code != label)])
    return {code: label if often[label] == 1 else f"{label} ({code})" for code, label in named.items()}


def labelled(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result with labels in the place of categories; the same one where its task had no dictionary with labels.

    Parameters
    ----------
    result : dict
        What a task returned. It is not changed.
    """
    labels = labels_of(result)
    if not labels:
        return result
    classes = labels.get(_label_of(result), {})
    kept = ("provenance", "privacy", "federation", "warnings", "versions")
    return {
        name: value if name in kept else _named(name, value, labels, classes) for name, value in dict(result).items()
    }


def legible(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result for people to read: with labels and units, and without characters that act on a terminal or turn text around.

    Categories are what stations' files hold: one with an escape sequence would else be obeyed by the terminal of whoever looks at the answer. Such characters,
    and line breaks, are written as Python writes them.
    """
    shown: Mapping[str, Any] = _printable(_measured(labelled(result), _entries_of(result)))
    return shown


def _measured(result: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a description with what the dictionary says of numbers: their unit, and whether they are whole; any other result as it is."""
    if not entries or view_of_result(result).kind != DESCRIPTION:
        return result
    model = result["model"]
    columns = {
        column: {**counted, "unit": entry.get("unit"), "whole": entry.get("type") == "integer"}
        for column, counted in model["columns"].items()
        for entry in [entries.get(column, {})]
    }
    return {**result, "model": {**model, "columns": columns}}


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {_printable(key): _printable(entry) for key, entry in value.items()}
    return [_printable(entry) for entry in value] if isinstance(value, list | tuple) else value


def frame_of(result: Mapping[str, Any]) -> Any:
    """Return the answer as one table, with labels; predictions and synthetic records keep their codes, as the records have them."""
    view = view_of_result(result)
    return view.part("frame")(result if view.kind in (PREDICTIONS, SAMPLE) else labelled(result))


def _label_of(result: Mapping[str, Any]) -> str:
    """Return the column that the classes of a result are of; "" where it has none."""
    arguments = arguments_of(result)
    for source in (result.get("model"), arguments, arguments.get("model")):
        if isinstance(source, Mapping) and isinstance(source.get("label"), str):
            return str(source["label"])
    return ""


def _named(name: str, value: Any, labels: Labels, classes: Mapping[str, str]) -> Any:
    """Return an entry with labels, whatever is inside it."""
    if isinstance(value, list):
        if name in OF_CLASSES:
            return [_of(classes, one) for one in value]
        return [_named("", one, labels, classes) for one in value]
    if not isinstance(value, Mapping):
        return _term(value, labels) if name == "feature" and isinstance(value, str) else value
    if name in STATES:
        return {column: _column(entry, STATES[name], labels.get(column, {})) for column, entry in value.items()}
    if name == "columns":  # of a description
        return {column: _described(entry, labels.get(column, {})) for column, entry in value.items()}
    if name == "references":
        return {column: _of(labels.get(column, {}), code) for column, code in value.items()}
    if name in BY_CLASS:
        return _by_class(value, classes)
    if isinstance(value.get("column"), str) and isinstance(value.get("labels"), list):  # an axis of counts
        return _column(value, "labels", labels.get(value["column"], {}))
    return {key: _named(key, entry, labels, classes) for key, entry in value.items()}


def _by_class(value: Mapping[str, Any], classes: Mapping[str, str]) -> dict[str, Any]:
    """Return a mapping of classes, or of features to such mappings, with labels."""
    return {
        code if isinstance(entry, Mapping) else classes.get(code, code): _by_class(entry, classes)
        if isinstance(entry, Mapping)
        else entry
        for code, entry in value.items()
    }


def _of(names: Mapping[str, str], code: Any) -> Any:
    return names.get(str(code), code) if code is not None else None


def _column(entry: Any, key: str, names: Mapping[str, str]) -> Any:
    if not names or not isinstance(entry, Mapping) or not isinstance(entry.get(key), list):
        return entry
    # What a cell with the text of a label meant in the files says nothing about the labels.
    kept = {name: value for name, value in entry.items() if name not in ("missing", "recode", "reference")}
    return {**kept, key: [_of(names, code) for code in entry[key]]}


def _described(entry: Any, names: Mapping[str, str]) -> Any:
    categories = entry.get("categories") if isinstance(entry, Mapping) else None
    return {**entry, "categories": _column(categories, "values", names)} if isinstance(categories, Mapping) else entry


def _term(feature: str, labels: Labels) -> str:
    """Return a term of a Cox model, such as ``age:sex=2``, with the label of its category."""
    parts = []
    for part in feature.split(":"):
        column, equals, code = part.partition("=")
        parts.append(f"{column}={labels[column].get(code, code)}" if equals and column in labels else part)
    return ":".join(parts)
