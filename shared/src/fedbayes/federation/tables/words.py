"""How a task reads a column, as text: stations compare the readings of several tasks by it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...bayes.values.encoding import canonical_text, number_of
from ...bayes.values.missing import USUAL

NUMBERS = ["numbers"]
"""In words: what is no number, when all is recoded, is missing."""
OPEN = ["open"]
"""In words: the station's schema file alone has the known values, so that the column's own cells decide whether it is one of numbers."""


def words_of(
    missing: Collection[str], listed: Collection[str], recode: Mapping[str, Any], *marks: Sequence[str]
) -> str:
    """Return a reading as text: missing values, known values (none: all are known) and recodes, in canonical texts, and `NUMBERS` or `OPEN`."""
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
    numbers = rest and all(text not in ("true", "false") and number_of(text) is not None for text in rest)
    return frozenset(usual) if numbers else frozenset()


PLAIN = words_of((), (), {})
"""The reading by which every value is what it is."""
