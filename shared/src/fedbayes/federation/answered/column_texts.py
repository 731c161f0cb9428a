"""Texts of the record of what stations entered that are about a column: JSON lists of its name, how it is read, and as which part of a question."""

from __future__ import annotations

import json

from ..tables.words import plain_of
from .readings import SHOWN, column_of, is_cut


def names_of(text: str) -> set[str]:
    """Return the names of the columns that a text is about."""
    about = json.loads(text)
    return set(about) if isinstance(about, dict) else {column_of(about[0])}


def whose(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the column that a text is about, as it is named there, and as which part of a question."""
    name, _, *part = json.loads(text)
    return name, tuple(part)


def apart(text: str) -> list[str]:
    """Return a column as it is read, and as it is written.

    A task that takes many values for others makes two columns that say nearly the same differ in many rows, but sums of their cells in few.
    """
    name, words, *part = json.loads(text)
    return [json.dumps([name, one, *part]) for one in ([words] if is_cut(words) else [words, plain_of(words)])]


def is_cut_by_task(text: str) -> bool:
    """Return whether a text is of a column in bins that a task chose."""
    name, words, *_ = json.loads(text)
    return is_cut(words) and name.startswith(SHOWN)
