"""Every number of a fitted Cox model, but its baseline, against a pooled fit's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from . import cox
from .cases import close, same
from .told import check_tests

ROUNDING = 1e-9


def compare_fit(
    model: Any,
    pooled: cox.Fit,
    names: list[str],
    scale: Any,
    penalty: float,
    counts: tuple[int | None, int | None],
    tolerance: float,
    unsure: float,
    robust: Any = None,
) -> None:
    """Compare every number of a coefficient table, the covariance (`robust` in its place) and the likelihood, which the result says to know up to `unsure`."""
    same("records and events", (model["records"], model["events"]), counts)
    table = {row["feature"] if "feature" in row else row["name"]: row for row in model["coefficients"]}
    same("design columns", sorted(table), sorted(names))
    covariance = np.linalg.inv(pooled.information + penalty * np.eye(len(names)))
    covariance = covariance if robust is None else covariance @ robust @ covariance
    errors = np.sqrt(np.diag(covariance))
    check_tests(model, names, covariance, tolerance)
    for place, name in enumerate(names):
        row, beta = table[name], float(pooled.coefficients[place])
        close(f"coefficient of {name!r}", row["coefficient"] * scale[place], beta * scale[place], tolerance, tolerance)
        close(f"standard error of {name!r}", row["standard_error"], float(errors[place]), 20 * tolerance)
        if errors[place] > ROUNDING * max(1.0, abs(beta)):  # a robust error of one cluster is none
            z = beta / errors[place]
            close(f"z of {name!r}", row["z"], z, 40 * tolerance, 40 * tolerance)
            close(f"p of {name!r}", row["p"], float(2 * stats.norm.sf(abs(z))), 0.0, 40 * tolerance)
        if abs(row["coefficient"]) <= 700.0:  # beyond it there is no such number
            close(f"hazard ratio of {name!r}", row["hazard_ratio"], float(np.exp(row["coefficient"])), 1e-9)
        else:
            same(f"hazard ratio of {name!r}", row["hazard_ratio"], None)
        half = 1.959963984540054 * row["standard_error"]
        close(f"lower of {name!r}", row["lower_95"], row["coefficient"] - half, 1e-6, 1e-6 * half)
        close(f"upper of {name!r}", row["upper_95"], row["coefficient"] + half, 1e-6, 1e-6 * half)
    exact = 1e-5 if model["missing"] == "complete" else 1e-9
    off = unsure if model["missing"] == "complete" else 0.0
    off += _half_a_step(model["records"] or 1e9, model["events"] or 1)
    close("log likelihood at zero", model["null_log_likelihood"], pooled.null, exact, off)
    close(
        "log likelihood",
        model["log_likelihood"],
        pooled.log_likelihood,
        max(tolerance, 1e-5),
        max(tolerance, 1e-5) + unsure,
    )
    test = model["likelihood_ratio_test"]
    statistic = 2 * (pooled.log_likelihood - pooled.null)
    found = next(test[key] for key in ("statistic", "chi_squared", "chi2") if key in test)
    close("likelihood ratio", found, statistic, 1e-3, 20 * max(tolerance, 1e-5) * abs(pooled.null) + 2 * unsure)


def _half_a_step(records: float, events: float) -> float:
    """Return what a log-likelihood at zero is rounded by at most: told is half of the bits that say which records have an event."""
    ways = math.lgamma(records + 1) - math.lgamma(events + 1) - math.lgamma(records - events + 1)
    return 1.25 * math.sqrt(17.08 * events * (1 - events / records)) * math.exp(-ways / 2)
