"""The one way in which table values become codes and numbers.

Values are compared through their **canonical text** (:func:`canonical_text`), because the same category
reaches stations as ``1``, ``1.0``, ``"1"``, ``"1.0"``, ``True`` or ``" TRUE"``, as the file was written:

- whole numbers, however written (``1.0``, ``"1.0"``, ``"01"``, ``"1e0"``), become their integer: ``"1"``;
- other numbers become the shortest text that reads back as the same float: ``"0.50"`` -> ``"0.5"``;
- truth values become ``"true"`` and ``"false"`` in whatever case they are written; where the domain knows
  ``1`` and ``0`` but no truth values (or the reverse), they stand for one another;
- dates, and times at midnight, are the date (``2020-01-31``), other times are ``2020-01-31 12:30:00``;
- other text is stripped of surrounding blanks and otherwise kept, with its case;
- ``None``, NaN, NaT, NA and empty text are missing.

Two categories of one column with the same canonical text are refused.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Outside = Literal["clip", "refuse", "absorb"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d{1,18}")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[ T]00:00:00")
_LONGEST_NUMBER = 40  # characters; longer texts are no number
_LARGEST_TABLE = 1_000_000  # cells of a lookup table from whole numbers to codes


class SchemaError(ValueError):
    """A malformed domain, or a column that does not fit it; the text names the column, never a value."""


def nearest(unknown: str, known: Sequence[str]) -> str:
    """Return the question whether the known name nearest to an unknown one was meant, to put behind it; empty where none is near."""
    import difflib

    near = difflib.get_close_matches(unknown[:60], known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def canonical_text(value: object) -> str | None:
    """Return the canonical text of one value, or None where it is missing (rules: see the module)."""
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
    text = str(value).strip()
    if text.endswith("00:00:00") and _MIDNIGHT.fullmatch(text):
        return text[:10]
    if text.casefold() in ("true", "false"):
        return text.casefold()
    if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return _float_text(float(text)) if re.search(r"[.eE]", text) else str(int(text))
    return text or None


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
        raise SchemaError(f'column {name!r}: missing must be a list of texts or numbers, like ["", "NA"]')
    return tuple(declared)


def without(values: Any, missing: frozenset[str]) -> NDArray[Any]:
    """Return a column, shape (n,), in which what has one of these canonical texts is None."""
    positions, distinct = _factorize(values)
    kept = [None if canonical_text(value) in missing else value for value in distinct]
    table = np.empty(len(kept) + 1, dtype=object)
    table[: len(kept)] = kept
    return np.asarray(table[positions])


def is_number(value: object) -> bool:
    """Return whether a value is a finite number, no truth value, and one that a float can hold: JSON has larger whole numbers."""
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(abs(value) <= sys.float_info.max)
    )


def _float_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    if math.isfinite(value) and value == math.floor(value) and abs(value) < 2.0**53:
        return str(int(value))
    return repr(value)


def equal_widths(low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Return the edges of bins of equal width, float64, shape (bins + 1,), the inner ones as people write them: -1.6, not -1.5999999999999996."""
    edges = np.linspace(low, high, bins + 1)
    inner = [0.0 if abs(edge) < 1e-14 * (high - low) else float(f"{edge:.15g}") for edge in edges[1:-1].tolist()]
    rounded = np.array([edges[0], *inner, edges[-1]])
    return rounded if bool(np.all(np.diff(rounded) > 0)) else edges


def bin_codes(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the bin of each value (float64 within the edges, NaN = missing): int32, -1 = missing."""
    count = len(edges) - 1
    width = (edges[-1] - edges[0]) / count
    missing = np.isnan(values)
    exact = max(abs(edges[0]), abs(edges[-1])) * 2.0**-52 < 1e-7 * width
    if exact and np.allclose(np.diff(edges), width, rtol=1e-9, atol=0.0):
        offset = (np.where(missing, edges[0], values) - edges[0]) / width
        position = np.floor(offset).astype(np.int32)
        # A division may end on the wrong side of an edge; it is not wrong by more than a millionth of a bin.
        near = np.flatnonzero(np.abs(offset - np.rint(offset)) < 1e-6)
        position[near] = np.searchsorted(edges, values[near], side="right") - 1
    else:
        position = (np.searchsorted(edges, values, side="right") - 1).astype(np.int32)
    codes = np.clip(position, 0, count - 1)
    codes[missing] = -1
    return np.asarray(codes)


def numbers(name: str, values: Any, bounds: tuple[float, float], outside: Outside) -> NDArray[np.float64]:
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


def _as_float(name: str, values: Any, refuses: bool = True) -> NDArray[np.float64]:
    """Return the numbers; what is none is refused, or NaN."""
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "O")
    if kind in "Mmc":
        if not refuses:
            return np.full(len(values), np.nan)
        raise SchemaError(f"column {name!r} is no plain number: convert it, or give categories in the domain")
    if kind in "iuf" and not hasattr(dtype, "na_value"):
        return np.asarray(values, dtype=np.float64)
    import pandas

    try:
        series = pandas.Series(values)
        parsed = pandas.Series(pandas.to_numeric(series, errors="raise" if refuses else "coerce"))
        return np.asarray(parsed.to_numpy(dtype=np.float64, na_value=np.nan))
    except (ValueError, TypeError):
        problem = SchemaError(
            f"column {name!r} is numeric in the domain but holds text: correct the file, "
            "or give its categories in the domain"
        )
    raise problem  # outside the handler: pandas quotes the offending value, which must not be chained


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
    category_codes, missing = _category_codes(codes, values)
    if outside == "refuse" and bool(np.any((category_codes < 0) & ~missing)):
        raise SchemaError(
            f"column {name!r} holds a value outside its categories: correct it, extend the domain, "
            'or give outside="clip" where the function takes it'
        )
    return category_codes


def _category_codes(codes: Mapping[str, int], values: Any) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return (codes, where missing)."""
    dtype = getattr(values, "dtype", None)
    kind = "O" if dtype is None or hasattr(dtype, "na_value") else str(dtype.kind)
    if kind in "iu":
        array = np.asarray(values)
        whole_codes = _whole_codes(codes, array)
        if whole_codes is not None:
            return whole_codes, np.zeros(len(array), dtype=np.bool_)
    if kind == "f":
        array = np.asarray(values, dtype=np.float64)
        missing = np.isnan(array)
        whole = np.where(missing, 0.0, array)
        if bool(np.all((whole == np.floor(whole)) & (np.abs(whole) <= 2.0**52))):
            whole_codes = _whole_codes(codes, whole.astype(np.int64))
            if whole_codes is not None:
                whole_codes[missing] = -1
                return whole_codes, missing
    return _factorized_codes(codes, values)


def unknown_share(codes: Mapping[str, int], values: Any) -> float:
    """Return the share of the values that are there but in none of the categories, among those that are there; 0 of none."""
    category_codes, missing = _category_codes(codes, values)
    there = int(np.sum(~missing))
    return float(np.sum((category_codes < 0) & ~missing)) / there if there else 0.0


def absent(values: Any) -> NDArray[np.bool_]:
    """Return where a column, shape (n,), holds nothing: None, NaN, NaT, NA or empty text."""
    dtype = getattr(values, "dtype", None)
    kind = "O" if dtype is None or hasattr(dtype, "na_value") else str(dtype.kind)
    if kind in "iub":
        return np.zeros(len(values), dtype=np.bool_)
    if kind == "f":
        return np.isnan(np.asarray(values, dtype=np.float64))
    return _factorized_codes({}, values)[1]


def identifier_codes(values: Any) -> NDArray[np.int64]:
    """Return a number for every distinct identifier, int64, shape (n,); -1 where it is missing.

    Identifiers are compared as they are written, but for blanks around them: ``007`` and ``7`` are two where the column is text.
    """
    positions, distinct = _factorize(values)
    known: dict[str, int] = {}
    numbers = [-1 if text is None else known.setdefault(text, len(known)) for text in map(_identifier, distinct)]
    return np.asarray(np.array([*numbers, -1], dtype=np.int64)[positions])


def _identifier(value: object) -> str | None:
    text = canonical_text(value) if isinstance(value, (float, np.floating)) else str(value).strip()
    return text if text and value is not None and type(value).__name__ not in ("NAType", "NaTType") else None


def _whole_codes(codes: Mapping[str, int], values: NDArray[Any]) -> NDArray[np.int32] | None:
    """Codes of whole numbers through a table over the range of the whole categories; None if too wide."""
    whole = {int(text): code for text, code in codes.items() if _WHOLE.fullmatch(text)}
    low = min(whole, default=0)
    size = max(whole, default=0) - low + 1
    if size > _LARGEST_TABLE or values.dtype == np.uint64:
        return None
    table = np.full(size + 1, -1, dtype=np.int32)
    for value, code in whole.items():
        table[value - low] = code
    offsets = (values.astype(np.int64) - low).view(np.uint64)
    return np.asarray(table[np.minimum(offsets, np.uint64(size)).view(np.int64)])


def _factorized_codes(codes: Mapping[str, int], values: Any) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Codes of any values through their distinct ones (one pass of a hash table)."""
    positions, distinct = _factorize(values)
    texts = [canonical_text(value) for value in distinct]
    table = np.array([codes.get(text, -1) if text is not None else -1 for text in texts] + [-1], dtype=np.int32)
    absent = np.array([text is None for text in texts] + [True], dtype=np.bool_)
    return np.asarray(table[positions]), np.asarray(absent[positions])


def _factorize(values: Any) -> tuple[NDArray[np.int64], Sequence[object]]:
    """Return (position of each value among the distinct ones, the distinct ones); missing values are at -1."""
    if isinstance(values, np.ndarray) and (
        values.dtype == np.bool_ or all(value is None or isinstance(value, str) for value in values)
    ):
        # Plain text and truth values need no pandas, whose import takes longer than this pass over a small table.
        code_of: dict[object, int] = {None: -1}
        positions = [code_of.setdefault(value, len(code_of) - 1) for value in values.tolist()]
        return np.array(positions, dtype=np.int64), list(code_of)[1:]
    import pandas

    coded, distinct = pandas.factorize(pandas.Series(values), use_na_sentinel=True)
    return np.asarray(coded, dtype=np.int64), list(distinct)
