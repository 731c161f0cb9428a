"""Cox models over vertically split records, against pooled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from . import cox
from .cases import Case, Outcome, close, judge, same
from .records import Refusals, is_numeric, number, owner_of
from .tables import joined, population, vertical

ALGORITHM = "verticox"
TIME, EVENT, STRATA = "time of event", "event", "stratum"


@st.composite
def survival(draw: Any, most: int = 4) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Draw people with features, times and events that depend on the features; return (people, placement, features)."""
    people = draw(
        population(
            fewest=2,
            most=most,
            people=(40, 120),
            kinds=("number", "number", "category"),
            gaps=(0.0,) if draw(st.integers(0, 9)) < 9 else (0.1,),
        )
    )
    features = list(people["columns"])
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = people["people"]
    risk = np.zeros(rows)
    effect = draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 8.0]))
    for name in features:
        column = people["columns"][name]
        ranks = {
            cell: place for place, cell in enumerate(sorted({cell for cell in column if cell is not None}, key=_order))
        }
        values = np.array([ranks.get(cell, 0) for cell in column], dtype=float)
        risk += effect * random.normal() * (values - values.mean()) / (values.std() or 1.0)
    times = random.exponential(np.exp(-risk)) * 10
    censored = random.exponential(draw(st.sampled_from([5.0, 30.0, 1e6])), rows)
    event = times <= censored
    observed = np.minimum(times, censored)
    digits = draw(st.sampled_from([6, 6, 1, 0]))
    cells = [repr(round(float(value), digits)) if digits else str(int(value)) for value in observed]
    people["columns"][TIME], people["columns"][EVENT] = cells, [str(int(flag)) for flag in event]
    people["columns"][STRATA] = [["north", "south"][int(place)] for place in random.integers(0, 2, rows)]
    home = {TIME: 0, EVENT: 0, STRATA: 0}
    place = draw(
        vertical(people, (2, 4), {"minimum_rows": 1, "minimum_organizations": 1}, (1, 1, 1, 1, 0, 2), homes=home)
    )
    return people, place, features


def _order(cell: str) -> Any:
    seen = number(cell)
    return (0, seen, "") if seen is not None else (1, 0.0, cell)


def who(draw: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Draw `helper`."""
    helpers = [entry["name"] for entry in place["organizations"] if entry["columns"] is None]
    return {"helper": draw(st.sampled_from(helpers))} if helpers and draw(st.booleans()) else {}


@st.composite
def fit_arguments(draw: Any, place: dict[str, Any], features: list[str]) -> dict[str, Any]:
    """Draw the arguments of a fit."""
    chosen = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    arguments: dict[str, Any] = {"time": TIME, "event": EVENT, "features": chosen, "id_column": place["id_column"]}
    arguments |= who(draw, place)
    if draw(st.booleans()):
        arguments["ties"] = draw(st.sampled_from(["breslow", "efron"]))
    if draw(st.booleans()):
        arguments["penalty"] = draw(st.sampled_from([0.0, 0.1, 5.0]))
    if draw(st.integers(0, 3)) == 3:
        arguments["strata"] = STRATA
    if draw(st.integers(0, 3)) == 3:
        arguments["time_transform"] = draw(st.sampled_from(["rank", "km", "identity", "log", None]))
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    _, place, features = draw(survival())
    arguments = draw(fit_arguments(place, features))
    solver = draw(st.sampled_from(["private_newton", "private_newton", "bfgs", "admm"]))
    if solver != "private_newton":
        arguments["solver"] = solver
    if solver == "admm":
        arguments |= {"tolerance": 1e-5, "gamma_update": draw(st.sampled_from(["standard", "published"]))}
        arguments["rho"] = draw(st.sampled_from([0.25, 1.0]))
        arguments.pop("ties", None)
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def design(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, list[str]]:
    """Return the pooled design matrix and its columns' names: numbers, or one indicator a category but the first."""
    blocks, names = [], []
    for feature in arguments["features"]:
        cells = [record[feature] for record in records]
        owner = case.stations()[owner_of(case, feature) or ""][feature]
        if is_numeric(owner):
            blocks.append([[number(cell)] for cell in cells])
            names.append(feature)
            continue
        labels = sorted({cell.strip() for cell in cells})
        blocks.append([[float(cell.strip() == label) for label in labels[1:]] for cell in cells])
        names += [f"{feature}={label}" for label in labels[1:]]
    return np.concatenate([np.array(block, dtype=float).reshape(len(records), -1) for block in blocks], axis=1), names


def refusals(case: Case, arguments: dict[str, Any]) -> tuple[Refusals, Refusals]:
    """Return why a fit must be refused, and why it may be."""
    stations, helper = case.stations(), arguments.get("helper")
    refuse: Refusals = []
    may: Refusals = []
    free = [name for name in case.helpers() if name != case.central]
    if helper == case.central or (helper is None and not free):
        refuse += [("PlacementError", "nobody can be the helper"), ("ArgumentError", "nobody is without data")]
    if arguments.get("solver") in ("bfgs", "admm") and case.central == owner_of(case, TIME):
        refuse.append(("PlacementError", "central runs where the outcome is"))
    owners = {owner_of(case, feature) for feature in arguments["features"]} | {owner_of(case, TIME)}
    if len(owners) < 2:
        refuse.append(("PlacementError", "all columns are at one station"))
    records = list(joined(stations, arguments["id_column"]).values())
    for feature in arguments["features"]:
        cells = [record[feature] for record in records]
        if None in stations[owner_of(case, feature) or ""][feature]:
            (refuse if None in cells else may).append(("DataProblem", f"{feature!r} has gaps"))
        present = [cell for cell in cells if cell is not None]
        if len(set(present)) < 2 or (
            is_numeric(present) and np.ptp([float(number(cell) or 0) for cell in present]) == 0
        ):
            refuse.append(("DataProblem", f"{feature!r} is constant"))
        elif not is_numeric(present):
            least = min(present.count(cell) for cell in set(present))
            if least < case.limit("minimum_count", 5):
                refuse.append(("DataProblem", f"{feature!r} has a rare category"))
    events = [record for record in records if record[EVENT] == "1"]
    if not events:
        refuse.append(("DataProblem", "no event"))
    if len(events) < case.limit("minimum_count", 5):
        refuse.append(("ThresholdError", "few events"))
    if arguments.get("strata"):
        sizes = [sum(record[STRATA] == name for record in records) for name in {record[STRATA] for record in records}]
        if min(sizes, default=0) < case.limit("minimum_count", 5):
            refuse.append(("ThresholdError", "a small stratum"))
    return refuse, may


def arrays(arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Return times, events, strata of pooled records."""
    time = np.array([float(record[TIME]) for record in records])
    event = np.array([int(record[EVENT]) for record in records])
    strata = np.array([record[STRATA] if arguments.get("strata") else "all" for record in records])
    return time, event, strata


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    refuse, may = refusals(case, arguments)
    if refuse:
        return judge(case, outcome, refuse, lambda _: None, may)
    records = list(joined(case.stations(), arguments["id_column"]).values())
    if may:
        may = [*may]
    x, names = design(case, arguments, records)
    time, event, strata = arrays(arguments, records)
    if len(records) < 5 * x.shape[1]:
        refuse.append(("ThresholdError", "too few records for so many columns"))
        return judge(case, outcome, refuse, lambda _: None, may)
    if np.ptp(time) == 0:
        refuse.append(("DataProblem", "one time only"))
        return judge(case, outcome, refuse, lambda _: None, may)
    scale = x.std(axis=0)
    ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
    pooled = cox.fit(time, event, strata, x, ties, penalty)
    standardised = np.abs((x - x.mean(axis=0)) / scale).max()
    hard = np.abs((x - x.mean(axis=0)) @ pooled.coefficients).max() > 9.0 or standardised > 8
    if not pooled.converged or hard or arguments.get("solver") == "admm":
        may += [
            (kind, "the pooled fit hardly settles") for kind in ("ConvergenceError", "ArgumentError", "DataProblem")
        ]

    def compare(result: Any) -> None:
        if pooled.converged:
            tolerance = 2e-3 if arguments.get("solver") == "admm" else 1e-3 if hard else 1e-5
            compare_fit(result["model"], pooled, names, scale, penalty, len(records), int(event.sum()), tolerance)

    judge(case, outcome, refuse, compare, may)


def compare_fit(
    model: Any,
    pooled: cox.Fit,
    names: list[str],
    scale: Any,
    penalty: float,
    records: int,
    events: int,
    tolerance: float,
) -> None:
    """Compare every number of a coefficient table, the covariance and the likelihood."""
    same("records", model["records"], records)
    same("events", model["events"], events)
    table = {row["feature"] if "feature" in row else row["name"]: row for row in model["coefficients"]}
    same("design columns", sorted(table), sorted(names))
    covariance = np.linalg.inv(pooled.information + penalty * np.eye(len(names)))
    errors = np.sqrt(np.diag(covariance))
    for place, name in enumerate(names):
        row, beta = table[name], float(pooled.coefficients[place])
        close(f"coefficient of {name!r}", row["coefficient"] * scale[place], beta * scale[place], tolerance, tolerance)
        close(f"standard error of {name!r}", row["standard_error"], float(errors[place]), 20 * tolerance)
        z = beta / errors[place]
        close(f"z of {name!r}", row["z"], z, 40 * tolerance, 40 * tolerance)
        close(f"p of {name!r}", row["p"], float(2 * stats.norm.sf(abs(z))), 0.0, 40 * tolerance)
        close(f"hazard ratio of {name!r}", row["hazard_ratio"], float(np.exp(row["coefficient"])), 1e-9)
        half = 1.959963984540054 * row["standard_error"]
        close(f"lower of {name!r}", row["lower_95"], row["coefficient"] - half, 1e-6, 1e-6 * half)
        close(f"upper of {name!r}", row["upper_95"], row["coefficient"] + half, 1e-6, 1e-6 * half)
    close("log likelihood at zero", model["null_log_likelihood"], pooled.null, 1e-9)
    close("log likelihood", model["log_likelihood"], pooled.log_likelihood, max(tolerance, 1e-5))
    test = model["likelihood_ratio_test"]
    statistic = 2 * (pooled.log_likelihood - pooled.null)
    found = next(test[key] for key in ("statistic", "chi_squared", "chi2") if key in test)
    close("likelihood ratio", found, statistic, 1e-3, 20 * max(tolerance, 1e-5) * abs(pooled.null))


FUNCTIONS = {"fit": (fit_cases, check_fit)}
