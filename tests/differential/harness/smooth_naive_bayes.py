"""Naive Bayes by smooth sensitivity, noise at its smallest, against pooled counts and moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Difference, Outcome, close, judge, run, same
from .dp_naive_bayes import evaluate_step
from .rows import (
    HUGE_EPSILON,
    LABEL,
    classified,
    compare_scores,
    compare_table,
    encoded,
    limits,
    log_posterior,
    on_an_edge,
    score_refusals,
    table_of,
    who,
)

ALGORITHM = "smooth_naive_bayes"


def fit_arguments(draw: Any, domain: dict[str, Any]) -> dict[str, Any]:
    """Draw the arguments of a fit whose noise is next to nothing."""
    features = [name for name in domain if name != LABEL]
    arguments: dict[str, Any] = {"label": LABEL, "domain": domain, "epsilon": HUGE_EPSILON}
    if draw(st.booleans()):
        arguments["features"] = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    if draw(st.booleans()):
        arguments["sensitivity"] = draw(st.sampled_from(["smooth", "global", "published"]))
    if draw(st.booleans()) and arguments.get("sensitivity", "smooth") == "smooth":
        arguments["noise"] = draw(st.sampled_from(["cauchy", "student_t"]))
        if arguments["noise"] == "student_t":
            arguments["degrees_of_freedom"] = draw(st.sampled_from([1.0, 3.0, 50.0]))
    if draw(st.booleans()):
        arguments["neighbors"] = draw(st.sampled_from(["add_remove", "replace_one"]))
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    _, place, domain = draw(classified())
    arguments = fit_arguments(draw, domain) | who(draw, place)
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    label, domain = arguments["label"], arguments["domain"]
    features = arguments.get("features") or [name for name in domain if name != label]

    def compare(result: Any) -> None:
        model = result["model"]
        same("features", list(model["features"]), features)
        data = encoded(case.used(), domain, [*features, label])
        labels, classes = data[label], len(domain[label]["categories"])
        if arguments.get("sensitivity") == "published":
            return  # the published noise depends on the data, and does not vanish
        compare_table(
            "class counts", model["class_counts"], [(labels == place).sum() for place in range(classes)], 0, 1e-3
        )
        for name in features:
            if "categories" in domain[name]:
                table, _ = table_of(labels, data[name], classes, domain[name], 20)
                compare_table(f"counts of {name!r}", model["features"][name]["counts"], table[:, :-1], 0, 1e-3)
                continue
            low, high = domain[name]["bounds"]
            _moments(name, model["features"][name], data[name], labels, classes, low, high)

    judge(case, outcome, limits(case, False), compare)


def _moments(name: str, feature: Any, values: Any, labels: Any, classes: int, low: float, high: float) -> None:
    width = high - low
    for place in range(classes):
        own = values[(labels == place) & ~np.isnan(values)]
        close(f"rows of {name!r}, class {place}", feature["count"][place], len(own), 0.0, 1e-3)
        if len(own) < 2 or own.std() < width / 150:
            continue
        count = feature["count"][place]
        mean = (low + high) / 2 + width / 2 * feature["total"][place] / count
        second = feature["squares"][place] / count + 0.5
        variance = (width / 2) ** 2 * (second - (feature["total"][place] / count) ** 2)
        close(f"mean of {name!r}, class {place}", mean / width, float(own.mean()) / width, 0.0, 1e-3)
        close(f"variance of {name!r}, class {place}", variance / width**2, float(own.var()) / width**2, 0.0, 2e-3)


@st.composite
def evaluate_cases(draw: Any) -> Case:
    _, place, domain = draw(
        classified(
            stations=(2, 6),
            fixed={"minimum_organizations": 1, "minimum_rows": 1, "minimum_count": draw(st.sampled_from([0, 5]))},
        )
    )
    steps = [["fit", fit_arguments(draw, domain)], evaluate_step(draw, place)]
    return Case(ALGORITHM, "evaluate", place["organizations"], place["central"], steps)


def check_evaluate(case: Case, outcome: Outcome) -> None:
    domain = case.steps[0][1]["domain"]

    def compare(result: Any) -> None:
        model = outcome.results[0]["model"]
        data = encoded(case.used(), domain, [*model["features"], LABEL])
        noisy = any(feature.get("noise", 0.0) > 1e-6 for feature in model["features"].values())
        if noisy or on_an_edge(model, data):
            same("n", result["n"], int((data[LABEL] >= 0).sum()))
            return
        logs = log_posterior(model, {name: data[name] for name in model["features"]})
        compare_scores(result, logs, data[LABEL], near=1e-4, auc_margin=1e-3, minimum=case.limit("minimum_count", 5))

    judge(case, outcome, score_refusals(case), compare)


def no_chance(check: Callable[[Case, Outcome], None]) -> Callable[[Case, Outcome], None]:
    """Return a check that asks again where it finds a difference: noise with heavy tails is large once in a while, however small its scale."""

    def checked(case: Case, outcome: Outcome) -> None:
        try:
            check(case, outcome)
        except Difference:
            check(case, run(case))

    return checked


FUNCTIONS = {"fit": (fit_cases, no_chance(check_fit)), "evaluate": (evaluate_cases, no_chance(check_evaluate))}
