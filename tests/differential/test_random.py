"""A few random cases a function, always the same ones; `make differential` asks many, with a fresh seed."""

from pathlib import Path

import pytest
from harness.__main__ import Search
from harness.registry import FUNCTIONS

SEED = 20261122
CASES, LEAST, SECONDS = 8, 2, 0.5


@pytest.mark.few(3)
@pytest.mark.parametrize(("method", "function"), list(FUNCTIONS), ids=lambda entry: entry)
def test_answers_equal_the_pooled_ones(method: str, function: str, tmp_path: Path) -> None:
    found = Search(method, function, SEED, tmp_path).run(CASES, SECONDS, LEAST)
    assert found is None, found


def test_a_search_out_of_time_goes_on_to_the_least_number_of_cases(tmp_path: Path) -> None:
    search = Search("scalar_product", "count!", SEED, tmp_path)
    assert search.run(cases=50, seconds=0.0, least=5) is None
    assert search.ran == 5
