"""What is computed from counts and shares once they are added: guards, information gain, precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fedbayes.bayes.search.structure import mutual_information
from fedbayes.federation.errors import DataProblem, ThresholdError
from fedbayes.federation.questions.suppression import check_count, hidden_cells
from fedbayes.federation.vertical import ColumnStates
from fedbayes.typing import Integers

COARSE = 0.01  # of the product: more is worth a warning
CANCELLED = 1e-6  # of the largest possible sum: less is lost only where terms cancel, as of two columns that do not depend on one another


def guarded_count(counts: Integers, records: int, minimum: int) -> int:
    """Return an exact count if it, its complement, and what it differs by from counts with fewer conditions may be revealed.

    Parameters
    ----------
    counts : int64 array, shape (1 + stations,)
        The answer, and the counts that leave the conditions of one station out; of one station the answer alone.
    records, minimum : int
        Common records; the smallest count that a node reveals.

    Raises
    ------
    ThresholdError
        If one is below `minimum`. The text does not say which: that would be part of the answer.

    Notes
    -----
    A count that leaves one station's conditions out, less the answer, are the records for which these alone fail. Of two stations the records for which
    both fail follow too.
    """
    count, *fewer = (int(number) for number in counts)
    fewer = fewer or [records]
    check_count(count, records, minimum)
    others = [number - count for number in fewer]
    if len(fewer) == 2:
        others.append(records - sum(fewer) + count)
    if min(others) < minimum:
        raise ThresholdError(
            "the answer, less one with fewer of its conditions or columns, is below the smallest count that a node reveals; "
            "ask a broader question, or give an epsilon"
        )
    return count


def guarded_product(counts: Integers, records: int, minimum: int, codes: Sequence[bool]) -> None:
    """Raise `ThresholdError` where too few records count in a scalar product, or, of columns that are codes, all but a few.

    Parameters
    ----------
    counts : int64 array, shape (1 + stations,), or (1,) where not all columns are codes
        The records that count in the product, see `vertical.values.counted`, and those that would without the columns of one station.
    records, minimum : int
        Common records; the smallest count that a node reveals.
    codes : sequence of bool
        Of each station, whether its column has few values: if one has, the product is a sum over a group, and if all have, a count.
    """
    if all(codes):
        guarded_count(counts, records, minimum)
    counting = int(counts[0])
    check_count(counting, records if any(codes) else counting + minimum, minimum)


def information_gains(tables: Sequence[Integers]) -> list[float]:
    """Return H(target) - H(target | column) in bits for tables (target states, column states).

    Noisy tables may hold negative counts, which count as zero.
    """
    return [max(mutual_information(table), 0.0) / math.log(2.0) for table in tables]


def decoded(total: int, precisions: Sequence[Sequence[int]]) -> float:
    """Return the scalar product from its ring value; every factor has [scale, fraction bits]: it was divided by 2^scale.

    Raises
    ------
    DataProblem
        If no float holds it.
    """
    return _scaled(float(total), sum(scale - bits for scale, bits in precisions))


def error_bound(records: int, precisions: Sequence[Sequence[int]], rounded: Sequence[bool]) -> float:
    """Return the largest error that rounding the factors to fixed point can cause, of those that are `rounded`; DataProblem as `decoded`."""
    grown = math.prod(
        1.0 + 2.0 ** -(bits + 1) for (_, bits), inexact in zip(precisions, rounded, strict=True) if inexact
    )
    return _scaled(records * (grown - 1.0), sum(scale for scale, _ in precisions))


def is_coarse(error: float, product: float, records: int, precisions: Sequence[Sequence[int]]) -> bool:
    """Return whether rounding may change a product by more than a hundredth, not only because its terms cancel."""
    terms = _scaled(float(records), sum(scale for scale, _ in precisions))
    return error > COARSE * abs(product) and error > CANCELLED * terms


def _scaled(value: float, power: int) -> float:
    try:
        return math.ldexp(value, power)
    except OverflowError:
        raise DataProblem(
            "columns: their scalar product may be too large for a number; give them in larger units"
        ) from None


def published(counts: Integers, minimum: int, columns: Sequence[ColumnStates]) -> tuple[list[Any], int]:
    """Return the counts as nested lists with None for hidden cells, and how many are hidden."""
    hidden = hidden_cells(counts, minimum, [states.has_missing for states in columns])
    shown = counts.astype(object)
    shown[hidden] = None
    listed: list[Any] = shown.tolist()
    return listed, int(hidden.sum())


def is_shown(counts: Integers, minimum: int, columns: Sequence[ColumnStates]) -> bool:
    """Return whether every cell of a table may be shown."""
    return not bool(hidden_cells(counts, minimum, [states.has_missing for states in columns]).any())
