"""Tables of this machine held against a data dictionary: what does not fit, and what helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bayes.dictionaries.dictionary import Dictionary
from ...bayes.dictionaries.entry import CATEGORY, IDENTIFIER, INTEGER, Entry
from ...bayes.dictionaries.recoding import applied
from ...bayes.formulae.formula import as_numbers, each
from ...bayes.values.encoding import canonical_text
from ...bayes.values.names import nearest
from .drafting import CODE_OF_GAP, WITH_COMMAS, has_commas

MOST_TOLD, LONGEST_TOLD = 3, 30  # texts that a remedy names, and characters of each
TWICE = "some identifiers are there twice: records cannot be linked by them; keep one row of each"
LEFT_OUT = ": leave it or the file out of the task"


@dataclass(frozen=True)
class Finding:
    """What of a column does not fit its entry.

    Attributes
    ----------
    column : str
    rows, missing, unknown, outside : int
        Cells in all, those that are missing, none of the categories or no number, and outside the bounds.
    remedy : str
        Empty if everything fits.
    """

    column: str
    rows: int
    missing: int
    unknown: int
    outside: int
    remedy: str


def held_against(dictionary: Dictionary, table: Any) -> list[Finding]:
    """Return what of every column of the dictionary does not fit it in a table that was read by it.

    Parameters
    ----------
    dictionary : Dictionary
        Of the study.
    table : pandas.DataFrame
        As `tables.read_table` gives it with ``dictionary.reading({})``.
    """
    present = set(map(str, table.columns))
    subset = dictionary.subset
    if subset is not None and set(subset.columns) <= present:
        _, kept = applied({name: table[name] for name in subset.columns}, [], dictionary, len(table))
        table = table[kept].reset_index(drop=True)
    findings = []
    for name, entry in dictionary.columns.items():
        absent = [source for source in entry.sources if source not in present]
        if absent:
            near = nearest(absent[0], sorted(present - set(dictionary.columns)))
            remedy = f"column '{absent[0]}' is not in the file{near or LEFT_OUT}"
            findings.append(Finding(name, len(table), len(table), 0, 0, remedy))
        elif entry.is_derived and name in present:
            findings.append(Finding(name, len(table), 0, 0, 0, "derived, but also in the file; rename one"))
        else:
            findings.append(_held(entry, table, Dictionary(dictionary.columns, dictionary.missing)))
    wanted = () if subset is None else subset.columns
    return findings + [
        Finding(name, len(table), len(table), 0, 0, "of the subset, but not in the file")
        for name in wanted
        if name not in present
    ]


def _held(entry: Entry, table: Any, dictionary: Dictionary) -> Finding:
    made, _ = applied({name: table[name] for name in entry.sources}, [entry.name], dictionary, len(table))
    texts = [canonical_text(value) for value in each(made[entry.name], lambda value: value)]
    missing = sum(text is None for text in texts)
    if entry.type == IDENTIFIER:
        twice = len(texts) - missing - len({text for text in texts if text is not None})
        return Finding(entry.name, len(texts), missing, 0, 0, TWICE if twice else "")
    if entry.type == CATEGORY:
        categories = {canonical_text(category) for category in entry.categories or texts}
        strangers = Counter(text for text in texts if text is not None and text not in categories)
        remedy = f"{_most(strangers)}: add categories, a recode or missing" if strangers else ""
        return Finding(entry.name, len(texts), missing, strangers.total(), 0, remedy)
    numbers = as_numbers(made[entry.name])
    unknown = int(np.isnan(numbers).sum()) - missing
    low, high = entry.bounds or (-np.inf, np.inf)
    outside = int(np.sum((numbers < low) | (numbers > high)))
    fractions = entry.type == INTEGER and bool(np.any(numbers[~np.isnan(numbers)] % 1))
    strange = Counter(text for text, value in zip(texts, numbers, strict=True) if text is not None and np.isnan(value))
    beyond = Counter(
        text for text, value in zip(texts, numbers, strict=True) if text is not None and (value < low or value > high)
    )
    codes = all(CODE_OF_GAP.fullmatch(text.removesuffix(".0")) for text in beyond)
    remedy = (
        WITH_COMMAS
        if strange and has_commas(strange)
        else f"{_most(strange)}: declare as missing, or recode"
        if unknown
        else f"{_most(beyond)}: declare as missing if that is meant, else widen the bounds"
        if outside and codes
        else "widen the bounds, or correct the unit"
        if outside
        else ""
    )
    return Finding(
        entry.name,
        len(texts),
        missing,
        unknown,
        outside,
        remedy or ("not all whole; make it a number" if fractions else ""),
    )


def _most(counted: Counter[str]) -> str:
    """Return the most frequent texts as Python writes them, so that none acts on a terminal."""
    named = ", ".join(repr(text[:LONGEST_TOLD]) for text, _ in counted.most_common(MOST_TOLD))
    return f"{named} and others" if len(counted) > MOST_TOLD else named
