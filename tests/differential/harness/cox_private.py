"""Questions about Cox models of whole records with noise, and what of the answer follows from the pooled records."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Difference, Outcome, judge, same
from .cox_names import EVENT, TIME
from .rows import HUGE_EPSILON, encoded, limits
from .tables import stacked

PERSON = "the person"
EXACT = ("weights", "entry", "strata", "cluster", "robust", "formula")


def with_noise(draw: Any, features: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a fit with noise."""
    found = {name: value for name, value in arguments.items() if name not in EXACT}
    found |= {"features": features, "domain": {name: arguments["domain"][name] for name in features}}
    found |= {"epsilon": draw(st.sampled_from([0.1, 3.0, HUGE_EPSILON])), "delta": draw(st.sampled_from([1e-6, 1e-4]))}
    found |= {"neighbors": draw(st.sampled_from(["add_remove", "replace_one"]))}
    found |= {"honest_fraction": draw(st.sampled_from([0.5, 1.0]))}
    if draw(st.booleans()):
        found |= {"unit": "identifier", "id_column": PERSON, "max_rows_per_identifier": 1}
    return found


def compare_noisy(result: Any, arguments: dict[str, Any], known: int) -> None:
    """Hold what every fit with noise tells against its arguments, and its number of records, of those known, where there is hardly any noise."""
    model, told = result["model"], result["privacy"]
    same("epsilon", told["epsilon"], arguments["epsilon"])
    same("delta", told["delta"], arguments["delta"])
    same("unit", told["unit"], arguments.get("unit", "row"))
    same("private", told["differentially_private"], arguments["epsilon"] <= 20)
    for entry in model["coefficients"]:
        if not (np.isfinite(entry["coefficient"]) and entry["standard_error"] > 0):
            raise Difference("a coefficient or its error is no number")
    curve = np.array(model["baseline"]["cumulative_hazard"])
    if np.any(np.diff(curve, prepend=0.0) < 0) or not set(model["times"]) <= set(arguments["times"]):
        raise Difference("the baseline falls, or has times that were not asked for")
    if arguments["epsilon"] == HUGE_EPSILON and known:
        same("records", model["records"], known)


def check_private(case: Case, outcome: Outcome) -> None:
    """Hold what a fit with noise tells against its arguments, and with hardly any noise its numbers of records and events against the pooled records."""
    arguments, stations = case.arguments, case.stations()
    domain, features = arguments["domain"], arguments["features"]
    refuse = limits(case, True)
    if len(stations) < 2:
        refuse += [("ThresholdError", "one organization alone"), ("PlacementError", "one organization alone")]
    if any(len(domain[name].get("categories", "ab")) < 2 for name in features):
        refuse.append(("ArgumentError", "a feature of one category"))
    if refuse:
        return judge(case, outcome, refuse, lambda _: None)
    data = encoded(stations, domain, features)
    absent = [np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0 for name in features]
    pooled = stacked(stations, [TIME, EVENT])
    time, event = (np.array([float(cell or "nan") for cell in pooled[name]]) for name in (TIME, EVENT))
    known = ~np.any(absent, axis=0) & np.isfinite(time) & np.isfinite(event)

    return judge(case, outcome, [], lambda result: compare_noisy(result, arguments, int(known.sum())))
