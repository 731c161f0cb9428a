"""Questions about Cox models of columns of the same records with noise, and what of the answer follows from the joined records."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .cases import Case, Outcome, judge, same
from .cox_names import EVENT, STRATA, TIME, WEIGHTS
from .cox_private import compare_noisy
from .records import Refusals, not_aligned, number, owner_of
from .rows import HUGE_EPSILON, code, domains
from .tables import joined

ROLES = (TIME, EVENT, STRATA, WEIGHTS)


def with_noise(draw: Any, people: dict[str, Any], arguments: dict[str, Any], features: list[str]) -> dict[str, Any]:
    """Return the arguments of a fit with noise to columns of the same records."""
    kept = {
        name: arguments[name] for name in ("time", "event", "id_column", "helper", "organizations") if name in arguments
    }
    chosen = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    own = {**people, "columns": {name: people["columns"][name] for name in chosen}}
    kept |= {"features": chosen, "domain": domains(draw, own, draw(st.integers(0, 9)) == 9)}
    kept |= {"epsilon": draw(st.sampled_from([0.1, 3.0, HUGE_EPSILON])), "delta": draw(st.sampled_from([1e-6, 1e-4]))}
    kept |= {"honest_fraction": draw(st.sampled_from([0.5, 1.0])), "penalty": draw(st.sampled_from([0.0, 0.1, 5.0]))}
    step = draw(st.sampled_from([0.5, 1.0, 4.0]))
    return kept | {"times": [step * (place + 1) for place in range(draw(st.sampled_from([2, 5, 20])))]}


def refusals(case: Case) -> Refusals:
    """Return why such a fit must be refused: who takes part, or no record in common; never a value."""
    arguments, helper = case.arguments, case.arguments.get("helper")
    refuse: Refusals = []
    if helper == case.central or (helper is None and not [one for one in case.helpers() if one != case.central]):
        refuse += [("PlacementError", "nobody can be the helper"), ("ArgumentError", "nobody is without data")]
    if len({owner_of(case, name) for name in [*arguments["features"], TIME]}) < 2:
        refuse.append(("PlacementError", "all columns are at one station"))
    if not refuse and not not_aligned(case) and not joined(case.stations(), case.id_column):
        refuse.append(("DataProblem", "no record in common"))
    if any(len(arguments["domain"][name].get("categories", "ab")) < 2 for name in arguments["features"]):
        refuse.append(("ArgumentError", "a feature of one category"))
    return refuse + not_aligned(case)


def check_private_columns(case: Case, outcome: Outcome) -> None:
    """Hold what a fit with noise tells against its arguments, and with hardly any noise its numbers against the joined records."""
    arguments, refuse = case.arguments, refusals(case)
    if refuse:
        return judge(case, outcome, refuse, lambda _: None)
    records = list(joined(case.stations(), case.id_column).values())
    home = [name for name in arguments["features"] if owner_of(case, name) == owner_of(case, TIME)]
    known = [record for record in records if all(_known(record[name], arguments["domain"][name]) for name in home)]

    def compare(result: Any) -> None:
        compare_noisy(result, arguments, len(known))
        same("neighbours", result["privacy"]["neighbors"], "replace_one")
        same("features", sorted(result["model"]["features"]), sorted(arguments["features"]))

    return judge(case, outcome, [], compare)


def _known(cell: str | None, domain: dict[str, Any]) -> bool:
    return code(cell, domain["categories"]) >= 0 if "categories" in domain else number(cell) is not None
