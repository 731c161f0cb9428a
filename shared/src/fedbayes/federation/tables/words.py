"""How a task reads a column, as text: stations compare the readings of several tasks by it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...bayes.values.encoding import canonical_text, number_of
from ...bayes.values.missing import USUAL
from ...bayes.values.written import pointed

NUMBERS = ["numbers"]
"""In words: what is no number, when all is recoded, is missing."""
OPEN = ["open"]
"""In words: the station's schema file alone has the known values, so that the column's own cells decide whether it is one of numbers."""

COMMA = ["comma"]
"""In words: a comma in a number is a decimal comma, as far as the task lets the column be numbers."""


def words_of(
    missing: Collection[str], listed: Collection[str], recode: Mapping[str, Any], *marks: Sequence[str]
) -> str:
    """Return a reading as text: missing values, known values (none: all are known) and recodes, in canonical texts, and marks (`NUMBERS`)."""
    recoded = {key: canonical_text(value) for key, value in sorted(recode.items())}
    content = [sorted(set(missing) - set(listed)), sorted(listed), recoded, *marks]
    return json.dumps(content, separators=(",", ":"))


def usual_gone(
    texts: Collection[str | None],
    missing: Collection[str | None],
    listed: Collection[str | None],
    recoded: Collection[str | None],
) -> frozenset[str | None]:
    """Return which of a column's texts are missing because what else it holds, or is known to hold, are numbers (`Rule.drops_usual`).

    Parameters
    ----------
    texts : collection of str or None
        Of the whole column.
    missing, listed, recoded : collection of str
        What is declared to be missing, what is known, and what is recoded, which is a value too.
    """
    usual = USUAL.intersection(texts).difference(missing, listed, recoded)
    if not usual:
        return frozenset()
    rest = listed or {text for text in texts if text is not None} - usual - set(missing)
    return frozenset(usual) if _are_numbers({text for text in rest if text is not None}) else frozenset()


def pointed_texts(
    texts: Sequence[str | None], missing: Collection[str], listed: Collection[str], closed: bool
) -> list[str | None]:
    """Return a column's texts, of a file with decimal commas, with points where it is read so (`Rule.pointed`).

    Parameters
    ----------
    texts : sequence of str or None
        Canonical, of the whole column.
    missing, listed : collection of str
        What is declared to be missing, and what is known.
    closed : bool
        Whether the task says what is known: a cell is then what it is among that. Else all are numbers, or none is.
    """
    points = [text if text is None or "," not in text else canonical_text(pointed(text)) for text in texts]
    if closed:
        known = {*listed, *missing}
        return [new if new in known and old not in known else old for new, old in zip(points, texts, strict=True)]
    rest = {text for text in points if text is not None} - (set(missing) - set(listed)) - (USUAL - set(listed))
    return points if _are_numbers(rest) else list(texts)


def _are_numbers(texts: Collection[str]) -> bool:
    return bool(texts) and all(text not in ("true", "false") and number_of(text) is not None for text in texts)


def plain_of(words: str) -> str:
    """Return the reading by which every value is what it is, in a file that is written as in `words`."""
    return words_of((), (), {}, *([COMMA] if COMMA in json.loads(words) else []))
