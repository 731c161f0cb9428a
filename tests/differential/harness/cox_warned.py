"""What the warnings of a Cox model say, and whether it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import cox_formula
from .cases import Case, Outcome
from .cox_curve import steps_of
from .cox_names import TIME
from .records import owner_of
from .tables import joined

Said = tuple[str, bool | None]
"""A pattern of a warning's beginning, and whether it must be there, may not, or may."""
STEEP, NEAR = 0.1, 0.02
"""Hazard between two times, in the mean, beyond which many events share one; and how near to it the twin is not sure."""
LARGEST_EXPONENT = 700.0
"""Of a coefficient beyond which its hazard ratio is no number."""


def maybe(allowed: bool) -> bool | None:
    """Return that a warning may be there, if it is allowed, else that it may not."""
    return None if allowed else False


def said(case: Case, outcome: Outcome) -> Iterable[Said]:
    """Return what may, must and must not be said."""
    if case.function == "fit":
        yield from _of_fit(case, outcome.result)
        return
    model, rows = outcome.results[0]["model"], case.steps[0][1].get("split") == "horizontal"
    if case.function == "baseline":
        yield r"\d+ times of the model's grid were merged into ", maybe(rows)
        return
    complete = model["missing"] == "complete" and not rows
    yield "records with a missing value at some station", complete if case.function == "predict" else maybe(complete)
    yield from _of_cases(case, model)
    yield from _of_end(case, model, rows)
    yield "some folds have too few events", maybe(bool(case.arguments.get("folds")))


def _of_cases(case: Case, model: Any) -> Iterable[Said]:
    unused = [name for name in ("weights", "entry") if model.get(name)]
    judged = case.function == "evaluate" and case.arguments.get("reveal") != "aggregates"
    told = bool(unused) and judged
    yield rf".* with {' and '.join(unused)}; these metrics use neither", None if case.arguments.get("epsilon") else told


def _of_end(case: Case, model: Any, rows: bool) -> Iterable[Said]:
    curves = [
        step
        for step in steps_of(model)
        if case.function != "predict" or step[0] == case.arguments.get("stratum", "all")
    ]
    empty = [name for name, times, _ in curves if not times]
    yield "the baseline has no point of stratum", maybe(bool(empty))
    end = max((times[-1] for _, times, _ in curves if times), default=None)
    late = end is not None and any(moment > end for moment in case.arguments.get("times") or [])
    blind = case.arguments.get("reveal") == "aggregates" or case.arguments.get("epsilon") is not None
    yield "times beyond the model's baseline, which ends at ", maybe(late) if blind else late


def _of_fit(case: Case, result: Any) -> Iterable[Said]:
    arguments, model = case.arguments, result["model"]
    exact = arguments.get("epsilon") is None
    far = [row["feature"] for row in model["coefficients"] if abs(row["coefficient"]) > LARGEST_EXPONENT]
    yield (
        re.escape(f"the hazard ratio of one unit of {', '.join(far)} is too far from one"),
        bool(far) if exact else None,
    )
    if arguments.get("split") == "horizontal":
        yield from _of_grid(arguments, model)
        return
    times = [step[1] for step in steps_of(model)]
    yield r"\d+ times were merged into |times: the hazard is taken to be constant", maybe(not exact)
    yield "the baseline has no point of stratum", not all(times)
    if not exact:
        return
    solver = arguments.get("solver", "private_newton")
    others = {owner_of(case, name) for name in cox_formula.used(arguments)} - {owner_of(case, TIME)}
    yield "only one other station has features", solver != "private_newton" and len(others) == 1
    yield "a few records have missing values", model["records"] is None or model["events"] is None
    yield "standard errors are those of a quasi-Newton matrix", maybe(solver == "bfgs")
    yield "risks of records differ by four or more orders of magnitude", maybe(_is_far(case, model))
    yield (
        "the log-likelihood(?: and its test are accurate|, not its test, is only known)",
        maybe(solver == "private_newton"),
    )


def _is_far(case: Case, model: Any) -> bool:
    """Whether risks of records differ that much."""
    from .cox_fit import counted, design

    records = counted(case.arguments, list(joined(case.stations(), case.id_column).values()))
    x, names = design(case, case.arguments, records)
    table = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    return bool(np.ptp((x - x.mean(axis=0)) @ [table[name] for name in names]) > np.log(1e3))


def _of_grid(arguments: dict[str, Any], model: Any) -> Iterable[Said]:
    """Return what is said of the grid of a fit to whole records."""
    grids = list(model["times"].values()) if isinstance(model["times"], dict) else [model["times"]]
    asked, ends = len(arguments["times"]), sorted({min(map(len, grids)), max(map(len, grids))})
    into = " to ".join(map(str, ends)) + (" in each stratum" if len(grids) > 1 else "")
    noisy = arguments.get("epsilon") is not None
    fewer = any(len(grid) < asked for grid in grids)
    yield rf"{asked} times were merged into {into}, so", fewer
    yield "times: the hazard is taken to be constant", maybe(noisy)
    breslow = arguments.get("ties", "breslow") == "breslow"
    steps = np.concatenate([np.diff([0.0, *hazard]) for _, _, hazard in steps_of(model)])
    steep = breslow and not noisy and bool(steps.max() > STEEP)
    yield (
        "times: many events share a time of the grid",
        (None if steps.min() < STEEP + NEAR else True) if steep else False,
    )
