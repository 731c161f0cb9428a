"""Every function that the harness covers."""

from __future__ import annotations

import contextlib
import functools
import importlib
import unittest
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from .cases import Case, Outcome
from .wrong import check_preflight, check_wrong, preflight_cases, wrong_cases

ONE_STEP = ("fit", "count", "contingency", "information_gain", "scalar_product")

METHODS = (
    "scalar_product",
    "dp_naive_bayes",
    "verticox",
    "vertibayes",
    "smooth_naive_bayes",
    "secure_naive_bayes",
    "bayesian_ensemble",
    "discriminative_naive_bayes",
)
FUNCTIONS: dict[tuple[str, str], tuple[Any, Any]] = {
    (method, function): pair
    for method in METHODS
    for function, pair in importlib.import_module(f"{__package__}.{method}").FUNCTIONS.items()
}

RIGHT = dict(FUNCTIONS)
"""Functions that are asked right questions; below come wrong ones, `function!`, and the preflight of each method."""
for _method in METHODS:
    _first = tuple((name, RIGHT[_method, name][0]) for entry, name in RIGHT if entry == _method and name in ONE_STEP)
    FUNCTIONS[_method, "preflight"] = (functools.partial(preflight_cases, _method, _first), check_preflight)
for (_method, _function), (_right, _) in RIGHT.items():
    FUNCTIONS[_method, f"{_function}!"] = (functools.partial(wrong_cases, _method, _function, _right), check_wrong)


def check(case: Case, outcome: Outcome) -> None:
    """Hold an outcome against its function's pooled twin."""
    name = case.function + "!" * bool(case.invalid)
    FUNCTIONS[case.algorithm, name][1](case, outcome)


EXEMPT_FUNCTIONS: dict[tuple[str, str], str] = {}
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
