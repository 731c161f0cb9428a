"""A data dictionary from tables of this machine: proposed by looking at them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...bayes.dictionaries.entry import CATEGORY, IDENTIFIER, INTEGER, NUMBER
from ...bayes.formulae.formula import as_numbers, as_texts
from ...bayes.values.missing import USUAL

MOST_CATEGORIES = 50  # that a person can check
FEW_CODES = 10  # different whole numbers that may be categories
LIKE_AN_IDENTIFIER = ("id", "identifier", "patient", "person", "record", "pseudonym", "nr", "no", "number")
CODE_OF_GAP = re.compile(r"-?9{1,6}|-?8{2,6}|-[1-8]")
"""Numbers that codebooks write where a value is missing: 99, 999, -9, 88, -1."""
FEW_TEXTS = 3  # that mean missing in a column of numbers
FAR = 3.0  # interquartile ranges beyond the quartiles: John Tukey's "far out"
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
COMMA = re.compile(r"[-+]?\d*,\d+")
WITH_COMMAS = "numbers as text with a decimal comma: write them with a point, or in Excel as numbers"
PADDED = "codes with zeros in front, some of them twice: if they name no records, list them as categories"
FREE_TEXT = "free text: no method takes it; leave the column out"
CONSTANT = "the same in every record: no model learns from it"
DATES = "dates: no method takes them; leave the column out, or make days or years of it in the file"


def draft(tables: Sequence[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a dictionary for tables of one study, and a note for columns that somebody should look at.

    Parameters
    ----------
    tables : sequence of pandas.DataFrame
        One a station, as they are written; columns of one name are one column.
    """
    names = list(dict.fromkeys(str(name) for table in tables for name in table.columns))
    entries: dict[str, Any] = {}
    notes: dict[str, str] = {}
    for name in names:
        columns = [table[name] for table in tables if name in table.columns]
        parts = [as_texts(column) for column in columns]
        entries[name], note = _proposed(name, parts, any(_padded(column) for column in columns))
        note = note or (CONSTANT if len({text for part in parts for text in part if text}) == 1 else "")
        note = note or _differing(entries[name], parts)
        if note:
            notes[name] = note
    for name in _lacking(tables, entries):
        held = sum(name in table.columns for table in tables)
        notes[name] = "; ".join(filter(None, (f"in {held} of {len(tables)} files", notes.get(name))))
    return {"columns": entries}, notes


def _lacking(tables: Sequence[Any], entries: Mapping[str, Any]) -> list[str]:
    """Return the columns that some tables lack, if they are tables of different people: each has most of what any of them has."""
    names = [name for name, entry in entries.items() if entry["type"] != IDENTIFIER]
    held = [{name for name in names if name in table.columns} for table in tables]
    alike = all(2 * len(one) > len(names) for one in held)
    return [name for name in names if alike and not all(name in one for one in held)]


def _proposed(name: str, parts: Sequence[Any], padded: bool) -> tuple[dict[str, Any], str]:
    counted = Counter(text for part in parts for text in part.tolist() if text)
    values = as_numbers(np.array(list(counted), dtype=object))
    numeric = bool(counted) and not bool(np.isnan(values).any()) and not {"true", "false"} >= set(counted)
    if not counted:
        return {"type": CATEGORY}, "nothing in it: leave the column out, or say what it holds"
    if all(DATE.fullmatch(text) for text in counted):
        return {"type": CATEGORY}, DATES
    if not numeric and has_commas(counted):
        return {"type": CATEGORY}, WITH_COMMAS
    distinct = all(max(Counter(text for text in part.tolist() if text).values(), default=1) == 1 for part in parts)
    words = re.findall(r"\w+", name.lower().replace("_", " "))
    named = bool(words) and words[-1] in LIKE_AN_IDENTIFIER
    if distinct and (not numeric or named or padded) and len(counted) > FEW_CODES:
        return ({"type": CATEGORY}, FREE_TEXT) if not numeric and _is_prose(counted) else ({"type": IDENTIFIER}, "")
    if padded and len(counted) > MOST_CATEGORIES:
        return {"type": IDENTIFIER}, PADDED
    if numeric:
        return _numeric(values), _about_codes(values) or _about_gaps(counted)
    return _with_gaps(counted) or _categorical(counted)


def _with_gaps(counted: Mapping[str, int]) -> tuple[dict[str, Any], str] | None:
    """Return the entry of numbers beside which a few texts say that one is missing; None where it is no such column."""
    numbers = as_numbers(np.array([_with_point(text) for text in counted], dtype=object))
    texts = sorted(text for text, number in zip(counted, numbers, strict=True) if np.isnan(number))
    values = numbers[~np.isnan(numbers)]
    if not 0 < len(texts) <= FEW_TEXTS or len(values) <= FEW_CODES:
        return None
    listed = ", ".join(texts)
    return {**_numeric(values), "missing": texts}, f"numbers but for {listed}, taken as missing: correct this if not so"


def _is_prose(texts: Iterable[str]) -> bool:
    """Return whether distinct texts are several words each: what somebody wrote, not names of records."""
    listed = list(texts)
    return sum(" " in text.strip() for text in listed) > len(listed) / 2


def _differing(entry: Mapping[str, Any], parts: Sequence[Any]) -> str:
    """Return a note on categories that some files lack: other words for the same thing, perhaps."""
    held = [{entry.get("recode", {}).get(text, text) for text in part.tolist() if text} for part in parts]
    alone = sorted(set.union(*held) - set.intersection(*held)) if "categories" in entry and held else []
    return (
        f"not in every file: {', '.join(alone)}; if they are other words for the same, write a recode" if alone else ""
    )


def _numeric(values: Any) -> dict[str, Any]:
    whole = bool(np.all(values == np.floor(values)))
    if whole and len(values) <= 2:
        return {"type": CATEGORY, "categories": [int(value) for value in sorted(values)], "looked_at": True}
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 1.0, high + 1.0
    bounds = [int(low), int(high)] if whole else [low, high]
    return {"type": INTEGER if whole else NUMBER, "bounds": bounds, "looked_at": True}


def _about_codes(values: Any) -> str:
    whole = bool(np.all(values == np.floor(values)))
    if not whole or not 2 < len(values) <= FEW_CODES:
        return ""
    ordered = np.sort(values)
    codes = [f"{value:.0f}" for value in ordered]
    ends = [(codes[-1], ordered[-1] - ordered[-2] > 1), (codes[0], ordered[0] < 0 <= ordered[1])]
    gap = next((code for code, apart in ends if apart and CODE_OF_GAP.fullmatch(code)), None)
    besides = f"; if {gap} means missing, write missing: [{gap}]" if gap else ""
    return (
        f"few whole numbers ({', '.join(codes)}): if they are codes, write type category with its categories{besides}"
    )


def has_commas(texts: Iterable[str]) -> bool:
    """Return whether texts are numbers, some of them with a comma for the point."""
    distinct = list(texts)
    plain = as_numbers(np.array([_with_point(text) for text in distinct], dtype=object))
    return any(COMMA.fullmatch(text) for text in distinct) and not bool(np.isnan(plain).any())


def _with_point(text: str) -> str:
    return text.replace(",", ".") if COMMA.fullmatch(text) else text


def _padded(column: Any) -> bool:
    """Return whether whole numbers are written with zeros in front, in as many digits each: names of something, not amounts."""
    texts = {value for value in column.tolist() if isinstance(value, str) and value.strip()}
    digits = bool(texts) and all(text.isdigit() for text in texts) and len({len(text) for text in texts}) == 1
    return digits and any(text.startswith("0") and len(text) > 1 for text in texts)


def _about_gaps(counted: Mapping[str, int]) -> str:
    """Return a note on numbers that look like codes of a missing value: alone far out, or below zero where all others are not."""
    texts = sorted(text for text in counted if CODE_OF_GAP.fullmatch(text.removesuffix(".0")))
    rest = np.repeat(*_weights({text: count for text, count in counted.items() if text not in texts}))
    if not texts or len(rest) < FEW_CODES:
        return ""
    low, high = np.quantile(rest, (0.25, 0.75))
    reach = FAR * max(high - low, np.finfo(np.float64).tiny)
    values = as_numbers(np.array(texts, dtype=object))
    strange = [
        text
        for text, value in zip(texts, values, strict=True)
        if (value > high + reach and value > rest.max())
        or (value < low - reach and value < rest.min())
        or value < 0 <= rest.min()
    ]
    return (
        f"{', '.join(strange)} stands apart: if it means missing, write missing: [{', '.join(strange)}] and correct the bounds"
        if strange
        else ""
    )


def _weights(counted: Mapping[str, int]) -> tuple[Any, Any]:
    return as_numbers(np.array(list(counted), dtype=object)), np.array(list(counted.values()), dtype=np.int64)


def _categorical(counted: Mapping[str, int]) -> tuple[dict[str, Any], str]:
    if len(counted) > MOST_CATEGORIES:
        return {"type": CATEGORY}, f"more than {MOST_CATEGORIES} texts: list the categories, or leave the column out"
    spelled: dict[str, list[str]] = {}
    for text in sorted(counted, key=lambda text: (-counted[text], text.swapcase())):
        spelled.setdefault(text.casefold(), []).append(text)
    entry: dict[str, Any] = {"type": CATEGORY, "categories": sorted(forms[0] for forms in spelled.values())}
    recode = {other: forms[0] for forms in spelled.values() for other in forms[1:]}
    if recode:
        entry["recode"] = recode
    usual = sorted(text for text in counted if text in USUAL)
    note = f"{', '.join(usual)} taken as a category; if it means missing, move it to missing" if usual else ""
    return {**entry, "looked_at": True}, note
