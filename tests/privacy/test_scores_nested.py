"""Curve, calibration and confusion of exact scores: each hides few rows, and the differences of two of them must too."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from scores_kit import MINIMUM, answered, tallied

from fedbayes.bayes.evaluation import coarse

BESIDE = {
    "a hidden tenth": ([0.58, 0.75, 0.35], [[28, 38], [0, 0], [32, 21]]),
    "the end of a step": ([0.7, 0.55, 0.35], [[9, 14], [0, 0], [32, 21]]),
}
"""Probabilities of "yes" of three bins, and records by label; the person is in the second one, alone."""


def told(name: str, label: int) -> dict[str, Any]:
    probabilities, counts = np.array(BESIDE[name][0]), np.array(BESIDE[name][1])
    counts[1, label] = 1
    return answered(tallied(counts, np.stack([1.0 - probabilities, probabilities], axis=1)), 1)


def labels_told(answer: dict[str, Any]) -> set[int]:
    """Return how many of all groups of one record that two told counts of those predicted to be "yes" leave are a "yes"."""
    (no_no, no_yes), (yes_no, yes_yes) = answer["diagnostics"]["confusion"]
    whole, calibration, curve = (no_yes + yes_yes, yes_yes), answer["calibration"], answer["roc"][0]
    parts = [(rows, rows * right) for rows, right in zip(calibration["rows"], calibration["accuracy"], strict=True)]
    parts += [
        (wrong * (no_no + no_yes) + right * (yes_no + yes_yes), right * (yes_no + yes_yes))
        for wrong, right in zip(curve["false_positive_rate"], curve["true_positive_rate"], strict=True)
    ]
    return {round(whole[1] - yes) for rows, yes in parts if rows > 0 and abs(whole[0] - rows - 1) < 1e-6}


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", BESIDE)
def test_no_difference_of_two_told_counts_is_one_record(name: str, label: int) -> None:
    assert not labels_told(told(name, label))


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", BESIDE)
def test_control_apart_the_difference_is_a_label(name: str, label: int) -> None:
    with mock.patch.object(coarse, "nested", lambda tallies, minimum: tallies):
        assert labels_told(told(name, label)) == {label}


@pytest.mark.parametrize("seed", range(20))
def test_all_counts_are_of_groups_of_enough_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    yes = draw.random(int(draw.integers(1, 30))).round(3).clip(0.001, 0.999)
    world = tallied(draw.poisson(draw.choice([0.3, 3.0, 30.0], (len(yes), 2))), np.stack([1.0 - yes, yes], axis=1))
    found = coarse.nested(world, MINIMUM)
    rows, before = found.scores[0].sum(axis=0), world.scores[0].sum(axis=0)
    assert np.array_equal(found.scores.sum(axis=(0, 2)), world.scores.sum(axis=(0, 2)))
    assert rows.sum() < MINIMUM or not np.any((rows > 0) & (rows < MINIMUM))
    if all(side.sum() >= MINIMUM for side in np.split(before, 2)):
        assert np.array_equal(found.confusion, world.confusion), "nobody is on the other side of even odds"
    assert found.confidence.sum() == world.confidence.sum()
