"""The one way in which table values become codes and numbers.

Values are compared through their **canonical text** (:func:`canonical_text`), because the same category
reaches stations as ``1``, ``1.0``, ``"1"``, ``"1.0"``, ``True`` or ``" TRUE"``, as the file was written:

- whole numbers, however written (``1.0``, ``"1.0"``, ``"01"``, ``"1e0"``), become their integer: ``"1"``;
- other numbers become the shortest text that reads back as the same float: ``"0.50"`` -> ``"0.5"``;
- truth values become ``"true"`` and ``"false"`` in whatever case they are written; where the domain knows
  ``1`` and ``0`` but no truth values (or the reverse), they stand for one another;
- ``inf``, ``Infinity`` and the like are ``"inf"`` and ``"-inf"`` in whatever case they are written;
- dates, and times at midnight, are the date (``2020-01-31``), other times are ``2020-01-31 12:30:00``;
- other text is stripped of surrounding blanks and otherwise kept, with its case; letters are composed (`composed`);
- ``None``, NaN, NaT, NA and empty text are missing.

Two categories of one column with the same canonical text are refused.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Outside = Literal["clip", "refuse", "absorb"]
T = TypeVar("T")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_UNBOUNDED = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[ T]00:00:00")
_LONGEST_NUMBER = 40  # characters; longer texts are no number
_IN_ANY_CASE = {"true": "true", "false": "false", "-inf": "-inf", "-infinity": "-inf"}
_IN_ANY_CASE |= dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "inf")
_ALIASES = (("true", "1"), ("false", "0"), ("1", "true"), ("0", "false"))
"""Canonical texts, and what stands for them where it is no category itself."""
BLOCK = 2**14
"""Rows of a block: eight bytes each are less than what memory is asked of the system for, so that it is used again."""


class SchemaError(ValueError):
    """A malformed domain, or a column that does not fit it; the text names the column, never a value."""


def composed(text: str) -> str:
    """Return a text with composed letters (NFC): an e with an accent is one, whether it was written as one character or as two."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def composed_all(value: Any) -> Any:
    """Return plain JSON with composed letters in all texts and names.

    Raises
    ------
    SchemaError
        Naming two names of an object that are one then.
    """
    if isinstance(value, str):
        return composed(value)
    if isinstance(value, list | tuple):
        return [composed_all(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    entries = {composed(name) if isinstance(name, str) else name: composed_all(one) for name, one in value.items()}
    if len(entries) < len(value):
        names = [composed(name) for name in value if isinstance(name, str)]
        repeated = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"'{repeated[:60]}' is there twice, with accents written in two ways; leave one out")
    return entries


def canonical_text(value: object) -> str | None:
    """Return the canonical text of one value, or None where it is missing (rules: see the module)."""
    if type(value) is str and value.isdigit() and value.isascii() and value[0] != "0":
        return value  # most identifiers and codes
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return _float_text(float(value))
    if isinstance(value, np.datetime64):
        return canonical_text(value.astype("datetime64[us]").item())
    text = composed(str(value)).strip()
    if text.endswith("00:00:00") and _MIDNIGHT.fullmatch(text):
        return text[:10]
    if text.casefold() in _IN_ANY_CASE:
        return _IN_ANY_CASE[text.casefold()]
    if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return _float_text(float(text)) if re.search(r"[.eE]", text) else str(int(text))
    return text or None


def number_written(text: str) -> float | None:
    """Return the number that a canonical text writes, or None where it is a text, such as ``nan``, ``inf`` and ``1_000``."""
    return float(text) if _NUMBER.fullmatch(text) else None


def parsed_numbers(series: Any) -> Any:
    """Return a pandas series as numbers, texts that write some too; as float64 where 64 bits do not hold all whole ones.

    Raises
    ------
    ValueError, TypeError
        Where a cell is no number.
    """
    import pandas

    try:
        return pandas.to_numeric(series)
    except ValueError:  # of a text, or of digits that no integer of 64 bits holds
        written = np.empty(len(series), dtype=np.float64)
        for row, value in enumerate(series):
            text = canonical_text(value)
            number = np.nan if text is None else number_written(text)
            if number is None:
                raise
            written[row] = number
    return pandas.Series(written, series.index)


def categories_meant(categories: Collection[str]) -> dict[str, str]:
    """Return canonical text -> the one category that it means, with truth values for 1 and 0 and the reverse; what two categories share is not there."""
    alike: dict[str, list[str]] = {}
    for category in dict.fromkeys(categories):
        text = canonical_text(category)
        if text is not None:
            alike.setdefault(text, []).append(category)
    return {text: same[0] for text, same in with_aliases(alike).items() if len(same) == 1}


def with_aliases(meanings: dict[str, T]) -> dict[str, T]:
    """Return what canonical texts mean, truth values also by 1 and 0 and the reverse, where these mean nothing themselves."""
    return meanings | {alias: meanings[text] for text, alias in _ALIASES if text in meanings and alias not in meanings}


def meant_texts(value: object) -> frozenset[str]:
    """Return the canonical texts of the cells that equal a value of a condition: true and false mean 1 and 0 too, and the reverse; a text means itself."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return frozenset(("1", "true") if value else ("0", "false"))
    text = canonical_text(value)
    return frozenset() if text is None else frozenset((text,))


def identifier_text(value: object) -> str:
    """Return an identifier as it is written, to be told to people (``00257``, not 257); empty where it is missing."""
    return value.strip() if isinstance(value, str) else canonical_text(value) or ""


def check_missing(name: str, declared: object) -> tuple[Any, ...]:
    """Return what a domain declares to be missing in a column: texts and numbers.

    Raises
    ------
    SchemaError
        Naming the column.
    """
    if not isinstance(declared, (list, tuple)) or any(
        isinstance(value, bool) or not isinstance(value, (str, int, float)) for value in declared
    ):
        where = "" if name == "missing" else f"column {name!r}: "
        raise SchemaError(f'{where}missing must be a list of texts or numbers, like ["", "NA"]')
    return tuple(declared)


def written_as(values: NDArray[Any], texts: Collection[str]) -> NDArray[np.bool_]:
    """Return where numbers, an array of shape (n,), have one of these canonical texts."""
    matches = np.zeros(len(values), dtype=np.bool_)
    for text in texts:
        number = _number_written(text, values.dtype)
        if number is not None:
            matches |= values == number
    return matches


def _number_written(text: str, dtype: np.dtype[Any]) -> Any:
    """Return the number of this type with this canonical text, or None."""
    try:
        number = dtype.type(text)
    except (ValueError, OverflowError):
        return None
    return number if canonical_text(number) == text else None


def is_number(value: object) -> bool:
    """Return whether a value is a finite number, no truth value, and one that a float can hold: JSON has larger whole numbers."""
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(abs(value) <= sys.float_info.max)
    )


def number_of(value: object) -> float | None:
    """Return the number that a cell is, NaN where it is missing, 1 and 0 for truth values; None if it is no number.

    A text is rounded to the nearest float64, as CSV files are read, so that what else is in its column changes nothing.
    """
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text) or _UNBOUNDED.fullmatch(text):
            return float(text)
        truths = {"true": 1.0, "false": 0.0, "": math.nan}
        return truths.get(text.casefold())
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    plain = isinstance(value, int | float | Decimal | np.bool_ | np.integer | np.floating)
    try:
        return float(value) if plain else None  # type: ignore[arg-type]
    except OverflowError:
        return math.copysign(math.inf, value)  # type: ignore[arg-type]


def _float_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    if math.isfinite(value) and value == math.floor(value) and abs(value) < 2.0**53:
        return str(int(value))
    return repr(value)


@lru_cache(maxsize=128)
def equal_widths(low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Return the edges of bins of equal width, float64, shape (bins + 1,), read-only, the inner ones as people write them: -1.6, not -1.5999999999999996."""
    edges = np.linspace(low, high, bins + 1)
    inner = [0.0 if abs(edge) < 1e-14 * (high - low) else float(f"{edge:.15g}") for edge in edges[1:-1].tolist()]
    rounded = np.array([edges[0], *inner, edges[-1]])
    chosen = rounded if bool(np.all(np.diff(rounded) > 0)) else edges
    chosen.flags.writeable = False
    return chosen


def bin_codes(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the bin of each value (float64 within the edges, NaN = missing): int32, -1 = missing."""
    count = len(edges) - 1
    width = (edges[-1] - edges[0]) / count
    exact = max(abs(edges[0]), abs(edges[-1])) * 2.0**-52 < 1e-7 * width
    even = bool(exact and np.all(np.abs(np.diff(edges) - width) <= 1e-9 * width))
    codes = np.empty(len(values), dtype=np.int32)
    for rows in blocks(len(values)):
        part = values[rows]
        bins = _even_bins(part, edges, width) if even else np.searchsorted(edges, part, side="right") - 1
        np.clip(bins, 0, count - 1, out=codes[rows])
        codes[rows][np.isnan(part)] = -1
    return codes


def _even_bins(values: NDArray[np.float64], edges: NDArray[np.float64], width: float) -> NDArray[np.int64]:
    """Return the bin of each value where all are as wide: a division tells the nearest edge, and the value on which side of it it is."""
    position = (values - edges[0]) / width
    np.fmax(position, 0.0, out=position)
    nearest_edge = np.rint(np.fmin(position, len(edges) - 1, out=position), out=position).astype(np.int64)
    return np.asarray(nearest_edge - (values < edges[nearest_edge]))


def blocks(rows: int, least: int = BLOCK) -> Iterator[slice]:
    """Yield the rows of a column in blocks of at least so many, of which what is made on the way fits in the processor's cache."""
    size = max(BLOCK, least)
    return (slice(start, start + size) for start in range(0, rows, size))
