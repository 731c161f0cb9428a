"""Which tables of a batch count for `maximum_queries`."""

import pytest

from fedbayes.federation.vertical.accounting import questions


@pytest.mark.parametrize(
    ("holders", "cells", "counted"),
    [
        ([[1, 2]], [1], 1),
        ([[1, 2], [2], [1]], [1, 1, 1], 1),
        ([[1, 2, 3], [2, 3], [1, 3], [1, 2]], [1, 1, 1, 1], 1),
        ([[1, 2], [2], [2], [2]], [1, 1, 1, 1], 3),  # other conditions of one station are questions of their own
        ([[1, 2], [1, 2]], [1, 1], 2),
        ([[1, 2, 3], [3]], [1, 1], 2),
        ([[1, 2], [2]], [4, 2], 2),  # tables, not counts
    ],
)
def test_a_count_without_what_one_station_says_belongs_to_the_count(holders, cells, counted):
    assert questions(holders, cells) == counted
