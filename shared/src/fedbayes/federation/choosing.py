"""Rows that the words of a task choose: by a formula, a subset, a recode of many values that few rows have each, or a column of identifiers.

Two exact answers about groups of the caller's choice that differ by one row tell that row's values, however large the groups are. So a node gives exact
answers with such words only where its administrator allows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import platform
from .errors import PolicyError, ThresholdError

if TYPE_CHECKING:
    from .table_reader import TableReader

FEW_LEFT_OUT = "few-left-out"
AIMED = "aimed-recode"
FEW_IDENTIFIED = "few-identified"


def note(station: TableReader, left_out: int, named: int) -> None:
    """Remember for `check_exact` what reading a table has shown, for the whole job.

    Parameters
    ----------
    station : TableReader
        Whose table was read.
    left_out : int
        Rows that the subset leaves out: of a few, the difference to all would tell.
    named : int
        Values that a recode names one by one (`fedbayes.bayes.recoding.named_values`). Fewer than `minimum_count` make no group that is shown.
    """
    if 0 < left_out < station.policy.minimum_count:
        station.memory.once(FEW_LEFT_OUT, b"1")
    if 1 < station.policy.minimum_count <= named:
        station.memory.once(AIMED, b"1")


def note_few_identified(station: TableReader) -> None:
    """Remember for `check_exact` that the bounded rows of identifiers set a few rows apart from all."""
    station.memory.once(FEW_IDENTIFIED, b"1")


def check_exact(station: TableReader, arithmetic: bool) -> None:
    """Raise if an exact answer may not leave because of what the task chooses; `arithmetic`: it has formulae of its own.

    Raises
    ------
    PolicyError
        If the node lets no formulae, subsets or aimed recodes through.
    ThresholdError
        If the subset leaves out a few rows, or rows that identifiers bound.
    """
    study = station.dictionary
    derived = arithmetic or (study is not None and study.has_formula)
    aimed = study is not None and station.memory.read(AIMED) is not None
    chosen = bool(derived or aimed or platform.preprocessing())
    if chosen and not station.policy.allow_formulas:
        means = "a recode of many values that few rows have each" if aimed else "a formula or a subset"
        raise PolicyError(
            f"{means} (of the dictionary, or by preprocessing) can be aimed at single rows, so this node answers with it only under an epsilon; "
            "leave it out, or ask the node administrator to set FEDBAYES_ALLOW_FORMULAS"
        )
    if chosen and station.memory.read(FEW_LEFT_OUT) is not None:
        raise ThresholdError("the subset leaves out fewer rows than this node demands; ask for all, or for another")
    if station.memory.read(FEW_IDENTIFIED) == b"1":
        raise ThresholdError(
            "id_column, max_rows_per_identifier: few rows have no identifier, few identifiers have more rows than are used, or few rows are used, so that an "
            "exact answer would tell of these few; leave unit='identifier' out, allow more rows of each, or give an epsilon"
        )
