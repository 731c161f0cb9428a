"""What a caller gives an embedded federation, checked: parties, helpers, frames, limits, the task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from ...bayes.values.frames import with_columns
from .. import signatures
from ..errors import ArgumentError
from ..jobs import inherited


def names_of(parties: Any, helpers: Any) -> list[str]:
    """Return the names of all organizations, the parties first.

    Raises
    ------
    ArgumentError
        If `parties` is no mapping, `helpers` no list, a name no text, or two are the same.
    """
    if not isinstance(parties, Mapping):
        raise ArgumentError(
            'parties must map names to files or data frames, such as {"north": frame, "south": "s.csv"}'
        )
    if not isinstance(helpers, list | tuple):
        raise ArgumentError('helpers must be a list of names, such as ["notary"]')
    names = [*parties, *helpers]
    if any(not isinstance(name, str) or not name for name in names):
        raise ArgumentError("names of parties and helpers must be texts; write them in quotes")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if not parties or twice is not None:
        repeated = "" if twice is None else f"; '{twice[:60]}' is there twice"
        raise ArgumentError(f"parties and helpers must be distinct names, with at least one party{repeated}")
    return names


def check_frame(party: str, frame: Any) -> None:
    """Raise `ArgumentError` for what is given in the place of a file and is no data frame with distinct names of columns, all text."""
    if not hasattr(frame, "to_csv") or not hasattr(frame, "columns"):
        raise ArgumentError(
            f"the data of party '{party}' must be a file's path or a data frame; name an organization without data in helpers"
        )
    if any(not isinstance(column, str) for column in frame.columns):
        raise ArgumentError(f"the frame of party '{party}' has a column whose name is no text; rename it")
    repeated = next((name for name, count in Counter(frame.columns).items() if count > 1), None)
    if repeated is not None:
        raise ArgumentError(f"the frame of party '{party}' has two columns named '{repeated[:60]}'; rename one of them")


def with_texts(party: str, frame: Any) -> Any:
    """Return a data frame whose cells of bytes are the texts that they are in UTF-8, as in a parquet file; of the given one nothing changes.

    Raises
    ------
    ArgumentError
        Naming a column with bytes that are no such text, with text that has no UTF-8, or with lists or mappings.
    """

    def text(cell: Any) -> Any:
        return cell.decode() if isinstance(cell, bytes) else cell

    changed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype != object and column.dtype.name != "category":
            continue
        try:
            cells = column.unique()
            "".join(cell for cell in cells if isinstance(cell, str)).encode()
            if any(isinstance(cell, bytes) for cell in cells):
                changed[name] = column.astype(object).map(text)
        except UnicodeDecodeError:
            raise ArgumentError(
                f"the frame of party '{party}' has bytes in column '{name[:60]}' that are no text in UTF-8; decode them"
            ) from None
        except UnicodeEncodeError:
            raise ArgumentError(
                f"the frame of party '{party}' has text in column '{name[:60]}' that UTF-8 does not have; correct it"
            ) from None
        except TypeError:
            raise ArgumentError(
                f"the frame of party '{party}' has lists or mappings in column '{name[:60]}'; give one value a cell, or leave the column out"
            ) from None
    return with_columns(frame, changed) if changed else frame


def check_policies(policies: Any) -> None:
    """Raise `ArgumentError` unless it maps organizations, or ``"*"``, to limits."""
    if not isinstance(policies, Mapping) or any(not isinstance(limits, Mapping) for limits in policies.values()):
        raise ArgumentError(
            'policies must map organizations, or "*" for all, to limits, such as {"*": {"minimum_rows": 20}}'
        )


def task_of(algorithm: Any, function: Any, arguments: Any) -> dict[str, Any]:
    """Return the arguments of a task as JSON has them: arrays as lists, of a whole result its model and what `inherited` says, of a file its dictionary.

    Raises
    ------
    ArgumentError
        If algorithm or function is no text, the arguments are no mapping, or one has no JSON form.
    """
    if not isinstance(algorithm, str) or not isinstance(function, str):
        raise ArgumentError('algorithm and function must be texts, such as "dp_naive_bayes" and "fit"')
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ArgumentError('arguments must map names to values, such as {"label": "ill", "epsilon": 1}')
    plain = {str(name): value for name, value in (arguments or {}).items()}
    if isinstance(file := plain.get("dictionary"), str | Path):
        # Reading files of people is the client's, which the federation does not know.
        plain["dictionary"] = import_module("fedbayes.client.inputs.dictionaries").read_dictionary(Path(file))
    if isinstance(plain.get("model"), str | Path):
        raise ArgumentError(
            'model must be the `model` of a result and no file; give --model FILE, or model=fedbayes.load("FILE")'
        )
    if _is_whole(model := plain.get("model")):
        arguments_of_fit = (model.get("provenance") or {}).get("arguments") or {}
        plain = {**inherited.of_fit(arguments_of_fit, plain.keys(), _declared(algorithm, function)), **plain}
    return {name: _plain(name, value) for name, value in plain.items()}


def _declared(algorithm: str, function: str) -> set[str]:
    """Return the names of a function's arguments; none where it is not installed, which is said elsewhere."""
    try:
        module = import_module(algorithm if algorithm.startswith("v6_") else f"v6_{algorithm}")
    except ImportError:
        return set()
    return {field.name for field in fields(signatures.arguments_class(getattr(module, function, None)))}


def _is_whole(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether this is a whole result and not only its model."""
    return isinstance(value, Mapping) and {"model", "privacy"} <= set(value)


def _plain(name: str, value: Any) -> Any:
    if name == "model" and _is_whole(value):
        value = value["model"]
    try:
        return json.loads(json.dumps(value, default=_listed))
    except (TypeError, ValueError, RecursionError):
        raise ArgumentError(
            f"argument '{name[:60]}' has no JSON form; give texts, numbers, lists and mappings"
        ) from None


def _listed(value: Any) -> Any:
    """Return an array of numpy or pandas, or a number of numpy, as Python has it."""
    if not hasattr(value, "tolist"):
        raise TypeError("no JSON form")
    return value.tolist()
