"""How a task reads a column, as text: stations compare the readings of several tasks by it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...bayes.values.encoding import canonical_text, number_of
from ...bayes.values.missing import USUAL, Rule
from ...bayes.values.written import pointed

NUMBERS = ["numbers"]
"""In words: what is no number, when all is recoded, is missing."""
OPEN = ["open"]
"""In words: the station's schema file alone has the known values, so that the column's own cells decide whether it is one of numbers."""

COMMA = "comma"
"""In words, beside one of the following: a comma in a number is a decimal comma."""
EVERYWHERE, AS_KNOWN, IN_NUMBERS = "everywhere", "as known", "in numbers"
"""Where the task takes the column for numbers; where it says what is known, as that is written; where all of the column is numbers."""


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
    texts: Sequence[str | None], missing: Collection[str], listed: Collection[str], where: str
) -> list[str | None]:
    """Return a column's texts, of a file with decimal commas, with points where it is read so (`Rule.pointed`).

    Parameters
    ----------
    texts : sequence of str or None
        Canonical, of the whole column.
    missing, listed : collection of str
        What is declared to be missing, and what is known.
    where : str
        As words say it (`COMMA`).
    """
    points = [text if text is None or "," not in text else canonical_text(pointed(text)) for text in texts]
    if where == AS_KNOWN:
        understood = {*listed, *missing}
        return [
            new if new in understood and old not in understood else old for new, old in zip(points, texts, strict=True)
        ]
    rest = {text for text in points if text is not None} - (set(missing) - set(listed)) - (USUAL - set(listed))
    return points if where == EVERYWHERE or _are_numbers(rest) else list(texts)


def _are_numbers(texts: Collection[str]) -> bool:
    return bool(texts) and all(text not in ("true", "false") and number_of(text) is not None for text in texts)


def plain_of(words: str) -> str:
    """Return the reading by which every value is what it is, in a file that is written as in `words`."""
    return words_of((), (), {}, *([[COMMA, IN_NUMBERS]] if commas_of(words) else []))


def commas_of(words: str) -> str | None:
    """Return where a reading takes commas for decimal ones, None where nowhere."""
    return next((str(one[1]) for one in json.loads(words)[3:] if one[0] == COMMA), None)


def comma_marks(rule: Rule) -> list[list[str]]:
    """Return what words say of decimal commas in a column that is read by a rule."""
    if not rule.points:
        return []
    return [[COMMA, EVERYWHERE if rule.numeric else AS_KNOWN if rule.closed else IN_NUMBERS]]
