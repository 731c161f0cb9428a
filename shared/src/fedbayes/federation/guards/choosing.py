"""Tasks that choose rows: by a formula, a subset, a recode of many rare values, or a column of identifiers.

Two exact answers about groups that differ by one row reveal that row's values, however large the groups are. If the caller can choose the
groups, a node gives exact answers only where its administrator allows it (FEDBAYES_ALLOW_FORMULAS).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...bayes.values.encoding import canonical_text
from ..errors import PolicyError, ThresholdError
from ..tables import node_databases

if TYPE_CHECKING:
    from ...bayes.dictionaries.dictionary import Dictionary
    from .member import Member
    from .table_reader import TableReader

FEW_LEFT_OUT = "few-left-out"
AIMED = "aimed-recode"
FEW_IDENTIFIED = "few-identified"
FEW_CHOSEN = "few-chosen"
DRAWN = "drawn-rows"
UNITS = {canonical_text(0), canonical_text(1), None}


def note(station: Member, rows: int, left_out: int, named: int) -> None:
    """Note for the whole job what reading a table has shown; `check_exact` looks at it.

    Parameters
    ----------
    station : Member
        Whose table was read.
    rows : int
        Rows that are left. Where the task chose them, fewer than `minimum_rows` stop exact answers alone: with an epsilon a refusal would tell, for
        nothing, whether a record that the caller describes is one of so many.
    left_out : int
        Rows that the subset leaves out. If they are few, the difference between all rows and the subset reveals them.
    named : int
        Values that a recode names one by one (`fedbayes.bayes.dictionaries.recoding.named_values`). If there are fewer than `minimum_count` of them, they
        cannot make a group of rows that is large enough to be shown.
    """
    if (left_out or node_databases.preprocessing()) and rows < station.policy.minimum_rows:
        station.memory.once(FEW_CHOSEN, b"1")
    if 0 < left_out < station.policy.minimum_count:
        station.memory.once(FEW_LEFT_OUT, b"1")
    if 1 < station.policy.minimum_count <= named:
        station.memory.once(AIMED, b"1")


def note_few_identified(station: Member) -> None:
    """Note for the whole job that bounding the rows of each identifier sets a few rows apart; `check_exact` looks at it."""
    station.memory.once(FEW_IDENTIFIED, b"1")


def note_drawn(station: Member) -> None:
    """Note for the whole job that it uses some of the rows, drawn anew in every job; `check_exact` lets no exact answer about these out."""
    station.memory.once(DRAWN, b"1")


def check_weights(station: TableReader, columns: Sequence[str]) -> None:
    """Raise `PolicyError` where an exact sum would weigh rows by numbers of the task's choice.

    Of categories as 1, 100 and 10000 the digits of a sum are the count of each. A recode to 0 or 1 leaves rows out, or counts them.
    """
    if station.policy.allow_formulas or station.dictionary is None:
        return
    for name in columns:
        entry = station.dictionary.columns.get(name)
        if entry is not None and (
            entry.cut is not None or not set(map(canonical_text, entry.recode.values())) <= UNITS
        ):
            raise PolicyError(
                f"dictionary: column '{name}' is numbers that the task chose (by a recode to others than 0 and 1, or a cut), of which an exact sum has "
                "every count in its digits; recode it in the stations' files, or ask the node administrator to set FEDBAYES_ALLOW_FORMULAS"
            )


def check_exact(station: Member, study: Dictionary | None, arithmetic: bool) -> None:
    """Raise if an exact answer may not leave because the task chooses rows; `study`: its dictionary; `arithmetic`: it has formulae of its own.

    Raises
    ------
    PolicyError
        If the node lets no formulae, subsets or aimed recodes through, or rows were drawn.
    ThresholdError
        If the subset leaves or leaves out a few rows, or identifiers bound a few.
    """
    derived = arithmetic or (study is not None and study.has_formula)
    aimed = study is not None and station.memory.read(AIMED) is not None
    chosen = bool(derived or aimed or node_databases.preprocessing())
    if chosen and not station.policy.allow_formulas:
        means = "a recode of many values that few rows have each" if aimed else "a formula or a subset"
        raise PolicyError(
            f"{means} (of the dictionary, or by preprocessing) can be aimed at single rows, so this node answers with it only under an epsilon; "
            "leave it out, or ask the node administrator to set FEDBAYES_ALLOW_FORMULAS"
        )
    if chosen and station.memory.read(FEW_LEFT_OUT) is not None:
        raise ThresholdError("the subset leaves out fewer rows than this node demands; ask for all, or for another")
    if station.memory.read(FEW_CHOSEN) is not None:
        raise ThresholdError(
            "fewer rows than the node demands (minimum_rows) are left by the subset; choose more, or give an epsilon"
        )
    if station.memory.read(DRAWN) is not None:
        raise PolicyError(
            "unit: rows that are drawn anew in every job are used under noise alone, else two answers tell of the rows that one of them lacks; give an "
            "epsilon that may be called private, or another unit"
        )
    if station.memory.read(FEW_IDENTIFIED) == b"1":
        raise ThresholdError(
            "id_column, max_rows_per_identifier: few rows have no identifier, few identifiers have more rows than are used, or few rows are used, so that an "
            "exact answer would tell of these few; leave unit='identifier' out, allow more rows of each, or give an epsilon"
        )
