"""A given model judged on records of which nobody sees a number: gradient and information matrix at its coefficients, on shares.

References
----------
van Houwelingen, Statistics in Medicine 19, 2000 (slope of the linear predictor, ratio of cumulative hazards); Cox, Hinkley,
Theoretical Statistics, 1974, section 9.3 (score test).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.federation.errors import ArgumentError, ConvergenceError
from fedbayes.federation.vertical.declared import Matched
from fedbayes.typing import Floats

from ..cox.entering import factor_of
from ..cox.inference import likelihood_ratio, score_test
from ..cox.survival import Steps
from ..cox.tails import CROWD
from ..messages.scoring import Curve
from ..result import BEFORE_TIMES
from ..rounds.lockstep import Alone, alone
from ..rounds.setup import Prepared, prepare
from ..rounds.stages import mean_predictor
from ..rounds.surface import FederatedSurface
from ..shares.agreed import most_points
from ..shares.reciprocals import reciprocal_plan
from ..solvers.newton import WIDEST_FAR
from .crossval import specification

TAIL, WIDEST = 3.0, 1.5  # as `newton.SHORT_TAIL` and `newton.WIDEST`
SLACK = 0.02  # mean relative error of the reciprocals that a point on the way may have: nothing is read there
EXACT = 1e-7  # the same at the model's coefficients
REFINEMENTS = 4  # as `newton.REFINEMENTS`
FAR_APART = "the risks of some records are too far apart; transform outliers of the features"
REASON = "computed from the records without noise"
REVEALS = {
    "central": "gradient and information matrix at zero and at the model's coefficients (and at a point or two between), baseline hazard "
    "at times with several events between them, linear predictor at the mean, numbers of records and events, "
    "scales of the features and how far heavy tails reach, both coarse; " + BEFORE_TIMES,
    "researcher": "the metrics",
    "stations": "numbers of rows and steps, and uniform vectors; the same for the one with the outcome"
    f"; with an identifier column, which of their own records are common to all; {BEFORE_TIMES}, without the times",
    "helper": "numbers of rows, columns and steps; with an identifier column, sizes of the overlaps; "
    f"{BEFORE_TIMES}, without the times",
}


def judge_blindly(federation: Federation, model: dict[str, Any], curves: list[Curve], roles: Matched) -> dict[str, Any]:
    """Return calibration of a model on these records, with nobody seeing a record-level value."""
    options = specification(model, roles, "judged by aggregates; leave reveal='aggregates' out")
    prepared = prepare(federation, roles.organizations, options)
    scales = np.array(prepared.scales)
    target = _coefficients(model, prepared) * scales
    surface = FederatedSurface(Alone(federation), prepared, options.limit)
    score, information = alone(walk(surface, target))
    offset, _ = mean_predictor(federation, prepared, target)
    shift = factor_of(offset - float(model["offset"]))
    steepness = float(target @ information @ target)
    if steepness <= 0.0:
        raise ArgumentError("model: all coefficients are zero; there is nothing to calibrate")
    error = steepness**-0.5
    statistic, degrees = score_test(score, information)
    return federation.result(
        metrics={
            "calibration_slope": significant(1.0 + float(target @ score) / steepness, error),
            "calibration_slope_standard_error": significant(error, error),
            "fit_test": likelihood_ratio(significant(statistic, max(statistic, 1.0)) / 2.0, degrees),
            "baseline": _baselines(prepared, surface.hazard, curves, shift),
            "records": prepared.records,
            "events": prepared.outcome.events,
        },
        concordance=None,
        privacy=common.privacy(False, reason=REASON, reveals=REVEALS),
        diagnostics={
            "calibration_slope": "one Newton step from 1",
            "concordance": "it needs the order of the records' predictors, which nobody sees here; reveal='predictors' gives it",
        },
    )


def _coefficients(model: dict[str, Any], prepared: Prepared) -> Floats:
    """Return the model's coefficients in the order of the parties' design columns."""
    stated = {str(entry["feature"]): float(entry["coefficient"]) for entry in model["coefficients"]}
    references = model.get("references") or {}
    other = sorted(set(stated) ^ set(prepared.names)) or [
        name for name, category in references.items() if prepared.references.get(name, category) != category
    ]
    if other:
        raise ArgumentError(
            f"model: these records have not the same design columns, see '{other[0][:60]}'; the categories must be the same"
        )
    return np.array([stated[name] for name in prepared.names])


async def walk(surface: FederatedSurface, target: Floats) -> tuple[Floats, Floats]:
    """Return gradient and information matrix at given coefficients (in the parties' scale), in steps that reciprocals follow.

    Raises
    ------
    ConvergenceError
        When the risks of some records are too far apart.
    """
    await surface.start()
    first = await surface.information(0, False)
    spread = math.sqrt(max(float(target @ first @ target), 0.0) / surface.events)
    step, done = 0, 0.0
    while done < 1.0:
        step += 1
        if step > most_points(surface.plan):
            raise ConvergenceError(FAR_APART)
        part, growth = _stride(surface, target * done, target * (1.0 - done), TAIL * spread * (1.0 - done))
        done = 1.0 if part == 1.0 else done + part * (1.0 - done)
        plan = reciprocal_plan(growth + SLACK, EXACT if done == 1.0 else SLACK)
        there = await surface.evaluate(step, target * done, plan)
        allowed = surface.events * (10.0 * EXACT if done == 1.0 else SLACK)
        for _ in range(REFINEMENTS):
            if abs(there.residual) <= allowed:
                break
            there = await surface.refine(step)
        if not abs(there.residual) <= allowed:
            raise ConvergenceError(FAR_APART)
        surface.accept()
    return there.gradient, await surface.information(step, True)


def _stride(surface: FederatedSurface, here: Floats, move: Floats, ordinary: float) -> tuple[float, float]:
    """Return the part of a move that reciprocals follow, and the logarithm of the growth they must follow."""
    part = min(1.0, WIDEST / max(ordinary, 1e-300))
    part *= surface.tails.share(here, part * move, part * ordinary, CROWD, WIDEST_FAR)
    return part, surface.tails.growth(here, part * move, part * ordinary, CROWD)


def _baselines(prepared: Prepared, hazard: Floats, curves: list[Curve], shift: float) -> list[dict[str, Any]]:
    """Return the cumulative hazard of these records beside the model's, both at these records' mean, by stratum."""
    outcome = prepared.outcome
    known = {curve.stratum: Steps(np.array(curve.times), np.array(curve.hazard), 0.0) for curve in curves}
    shown = []
    for code, name in enumerate(outcome.strata_names):
        chosen = [index for index, edge in enumerate(outcome.edge_strata) if edge == code]
        times = np.array([outcome.edges[index] for index in chosen])
        expected = (known[name].at(times) * shift).tolist() if name in known else None
        shown.append(
            {
                "stratum": name,
                "time": times.tolist(),
                "cumulative_hazard": [significant(float(value), float(value)) for value in hazard[chosen]],
                "model_cumulative_hazard": expected,
            }
        )
    return shown


def significant(value: float, unit: float) -> float:
    """Return a number rounded so that three digits of `unit`, its standard error or itself, are told."""
    if not unit or not np.isfinite(unit) or not np.isfinite(value):
        return value
    step = 10.0 ** (np.floor(np.log10(abs(unit))) - 2)
    return float(np.round(value / step) * step)
