"""Questions about Cox models of whole records at several stations, and what a pooled fit of the rounded records answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedbayes.bayes.encoding import canonical_text

from . import cox
from .cases import Case, Difference, Outcome, judge, same
from .cox_names import ALGORITHM, EVENT, TIME
from .records import Refusals
from .rows import domains, encoded, limits, who
from .tables import horizontal, population, stacked

MOST_POINTS = 10
"""Evaluations that the page tells: a cell has so many times (columns + 1) / columns events at least."""


@st.composite
def rows_cases(draw: Any) -> Case:
    people = draw(
        population(fewest=1, most=3, people=(100, 400), kinds=("number", "number", "category"), gaps=(0.0, 0.0, 0.02))
    )
    features = list(people["columns"])
    domain = domains(draw, people, draw(st.integers(0, 9)) == 9)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    risk = np.zeros(people["people"])
    for name in features:
        order = {cell: place for place, cell in enumerate(sorted({cell for cell in people["columns"][name] if cell}))}
        ranks = np.array([order.get(cell, 0) for cell in people["columns"][name]], dtype=float)
        risk += draw(st.sampled_from([0.0, 0.3, 1.0])) * (ranks - ranks.mean()) / (ranks.std() or 1.0)
    times = random.exponential(np.exp(-risk)) * 10
    censored = random.exponential(draw(st.sampled_from([20.0, 50.0, 1e6])), people["people"])
    people["columns"][TIME] = [repr(round(float(value), 3)) for value in np.minimum(times, censored)]
    people["columns"][EVENT] = [str(int(flag)) for flag in times <= censored]
    place = draw(
        horizontal(people, (2, 4), {"minimum_rows": 1, "minimum_organizations": draw(st.sampled_from([1, 1, 1, 3]))})
    )
    arguments: dict[str, Any] = {"time": TIME, "event": EVENT, "features": features, "split": "horizontal"}
    step = draw(st.sampled_from([0.5, 1.0, 4.0]))
    arguments |= {
        "domain": domain,
        "times": [step * (place + 1) for place in range(draw(st.sampled_from([5, 20, 60])))],
    }
    arguments |= who(draw, place)
    if draw(st.booleans()):
        arguments["ties"] = draw(st.sampled_from(["breslow", "efron"]))
    if draw(st.booleans()):
        arguments["penalty"] = draw(st.sampled_from([0.0, 0.1, 5.0]))
    if draw(st.integers(0, 3)):
        arguments["missing"] = draw(st.sampled_from(["complete", "complete", "complete", "refuse"]))
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def check_rows(case: Case, outcome: Outcome) -> None:
    """Hold a fit against the pooled one of the records rounded up to the grid that the result tells."""
    arguments, stations = case.arguments, case.stations()
    features, domain = arguments["features"], arguments["domain"]
    refuse = limits(case, True)
    if len(stations) < 2:
        refuse += [("ThresholdError", "one organization alone"), ("PlacementError", "one organization alone")]
    if any(len(domain[name].get("categories", "ab")) < 2 for name in features):
        refuse.append(("ArgumentError", "a feature of one category"))
        return judge(case, outcome, refuse, lambda _: None)
    data = encoded(stations, domain, features)
    absent = {name: np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0 for name in features}
    gaps = np.any(list(absent.values()), axis=0)
    if gaps.any() and arguments.get("missing") != "complete":
        refuse.append(("DataProblem", "a feature has gaps or unknown categories"))
    pooled = stacked(stations, [TIME, EVENT])
    time, event = (np.array([float(cell or "nan") for cell in pooled[name]])[~gaps] for name in (TIME, EVENT))
    chosen = case.facts.get("references", {})
    x, names, references = design({name: data[name][~gaps] for name in features}, domain, chosen)
    least = max(case.limit("minimum_count", 5), MOST_POINTS * (x.shape[1] + 1) / x.shape[1])
    refuse += too_little(x, event * (time <= arguments["times"][-1]), least)
    may = [("ThresholdError", "few events or records"), ("ThresholdError", "a station's records all have gaps")]
    if np.any((x == x[:1]).all(axis=0)) or np.any(_ends(x, data, domain, ~gaps)):
        may.append(("ArgumentError", "a feature is constant, or its values are far narrower than its bounds"))

    def compare(result: Any) -> None:
        model = result["model"]
        same("references", model["references"], references)
        compare_rows(model, arguments, time, event, x, names, least)

    if outcome.error is not None and not refuse:
        may += hardly(arguments, time, event, x)
    judge(case, outcome, refuse, compare, may)


def design(
    data: dict[str, Any], domain: dict[str, Any], chosen: dict[str, str]
) -> tuple[Any, list[str], dict[str, str]]:
    """Return the pooled design matrix, its columns' names, and the categories that are left out: those that a dictionary chooses, or the first ones."""
    blocks, names, references = [], [], {}
    for name, values in data.items():
        if "bounds" in domain[name]:
            blocks.append(values.astype(float))
            names.append(name)
            continue
        texts = [canonical_text(entry) or "" for entry in domain[name]["categories"]]
        references[name] = canonical_text(chosen.get(name)) or min(texts)
        for code, text in enumerate(texts):
            if text != references[name]:
                blocks.append((values == code).astype(float))
                names.append(f"{name}={text}")
    rows = len(next(iter(data.values())))
    return (np.stack(blocks, axis=1) if blocks else np.zeros((rows, 0))), names, references


def _ends(x: Any, data: dict[str, Any], domain: dict[str, Any], kept: Any) -> list[bool]:
    """Say of every number whether all its values are at one bound or hardly vary beside the bounds."""
    found = []
    for name, values in data.items():
        if "bounds" in domain[name]:
            low, high = domain[name]["bounds"]
            own = values[kept]
            found.append(
                bool(len(own) == 0 or own.std() < 2e-5 * (high - low) or (own >= high).all() or (own <= low).all())
            )
        else:
            counts = np.bincount(values[kept], minlength=len(domain[name]["categories"])) if len(x) else np.zeros(1)
            found.append(bool(np.any(counts == 0)))
    return found


def too_little(x: Any, event: Any, least: float) -> Refusals:
    """Return why there are too few records or events, whatever the grid."""
    if len(x) < 5 * x.shape[1] or event.sum() < 2 * least:
        return [("ThresholdError", "too few records or events"), ("ArgumentError", "too few records")]
    return []


def hardly(arguments: dict[str, Any], time: Any, event: Any, x: Any) -> Refusals:
    """Return why a fit may end without an answer: columns that depend on one another, or no finite maximum on the grid that was asked for."""
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    if np.linalg.matrix_rank((x - x.mean(axis=0)) / scale, tol=1e-6) < x.shape[1]:
        return [("ArgumentError", "collinear columns"), ("ConvergenceError", "collinear columns")]
    seen, died = rounded(np.array(arguments["times"]), time, event)
    fit = cox.fit(seen, died, np.zeros(len(seen)), x, arguments.get("ties", "breslow"), arguments.get("penalty", 0.0))
    far = np.abs(fit.coefficients * scale).max() > 3.0
    return [("ConvergenceError", "separation"), ("ArgumentError", "separation")] if far or not fit.converged else []


def rounded(grid: Any, time: Any, event: Any) -> tuple[Any, Any]:
    """Return times rounded up to a grid, and events at these; beyond it all are censored at its end."""
    cell = np.searchsorted(grid, time)
    return grid[np.minimum(cell, len(grid) - 1)], ((event == 1) & (cell < len(grid))).astype(int)


def compare_rows(
    model: Any, arguments: dict[str, Any], time: Any, event: Any, x: Any, names: list[str], least: float
) -> None:
    """Compare a fit with the pooled one, and see that the grid has enough events and censored records between its times."""
    from .cox_fit import compare_fit

    if not set(model["times"]) <= set(arguments["times"]):
        raise Difference("the united grid has times that were not asked for")
    seen, died = rounded(np.array(model["times"]), time, event)
    if died.sum() != (event * (time <= arguments["times"][-1])).sum():
        raise Difference("the united grid ends before an event")
    for moment in model["times"]:
        own = seen == moment
        left = (own & (died == 0)).sum()
        if (own & (died == 1)).sum() < least or 0 < left < least:
            raise Difference("few events or censored records lie between two times of the united grid")
    ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
    fit = cox.fit(seen, died, np.zeros(len(seen)), x, ties, penalty)
    if fit.converged:
        compare_fit(model, fit, names, x.std(axis=0), penalty, (len(x), int(died.sum())), 1e-6, 0.0)
