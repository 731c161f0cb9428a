"""Weighted naive Bayes: its tables, objective and scores against those of the pooled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .cases import Case, Difference, Outcome, close, judge, same
from .dp_naive_bayes import evaluate_step
from .records import Refusals
from .rows import (
    HUGE_EPSILON,
    LABEL,
    check_confusion,
    classified,
    compare_scores,
    edges_of,
    encoded,
    lies_outside,
    limits,
    who,
)

ALGORITHM = "discriminative_naive_bayes"


def fit_arguments(draw: Any, domain: dict[str, Any]) -> dict[str, Any]:
    """Draw the arguments of a fit."""
    features = [name for name in domain if name != LABEL]
    arguments: dict[str, Any] = {"label": LABEL, "domain": domain, "rounds": draw(st.sampled_from([1, 3, 17]))}
    if draw(st.booleans()):
        arguments["features"] = draw(st.lists(st.sampled_from(features), min_size=1, unique=True))
    if draw(st.booleans()):
        arguments["weights"] = draw(st.sampled_from(["value", "attribute"]))
    if draw(st.integers(0, 2)) == 2:
        arguments["structure"] = draw(st.sampled_from(["naive", "a1de"]))
    if draw(st.integers(0, 2)) == 2:
        arguments["prior"] = draw(st.sampled_from(["log", "published"]))
    if draw(st.integers(0, 2)) == 2:
        arguments["regularization"] = draw(st.sampled_from([0.0, 0.01, 1.0]))
    if draw(st.integers(0, 2)) == 2:
        arguments["bins"] = draw(st.sampled_from([1, 3]))
    if draw(st.integers(0, 2)) == 2:
        arguments |= {"optimizer": "fedavg", "local_iterations": draw(st.sampled_from([1, 5]))}
        arguments["aggregation"] = draw(st.sampled_from(["mean", "by_rows"]))
    if draw(st.integers(0, 4)) == 4:
        arguments |= {"epsilon": HUGE_EPSILON, "delta": 1e-6, "clip": 5.0}
        arguments |= draw(st.sampled_from([{}, {"tables": "dp"}]))
        arguments |= {"neighbors": draw(st.sampled_from(["add_remove", "replace_one"])), "honest_fraction": 1.0}
        if draw(st.booleans()):
            arguments["attribute_rounds"] = draw(st.sampled_from([0, 1]))
        if "bins" not in arguments and draw(st.booleans()):
            arguments["rows"] = draw(st.sampled_from([50, 1_000_000]))
    elif draw(st.integers(0, 3)) == 3:
        arguments |= {"tables": draw(st.sampled_from(["secure_sum", "local"])), "personalize": draw(st.booleans())}
    if draw(st.integers(0, 4)) == 4:
        arguments["tolerance"] = 1e-4
    if draw(st.integers(0, 4)) == 4:
        arguments["outside"] = draw(st.sampled_from(["clip", "refuse"]))
    if arguments.get("structure", "naive") == "naive" and "epsilon" not in arguments and draw(st.integers(0, 4)) == 4:
        arguments["continuous"] = draw(st.sampled_from(["binned", "gaussian"]))
    return arguments


@st.composite
def fit_cases(draw: Any) -> Case:
    _, place, domain = draw(classified())
    arguments = fit_arguments(draw, domain) | who(draw, place)
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], [["fit", arguments]])


def codes_and_edges(case: Case, arguments: dict[str, Any], tables: Any) -> tuple[Any, Any, bool]:
    """Return codes by feature, labels, and whether a value lies on an edge within rounding."""
    domain, label = arguments["domain"], arguments["label"]
    features = arguments.get("features") or [name for name in domain if name != label]
    data = encoded(tables, domain, [*features, label])
    codes, near = {}, False
    for name in features:
        if "categories" in domain[name]:
            codes[name] = (data[name], len(domain[name]["categories"]))
            continue
        rule = arguments.get("bins", 10)
        edges = edges_of(domain[name]["bounds"], rule[name] if isinstance(rule, dict) else rule)
        places = np.clip(np.searchsorted(edges, data[name], side="right") - 1, 0, len(edges) - 2)
        known = data[name][~np.isnan(data[name])]
        near |= bool(len(known)) and bool(
            np.abs(known[:, None] - edges[None, 1:-1]).min(initial=np.inf) < 1e-9 * (edges[-1] - edges[0])
        )
        codes[name] = (np.where(np.isnan(data[name]), -1, places), len(edges) - 1)
    return codes, data[label], near


def estimates(codes: Any, labels: Any, classes: int, prior: str) -> tuple[Any, list[Any]]:
    """Return the prior and every feature's table, (n + 1/k) / (N + 1), in logarithms."""
    sizes = np.array([(labels == place).sum() for place in range(classes)], dtype=float)
    share = (sizes + 1 / classes) / (sizes.sum() + 1)
    tables = []
    for values, width in codes.values():
        counts = np.array(
            [[((values == v) & (labels == c)).sum() for c in range(classes)] for v in range(width)], dtype=float
        )
        tables.append(np.log((counts + 1 / width) / (counts.sum(axis=0) + 1)))
    return (np.log(share) if prior == "log" else share), tables


def log_posterior(model: dict[str, Any], codes: Any, base: Any, tables: list[Any]) -> Any:
    """Return log P(class | row): prior and terms, each times its weight."""
    weights, classes = np.array(model["weights"]), len(base)
    rest = weights[classes:]
    widths = [len(table) for table in tables]
    by_value = (
        rest.reshape(-1, classes)
        if model["weighting"] == "value"
        else np.repeat(rest, widths)[:, None].repeat(classes, 1)
    )
    rows = len(next(iter(codes.values()))[0])
    scores = np.tile(weights[:classes] * base, (rows, 1))
    start = 0
    for (values, width), table in zip(codes.values(), tables, strict=True):
        terms = by_value[start : start + width] * table
        scores += np.where(values[:, None] >= 0, terms[values], 0.0)
        start += width
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def plain(arguments: dict[str, Any]) -> bool:
    """Whether the twin has the model's form: shared tables, one term a feature."""
    return (
        arguments.get("structure", "naive") == "naive"
        and arguments.get("continuous", "binned") == "binned"
        and arguments.get("tables", "secure_sum") != "local"
    )


def check_fit(case: Case, outcome: Outcome) -> None:
    arguments = case.arguments
    domain, label = arguments["domain"], arguments["label"]
    refuse = limits(case, True)
    names = arguments.get("features") or [name for name in domain if name != label]
    if arguments.get("outside") == "refuse" and lies_outside(case.stations(), domain, [*names, label]):
        refuse.append(("DataProblem", "a value lies outside the domain"))
    may: Refusals = []
    if arguments.get("outside") == "refuse" and arguments.get("epsilon") is not None:
        refuse.append(("ArgumentError", "a refusal is not covered by epsilon"))
    if arguments.get("personalize") and "epsilon" in arguments:
        may.append(("ArgumentError", "personalize adds an exact evaluation"))
    if not any(code >= 0 for code in encoded(case.used(), domain, [label])[label]):
        may.append(("DataProblem", "no row has a known label"))

    def compare(result: Any) -> None:
        model = result["model"]
        if not plain(arguments) or "epsilon" in arguments:
            return  # the Gaussian noise of these tables does not vanish with epsilon
        codes, labels, near = codes_and_edges(case, arguments, case.used())
        if near:
            return
        base, tables = estimates(codes, labels, len(domain[label]["categories"]), arguments.get("prior", "log"))
        close("prior", model["tables"]["base"], base.tolist(), 1e-6)
        close("tables", model["tables"]["single"], [row for table in tables for row in table.tolist()], 1e-6)
        same("parameters", result["diagnostics"]["parameters"], len(model["weights"]))
        known = labels >= 0
        if arguments.get("regularization", 0.0) or "epsilon" in arguments or not known.any():
            return
        logs = log_posterior(model, codes, base, tables)[known, labels[known]]
        flat = log_posterior({**model, "weights": [1.0] * len(model["weights"])}, codes, base, tables)[
            known, labels[known]
        ]
        if arguments.get("optimizer", "secure_gradient") == "secure_gradient":
            reached = result["diagnostics"]["objective"]
            if reached:  # of every step, or None where it is not told
                close("objective", np.ravel(reached)[-1].item(), -float(logs.mean()), 1e-4, 1e-4)
            if -logs.mean() > -flat.mean() + 1e-6:
                raise Difference("the weights are worse than none")

    judge(case, outcome, refuse, compare, may)


@st.composite
def evaluate_cases(draw: Any) -> Case:
    _, place, domain = draw(
        classified(
            stations=(2, 6),
            fixed={"minimum_organizations": 1, "minimum_rows": 1, "minimum_count": draw(st.sampled_from([0, 5]))},
        )
    )
    fit = fit_arguments(draw, domain)
    fit.pop("personalize", None)
    steps = [["fit", fit], evaluate_step(draw, place)]
    steps[1][1].pop("noise", None)
    if draw(st.integers(0, 4)) >= 3:
        steps[1][1]["personalize"] = draw(st.booleans())
    return Case(ALGORITHM, "evaluate", place["organizations"], place["central"], steps)


def check_evaluate(case: Case, outcome: Outcome) -> None:
    fit = case.steps[0][1]
    refuse = limits(case, True)
    if case.arguments.get("personalize") and case.arguments.get("epsilon") is not None:
        refuse.append(("ArgumentError", "epsilon does not protect personalised scores"))
    if fit.get("tables") == "local" and case.arguments.get("epsilon") is not None:
        refuse.append(("ArgumentError", "epsilon does not protect scores by a station's own tables"))
    labels = encoded(case.used(), fit["domain"], [LABEL])[LABEL] if not refuse else np.zeros(1)
    if not (labels >= 0).any():
        refuse.append(("DataProblem", "no row has a known label"))

    def compare(result: Any) -> None:
        model = outcome.results[0]["model"]
        codes, truth, near = codes_and_edges(case, fit | {"bins": model["bins"]}, case.used())
        same("n", result["n"], int((truth >= 0).sum()))
        if case.arguments.get("epsilon") is None:
            check_confusion(result, case.limit("minimum_count", 5))
        if plain(fit) and not near:
            base = np.array(model["tables"]["base"])
            single, tables = np.array(model["tables"]["single"]), []
            for _, width in codes.values():
                tables.append(single[:width])
                single = single[width:]
            compare_scores(
                result, log_posterior(model, codes, base, tables), truth, minimum=case.limit("minimum_count", 5)
            )

    judge(case, outcome, refuse, compare)


FUNCTIONS = {"fit": (fit_cases, check_fit), "evaluate": (evaluate_cases, check_evaluate)}
