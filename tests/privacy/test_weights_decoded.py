"""What the weights of an ensemble, by held-out scores, say of how often a member is wrong: their digits were its confusion table, small counts of it too."""

import itertools
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from v6_bayesian_ensemble import testing
from v6_bayesian_ensemble.votes import above_chance, by_score

SEEN = np.array([[90.0, 110.0]] * 3)
RIGHT = np.array([[87.0, 108.0], [70.0, 95.0], [81.0, 88.0]])
"""The first member is wrong three times and twice."""
SCALES = {"columns": lambda scores: above_chance(scores, 2), "rows": by_score}


@pytest.mark.parametrize("split", SCALES)
def test_weights_fit_many_confusion_tables(split):
    """For who knows all of the other members and how many records each class has."""

    def fitting(score):
        found = []
        wanted = SCALES[split](score(RIGHT, SEEN))
        for wrong in itertools.product(range(20), repeat=2):
            right = np.vstack([SEEN[0] - wrong, RIGHT[1:]])
            if np.allclose(SCALES[split](score(right, SEEN)), wanted, rtol=0.0, atol=1e-13):
                found.append(wrong)
        return found

    assert fitting(lambda right, seen: testing.coarse(right, seen, 1)) == [(3, 2)], "control"
    told = fitting(lambda right, seen: testing.coarse(right, seen, 5))
    assert len(told) >= 5
    assert {one for one, _ in told} > {0, 1, 2, 3}


def test_weights_of_a_fit_are_told_so():
    draw = np.random.default_rng(7)
    label = draw.choice(["n", "p"], 120)
    alike = {name: np.where(draw.random(120) < 0.7, label, draw.choice(["n", "p"], 120)) for name in "uvw"}
    ids = {"id": [f"p{row:03d}" for row in range(120)]}
    parties = {name: pd.DataFrame({**ids, column: alike[column]}) for name, column in zip("abc", "uvw", strict=True)}
    parties["a"]["y"] = label
    with (
        OneProcess(parties, helpers=["h"]) as running,
        mock.patch.object(testing, "coarse", wraps=testing.coarse) as used,
    ):
        running.run("bayesian_ensemble", "fit", {"label": "y", "id_column": "id", "weights": "score", "folds": 3})
    assert used.call_args.args[2] == 5
