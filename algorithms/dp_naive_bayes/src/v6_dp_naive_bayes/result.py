"""The result's statements: privacy, provenance, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.unknown import loud_warnings, missing_shares
from fedbayes.federation import Federation, results

from .model import Plan
from .robust import rare_classes

PUBLISHED_REASON = (
    "sensitivity='published' scales the noise by the data themselves, so the scale reveals them; "
    "use sensitivity='bounds'"
)
NO_GUARANTEE = "noise that is no guarantee"


def fitted(
    federation: Federation,
    model: NaiveBayes,
    plan: Plan,
    stations: Sequence[int],
    aggregation: str,
    left: dict[str, Any],
) -> dict[str, Any]:
    """Return the result of a fit; `left` is what was left to the plan."""
    provenance = {
        "aggregation": aggregation,
        "statistics": plan.statistics,
        "releases": [_release(federation, plan, stations)],
        **({"groups": dict(plan.groups)} if plan.groups else {}),
    }
    result = _result(federation, replace(model, provenance=provenance), plan, stations, aggregation)
    if left:
        result["diagnostics"]["left_to_the_plan"] = left
    return result


def updated(
    federation: Federation, before: NaiveBayes, model: NaiveBayes, plan: Plan, stations: Sequence[int]
) -> dict[str, Any]:
    """Return the result of an update; warns where a station gave its rows twice."""
    earlier = list(before.provenance.get("releases", []))
    known = {name for entry in earlier if isinstance(entry, dict) for name in entry.get("organizations", [])}
    again = sorted(known & {federation.name(station) for station in stations})
    if again:
        federation.warn(
            f"{', '.join(again)} contributed before: rows that are given twice count twice, and their budgets add up"
        )
    provenance = {**before.provenance, "releases": [*earlier, _release(federation, plan, stations)]}
    result = _result(federation, replace(model, provenance=provenance), plan, stations, "sum")
    if result["privacy"]["differentially_private"]:
        text = "; rows that were in the model before keep the budgets listed in model.provenance.releases"
        result["privacy"]["composition"] += text
    if not all(isinstance(entry, dict) and entry.get("private") for entry in earlier):
        reason = "the model that was updated is not differentially private"
        result["privacy"] = {**result["privacy"], "differentially_private": False, "reason": reason}
    return result


def _release(federation: Federation, plan: Plan, stations: Sequence[int]) -> dict[str, Any]:
    debited = plan.noise.private and not plan.published
    return {
        "organizations": [federation.name(station) for station in stations],
        "private": plan.private,
        "unit": plan.columns.unit.name,
        "noise": plan.noise.placement,
        "sensitivity": plan.sensitivity,
        "neighbors": plan.noise.neighbors,
        "epsilon": plan.noise.epsilon if debited else None,
        "delta": plan.noise.delta if debited else None,
    }


def _result(
    federation: Federation, model: NaiveBayes, plan: Plan, stations: Sequence[int], aggregation: str
) -> dict[str, Any]:
    rare = rare_classes(model)
    if rare:
        federation.warn(
            "a class has too few rows to stand out of the noise, or none; give more epsilon, more stations or fewer classes"
        )
    result = federation.result(
        model=model.to_dict(),
        privacy=_privacy(plan, aggregation),
        diagnostics=_diagnostics(model, plan, len(stations), aggregation),
    )
    result["warnings"] = [*loud_warnings(model), *result["warnings"]]
    return result


def _privacy(plan: Plan, aggregation: str) -> dict[str, Any]:
    noise = f" with {NO_GUARANTEE if plan.published else 'the noise on them'}" if plan.noise.private else ""
    reveals = {
        "researcher": f"the model, which is the statistics themselves{noise}",
        "central": _central_learns(plan, aggregation),
        "stations": "the task's arguments; not one another's statistics"
        if aggregation != "gossip"
        else "sums of other stations' statistics, each with the whole local noise on it",
    }
    if plan.published:
        return results.not_private(PUBLISHED_REASON, reveals)
    if not plan.noise.private:
        return results.not_private("it was run without noise; give epsilon and noise='distributed' or 'local'", reveals)
    beyond = plan.columns.beyond_promise
    return results.privacy(
        beyond is None,
        reason=beyond,
        unit=plan.columns.unit.name,
        neighbors=plan.noise.neighbors,
        epsilon=plan.noise.epsilon,
        delta=plan.noise.delta,
        mechanism=plan.noise.mechanism(),
        composition=f"{plan.queries} queries on the same rows, {plan.noise.law.currency} split evenly; classes and cells of one query are "
        "disjoint; stations hold different rows, so the budget is that of every station alone",
        sensitivity="global, from public domains: 1 a table"
        + ("; for sums of values mapped on [-1, 1]: 1, of squares: 1/2" if plan.gaussian else "")
        + plan.noise.replaced
        + plan.columns.unit.statement,
        reveals=reveals,
    )


def _central_learns(plan: Plan, aggregation: str) -> str:
    if aggregation == "gossip":
        return "the total of the noisy statistics, and which stations hold data"
    if plan.noise.placement == "local":
        return f"every station's statistics with {NO_GUARANTEE if plan.published else 'the noise on them'}"
    return "the sum of the statistics over all stations, and which of them hold data"


def _diagnostics(model: NaiveBayes, plan: Plan, stations: int, aggregation: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stations": stations,
        "aggregation": aggregation,
        "statistics": plan.statistics,
        "queries": plan.queries,
        "class_counts": dict(zip(map(str, model.classes), model.class_counts, strict=True)),
        "class_noise": model.class_noise,
        "missing_share": missing_shares(model),
    }
    if plan.noise.private and not plan.published:
        found["honest_stations"] = plan.noise.honest(stations)
        noises = plan.deviations(stations)
        found["noise_deviation_of_a_count"] = noises[0]
        if plan.gaussian:
            found["noise_deviation_of_a_sum"] = noises[-2] / plan.units
    return found
