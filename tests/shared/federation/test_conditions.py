"""Conditions on columns of a station's table."""

import operator

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.questions.conditions import holds
from fedbayes.federation.questions.factor_info import Condition

EXACT = 2**53
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "UInt64"])
@pytest.mark.parametrize("sign", list(COMPARE))
def test_whole_numbers_are_compared_to_the_last_digit(kind, sign):
    """2^53 and 2^53 + 1 are one number to float64."""
    whole = [0, 1, EXACT - 1, EXACT, EXACT + 1, EXACT + 2, 2**63 - 1]
    cells = [*whole, None] if kind[0].isupper() else whole
    for value in (*whole, 0.5, 1.0, float(EXACT), EXACT + 3, -1, -0.5, 1e300, -1e300, 2**64):
        found = holds(pd.Series(cells, dtype=kind), Condition("a", sign, value))
        assert found.tolist() == [cell is not None and COMPARE[sign](cell, value) for cell in cells], value


def test_ranges_of_whole_numbers_hold_both_ends():
    column = pd.Series([EXACT - 1, EXACT, EXACT + 1, EXACT + 2])
    for low, high, wanted in (
        (EXACT + 1, EXACT + 1, [0, 0, 1, 0]),
        (EXACT - 0.5, EXACT + 1, [0, 1, 1, 0]),
        (-1e300, 1e300, [1, 1, 1, 1]),
        (1.2, 1.8, [0, 0, 0, 0]),
    ):
        np.testing.assert_array_equal(holds(column, Condition("a", "between", [low, high])), wanted)
