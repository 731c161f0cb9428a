"""A column of dates that the domain calls a number is told by the noisy counts that are paid anyway; without noise it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import DataProblem

DOMAIN = {"ill": {"categories": ["no", "yes"]}, "x": {"bounds": [-4, 5]}, "seen": {"bounds": [0, 100]}}
FITS: dict[str, dict[str, Any]] = {
    "dp_naive_bayes": {},
    "discriminative_naive_bayes": {"tables": "dp", "delta": 1e-6},
    "secure_naive_bayes": {},
    "smooth_naive_bayes": {"epsilon": 10.0},  # at 2 its heavy tails dominate half of such fits
}


def tables(dates: bool) -> dict[str, pd.DataFrame]:
    random, rows = np.random.default_rng(3), 300
    found = {}
    for name in "abc":
        ill = random.integers(0, 2, rows)
        seen = pd.date_range("2020-01-01", periods=rows) if dates else random.uniform(0, 100, rows)
        found[name] = pd.DataFrame({"ill": np.array(["no", "yes"])[ill], "x": random.normal(ill, 1.0), "seen": seen})
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize("dates", [True, False])
@pytest.mark.parametrize("algorithm", FITS)
def test_dates_for_numbers_are_told_under_an_epsilon(algorithm: str, dates: bool) -> None:
    asked = {"label": "ill", "domain": DOMAIN, "epsilon": 2.0, **FITS[algorithm]}
    with OneProcess(tables(dates)) as federation:
        told = federation.run(algorithm, "fit", asked).warnings
    assert len([text for text in told if "'seen' WAS NOT UNDERSTOOD" in text and "dates are none" in text]) == dates
    assert not [text for text in told if "'x' WAS" in text or "the noise dominates" in text]


@pytest.mark.parametrize("algorithm", ["dp_naive_bayes", "discriminative_naive_bayes"])
def test_dates_for_numbers_are_refused_without_noise(algorithm: str) -> None:
    asked = {"label": "ill", "domain": DOMAIN, **({"noise": "none"} if algorithm == "dp_naive_bayes" else {})}
    with OneProcess(tables(True)) as federation, pytest.raises(DataProblem, match="column 'seen' is numeric"):
        federation.run(algorithm, "fit", asked)
