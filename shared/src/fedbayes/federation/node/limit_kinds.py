"""What a limit of a node can be: how its administrator writes it, and as what the node tells it."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..tables.dialect import DECIMALS, SEPARATORS

NO_NAME = re.compile(r"""^["'{]|["'}]$|[;\n\t|]""")
"""In an entry of a list without brackets: it is another kind of list."""
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True)
class Kind:
    """A kind of limits.

    Attributes
    ----------
    written : str
        How a value is written, for administrators.
    read : callable
        Text without space around it -> value; `ValueError`, `SyntaxError` or `TypeError` where it says none.
    told : bool
        Whether values are told as they are, and not only whether there is one: names of columns, files and peers stay at the node.
    heard : callable
        What a node told -> value; `ValueError` where it is none.
    """

    written: str
    read: Callable[[str], Any]
    told: bool
    heard: Callable[[Any], Any]


def limit(kind: Kind, default: Any) -> Any:
    """Return a field of the policy."""
    return field(default=default, metadata={"kind": kind})


def _flag(text: str) -> bool:
    if text.lower() in TRUE + FALSE:
        return text.lower() in TRUE
    raise ValueError


def _amount(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError
    return number


def _count(text: str) -> int:
    number = _amount(text)
    if number != int(number):
        raise ValueError
    return int(number)


def _name(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _plain(text: str) -> Any:
    """Read JSON, or the Python text that a YAML list or mapping turns into on its way through the node."""
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _mapping(text: str) -> dict[str, str]:
    entries = _plain(text)
    if not isinstance(entries, dict) or not all(isinstance(entry, str) and entry for entry in entries.values()):
        raise ValueError
    return {str(key): entry.strip().lower() for key, entry in entries.items()}


def _list(text: str) -> tuple[str, ...]:
    """Read ``a,b``, or a list; an entry of the first that has marks of a list, or of other lists, would be no name that anybody meant."""
    if not text.startswith(("[", "(")):
        names = tuple(entry.strip() for entry in text.split(",") if entry.strip())
        if any(NO_NAME.search(name) for name in names):
            raise ValueError
        return names
    entries = _plain(text)
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, str | int | float) for entry in entries):
        raise ValueError
    return tuple(str(entry).strip() for entry in entries)


def _one_of(words: Collection[str]) -> Kind:
    """Return the kind of a word out of a few; which one is told to nobody."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError
        return text.lower()

    return Kind(f"one of {', '.join(words)}", read, False, _heard(bool))


def _heard(kind: type) -> Callable[[Any], Any]:
    """Return a reader of what is told as it is."""

    def heard(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError
        return value

    return heard


def _heard_amount(value: Any) -> float:
    if not isinstance(value, str) or not math.isfinite(number := float(value)):
        raise ValueError
    return number


FLAG = Kind('"true" or "false"', _flag, True, _heard(bool))
COUNT = Kind('a whole number, at least 0, such as "50"', _count, True, _heard(int))
AMOUNT = Kind(
    'a number with a point and no unit, such as "1.5"; days are an hour or more', _amount, True, _heard_amount
)
NAME = Kind("a name", _name, False, _heard(bool))
LIST = Kind('a list, such as "age,sex", or ["age", "sex"]', _list, False, _heard(bool))
SEPARATOR, DECIMAL = _one_of(SEPARATORS), _one_of(DECIMALS)
MAPPING = Kind("{organization: fingerprint}", _mapping, False, _heard(bool))
