"""Naive Bayes over horizontally split rows, noise at its smallest, against pooled counts and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Difference, Outcome, bounded, judge
from .records import Refusals
from .rows import (
    HUGE_EPSILON,
    LABEL,
    classified,
    compare_model,
    compare_scores,
    encoded,
    lies_outside,
    limits,
    log_posterior,
    on_an_edge,
    score_refusals,
    who,
)
from .told import check_share

ALGORITHM = "dp_naive_bayes"
ROBUST = ("median", "trimmed_mean", "krum", "bulyan")


def noise(draw: Any) -> dict[str, Any]:
    """Draw the arguments of noise, with an epsilon at which it vanishes."""
    kind = draw(st.sampled_from(["none", "distributed", "local", "left out"]))
    if kind == "none":
        return {"noise": "none"}
    found: dict[str, Any] = {"epsilon": HUGE_EPSILON}
    if kind != "left out":
        found["noise"] = kind
    if draw(st.booleans()):
        found["neighbors"] = draw(st.sampled_from(["add_remove", "replace_one"]))
        found["honest_fraction"] = draw(st.sampled_from([0.3, 0.8, 1.0]))
    if kind == "local" and draw(st.integers(0, 4)) == 4:  # shares of Gaussian noise never vanish
        found["delta"] = 1e-6
    return found


def law(draw: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Draw the law of the noise; not Gaussian noise, whose width has a least value at any epsilon."""
    if not arguments.get("epsilon") or not draw(st.booleans()):
        return {}
    return {"mechanism": draw(st.sampled_from(["auto", "laplace"]))}


def masked(arguments: dict[str, Any]) -> bool:
    """Whether stations' answers travel under masks."""
    return arguments.get("noise", "distributed") != "local"


@st.composite
def fit_cases(draw: Any) -> Case:
    people, place, domain = draw(classified(crowd=True))
    features = [name for name in people["columns"] if name != LABEL]
    arguments: dict[str, Any] = {"label": LABEL, "domain": domain} | noise(draw) | who(draw, place)
    arguments |= law(draw, arguments)
    if draw(st.booleans()):
        arguments["features"] = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    if draw(st.booleans()):
        arguments["statistics"] = draw(st.sampled_from(["histogram", "gaussian"]))
    if draw(st.booleans()):
        numeric = [name for name in arguments.get("features", features) if "bounds" in domain[name]]
        bins: dict[str, Any] = {}
        for name in numeric:
            low, high = domain[name]["bounds"]
            bins[name] = draw(
                st.sampled_from(
                    [
                        1,
                        3,
                        [low + (high - low) * 0.25, low + (high - low) * 0.5],
                        {"log": 3, "unit": (high - low) / 100},
                    ]
                )
            )
        arguments["bins"] = draw(st.sampled_from([1, 5, bins]))
    if draw(st.integers(0, 3)) == 3:
        arguments["rows"] = draw(st.sampled_from([1_000, 1_000_000]))
    if draw(st.integers(0, 3)) == 3:
        arguments["pseudocount"] = draw(st.sampled_from([1e-6, 0.5, 10.0]))
    if draw(st.integers(0, 3)) == 3:
        arguments["outside"] = draw(st.sampled_from(["clip", "refuse"]))
    if arguments.get("noise") == "local" and draw(st.booleans()):
        arguments["aggregation"] = draw(st.sampled_from(["sum", "gossip", *ROBUST]))
    if arguments.get("noise") == "local" and not arguments.get("delta") and draw(st.integers(0, 3)) == 3:
        arguments |= {
            "sensitivity": "published",
            "statistics": "gaussian",
            "aggregation": "sum",
            "epsilon": 1e12,
        }
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def fit_refusals(case: Case, arguments: dict[str, Any], features: list[str]) -> Refusals:
    """Return why a fit or an update must be refused."""
    refuse = limits(case, masked(arguments))
    names = [*features, arguments["label"]]
    if arguments.get("outside") == "refuse" and lies_outside(case.stations(), arguments["domain"], names):
        refuse.append(("DataProblem", "a value lies outside the domain"))
    if arguments.get("aggregation") in ROBUST and len(case.stations()) < 3:
        refuse.append(("ArgumentError", "a robust rule needs three stations"))
    return refuse


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    label, domain = arguments["label"], arguments["domain"]
    features = arguments.get("features") or [name for name in domain if name != label]

    def compare(result: Any) -> None:
        if arguments.get("aggregation") in ROBUST:
            same_shape(result["model"], features, len(domain[label]["categories"]))
            return
        published = arguments.get("sensitivity") == "published"  # there an empty cell of a station is 1e-6
        slack = 2e-6 * len(case.stations()) if published else 1e-6
        compare_model(
            result["model"], case.used(), label, features, domain, arguments.get("bins", 20), slack, published
        )
        data = encoded(case.used(), domain, [*features, label])
        known = data[label] >= 0
        for name in features:
            gaps = int((np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0)[known].sum())
            check_share(
                f"share without {name!r}", result["diagnostics"]["missing_share"][name], gaps, int(known.sum()), 2e-3
            )

    judge(case, outcome, fit_refusals(case, arguments, features), compare)


def same_shape(model: dict[str, Any], features: list[str], classes: int) -> None:
    """Check a model that a rule made of the stations' own: every class and feature is there, and proportions add up."""
    if list(model["features"]) != features or len(model["class_counts"]) != classes:
        raise Difference("the model lacks a feature or a class")
    if not all(count >= 0 for count in model["class_counts"]):
        raise Difference("a class has a negative count")


@st.composite
def update_cases(draw: Any) -> Case:
    """A fit over some stations, and an update with the others."""
    _, place, domain = draw(classified(stations=(2, 6), fixed={"minimum_organizations": 1}))
    names = [entry["name"] for entry in place["organizations"] if entry["columns"] is not None]
    first = draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True))
    second = draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True))
    begin: dict[str, Any] = {"label": LABEL, "domain": domain, "organizations": first} | noise(draw)
    if draw(st.booleans()):
        begin["statistics"] = draw(st.sampled_from(["histogram", "gaussian"]))
    if len(first) < 2:
        begin |= {"noise": "local", "epsilon": HUGE_EPSILON}
    added: dict[str, Any] = {"model": {"$model": 0}, "organizations": second} | noise(draw)
    added |= law(draw, added)
    if draw(st.integers(0, 3)) == 3:
        added["outside"] = draw(st.sampled_from(["clip", "refuse"]))
    return Case(ALGORITHM, "update", place["organizations"], place["central"], [["fit", begin], ["update", added]])


def check_update(case: Case, outcome: Outcome) -> None:
    begin, arguments = case.steps[0][1], case.arguments
    domain, label = begin["domain"], begin["label"]
    features = [name for name in domain if name != label]
    refuse = fit_refusals(case, {**arguments, "domain": domain, "label": label}, features)

    def compare(result: Any) -> None:
        tables = {entry["name"]: entry["columns"] for entry in case.organizations}
        twice = [*begin["organizations"], *arguments["organizations"]]
        joined = {f"{place}": bounded(tables[name], arguments) for place, name in enumerate(twice)}
        compare_model(result["model"], joined, label, features, domain)
        again = set(begin["organizations"]) & set(arguments["organizations"])
        if again and not any("before" in text for text in result["warnings"]):
            raise Difference("a station's rows count twice without a warning")

    judge(case, outcome, refuse, compare)


@st.composite
def evaluate_cases(draw: Any) -> Case:
    _, place, domain = draw(
        classified(stations=(2, 6), fixed={"minimum_organizations": 1, "minimum_count": draw(st.sampled_from([0, 5]))})
    )
    fit: dict[str, Any] = {"label": LABEL, "domain": domain, "noise": "none"}
    if draw(st.booleans()):
        fit["statistics"] = draw(st.sampled_from(["histogram", "gaussian"]))
    return Case(
        ALGORITHM, "evaluate", place["organizations"], place["central"], [["fit", fit], evaluate_step(draw, place)]
    )


def evaluate_step(draw: Any, place: dict[str, Any]) -> list[Any]:
    """Draw the arguments of `evaluate`, as the horizontal methods share them."""
    arguments: dict[str, Any] = {"model": {"$model": 0}} | who(draw, place)
    if draw(st.booleans()):
        arguments["label"] = LABEL
    kind = draw(st.sampled_from(["left out", "left out", "none", "noisy"]))
    if kind == "none":
        arguments["noise"] = "none"
    elif kind == "noisy":
        arguments |= {"epsilon": HUGE_EPSILON, "neighbors": draw(st.sampled_from(["add_remove", "replace_one"]))}
        arguments |= {"honest_fraction": draw(st.sampled_from([0.5, 1.0])), "delta": 0.0}
    return ["evaluate", arguments]


def check_evaluate(case: Case, outcome: Outcome) -> None:
    domain = case.steps[0][1]["domain"]

    def compare(result: Any) -> None:
        model = outcome.results[0]["model"]
        data = encoded(case.used(), domain, [*model["features"], LABEL])
        if on_an_edge(model, data):
            return
        logs = log_posterior(model, {name: data[name] for name in model["features"]})
        compare_scores(result, logs, data[LABEL], minimum=case.limit("minimum_count", 5))

    judge(case, outcome, score_refusals(case), compare)


FUNCTIONS = {
    "fit": (fit_cases, check_fit),
    "update": (update_cases, check_update),
    "evaluate": (evaluate_cases, check_evaluate),
}
