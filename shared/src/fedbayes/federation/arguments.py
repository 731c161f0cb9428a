"""Checks of the arguments of a task, where they enter: every refusal names the argument and the remedy, never a data value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .errors import ArgumentError

LONGEST_NAME = 200  # characters
MOST_NAMES = 10_000  # entries of a list


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`.

    Raises
    ------
    ArgumentError
        If it is not; the message lists the choices.
    """
    if isinstance(value, str) and value in choices:
        return value
    raise ArgumentError(f"{name} must be one of: {', '.join(choices)}")


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is a boolean; `ArgumentError` otherwise."""
    if isinstance(value, bool):
        return value
    raise ArgumentError(f"{name} must be true or false")


def check_number(
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    integer: bool = False,
) -> Any:
    """Return `value` if it is a finite number in the range.

    Parameters
    ----------
    name : str
        The argument's name.
    value : object
        What was given. Booleans and text are refused.
    low, high : float, optional
        Inclusive limits.
    above, below : float, optional
        Exclusive limits.
    integer : bool
        Whether it must be whole; ``3.0`` is accepted as 3.

    Raises
    ------
    ArgumentError
        Naming the argument and the range.
    """
    kind = "a whole number" if integer else "a number"
    comma = ", with a point in the place of the comma" if isinstance(value, str) and "," in value else ""
    refusal = ArgumentError(f"{name} must be {kind}{limits_text(low, high, above, below)}{comma}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal
    if isinstance(value, int) and abs(value) >= 2**63:
        raise refusal
    number = float(value)
    if not math.isfinite(number) or (integer and number != math.floor(number)):
        raise refusal
    if not _within(number, low, high, above, below):
        raise refusal
    return int(value) if integer else number


def limits_text(
    low: float | None = None, high: float | None = None, above: float | None = None, below: float | None = None
) -> str:
    """Return limits in words, such as ``, greater than 0 and at most 1``; empty without any."""
    limits = [
        text
        for limit, text in (
            (low, f"at least {_limit(low)}"),
            (above, f"greater than {_limit(above)}"),
            (high, f"at most {_limit(high)}"),
            (below, f"less than {_limit(below)}"),
        )
        if limit is not None
    ]
    return f", {' and '.join(limits)}" if limits else ""


def _limit(value: float | None) -> str:
    """Return a limit as people write it: no ``.0``, and millions with commas."""
    if value is None or not float(value).is_integer():
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.0f}"


def _within(number: float, low: float | None, high: float | None, above: float | None, below: float | None) -> bool:
    return (
        (low is None or number >= low)
        and (high is None or number <= high)
        and (above is None or number > above)
        and (below is None or number < below)
    )


def check_name(name: str, value: Any) -> str:
    """Return `value` if it is a non-empty text of at most 200 characters without control characters.

    Raises
    ------
    ArgumentError
        If it is not.
    """
    if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
        return value
    raise ArgumentError(f"{name} must be a name: a printable text of 1 to {LONGEST_NAME} characters")


def check_names(name: str, value: Any, least: int = 1) -> list[str]:
    """Return `value` as a list of distinct names.

    Raises
    ------
    ArgumentError
        If it is no list, too short, or an entry is no name or comes twice.
    """
    if not isinstance(value, list | tuple) or not least <= len(value) <= MOST_NAMES:
        raise ArgumentError(f'{name} must be a list of at least {least} name(s), such as ["age", "sex"]')
    names = [check_name(f"{name}[{position}]", entry) for position, entry in enumerate(value)]
    if len(set(names)) != len(names):
        raise ArgumentError(f"{name} must not name anything twice")
    return names


def check_mapping(name: str, value: Any) -> dict[str, Any]:
    """Return `value` if it is a JSON object with names as keys.

    Raises
    ------
    ArgumentError
        If it is not.
    """
    if not isinstance(value, dict) or len(value) > MOST_NAMES:
        raise ArgumentError(f"{name} must be an object with names as keys")
    for key in value:
        check_name(f"a key of {name}", key)
    return value


def check_model(name: str, value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, as the `model` of a result is; its content is checked where it is read.

    Raises
    ------
    ArgumentError
        If it is not.
    """
    if isinstance(value, dict):
        return value
    raise ArgumentError(f"{name} must be the `model` object of a result")


def check_organization(name: str, value: Any) -> int | str:
    """Return `value` if it is an id or a name; whether there is such an organization is checked against the collaboration.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise ArgumentError(f"{name} must be an organization id or name")


def check_organizations(name: str, value: Any) -> list[int | str]:
    """Return `value` if it is a list; its entries are checked against the collaboration, which names those that it has.

    Raises
    ------
    ArgumentError
        If it is no list, or empty.
    """
    if isinstance(value, list | tuple) and value:
        return list(value)
    raise ArgumentError(f"{name} must be a list of organization ids or names")
