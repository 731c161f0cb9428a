"""Types of arguments: each with its check, and its description for people and for the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dp.promise import LEAST_EPSILON
from . import arguments as checks
from .errors import ArgumentError

Check = Callable[[str, Any], Any]
PUBLISHED = "published"
"""Choice that reproduces a paper's procedure, spelled alike in every method; the result then says what is not private or not recommended."""
ONCE_PUBLISHED = {"as_published": PUBLISHED, "local_as_published": PUBLISHED}
"""Its earlier spellings, which are refused with today's."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an argument: its check, and its description for people and for the store.

    Attributes
    ----------
    store : str
        Its type in the algorithm store: column, float, json, ...
    allowed : str
        Allowed values in words.
    check : callable
        ``check(name, value)`` returns the value as the function takes it, or raises ArgumentError.
    choices : tuple of str
        All allowed values, if the argument is a choice.
    limits : mapping of str to float
        Of a number: ``low`` and ``high`` (inclusive), ``above`` and ``below`` (exclusive).
    """

    store: str
    allowed: str
    check: Check
    choices: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)


def number(**limits: float) -> Kind:
    """Return a finite number within limits (`low`, `high`, `above`, `below`)."""
    return _number("float", False, limits)


def whole(low: int, high: int) -> Kind:
    """Return a whole number of a range, both ends included."""
    return _number("integer", True, {"low": low, "high": high})


def _number(store: str, integer: bool, limits: dict[str, Any]) -> Kind:
    words = f"{'a whole' if integer else 'a'} number{checks.limits_text(**limits)}"
    return Kind(
        store, words, lambda name, value: checks.check_number(name, value, integer=integer, **limits), (), limits
    )


def choice(choices: Sequence[str], formerly: Mapping[str, str] | None = None) -> Kind:
    """Return a choice among words; `formerly` maps earlier spellings to today's, which the refusal names."""
    old = dict(formerly or {})

    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in old:
            raise ArgumentError(f"{name}='{value}' is now called '{old[value]}'; give {name}='{old[value]}'")
        return checks.check_choice(name, value, choices)

    return Kind("string", f"one of {', '.join(choices)}", check, tuple(choices))


def json_value(allowed: str, check: Check) -> Kind:
    """Return JSON of any form, checked by `check`."""
    return Kind("json", allowed, check)


def columns(least: int = 1) -> Kind:
    """Return a list of columns, each once."""
    return Kind(
        "column_list",
        f"a list of {least} or more columns",
        lambda name, value: checks.check_names(name, value, least=least),
    )


COLUMN = Kind("column", "a column", checks.check_name)
COLUMNS = columns()
NAME = Kind("string", "a name", checks.check_name)
EPSILON = number(low=LEAST_EPSILON)
FLAG = Kind("boolean", "true or false", checks.check_flag)
MODEL = Kind("json", "the `model` of a result", checks.check_model)
ORGANIZATION = Kind("organization", "an organization, by id or name", checks.check_organization)
ORGANIZATIONS = Kind("organization_list", "a list of organizations, by id or name", checks.check_organizations)
