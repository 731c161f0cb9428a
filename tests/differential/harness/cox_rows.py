"""Questions about Cox models of whole records at several stations, and what a pooled fit of the rounded records answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from fedbayes.bayes.values.encoding import canonical_text

from . import cox, wild
from .cases import Case, Difference, Outcome, judge, same
from .cox_compared import compare_fit
from .cox_curve import compare_grid
from .cox_names import ALGORITHM, CLUSTER, ENTRY, EVENT, STRATA, TIME, WEIGHTS
from .cox_private import PERSON, check_private, with_noise
from .cox_times import NEARLY, times_of
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
    cells = times_of(draw, np.minimum(times, censored), random, [3, 3, 1, NEARLY])
    cells, event = wild.outcome(draw, cells, times <= censored, random, far=False)
    people["columns"][TIME], people["columns"][EVENT] = cells, [str(int(flag)) for flag in event]
    more = cases(draw, people, np.minimum(times, censored), random)
    noisy = draw(st.integers(0, 3)) == 3
    if noisy:
        people["columns"][PERSON] = [f"p{row}" for row in range(people["people"])]
    place = draw(
        horizontal(people, (2, 4), {"minimum_rows": 1, "minimum_organizations": draw(st.sampled_from([1, 1, 1, 3]))})
    )
    arguments: dict[str, Any] = {"time": TIME, "event": EVENT, "features": features, "split": "horizontal"}
    step = draw(st.sampled_from([0.5, 1.0, 4.0]))
    arguments |= {
        "domain": domain,
        "times": [step * (place + 1) for place in range(draw(st.sampled_from([5, 20, 60])))],
    }
    arguments |= more
    if "strata" in more:
        arguments["domain"] = {**domain, STRATA: {"categories": ["north", "south"]}}
    if len(features) > 1 and draw(st.integers(0, 3)) == 3:
        del arguments["features"]
        first, second = (f"`{name}`" for name in features[:2])
        arguments["formula"] = "~ " + " + ".join([*(f"`{name}`" for name in features), f"{first}:{second}"])
    arguments |= who(draw, place)
    if draw(st.booleans()):
        arguments["ties"] = draw(st.sampled_from(["breslow", "efron"]))
    if draw(st.booleans()):
        arguments["penalty"] = draw(st.sampled_from([0.0, 0.1, 5.0]))
    if draw(st.integers(0, 3)):
        arguments["missing"] = draw(st.sampled_from(["complete", "complete", "complete", "refuse"]))
    if noisy:
        arguments = with_noise(draw, features, arguments)
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def cases(draw: Any, people: dict[str, Any], observed: Any, random: Any) -> dict[str, Any]:
    """Draw columns of weights, times of entry, strata and clusters beside the others; return the arguments that name them."""
    rows, columns = people["people"], people["columns"]
    columns[WEIGHTS] = [str(value) for value in random.choice(wild.weights(draw, [0.5, 1.0, 3.0]), rows)]
    columns[ENTRY] = [repr(round(float(value), 4)) for value in observed * random.choice([0.0, 0.2, 0.9], rows) - 0.01]
    columns[STRATA] = [["north", "south"][int(place)] for place in random.integers(0, 2, rows)]
    columns[CLUSTER] = [str(place) for place in random.integers(0, draw(st.sampled_from([2, 30])), rows)]
    named = {"weights": WEIGHTS, "entry": ENTRY, "strata": STRATA, "cluster": CLUSTER}
    chosen: dict[str, Any] = {name: column for name, column in named.items() if draw(st.integers(0, 3)) == 3}
    return chosen | ({"robust": draw(st.booleans())} if draw(st.integers(0, 3)) == 3 else {})


def check_rows(case: Case, outcome: Outcome) -> None:
    """Hold a fit against the pooled one of the records rounded up to the grid that the result tells."""
    arguments, stations = case.arguments, case.stations()
    if arguments.get("epsilon") is not None:
        return check_private(case, outcome)
    domain = arguments["domain"]
    features = arguments.get("features") or [name for name in domain if f"`{name}`" in arguments["formula"]]
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
    records = Records.of(stations, arguments, ~gaps)
    time, event = records.time, records.event
    chosen = case.facts.get("references", {})
    x, names, references = design({name: data[name][~gaps] for name in features}, domain, chosen)
    if arguments.get("formula"):
        x, names = crossed(x, names, [[name for name in names if is_of(name, one, domain)] for one in features[:2]])
        may_be_few = [("ThresholdError", "few records in a combination"), ("ArgumentError", "a constant column")]
    else:
        may_be_few = []
    least = max(case.limit("minimum_count", 5), MOST_POINTS * (x.shape[1] + 1) / x.shape[1])
    refuse += too_little(x, event * (time <= arguments["times"][-1]), least)
    may = [
        *may_be_few,
        ("ThresholdError", "few events or records"),
        ("ThresholdError", "a station's records all have gaps"),
    ]
    if arguments.get("cluster"):
        few = records.clusters < max(case.limit("minimum_count", 5), 2 * x.shape[1])
        refuse += [("ThresholdError", "few clusters")] if few else []
    if arguments.get("weights"):
        may.append(("DataProblem", "weights of few records at a station"))
    if np.any(records.entry >= time):
        refuse.append(("DataProblem", "a record enters at or after its time"))
    may += [("DataProblem", "a record with a gap may enter at or after its time")] if arguments.get("entry") else []
    if np.any((x == x[:1]).all(axis=0)) or np.any(_ends(x, data, domain, ~gaps)):
        may.append(("ArgumentError", "a feature is constant, or its values are far narrower than its bounds"))

    def compare(result: Any) -> None:
        model = result["model"]
        same("references", model["references"], references)
        compare_rows(model, arguments, records, x, names, least)

    if outcome.error is not None and not refuse:
        may += hardly(arguments, records, x)
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


def crossed(x: Any, names: list[str], pair: list[list[str]]) -> tuple[Any, list[str]]:
    """Return the design with the products of two features' columns behind, as patsy codes them beside both features."""
    places = {name: place for place, name in enumerate(names)}
    products = [(left, right) for left in pair[0] for right in pair[1]]
    made = [x[:, places[left]] * x[:, places[right]] for left, right in products]
    return np.column_stack([x, *made]), [*names, *(f"{left}:{right}" for left, right in products)]


def is_of(label: str, feature: str, domain: dict[str, Any]) -> bool:
    """Whether a design column is of a feature."""
    return label == feature if "bounds" in domain[feature] else label.startswith(f"{feature}=")


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


@dataclass
class Records:
    """Pooled records beside their features: strata are numbered, without weights these are one."""

    time: Any
    event: Any
    weight: Any
    entry: Any
    stratum: Any
    family: Any

    @classmethod
    def of(cls, stations: dict[str, Any], arguments: dict[str, Any], kept: Any) -> Records:
        """Read them; the same cluster at two stations is two."""
        pooled = stacked(stations, [TIME, EVENT, WEIGHTS, ENTRY, STRATA, CLUSTER])
        number = {
            name: np.array([float(cell or "nan") for cell in pooled[name]]) for name in (TIME, EVENT, WEIGHTS, ENTRY)
        }
        home = np.repeat(np.arange(len(stations)), [len(columns[TIME]) for columns in stations.values()])
        family = np.array([f"{place} {cell}" for place, cell in zip(home, pooled[CLUSTER], strict=True)])
        rows = len(home)
        return cls(
            number[TIME][kept],
            number[EVENT][kept],
            (number[WEIGHTS] if arguments.get("weights") else np.ones(rows))[kept],
            (number[ENTRY] if arguments.get("entry") else np.full(rows, -np.inf))[kept],
            (np.array([cell == "south" for cell in pooled[STRATA]], dtype=int) * bool(arguments.get("strata")))[kept],
            (family if arguments.get("cluster") else np.arange(rows))[kept],
        )

    @property
    def clusters(self) -> int:
        """How many there are."""
        return len(set(self.family.tolist()))

    def rounded(self, grids: Any) -> Records:
        """Return the records with times rounded up to the grid of their stratum, events at these, entry rounded down; beyond it all are censored."""
        seen = replace(self, time=self.time.copy(), event=self.event.copy(), entry=self.entry.copy())
        for place, grid in enumerate(grids):
            own = self.stratum == place
            cell = np.searchsorted(grid, self.time[own])
            seen.time[own] = grid[np.minimum(cell, len(grid) - 1)]
            seen.event[own] = (self.event[own] == 1) & (cell < len(grid))
            seen.entry[own] = np.append(-np.inf, grid)[np.searchsorted(grid, self.entry[own], side="right")]
        return seen

    def fit(self, x: Any, arguments: dict[str, Any]) -> cox.Fit:
        """Return the pooled fit."""
        ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
        return cox.fit(self.time, self.event, self.stratum, x, ties, penalty, self.weight, self.entry)


def hardly(arguments: dict[str, Any], records: Records, x: Any) -> Refusals:
    """Return why a fit may end without an answer: columns that depend on one another, or no finite maximum on the grid that was asked for."""
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    if np.linalg.matrix_rank((x - x.mean(axis=0)) / scale, tol=1e-6) < x.shape[1]:
        return [("ArgumentError", "collinear columns"), ("ConvergenceError", "collinear columns")]
    fit = records.rounded([np.array(arguments["times"])] * 2).fit(x, arguments)
    far = np.abs(fit.coefficients * scale).max() > 3.0
    return [("ConvergenceError", "separation"), ("ArgumentError", "separation")] if far or not fit.converged else []


def compare_rows(
    model: Any, arguments: dict[str, Any], records: Records, x: Any, names: list[str], least: float
) -> None:
    """Compare a fit with the pooled one, and see that the grid has enough events, censored and entering records between its times."""
    told = [model["times"][name] for name in ("north", "south")] if arguments.get("strata") else [model["times"]]
    if not all(set(grid) <= set(arguments["times"]) for grid in told):
        raise Difference("the united grid has times that were not asked for")
    seen = records.rounded([np.array(grid) for grid in told])
    if seen.event.sum() != (records.event * (records.time <= arguments["times"][-1])).sum():
        raise Difference("the united grid ends before an event")
    for place, grid in enumerate(told):
        check_grid(seen, seen.stratum == place, grid, least)
    ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
    fit, robust = seen.fit(x, arguments), None
    sandwich = bool(arguments.get("robust") or arguments.get("cluster"))
    same("robust", model["robust"], sandwich)
    if sandwich:
        own = (seen.time, seen.event, seen.stratum, x, fit.coefficients, ties, seen.weight, seen.entry)
        sums = pd.DataFrame(cox.score_residuals(*own)).groupby(seen.family).sum().to_numpy()
        robust = sums.T @ sums
        same("clusters", model["clusters"], records.clusters if arguments.get("cluster") else None)
    if fit.converged:
        compare_grid(model, seen, np.exp((x - x.mean(axis=0)) @ fit.coefficients), ties)
        compare_fit(model, fit, names, x.std(axis=0), penalty, (len(x), int(seen.event.sum())), 1e-6, 0.0, robust)


def check_grid(seen: Records, own: Any, grid: list[float], least: float) -> None:
    """See that at each time of a stratum's grid enough records have the event, and none or enough are censored or enter for the next."""
    for moment in grid:
        here = own & (seen.time == moment)
        entering = own & (seen.entry == moment) & (moment < grid[-1])
        groups = [here & (seen.event == 1), (here & (seen.event == 0) & (seen.entry < grid[-1])) | entering]
        sizes = [seen.weight[group].sum() ** 2 / max((seen.weight[group] ** 2).sum(), 1e-9) for group in groups]
        if sizes[0] < least - 1e-6 or 0 < sizes[1] < least - 1e-6:
            raise Difference(
                "few events, or few censored and entering records, lie between two times of the united grid"
            )
