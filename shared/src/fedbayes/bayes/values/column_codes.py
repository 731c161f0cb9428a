"""Columns of a table as codes and numbers: what a value means is decided once for each distinct one (`fedbayes.bayes.values.encoding`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...typing import Array, Booleans, Floats, Integers
from .encoding import Outside, SchemaError, blocks, canonical_text, composed, number_of, written_as

MISSING = -1
"""The code of a missing value."""
_UNKNOWN = -2  # of one that is there, but in none of the categories
_WHOLE = re.compile(r"-?\d+")
_LARGEST_TABLE = 1_000_000  # cells of a lookup table from whole numbers to codes
_LARGEST_WHOLE = (
    2**62
)  # of a category in such a table, so that no difference of a cell and a category reaches another one


class Distinct:
    """The distinct values of a column, shape (k,); None = missing."""

    def __init__(self, values: Sequence[object]) -> None:
        self.values = list(values)
        self._codes: tuple[Mapping[str, int], int, NDArray[np.int32]] | None = None

    @cached_property
    def texts(self) -> list[str | None]:
        """Their canonical texts."""
        return [canonical_text(value) for value in self.values]

    def codes_in(self, codes: Mapping[str, int], unknown: int) -> NDArray[np.int32]:
        """Return the code of each, -1 = missing, and of those in no category `unknown`; the last, behind them, is for missing values: shape (k + 1,).

        Parts of one column ask for the same codes one after the other, so the last answer is remembered.
        """
        if self._codes is None or self._codes[0] is not codes or self._codes[1] != unknown:
            table = [MISSING if text is None else codes.get(text, unknown) for text in self.texts]
            self._codes = codes, unknown, np.array([*table, MISSING], dtype=np.int32)
        return self._codes[2]


@dataclass(frozen=True)
class Coded:
    """A column as places among its distinct values.

    Attributes
    ----------
    places : ndarray
        Signed integers, shape (n,); -1 = missing.
    distinct : Distinct
        Not every one needs to be there.
    """

    places: NDArray[np.signedinteger[Any]]
    distinct: Distinct

    def looked_up(self, table: Array) -> Array:
        """Return what a table says of each row, shape (n,); its last entry, after those of the distinct values, is for missing ones."""
        entries = np.empty(len(self.places), dtype=table.dtype)
        for rows in blocks(len(entries)):
            np.take(table, self.places[rows], out=entries[rows], mode="wrap")
        return entries


def without(values: Any, missing: frozenset[str]) -> Any:
    """Return a column, shape (n,), in which what has one of these canonical texts is missing; the column itself if nothing has."""
    if _is_plain(values, "iuf"):
        lost = written_as(np.asarray(values), missing)
        if not lost.any():
            return values
        if values.dtype.kind == "f":
            return np.where(lost, np.nan, values)
    coded = _coded(values)
    if missing.isdisjoint(coded.distinct.texts):
        return values
    kept = zip(coded.distinct.values, coded.distinct.texts, strict=True)
    return Coded(coded.places, Distinct([None if text in missing else value for value, text in kept]))


def _is_plain(values: Any, kinds: str) -> bool:
    """Return whether a column is of one of these kinds of numpy, with no other way to be missing than NaN."""
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in kinds


def numbers(name: str, values: Any, bounds: tuple[float, float], outside: Outside) -> Floats:
    """Return a numeric column as float64 within the bounds, NaN = missing.

    Raises
    ------
    SchemaError
        Naming the column: text that is no number, unless ``outside="absorb"``; with ``outside="refuse"``, a value outside the bounds.
    """
    array = _as_float(name, values, refuses=outside != "absorb")
    if outside == "refuse" and bool(np.any((array < bounds[0]) | (array > bounds[1]))):
        raise SchemaError(
            f'column {name!r} holds a value outside its bounds: correct it, widen the bounds, or give outside="clip" where the function takes it'
        )
    return np.clip(array, *bounds)


def _as_float(name: str, values: Any, refuses: bool = True) -> Floats:
    """Return the numbers; what is none is refused, or NaN."""
    if getattr(getattr(values, "dtype", None), "kind", "O") in "Mmc":
        if not refuses:
            return np.full(len(values), np.nan)
        raise SchemaError(f"column {name!r} is no plain number: convert it, or give categories in the domain")
    if _is_plain(values, "iuf"):
        return np.asarray(values, dtype=np.float64)
    if isinstance(values, Coded) or getattr(getattr(values, "dtype", None), "kind", "O") == "O":
        # Small tables without pandas: its import takes long enough to tell that a cell is no number.
        coded = _coded(values)
        distinct = _present(coded)
        if refuses and any(number_of(value) is None for value in distinct):
            raise SchemaError(
                f"column {name!r} is numeric in the domain but holds text: correct the file, or give its categories in the domain"
            )
        return coded.looked_up(np.append(nearest_floats(distinct), np.nan))
    return floats_of(values)


def floats_of(values: Any) -> Floats:
    """Return the numbers that the cells of a column of any kind are, float64, shape (n,); NaN where they are missing or none.

    Texts are the nearest number, as in files: pandas reads some of those with all their digits as the number beside it, beyond a cut point.
    """
    if _is_plain(values, "iuf"):
        return np.asarray(values, dtype=np.float64)
    coded = _coded(values)
    return coded.looked_up(np.append(nearest_floats(coded.distinct.values), np.nan))


def nearest_floats(values: Iterable[object]) -> Floats:
    """Return the numbers that cells are, float64, shape (n,); NaN where they are missing or none."""
    return np.array([_nearest_float(value) for value in values], dtype=np.float64)


def _nearest_float(value: object) -> float:
    if isinstance(value, str) and "_" not in value:  # the texts that `number_of` takes, in a tenth of the time
        with suppress(ValueError):
            return float(value)
    number = number_of(value)
    return np.nan if number is None else number


def _present(coded: Coded) -> Array:
    """Return the distinct values, shape (k,), those that no row has as missing."""
    present = np.bincount(coded.places + 1, minlength=len(coded.distinct.values) + 1)[1:] > 0
    values = np.array([*coded.distinct.values, None], dtype=object)[:-1]
    values[~present] = None
    return values


def categories(name: str, values: Any, codes: Mapping[str, int], outside: Outside) -> NDArray[np.int32]:
    """Return the codes of a categorical column, int32, -1 = missing.

    Parameters
    ----------
    name : str
        Name of the column, for messages.
    values : array or pandas.Series
        Shape (n,).
    codes : mapping
        Code of every accepted canonical text.
    outside : {"clip", "refuse", "absorb"}
        Make unknown categories missing (``clip`` and ``absorb``), or raise.

    Raises
    ------
    SchemaError
        Naming the column: with ``outside="refuse"``, a value outside the categories.
    """
    category_codes = _category_codes(codes, values, _UNKNOWN if outside == "refuse" else MISSING)
    if outside == "refuse" and bool(np.any(category_codes == _UNKNOWN)):
        raise SchemaError(
            f"column {name!r} holds a value outside its categories: correct it, extend the domain, "
            'or give outside="clip" where the function takes it'
        )
    return category_codes


def _category_codes(codes: Mapping[str, int], values: Any, unknown: int = _UNKNOWN) -> NDArray[np.int32]:
    """Return the code of each value, -1 = missing; of one in no category, `unknown`."""
    whole = _whole_codes(codes, np.asarray(values), unknown) if _is_plain(values, "iuf") else None
    if whole is not None:
        return whole
    coded = _coded(values)
    return coded.looked_up(coded.distinct.codes_in(codes, unknown))


def _whole_codes(codes: Mapping[str, int], values: Array, unknown: int) -> NDArray[np.int32] | None:
    """Codes of numbers through a table over the range of the whole categories; None if too wide or too far from zero, or where a number is not whole."""
    whole = {int(text): code for text, code in codes.items() if _WHOLE.fullmatch(text)}
    low = min(whole, default=0)
    size = max(whole, default=0) - low + 1
    if size > _LARGEST_TABLE or max(map(abs, whole), default=0) >= _LARGEST_WHOLE or values.dtype == np.uint64:
        return None
    table = np.full(size + 1, unknown, dtype=np.int32)
    for value, code in whole.items():
        table[value - low] = code
    codes_of_rows = np.empty(len(values), dtype=np.int32)
    for rows in blocks(len(values)):
        part, missing = values[rows], np.isnan(values[rows])
        if missing.any():
            part = np.where(missing, 0.0, part)
        if part.dtype.kind == "f" and not np.all((part == np.floor(part)) & (np.abs(part) <= 2.0**52)):
            return None
        offsets = (part.astype(np.int64) - low).view(np.uint64)
        codes_of_rows[rows] = table[np.minimum(offsets, np.uint64(size)).view(np.int64)]
        codes_of_rows[rows][missing] = MISSING
    return codes_of_rows


def unknown_share(codes: Mapping[str, int], values: Any) -> float:
    """Return the share of the values that are there but in none of the categories, among those that are there; 0 of none."""
    category_codes = _category_codes(codes, values)
    there = int(np.count_nonzero(category_codes != MISSING))
    return int(np.count_nonzero(category_codes == _UNKNOWN)) / there if there else 0.0


def absent(values: Any) -> Booleans:
    """Return where a column, shape (n,), holds nothing: None, NaN, NaT, NA or empty text."""
    if _is_plain(values, "iub"):
        return np.zeros(len(values), dtype=np.bool_)
    if _is_plain(values, "f"):
        return np.asarray(np.isnan(np.asarray(values)))
    return np.asarray(_category_codes({}, values) == MISSING)


def identifier_codes(values: Any) -> Integers:
    """Return a number for every distinct identifier, int64, shape (n,); -1 where it is missing.

    Identifiers are compared as they are written, but for blanks around them: ``007`` and ``7`` are two where the column is text.
    """
    coded = _coded(values)
    number_of: dict[str, int] = {}
    texts = map(_identifier, coded.distinct.values)
    numbers = [MISSING if text is None else number_of.setdefault(text, len(number_of)) for text in texts]
    return coded.looked_up(np.array([*numbers, MISSING], dtype=np.int64))


def _identifier(value: object) -> str | None:
    text = canonical_text(value) if isinstance(value, (float, np.floating)) else composed(str(value)).strip()
    return text if text and value is not None and type(value).__name__ not in ("NAType", "NaTType") else None


def _coded(values: Any) -> Coded:
    """Return a column of any kind by its distinct values."""
    if isinstance(values, Coded):
        return values
    if _is_plain(values, "b"):
        return Coded(np.asarray(values).view(np.int8), Distinct([False, True]))
    if hasattr(getattr(values, "dtype", None), "categories"):
        categorical = getattr(values, "array", values)
        return Coded(np.asarray(categorical.codes), Distinct(list(categorical.categories)))
    if isinstance(values, np.ndarray) and all(value is None or isinstance(value, str) for value in values):
        # Plain text needs no pandas, whose import takes longer than this pass over a small table.
        code_of: dict[object, int] = {None: -1}
        positions = [code_of.setdefault(value, len(code_of) - 1) for value in values.tolist()]
        return Coded(np.array(positions, dtype=np.int64), Distinct(list(code_of)[1:]))
    import pandas

    places, distinct = distinct_values(pandas.Series(values))
    return Coded(places, Distinct(distinct))


def distinct_values(column: Any) -> tuple[Integers, list[Any]]:
    """Return the place of each value of a pandas.Series, shape (n,), -1 = missing, among its distinct ones, and these.

    Truth values are told from the numbers that equal them, which pandas does not: the first of them in the column would decide what the others are.
    """
    import pandas

    places, distinct = pandas.factorize(column, use_na_sentinel=True)
    values = list(distinct)
    if column.dtype != object:
        return places, values
    for code, value in enumerate(list(values)):
        if isinstance(value, bool | int | float | np.bool_ | np.number) and value in (0, 1):
            rows = np.flatnonzero(places == code)
            truths = np.array([isinstance(one, bool | np.bool_) for one in column.iloc[rows]], dtype=np.bool_)
            if truths.any() and not truths.all():
                places[rows[truths]] = len(values)
                values[code] = int(value)
                values.append(bool(value))
    return places, values
