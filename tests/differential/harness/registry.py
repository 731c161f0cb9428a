"""Every function that the harness covers."""

from __future__ import annotations

import contextlib
import importlib
import unittest
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from .cases import Case, Outcome

METHODS = ("scalar_product", "dp_naive_bayes", "verticox", "vertibayes")
FUNCTIONS: dict[tuple[str, str], tuple[Any, Any]] = {
    (method, function): pair
    for method in METHODS
    for function, pair in importlib.import_module(f"{__package__}.{method}").FUNCTIONS.items()
}


def check(case: Case, outcome: Outcome) -> None:
    """Hold an outcome against its function's pooled twin."""
    FUNCTIONS[case.algorithm, case.function][1](case, outcome)


ALL = (
    "bayesian_ensemble",
    "discriminative_naive_bayes",
    "dp_naive_bayes",
    "scalar_product",
    "secure_naive_bayes",
    "smooth_naive_bayes",
    "vertibayes",
    "verticox",
)
EXEMPT_FUNCTIONS: dict[tuple[str, str], str] = {
    **{(method, "preflight"): "being written" for method in ALL},
    ("bayesian_ensemble", "classify"): "being written",
    ("bayesian_ensemble", "evaluate"): "being written",
    ("bayesian_ensemble", "fit"): "being written",
    ("discriminative_naive_bayes", "evaluate"): "being written",
    ("discriminative_naive_bayes", "fit"): "being written",
    ("secure_naive_bayes", "classify"): "being written",
    ("secure_naive_bayes", "evaluate"): "being written",
    ("secure_naive_bayes", "fit"): "being written",
    ("secure_naive_bayes", "join"): "being written",
    ("secure_naive_bayes", "leave"): "being written",
    ("smooth_naive_bayes", "evaluate"): "being written",
    ("smooth_naive_bayes", "fit"): "being written",
    ("vertibayes", "classify"): "being written",
    ("vertibayes", "evaluate"): "being written",
    ("vertibayes", "sample"): "being written",
    ("verticox", "baseline"): "being written",
    ("verticox", "evaluate"): "being written",
    ("verticox", "predict"): "being written",
}
"""Functions without a strategy, with the reason."""
EXEMPT_ARGUMENTS: dict[tuple[str, str], dict[str, str]] = {
    ("vertibayes", "fit"): dict.fromkeys(
        ("epsilon", "folds", "public_records", "split", "validation"), "being written"
    ),
    ("dp_naive_bayes", "fit"): dict.fromkeys(("id_column", "max_rows_per_identifier", "unit"), "being written"),
    ("dp_naive_bayes", "update"): dict.fromkeys(("id_column", "max_rows_per_identifier", "unit"), "being written"),
    ("verticox", "fit"): dict.fromkeys(("max_rounds", "organizations", "rows_aligned"), "being written"),
    ("dp_naive_bayes", "evaluate"): dict.fromkeys(
        ("epsilon", "delta", "neighbors", "honest_fraction", "id_column", "max_rows_per_identifier", "unit"),
        "being written",
    ),
}
"""Arguments that no strategy draws, with the reason."""


def drawn_arguments(method: str, function: str, wanted: set[str], cases: int = 400) -> set[str]:
    """Return the arguments that a function's strategy draws, among so many cases or until all wanted ones came."""
    seen: set[str] = set()

    @seed(1)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(FUNCTIONS[method, function][0]())
    def draw(case: Case) -> None:
        seen.update(case.arguments)
        if wanted <= seen:
            raise unittest.SkipTest

    with contextlib.suppress(unittest.SkipTest):
        draw()
    return seen
