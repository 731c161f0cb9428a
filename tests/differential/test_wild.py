"""Wild data are what they say, and questions about them can be asked."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import wild
from harness.records import number
from harness.tables import identifiers, numbers


@pytest.mark.parametrize("kind", wild.NUMBERS)
def test_numbers_are_finite_and_as_many_as_asked_for(kind: str) -> None:
    for people in (1, 50):
        cells = numbers(kind, people, np.random.default_rng(1))
        values = [number(cell) for cell in cells]
        assert len(cells) == people
        assert all(value is not None and np.isfinite(value) for value in values)


@pytest.mark.parametrize("kind", wild.IDENTIFIERS)
def test_identifiers_are_distinct(kind: str) -> None:
    made = identifiers(kind, 300)
    assert len({" ".join(text.split()) for text in made}) == 300


@pytest.mark.parametrize("states", wild.STATES, ids=lambda states: states[0])
def test_categories_are_distinct(states: list[str]) -> None:
    assert len(set(states)) == len(states)


@pytest.mark.audit
@pytest.mark.parametrize("name", ["scalar_product.count", "dp_naive_bayes.describe"])
def test_wild_questions_are_answered_as_pooled_ones(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness", "--cases", "4", "--seed", "3", "--jobs", "1", "--only", name]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)],
        env={**os.environ, "WILD": "1", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
