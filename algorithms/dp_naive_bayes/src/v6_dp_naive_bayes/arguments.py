"""Checks of arguments that only this method has."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.counting import DEFAULT_BINS
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Preflight, arguments
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import CountNoise, Unit, preflight

from .model import SENSITIVITIES, STATISTICS, Plan, plan_of

ROBUST = ("median", "trimmed_mean", "krum", "bulyan")
AGGREGATION_NAMES = ("sum", *ROBUST, "gossip")


def check_combination(noise: CountNoise, statistics: Any, sensitivity: Any, aggregation: Any) -> None:
    """Refuse choices that do not exist or do not go together; the message names the argument and the remedy."""
    arguments.check_choice("statistics", statistics, STATISTICS)
    arguments.check_choice("sensitivity", sensitivity, SENSITIVITIES)
    arguments.check_choice("aggregation", aggregation, AGGREGATION_NAMES)
    if aggregation != "sum" and noise.placement != "local":
        raise ArgumentError(
            f"aggregation='{aggregation}' looks at each station's own statistics, which a share of distributed noise "
            "does not protect and no noise leaves bare; give noise='local', or aggregation='sum'"
        )
    as_paper = (noise.placement, statistics, aggregation, noise.delta) == ("local", "gaussian", "sum", 0)
    if sensitivity == "local_as_published" and not as_paper:
        raise ArgumentError(
            "sensitivity='local_as_published' reproduces the paper: give noise='local', statistics='gaussian', "
            "aggregation='sum' and delta=0 with it"
        )


def before_fit(
    asked: list[str], noise: CountNoise, unit: Unit, sensitivity: str, outside: Any, aggregation: str
) -> Preflight:
    """Return what every station checks before anything is spent; `asked` are the columns that are known by then."""
    arguments.check_choice("outside", outside, ("clip", "refuse"))
    debited = noise if sensitivity == "bounds" else CountNoise(rows=noise.rows)
    private = debited.promises and outside == "clip"
    functions = ["partial_gossip" if aggregation == "gossip" else "partial_statistics"]
    return preflight(asked, functions, debited, private, unit)


def check_pseudocount(pseudocount: Any) -> float:
    """Return the smoothing, between 1e-9 and a million."""
    return float(arguments.check_number("pseudocount", pseudocount, low=1e-9, high=1e6))


def unused_arguments(plan: Plan, bins: Any) -> list[str]:
    """Return a warning for every argument on how features are modelled that was given but is not used."""
    schema, found = plan.columns.schema, []
    numeric = [name for name in plan.columns.features if not schema[name].is_categorical]
    if bins != DEFAULT_BINS and (plan.statistics == "gaussian" or not numeric):
        found.append("bins has no effect without a numeric feature that is modelled by a histogram")
    if plan.statistics == "gaussian" and not numeric:
        found.append("statistics='gaussian' only costs a query more without a numeric feature; take 'histogram'")
    if plan.pseudocount != 1.0 and not plan.tabled:
        found.append("pseudocount has no effect without a table; statistics='gaussian' has none of numeric features")
    return found


def outside_promise(plan: Plan) -> list[str]:
    """Return a warning if the promise leaves something out: a refusal of values outside the domain is an answer without noise."""
    beyond = plan.columns.beyond_promise
    return [beyond] if plan.noise.private and beyond is not None else []


def updating_plan(model: NaiveBayes, noise: CountNoise, outside: Any, unit: Unit) -> Plan:
    """Return the plan by which stations join a model; ArgumentError if it cannot be added to."""
    arguments.check_choice("outside", outside, ("clip", "refuse"))
    try:
        return plan_of(model, noise, outside, unit)
    except ValueError as problem:
        text = str(problem)
    raise ArgumentError(f"model cannot be updated: {text}")
