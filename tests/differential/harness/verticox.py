"""Questions about Cox models on vertically split records, and their pooled answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import cox
from .cases import POSITION, Case, Outcome, close, judge, same
from .cox_curve import half_step
from .cox_fit import arrays, cases, check_fit, design, fit_arguments, fit_cases, survival
from .cox_folds import check_folds
from .cox_judged import check_hazard, check_judged, hazard_cases, is_judged, judged_cases
from .cox_names import ALGORITHM, ENTRY, TIME, WEIGHTS
from .tables import joined
from .told import check_judged_times


@st.composite
def _fitted(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a placement and the arguments of a fit."""
    people, place, features = draw(survival(most=3, placed=True))
    elsewhere = [name for name in features if place["homes"][name] != place["homes"][TIME]]
    arguments = draw(fit_arguments(people, place, elsewhere or features))
    for entry in place["organizations"]:
        entry["policy"] = {**entry["policy"], "minimum_count": 0}
    return place, arguments


@st.composite
def _cases(draw: Any) -> dict[str, str]:
    """Draw columns by which the records of a fit count."""
    return {name: column for name, column in (("weights", WEIGHTS), ("entry", ENTRY)) if draw(st.integers(0, 2)) == 2}


def _used(draw: Any, place: dict[str, Any], fit: dict[str, Any]) -> dict[str, Any]:
    again = {name: fit[name] for name in ("helper", "organizations") if name in fit}
    return {"model": {"$model": 0}, "id_column": place["id_column"]} | again


def _two_steps(function: str, place: dict[str, Any], fit: dict[str, Any], arguments: dict[str, Any]) -> Case:
    return Case(ALGORITHM, function, place["organizations"], place["central"], [["fit", fit], [function, arguments]])


@st.composite
def predict_cases(draw: Any) -> Case:
    place, fit = draw(_fitted())
    fit |= draw(_cases())
    arguments = _used(draw, place, fit) | {"identifiers": draw(st.sampled_from([True, True, True, False]))}
    if draw(st.booleans()):
        arguments["times"] = draw(st.sampled_from([[1.0], [0.0, 2.5, 100.0]]))
    if fit.get("strata"):
        arguments["stratum"] = draw(st.sampled_from(["north", "south"]))
    elif draw(st.booleans()):
        arguments["stratum"] = "all"
    if draw(st.booleans()):
        arguments["alive_at"] = draw(st.sampled_from([0.0, 1, 2.5, 1e9]))
    return _two_steps("predict", place, fit, arguments)


@st.composite
def evaluate_cases(draw: Any) -> Case:
    if draw(st.integers(0, 3)) == 3:
        rows: Case = draw(judged_cases())
        return rows
    place, fit = draw(_fitted())
    arguments = _used(draw, place, fit)
    if draw(st.integers(0, 3)) == 3:
        arguments["groups"] = draw(st.sampled_from([2, 5]))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "aggregates", "folds"]))
    if kind == "aggregates":
        arguments["reveal"] = "aggregates"
    elif kind == "folds":
        arguments["folds"] = draw(st.sampled_from([2, 3]))
        fit |= draw(_cases())
    elif draw(st.booleans()):
        arguments |= {"times": [1.0, 5.0], "reveal": "predictors"}
    return _two_steps("evaluate", place, fit, arguments)


@st.composite
def baseline_cases(draw: Any) -> Case:
    if draw(st.integers(0, 3)) == 3:
        rows: Case = draw(hazard_cases())
        return rows
    place, fit = draw(_fitted())
    fit |= draw(_cases())
    return _two_steps("baseline", place, fit, _used(draw, place, fit))


def _predictor(case: Case, model: Any) -> tuple[dict[str, float], dict[str, dict[str, Any]]]:
    """Return the linear predictors of pooled records under a model's coefficients, against its offset; and the records."""
    fit = case.steps[0][1]
    records = joined(case.stations(), case.id_column)
    x, names = design(case, fit, list(records.values()))
    table = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    values = x @ np.array([table[name] for name in names]) - model["offset"]
    return dict(zip(records, (float(value) for value in values), strict=True)), records


GUARDS = [
    ("ThresholdError", "few events between times, or records at a level"),
    ("DataProblem", "times out of reach"),
    ("ArgumentError", "times out of reach"),
]


def check_predict(case: Case, outcome: Outcome) -> None:
    def compare(result: Any) -> None:
        model, shown = outcome.results[0]["model"], result["predictions"]
        wanted, _ = _predictor(case, model)
        scale = max(map(abs, wanted.values())) + 1.0
        if case.arguments["identifiers"] and case.id_column != POSITION:
            same("identifiers", sorted(shown["identifiers"]), sorted(wanted))
            for identifier, value in zip(shown["identifiers"], shown["linear_predictor"], strict=True):
                close(f"linear predictor of {identifier}", value, wanted[identifier], 1e-6, 1e-5 * scale)
        else:
            close("linear predictors", sorted(shown["linear_predictor"]), sorted(wanted.values()), 1e-6, 1e-5 * scale)
        close("partial hazards", shown["partial_hazard"], [float(np.exp(v)) for v in shown["linear_predictor"]], 1e-9)
        curve = _curve(model, case.arguments.get("stratum", "all"))
        hazards, start = [_hazard(curve, moment) for moment in shown["times"]], case.arguments.get("alive_at")
        passed = 0.0 if start is None else _hazard(curve, start)
        for row, hazard in enumerate(shown["partial_hazard"]):
            wished = [float(np.exp(-max(total - passed, 0.0) * hazard)) for total in hazards]
            close("survival", shown["survival"][row], wished, 1e-6)

    judge(case, outcome, [], compare, GUARDS)


def _hazard(curve: tuple[list[float], list[float]], moment: float) -> float:
    """Return the cumulative baseline hazard at a time."""
    return max([hazard for time, hazard in zip(*curve, strict=True) if time <= moment], default=0.0)


def _curve(model: Any, stratum: str) -> tuple[list[float], list[float]]:
    baseline = model["baseline"]
    chosen = next((part for part in baseline.get("strata", []) if part["stratum"] == stratum), baseline)
    return chosen["time"], chosen["cumulative_hazard"]


def check_evaluate(case: Case, outcome: Outcome) -> None:
    if is_judged(case):
        return check_judged(case, outcome)
    fit = case.steps[0][1]
    may = [*GUARDS, ("PolicyError", "the model would tell a record"), ("ConvergenceError", "a fold hardly settles")]

    def compare(result: Any) -> None:
        if case.arguments.get("folds"):
            return check_folds(case, result["metrics"])
        if case.arguments.get("reveal") == "aggregates":
            return
        wanted, records = _predictor(case, outcome.results[0]["model"])
        time, event, strata = arrays(fit, list(records.values()))
        risk = np.array(list(wanted.values()))
        found = result["metrics"]
        same("records", found["records"], len(records))
        same("events", found["events"], int(event.sum()))
        value = cox.concordance(time, event, risk, strata)
        if value is not None:
            close("concordance", found["concordance"], value, 0.0, 2e-3 + found["step"] / 2.0)
        same("concordance at the top", result["concordance"], found["concordance"])
        check_judged_times(found, time, event, risk, strata)
        if not fit.get("strata"):
            curve = _curve(outcome.results[0]["model"], "all")
            for moment, shown in zip(found["times"], found["brier_scores"], strict=True):
                wished = cox.brier_score(time, event, risk, curve, moment)
                close(f"Brier score at {moment}", shown, wished, 1e-3, 1e-3 + found["step"] / 2.0)
            _calibration(case, found, curve, time, event, risk)

    return judge(case, outcome, [], compare, may)


def _calibration(case: Case, found: Any, curve: Any, time: Any, event: Any, risk: Any) -> None:
    """Compare groups of predicted survival; the nodes demand no minimum count, so none is left out."""
    moment = found["calibration"]["time"]
    same("time of the calibration", moment, found["times"][len(found["times"]) // 2])
    most = 2 ** (int(case.arguments.get("groups", 5)).bit_length() - 1)  # of groups halves of halves are told
    wished = cox.calibration(time, event, risk, curve, moment, most)
    if wished is None:
        return
    shown = found["calibration"]["groups"]
    same("records of the groups", [group["records"] for group in shown], [size for size, _, _ in wished])
    for group, (_, predicted, observed) in zip(shown, wished, strict=True):
        close("predicted of a group", group["predicted"], predicted, 0.0, 1e-5)
        close("observed of a group", group["observed"], observed, 0.0, cox.step_of(group["records"]) / 2.0 + 1e-9)


def check_baseline(case: Case, outcome: Outcome) -> None:
    if is_judged(case):
        return check_hazard(case, outcome)
    fit = case.steps[0][1]

    def compare(result: Any) -> None:
        wanted, records = _predictor(case, outcome.results[0]["model"])
        time, event, strata = arrays(fit, list(records.values()))
        risk, (weight, entry) = np.exp(np.array(list(wanted.values()))), cases(fit, list(records.values()))
        shown = result["baseline"]
        for stratum, moment, hazard in zip(shown["strata"], shown["time"], shown["cumulative_hazard"], strict=True):
            rows = strata == stratum
            own = (part[rows] for part in (weight, entry))
            total = cox.cumulative_hazard(time[rows], event[rows], risk[rows], moment, *own)
            close(
                f"baseline hazard at {moment}",
                hazard,
                total,
                1e-4,
                1e-6 + half_step(time[rows], event[rows], entry[rows], moment),
            )

    return judge(case, outcome, [], compare, [*GUARDS, ("PolicyError", "the model would tell a record")])


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "predict": (predict_cases, check_predict),
    "evaluate": (evaluate_cases, check_evaluate),
    "baseline": (baseline_cases, check_baseline),
}
