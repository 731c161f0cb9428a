"""Identifiers of records, matched alike at all stations whatever kind of file holds them; or none, for files that are aligned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...bayes.values.encoding import canonical_text
from ...mpc import alignment
from ...mpc.prg import KEY_BYTES
from ...randomness import secret_bytes
from ..errors import ArgumentError, DataProblem

_CODE = re.compile(r"[0-9]+[eE][0-9]+")
"""Digits about one e: a code of hexadecimal digits. Programs write an exponent with its sign."""


def check_alignment(id_column: str | None, rows_aligned: bool = False) -> str:
    """Return the identifier's column, or "" where the caller declares that all files hold the same records in the same order.

    Every method on vertically split records asks this before anything runs: files that are taken as aligned and are not give nonsense
    without a sign of it.

    Raises
    ------
    ArgumentError
        When neither is given, or both.
    """
    if not id_column:
        if not rows_aligned:
            raise ArgumentError(
                "id_column: name the column that identifies the records at every station, or give rows_aligned=true "
                "where all files hold the same records in the same order"
            )
        return ""
    if rows_aligned:
        raise ArgumentError("rows_aligned: leave it out where an id_column is given; the records are matched by it")
    return id_column


def check_equal_rows(rows: Iterable[int]) -> None:
    """Raise `DataProblem` where files that should be aligned have different numbers of rows."""
    if len(set(rows)) > 1:
        raise DataProblem(
            "rows_aligned: the stations' tables have different numbers of rows; name the id_column to match them"
        )


def matched_texts(texts: Sequence[str], column: str, private: bool) -> list[str]:
    """Return the texts that rows are matched by: canonical ones, as spreadsheets take leading zeros away and programs write ``257.0``.

    So ``00257`` here is ``257`` there; identifiers are told to people as they are written. One station that has both repeats an identifier. ``1e+05`` is
    100000, but ``1e05`` is a code and nothing else.

    Parameters
    ----------
    texts : sequence of str
        The rows' identifiers, see `Station.identifiers`; empty where missing.
    column : str
        Their column, for messages.
    private : bool
        Whether nothing may be refused because of data: rows without an identifier, and all but the first of one identifier, match nobody and count nowhere.
        Theirs are random: a text that follows from the row could be an identifier in another station's file, and a person of two rows here counted twice.

    Raises
    ------
    DataProblem
        When some are missing or repeated, unless `private`; the text has numbers of rows and no identifier.
    """
    plain = [text if _CODE.fullmatch(text) else canonical_text(text) or "" for text in texts]
    if private:
        seen, nobody = {""}, f"{alignment.NOBODY}{secret_bytes(KEY_BYTES).hex()}"
        matched = []
        for row, text in enumerate(plain):
            matched.append(f"{nobody}|{row}" if text in seen else text)
            seen.add(text)
        return matched
    try:
        alignment.check_identifiers(plain)
    except alignment.AlignmentError as problem:
        raise DataProblem(f"column '{column}': {problem}") from None
    return plain
