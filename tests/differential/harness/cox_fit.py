"""Questions about fits of Cox models, and what pooled fits answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from . import cox, cox_formula, wild
from .cases import Case, Difference, Outcome, close, judge, same
from .cox_compared import compare_fit
from .cox_curve import compare_curve
from .cox_names import ALGORITHM, CLUSTER, ENTRY, EVENT, STRATA, TIME, WEIGHTS
from .cox_private_columns import check_private_columns, with_noise
from .cox_rows import check_rows, rows_cases
from .cox_times import NEARLY, times_of
from .records import Refusals, is_numeric, not_aligned, number, owner_of
from .tables import joined, population, vertical
from .told import check_hazards_test

ADMM = ("tolerance", "gamma_update", "rho")
UNLIKE = {
    "weights": ("solver", "missing"),
    "entry": ("solver", "missing"),
    "robust": ("solver",),
    "cluster": ("solver", "missing"),
}
"""What each of these goes with in one form only: with the default."""
USUAL = {"solver": "private_newton", "missing": "refuse"}


@st.composite
def survival(
    draw: Any, most: int = 4, placed: bool = False, gaps: int = 1, apart: bool = False
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Draw people with features, times and events that depend on the features; return (people, placement, features).

    With `apart` the first feature is at another station than the outcome.
    """
    people = draw(
        population(
            fewest=2,
            most=most,
            people=(40, 120),
            kinds=("number", "number", "category"),
            gaps=(0.0,) if placed or draw(st.integers(0, 9)) < 10 - gaps else (0.0, 0.02, 0.1, 0.1),
        )
    )
    features = list(people["columns"])
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = people["people"]
    risk = np.zeros(rows)
    effect = draw(st.sampled_from([0.0, 0.3, 0.5] if placed else [0.0, 0.5, 1.0, 1.0, 8.0]))
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
    cells = times_of(draw, observed, random, [6, 6, 1, 0, NEARLY])
    cells, event = wild.outcome(draw, cells, event, random)
    people["columns"][TIME], people["columns"][EVENT] = cells, [str(int(flag)) for flag in event]
    people["columns"][STRATA] = [["north", "south"][int(place)] for place in random.integers(0, 2, rows)]
    people["columns"][WEIGHTS] = [str(value) for value in random.choice(wild.weights(draw, [0.5, 1.0, 2.5]), rows)]
    early = np.array([float(cell) for cell in cells]) * random.choice([0.0, 0.0, 0.3, 0.8], rows) - 0.01
    people["columns"][ENTRY] = [repr(round(float(value), 4)) for value in early]
    families = draw(st.sampled_from([2, 12, 30, 400]))
    people["columns"][CLUSTER] = [f"f{place}" for place in random.integers(0, families, rows)]
    home = {TIME: 0, EVENT: 0, STRATA: 0, WEIGHTS: 0, ENTRY: 0} | ({features[0]: 1} if apart else {})
    place = draw(
        vertical(
            people,
            (2, 4),
            {"minimum_rows": 1, "minimum_organizations": 1},
            (1,) if placed else (1, 1, 1, 1, 0, 2),
            homes=home,
        )
    )
    if placed:
        place["central"] = draw(
            st.sampled_from([e["name"] for e in place["organizations"] if e["columns"] is not None])
        )
    return people, place, features


def _order(cell: str) -> Any:
    seen = number(cell)
    return (0, seen, "") if seen is not None else (1, 0.0, cell)


def who(draw: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Draw `helper`."""
    helpers = [entry["name"] for entry in place["organizations"] if entry["columns"] is None]
    chosen: dict[str, Any] = {"helper": draw(st.sampled_from(helpers))} if helpers and draw(st.booleans()) else {}
    if draw(st.integers(0, 5)) == 5:
        chosen["organizations"] = [entry["name"] for entry in place["organizations"]]
    return chosen


@st.composite
def fit_arguments(
    draw: Any, people: dict[str, Any], place: dict[str, Any], features: list[str], whole: bool = False
) -> dict[str, Any]:
    """Draw the arguments of a fit, of all features with `whole`."""
    chosen = features if whole else draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    arguments: dict[str, Any] = {"time": TIME, "event": EVENT, "features": chosen, "id_column": place["id_column"]}
    if draw(st.integers(0, 3)) == 3 and not any(
        "`" in name for name in chosen
    ):  # in a formula names stand in backticks
        del arguments["features"]
        arguments["formula"] = cox_formula.drawn(draw, people, place, chosen)
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
    if draw(st.integers(0, 4)) == 4:
        rows: Case = draw(rows_cases())
        return rows
    people, place, features = draw(survival(gaps=4))
    arguments = draw(fit_arguments(people, place, features))
    if draw(st.integers(0, 4)) == 4:
        arguments = with_noise(draw, people, arguments, features)
        return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])
    solver = draw(st.sampled_from(["private_newton", "private_newton", "bfgs", "admm"]))
    if solver != "private_newton":
        arguments["solver"] = solver
    if solver == "admm":
        arguments |= {"tolerance": 1e-5, "gamma_update": draw(st.sampled_from(["standard", "published"]))}
        arguments["rho"] = draw(st.sampled_from([0.25, 1.0]))
        arguments.pop("ties", None)
    if draw(st.integers(0, 3)) == 3:
        arguments["max_rounds"] = draw(st.sampled_from([12, 16, 24, 40, 200, 5000]))
    if draw(st.booleans()):
        arguments["missing"] = draw(st.sampled_from(["complete", "complete", "refuse"]))
        if arguments["missing"] == "complete" and draw(st.integers(0, 4)) < 4:
            arguments = {name: arguments[name] for name in arguments if name not in ("solver", *ADMM)}
            arguments["ties"] = draw(st.sampled_from(["breslow", "breslow", "breslow", "efron"]))
    for name, value in (("weights", WEIGHTS), ("entry", ENTRY), ("robust", True), ("cluster", CLUSTER)):
        if draw(st.integers(0, 4)) == 4:
            arguments[name] = value
            if draw(st.integers(0, 3)):  # else what it does not go with may be there
                arguments = {key: arguments[key] for key in arguments if key not in (*UNLIKE[name], *ADMM)}
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def counted(arguments: dict[str, Any], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records that count: with missing="complete" those without a gap in a feature."""
    if arguments.get("missing") != "complete":
        return records
    return [record for record in records if all(record[name] is not None for name in cox_formula.used(arguments))]


def tied(arguments: dict[str, Any], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of a stratum that have the time of another one."""
    strata, died = arguments.get("strata"), [record for record in records if record[EVENT] == "1"]
    seen = [(float(record[TIME]), record[STRATA] if strata else "") for record in died]
    counts = Counter(seen)
    return [record for record, moment in zip(died, seen, strict=True) if counts[moment] > 1]


def design(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, list[str]]:
    """Return the pooled design matrix and its columns' names: numbers, or one indicator a category but the first."""
    if arguments.get("formula"):
        return cox_formula.design(case, arguments, records)
    blocks, names = [], []
    for feature in cox_formula.used(arguments):
        cells = [record[feature] for record in records]
        owner = case.stations()[owner_of(case, feature) or ""][feature]
        if is_numeric(owner):
            blocks.append([[number(cell)] for cell in cells])
            names.append(feature)
            continue
        first = case.facts.get("references", {}).get(feature, "").strip()
        labels = sorted({cell.strip() for cell in cells}, key=lambda label: (label != first, label))
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
    extra = arguments.get("penalty") or arguments.get("strata") or arguments.get("ties") == "efron"
    if arguments.get("solver") == "admm" and extra:
        refuse.append(("ArgumentError", "ADMM as published has neither penalty nor strata nor Efron's ties"))
    if {TIME, EVENT} & set(cox_formula.used(arguments)):
        refuse.append(("ArgumentError", "a feature is the outcome"))
    sandwich = arguments.get("robust") or arguments.get("cluster")
    for name, others in UNLIKE.items():
        if arguments.get(name) and any(arguments.get(other, USUAL[other]) != USUAL[other] for other in others):
            refuse.append(("ArgumentError", f"{name} goes with the defaults of {others}"))
    if arguments.get("weights") and arguments.get("cluster") and owner_of(case, CLUSTER) != owner_of(case, TIME):
        refuse.append(("DataProblem", "clusters and weights are at two stations"))
    if arguments.get("weights") or arguments.get("entry") or sandwich:
        may.append(("DataProblem", "few records weigh or enter unlike the others"))
    roles = [TIME, *([CLUSTER] if arguments.get("cluster") else [])]
    owners = {owner_of(case, name) for name in (*cox_formula.used(arguments), *roles)}
    if len(owners) < 2:
        refuse.append(("PlacementError", "all columns are at one station"))
    whole = list(joined(stations, case.id_column).values())
    complete, records = arguments.get("missing") == "complete", counted(arguments, whole)
    if complete:
        refuse_complete(case, arguments, whole, refuse)
    refuse += not_aligned(case)
    if arguments.get("time_transform") == "log" and any(r[EVENT] == "1" and float(r[TIME]) <= 0 for r in whole):
        (may if complete or len(owners) < 2 else refuse).append(
            ("DataProblem", "the logarithm of an event at time zero")
        )
    for feature in cox_formula.used(arguments):
        cells = [record[feature] and record[feature].strip() for record in records]
        if not complete and None in stations[owner_of(case, feature) or ""][feature]:
            (refuse if None in cells else may).append(("DataProblem", f"{feature!r} has gaps"))
        present = [cell for cell in cells if cell is not None]
        if len(set(present)) < 2 or (is_numeric(present) and hardly_varies(present)):
            refuse.append(("DataProblem", f"{feature!r} is constant, or as good as"))
        elif not is_numeric(present) or (
            arguments.get("formula") and cox_formula.is_category(case, arguments, feature)
        ):
            known = present if not complete else _at_one_station(case, arguments, whole, feature)
            least = min(present.count(cell) for cell in set(known))
            if least < case.limit("minimum_count", 5):
                refuse.append(("DataProblem", f"{feature!r} has a rare category"))
        if case.facts.get("references", {}).get(feature) not in (None, *present):
            refuse.append(("DataProblem", f"no record of the reference of {feature!r}"))
    if arguments.get("formula"):
        more = cox_formula.refusals(
            case, arguments, [r for r in records if None not in map(r.get, cox_formula.used(arguments))]
        )
        refuse += more[0]
        may += more[1]
    used = cox_formula.used(arguments)
    for feature in used:
        beside = [name for name in used if name != feature and owner_of(case, name) == owner_of(case, feature)]
        if beside:
            may.append(("DataProblem", f"{feature!r} may differ from {beside} in few records"))
    cells = {name: [record[name] for record in whole if record[name] is not None] for name in used}
    widths = [1 if is_numeric(own) else len({cell.strip() for cell in own}) - 1 for own in cells.values()]
    if len(whole) < 5 * sum(widths):
        may.append(("ThresholdError", "too few records for so many columns"))
    if len({float(cell) for cell in stations[owner_of(case, TIME) or ""][TIME]}) == 1:
        refuse.append(("DataProblem", "one time only"))
    events = [record for record in records if record[EVENT] == "1"]
    if not events:
        refuse.append(("DataProblem", "no event"))
    if len(events) < case.limit("minimum_count", 5):
        refuse.append(("ThresholdError", "few events"))
    if arguments.get("ties") == "efron" and not complete:
        masses = np.array(
            [float(record[WEIGHTS]) if arguments.get("weights") else 1.0 for record in tied(arguments, records)]
        )
        if masses.sum() ** 2 < case.limit("minimum_count", 5) * (masses**2).sum():
            refuse.append(("ThresholdError", "few tied events, or few that carry their weight"))
    if arguments.get("time_transform") in ("identity", "log"):
        may.append(("ThresholdError", "few events far in time"))
    if arguments.get("cluster"):
        refuse += few_clusters(case, records)
    if arguments.get("strata"):
        sizes = [sum(record[STRATA] == name for record in records) for name in {record[STRATA] for record in records}]
        if min(sizes, default=0) < case.limit("minimum_count", 5):
            refuse.append(("ThresholdError", "a small stratum"))
    return refuse, may


def few_clusters(case: Case, records: list[dict[str, Any]]) -> Refusals:
    """Return why clusters of pooled records must be refused by the station that has them: few, or they set few records apart."""
    least, sizes = case.limit("minimum_count", 5), Counter(record[CLUSTER] for record in records)
    if len(sizes) < max(least, 2):
        return [("ThresholdError", "few clusters")]
    together = sum(size for size in sizes.values() if size > 1)
    if len(records) - max(sizes.values()) < least or 0 < together < least:
        return [("DataProblem", "few records in clusters, or outside the largest")]
    return []


def squares(arguments: dict[str, Any], records: list[dict[str, Any]], x: Any, fit: cox.Fit) -> Any:
    """Return the sum of products of score residuals, by cluster if there are some; None where errors are the model's."""
    if not (arguments.get("robust") or arguments.get("cluster")):
        return None
    time, event, strata = arrays(arguments, records)
    weight, entry = cases(arguments, records)
    residuals = cox.score_residuals(
        time, event, strata, x, fit.coefficients, arguments.get("ties", "breslow"), weight, entry
    )
    family = [record[CLUSTER] for record in records] if arguments.get("cluster") else range(len(records))
    sums = pd.DataFrame(residuals).groupby(np.array(family)).sum().to_numpy()
    return sums.T @ sums


def hardly_varies(cells: list[str]) -> bool:
    """Whether numbers have no deviation, or one of which double precision keeps hardly a digit beside their mean."""
    values = np.array([float(number(cell) or 0) for cell in cells])
    return bool(np.ptp(values) == 0 or values.std() <= 1e-12 * abs(values.mean()))


def _collinear(x: Any) -> bool:
    """Whether columns depend on one another, far beyond what rounding on shares hides."""
    deviation = x.std(axis=0)
    if not (deviation > 0).all():
        return False
    return bool(np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(x, rowvar=False))).min() < 1e-12)


def _at_one_station(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]], feature: str) -> list[Any]:
    """Return the cells of a feature in the records without a gap at its station."""
    owner = owner_of(case, feature)
    own = [name for name in cox_formula.used(arguments) if owner_of(case, name) == owner]
    return [record[feature].strip() for record in records if all(record[name] is not None for name in own)]


def refuse_complete(case: Case, arguments: dict[str, Any], records: list[dict[str, Any]], refuse: Refusals) -> None:
    """Add why a fit to complete records must be refused."""
    if arguments.get("solver", "private_newton") != "private_newton":
        refuse.append(("ArgumentError", "another solver"))
    home = [name for name in cox_formula.used(arguments) if owner_of(case, name) == owner_of(case, TIME)]
    if arguments.get("ties") == "efron" and tied(arguments, counted({**arguments, "features": home}, records)):
        refuse.append(("ArgumentError", "tied events"))
    if len(counted(arguments, records)) < 1:
        refuse += [("ThresholdError", "no complete record"), ("DataProblem", "no complete record")]


def cases(arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Return case weights and times of entry of pooled records."""
    weight = np.array([float(record[WEIGHTS]) if arguments.get("weights") else 1.0 for record in records])
    entry = np.array([float(record[ENTRY]) if arguments.get("entry") else -np.inf for record in records])
    return weight, entry


def arrays(arguments: dict[str, Any], records: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Return times, events, strata of pooled records."""
    time = np.array([float(record[TIME]) for record in records])
    event = np.array([int(record[EVENT]) for record in records])
    strata = np.array([record[STRATA] if arguments.get("strata") else "all" for record in records])
    return time, event, strata


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    if arguments.get("split") == "horizontal":
        return check_rows(case, outcome)
    if arguments.get("epsilon") is not None:
        return check_private_columns(case, outcome)
    refuse, may = refusals(case, arguments)
    if refuse:
        return judge(case, outcome, refuse, lambda _: None, may)
    whole = list(joined(case.stations(), case.id_column).values())
    records = counted(arguments, whole)
    x, names = design(case, arguments, records)
    time, event, strata = arrays(arguments, records)
    if len(whole) < 5 * x.shape[1]:
        refuse.append(("ThresholdError", "too few records for so many columns"))
        return judge(case, outcome, refuse, lambda _: None, may)
    if np.ptp(time) == 0:
        refuse.append(("DataProblem", "one time only"))
        return judge(case, outcome, refuse, lambda _: None, may)
    usual = {"private_newton": 160, "bfgs": 30, "admm": 2000}[arguments.get("solver", "private_newton")]
    most = arguments.get("max_rounds") or usual
    if most < usual:
        may.append(("ConvergenceError", "fewer rounds than usual"))
    if (
        arguments.get("formula")
        and np.linalg.matrix_rank((x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)) < x.shape[1]
    ):
        (may if arguments.get("penalty") else refuse).extend(
            (kind, "design columns depend on one another") for kind in ("DataProblem", "ArgumentError")
        )
        if refuse:
            return judge(case, outcome, refuse, lambda _: None, may)
    if arguments.get("cluster") and len({record[CLUSTER] for record in records}) < 2 * x.shape[1]:
        refuse.append(("ThresholdError", "few clusters for so many columns"))
        return judge(case, outcome, refuse, lambda _: None, may)
    scale = x.std(axis=0)
    ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
    pooled = cox.fit(time, event, strata, x, ties, penalty, *cases(arguments, records))
    if _collinear(x):  # a penalty parts them, unless it is nothing beside their information
        kinds = ("ArgumentError", "ConvergenceError", "DataProblem")
        (may if penalty else refuse).extend((kind, "collinear columns") for kind in kinds)
    standardised = np.abs((x - x.mean(axis=0)) / scale).max()
    hard = np.abs((x - x.mean(axis=0)) @ pooled.coefficients).max() > 5.0 or standardised > 8
    if not pooled.converged or hard or arguments.get("solver") == "admm":
        may += [
            (kind, "the pooled fit hardly settles") for kind in ("ConvergenceError", "ArgumentError", "DataProblem")
        ]

    def compare(result: Any) -> None:
        if result["federation"]["rounds"] > most:
            raise Difference(f"{result['federation']['rounds']} rounds where max_rounds is {most}")
        if pooled.converged:
            tolerance = 2e-3 if arguments.get("solver") == "admm" else 1e-3 if hard else 1e-5
            home = [name for name in cox_formula.used(arguments) if owner_of(case, name) == owner_of(case, TIME)]
            known = counted({**arguments, "features": home}, whole)
            left = [len(whole) - len(records), sum(record[EVENT] == "1" for record in known) - int(event.sum())]
            limit = max(case.limit("minimum_count", 5), 1)
            told = not any(0 < count < limit for count in left)
            counts = (len(records), int(event.sum())) if told else (None, None)
            unsure = result["diagnostics"].get("log_likelihood_error", 0.0)
            unsure = unsure if any("log-likelihood" in text for text in result["warnings"]) else 0.0
            robust = squares(arguments, records, x, pooled)
            families = len({record[CLUSTER] for record in records}) if arguments.get("cluster") else None
            same("clusters", result["model"].get("clusters"), families)
            compare_fit(result["model"], pooled, names, scale, penalty, counts, tolerance, unsure, robust)
            offset = float(x.mean(axis=0) @ [_coefficient(result["model"], name) for name in names])
            close(
                "offset",
                result["model"]["offset"],
                offset,
                1e-6,
                1e-5 * (1.0 + float(np.abs(x @ pooled.coefficients).max())),
            )
            if not hard:
                risk = np.exp((x - x.mean(axis=0)) @ pooled.coefficients)
                compare_curve(
                    result["model"], time, event, strata, risk, *cases(arguments, records), len(case.stations())
                )
            if not (penalty or hard or arguments.get("weights") or arguments.get("entry")):
                tests = result["model"]["proportional_hazards"]
                kind = arguments.get("time_transform", "rank")
                check_hazards_test(tests, names, kind, (time, event, strata, x), pooled, ties, tolerance)

    judge(case, outcome, refuse, compare, may)


def _coefficient(model: dict[str, Any], name: str) -> float:
    return next(float(row["coefficient"]) for row in model["coefficients"] if row["feature"] == name)
