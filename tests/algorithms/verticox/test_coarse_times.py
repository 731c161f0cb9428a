"""A grid of times on which Breslow's ties cost much is warned of, and no other."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import CLINIC, ask, table

SLOPE = 0.05
COARSE, FINE = [3.0 * step for step in range(1, 9)], [0.5 * step for step in range(1, 49)]


@pytest.fixture(scope="module")
def clinic() -> pd.DataFrame:
    """Return 3,000 records whose hazard grows by e^0.05 a year of age."""
    rng = np.random.default_rng(8)
    age = rng.normal(60, 9, 3000).clip(30, 90).round(1)
    months = (12 * rng.exponential(np.exp(-SLOPE * (age - 60)))).round(3) + 0.001
    return pd.DataFrame({"age": age, "months": months, "died": (rng.random(3000) < 0.8).astype(int)})


def fitted(frame: pd.DataFrame, **changes: Any) -> tuple[float, bool]:
    """Return the coefficient of age, and whether the grid is warned of."""
    result = ask(frame, {**CLINIC, "features": ["age"], **changes})
    warned = any("Breslow's ties pull coefficients towards 0" in text for text in result["warnings"])
    return float(table(result["model"]).loc["age", "coefficient"]), warned


def test_a_coarse_grid_with_breslows_ties_is_warned_of(clinic: pd.DataFrame) -> None:
    slope, warned = fitted(clinic, times=COARSE)
    assert warned
    assert slope < 0.9 * SLOPE
    better, warned = fitted(clinic, times=COARSE, ties="efron")
    assert not warned
    assert abs(better - SLOPE) < 0.08 * SLOPE
    fine, warned = fitted(clinic, times=FINE)
    assert not warned
    assert abs(fine - SLOPE) < 0.08 * SLOPE


def test_where_the_warning_begins_ties_cost_about_a_twentieth(clinic: pd.DataFrame) -> None:
    """Half of the hazard between two times, which the warning holds against a tenth."""
    for between, warns in ((1.1, False), (1.45, True)):
        times = [between * step for step in range(1, int(24 / between) + 1)]
        slope, warned = fitted(clinic, times=times)
        better, _ = fitted(clinic, times=times, ties="efron")
        assert warned is warns
        assert 0.03 < 1 - slope / better < 0.07


def private(shape: float, times: list[float]) -> tuple[float, list[str]]:
    """Return the coefficient of age of a private fit to 20,000 records with a Weibull hazard, and the warnings."""
    rng = np.random.default_rng(8)
    age = rng.normal(60, 9, 20_000).clip(30, 90).round(1)
    months = (12 * rng.exponential(np.exp(-SLOPE * (age - 60))) ** (1 / shape)).round(3) + 0.001
    frame = pd.DataFrame({"age": age, "months": months, "died": (rng.random(20_000) < 0.8).astype(int)})
    result = ask(frame, {**CLINIC, "features": ["age"], "times": times, "epsilon": 20.0})
    return float(table(result["model"]).loc["age", "coefficient"]), result["warnings"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("shape", "times", "warns"), [(0.5, [12.0, 24.0], True), (0.5, FINE, False), (1.0, [12.0, 24.0], False)]
)
def test_a_private_fit_warns_where_the_hazard_changes_between_two_times(
    shape: float, times: list[float], warns: bool
) -> None:
    """Its hazard is constant between times: few of them cost nothing where it is so, and much where it falls."""
    slope, warnings = private(shape, times)
    assert any("taken to be constant between two times" in text for text in warnings) is warns
    assert (abs(slope / SLOPE - 1) > 0.12) is warns


def test_a_grid_that_reaches_far_beyond_the_events_is_named_where_noise_dominates() -> None:
    _, far = private(3.0, [3.0 * step for step in range(1, 9)])
    assert any("noise dominates" in text and "a grid of times that ends earlier" in text for text in far)
    _, near = private(3.0, [1.5 * step for step in range(1, 9)])
    assert not any("noise dominates" in text for text in near)
