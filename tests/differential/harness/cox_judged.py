"""Questions about Cox models judged on whole records, and the measures of the pooled records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import cox
from .cases import Case, Difference, Outcome, close, judge, same
from .cox_names import ALGORITHM
from .cox_private import PERSON
from .cox_rows import Records, crossed, design, is_of, rows_cases
from .rows import HUGE_EPSILON, encoded, limits, who

UNUSED = ("weights", "entry", "cluster")
"""Of an evaluation, which counts records once, from the start: nor does what is missing in them matter."""
NOISE = ("epsilon", "delta", "neighbors", "honest_fraction", "unit", "id_column", "max_rows_per_identifier")
PLACED = 2.0 / 20
"""Largest part of the pairs that are in one bin of the predictor, or in one united time: of these only those at one station are compared."""
MAY = [
    ("ThresholdError", "few events, records or clusters, of one station too"),
    ("ArgumentError", "a column is constant, or there are no two times"),
    ("ConvergenceError", "separation"),
    ("DataProblem", "gaps, or weights of few records"),
    ("PlacementError", "one organization alone"),
]


@st.composite
def judged_cases(draw: Any) -> Case:
    """Return a fit to whole records, and the question how well it does."""
    case: Case = draw(rows_cases())
    fit = dict(case.arguments)
    for entry in case.organizations:
        entry["policy"] = {**entry["policy"], "minimum_count": draw(st.sampled_from([0, 1, 5]))}
    given = {name: fit[name] for name in ("organizations",) if name in fit}
    arguments: dict[str, Any] = {"model": {"$model": 0}} | (given or who(draw, {"organizations": case.organizations}))
    if draw(st.booleans()):
        places = draw(st.lists(st.integers(0, len(fit["times"]) - 1), min_size=2, max_size=4, unique=True))
        arguments["times"] = [fit["times"][place] for place in sorted(places)]
    if draw(st.booleans()):
        arguments["groups"] = draw(st.sampled_from([2, 5, 100]))
    if draw(st.integers(0, 2)) == 2:
        arguments |= {"epsilon": draw(st.sampled_from([0.1, 3.0, HUGE_EPSILON]))}
        arguments |= {"neighbors": draw(st.sampled_from(["add_remove", "replace_one"]))}
        arguments |= {"honest_fraction": draw(st.sampled_from([0.5, 1.0]))}
        if all(PERSON in (entry["columns"] or {PERSON: []}) for entry in case.organizations) and draw(st.booleans()):
            arguments |= {"unit": "identifier", "id_column": PERSON, "max_rows_per_identifier": 1}
    steps = [["fit", fit], ["evaluate", arguments]]
    return Case(ALGORITHM, "evaluate", case.organizations, case.central, steps)


@st.composite
def hazard_cases(draw: Any) -> Case:
    """Return a fit to whole records, and the question for its baseline."""
    case: Case = draw(rows_cases())
    fit = {name: value for name, value in case.arguments.items() if name not in NOISE}
    for entry in case.organizations:
        entry["policy"] = {**entry["policy"], "minimum_count": draw(st.sampled_from([0, 1, 5]))}
    given = {name: fit[name] for name in ("organizations",) if name in fit}
    arguments = {"model": {"$model": 0}} | (given or who(draw, {"organizations": case.organizations}))
    return Case(ALGORITHM, "baseline", case.organizations, case.central, [["fit", fit], ["baseline", arguments]])


def check_hazard(case: Case, outcome: Outcome) -> None:
    """Hold a baseline against that of the pooled records, rounded to the grid that it tells; with Efron's ties against the definition."""
    fit = case.steps[0][1]

    def compare(result: Any) -> None:
        model, told = outcome.results[0]["model"], result["baseline"]
        records, risk, _ = _pooled(case, model, ("cluster",))
        strata = ["north", "south"] if fit.get("strata") else ["all"]
        points = list(zip(told["strata"], told["time"], told["cumulative_hazard"], strict=True))
        grids = [[time for stratum, time, _ in points if stratum == name] for name in strata]
        if not all(set(grid) <= set(fit["times"]) and grid for grid in grids):
            raise Difference("the united grid has times that were not asked for, or none")
        seen = records.rounded([np.array(grid) for grid in grids])
        for stratum, moment, hazard in points:
            own = seen.stratum == strata.index(stratum)
            parts = (part[own] for part in (seen.time, seen.event, np.exp(risk), seen.weight, seen.entry))
            wished = cox.hazard_by_ties(*parts, moment, fit.get("ties", "breslow"))
            close(f"baseline hazard at {moment}", hazard, wished, 1e-5, 1e-7)

    judge(case, outcome, _refused(case), compare, MAY)


def is_judged(case: Case) -> bool:
    """Whether the case is one of these."""
    return case.steps[0][1].get("split") == "horizontal"


def check_judged(case: Case, outcome: Outcome) -> None:
    """Hold the measures against those of the pooled records, rounded up to the grid."""
    fit, arguments = case.steps[0][1], case.arguments

    def compare(result: Any) -> None:
        model, found = outcome.results[0]["model"], result["metrics"]
        records, risk, hazards = _pooled(case, model)
        grid = sorted({*fit["times"], *(arguments.get("times") or [])})
        seen = records.rounded([np.array(grid)] * 2)
        time = np.where(records.time > grid[-1], np.inf, seen.time)
        same("times", found["times"], arguments.get("times") or found["times"])
        if arguments.get("epsilon") is not None:
            return _check_noisy(case, found, result, len(time), int(seen.event.sum()))
        same("records and events", (found["records"], found["events"]), (len(time), int(seen.event.sum())))
        _check_measures(found, time, seen, risk, hazards)

    judge(case, outcome, _refused(case), compare, MAY)


def _refused(case: Case) -> list[tuple[str, str]]:
    """Return why limits of the nodes demand a refusal, of a fit that all stations answer too."""
    fit = case.steps[0][1]
    if fit.get("organizations") is not None and "organizations" not in case.arguments:
        return []
    return limits(case, True)


def _pooled(case: Case, model: Any, unused: Sequence[str] = UNUSED) -> tuple[Records, Any, Any]:
    """Return the records that count, their linear predictors, and the model's cumulative hazard as a function of strata and time."""
    fit, stations = case.steps[0][1], case.used()
    domain = model["domain"]
    features = list(domain)
    data = encoded(stations, domain, features)
    absent = [np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0 for name in features]
    plain = {name: value for name, value in fit.items() if name not in unused}
    records = Records.of(stations, plain, ~np.any(absent, axis=0))
    x, names, _ = design({name: data[name][~np.any(absent, axis=0)] for name in features}, domain, model["references"])
    if fit.get("formula"):
        x, names = crossed(x, names, [[one for one in names if is_of(one, name, domain)] for name in features[:2]])
    table = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    risk = x @ np.array([table[name] for name in names]) - model["offset"]

    def hazard(strata: Any, moment: float) -> Any:
        parts = model["baseline"].get("strata") or [{"stratum": "north", **model["baseline"]}]
        curves = {part["stratum"]: (part["time"], part["cumulative_hazard"]) for part in parts}
        values = []
        for code in strata:
            times, rises = curves[("north", "south")[code]]
            values.append(max([h for t, h in zip(times, rises, strict=True) if t <= moment], default=0.0))
        return np.array(values)

    return records, risk, hazard


def _check_measures(found: Any, time: Any, seen: Records, risk: Any, hazard: Any) -> None:
    """Compare Brier scores as such, and concordance up to the pairs that no station can compare."""
    event, strata, step = seen.event, seen.stratum, found["step"] / 2.0
    wanted = cox.concordance(time, event, risk, strata)
    if wanted is not None and found["concordance"] is not None:
        close("concordance", found["concordance"], wanted, 0.0, PLACED + step)
    for place, moment in enumerate(found["times"]):
        predicted = np.exp(-hazard(strata, moment) * np.exp(risk))
        died = (time <= moment) & (event == 1)
        wished = cox.weighted_squares(time, event, died, predicted, moment)
        close(f"Brier score at {moment}", found["brier_scores"][place], wished, 1e-5, 1e-6 + step)
        early = cox.concordance(time, event * (time <= moment), risk, strata)
        told = found["concordance_by_time"][place]
        if early is not None and told is not None:
            close(f"concordance up to {moment}", told, early, 0.0, 2 * PLACED + step)
        for group in found["calibration_by_time"][place]["groups"]:
            if not (0.0 <= group["predicted"] <= 1.0 and 0.0 <= group["observed"] <= 1.0):
                raise Difference("a survival that is no probability")
    for groups in (found["calibration"], *found["calibration_by_time"]):
        if groups["groups"]:
            same("records of all groups", sum(group["records"] for group in groups["groups"]), len(time))


def _check_noisy(case: Case, found: Any, result: Any, records: int, events: int) -> None:
    arguments, told = case.arguments, result["privacy"]
    same("epsilon", told["epsilon"], arguments["epsilon"])
    same("delta", told["delta"], 0.0)
    same("unit", told["unit"], arguments.get("unit", "row"))
    same("private", told["differentially_private"], arguments["epsilon"] <= 20)
    for value in (found["concordance"], *found["concordance_by_time"], *found["auc_by_time"]):
        if value is not None and not 0.0 <= value <= 1.0:
            raise Difference("a concordance that is no share")
    if arguments["epsilon"] == HUGE_EPSILON:
        same("records and events", (found["records"], found["events"]), (records, events))
