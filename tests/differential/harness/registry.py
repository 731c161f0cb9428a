"""Every function that the harness covers."""

from __future__ import annotations

import contextlib
import functools
import importlib
import unittest
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from . import cox_here
from .cases import Case, Outcome
from .dictionaries import maybe_dictionary
from .here import USES as HERE
from .here import check_here, here_cases
from .looking import check_describe, describe_cases
from .variants import maybe_aligned, maybe_by_identifier, maybe_other_files, maybe_unseen
from .warned import check_warnings
from .wide import check_wide, wide_cases
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
VARIANTS = {
    **dict.fromkeys(("scalar_product", "verticox", "vertibayes", "bayesian_ensemble"), maybe_aligned),
    **dict.fromkeys(
        ("dp_naive_bayes", "smooth_naive_bayes", "discriminative_naive_bayes", "secure_naive_bayes"),
        maybe_by_identifier,
    ),
}
"""The same questions in other words."""


def _right(method: str, function: str, cases: Any) -> Any:
    cases = functools.partial(VARIANTS[method], cases) if method in VARIANTS else cases
    cases = functools.partial(maybe_other_files, functools.partial(maybe_dictionary, cases))
    used = method == "verticox" and function not in ONE_STEP
    return functools.partial(maybe_unseen, cases) if used else cases


FUNCTIONS: dict[tuple[str, str], tuple[Any, Any]] = {
    (method, function): (_right(method, function, cases), judged)
    for method in METHODS
    for function, (cases, judged) in importlib.import_module(f"{__package__}.{method}").FUNCTIONS.items()
}

for _method in METHODS:
    FUNCTIONS[_method, "describe"] = (
        functools.partial(maybe_other_files, functools.partial(describe_cases, _method)),
        check_describe,
    )

FITS = {"verticox": _right("verticox", "fit", cox_here.fits)}
"""What is fitted where models are used here, if not what is drawn of a fit: of that an answer is seldom to be expected."""

ALIKE = {(method, f"describe{kind}") for method in METHODS[1:] for kind in ("", "!", "?")}
"""Functions that every image has from the library: asked a third as often as those of the first image."""

RIGHT = dict(FUNCTIONS)
"""Functions that are asked right questions; below come wrong ones, `function!`, any that are declared, `function?`, the preflight of each method,
and models that are used here, `fit@`."""
for _method in METHODS:
    _first = tuple((name, RIGHT[_method, name][0]) for entry, name in RIGHT if entry == _method and name in ONE_STEP)
    FUNCTIONS[_method, "preflight"] = (functools.partial(preflight_cases, _method, _first), check_preflight)
for (_method, _function), (_asked, _) in RIGHT.items():
    FUNCTIONS[_method, f"{_function}!"] = (functools.partial(wrong_cases, _method, _function, _asked), check_wrong)
    FUNCTIONS[_method, f"{_function}?"] = (functools.partial(wide_cases, _method, _function, _asked), check_wide)


for _method in HERE:
    FUNCTIONS[_method, "fit@"] = (
        functools.partial(here_cases, FITS.get(_method, RIGHT[_method, "fit"][0])),
        check_here,
    )


def check(case: Case, outcome: Outcome) -> None:
    """Hold an outcome against its function's pooled twin."""
    name = case.function + (
        "!" if case.invalid else "?" if "wide" in case.facts else "@" if "here" in case.facts else ""
    )
    FUNCTIONS[case.algorithm, name][1](case, outcome)
    if name in (case.function, f"{case.function}@") and name != "preflight":
        check_warnings(case, outcome)


EXEMPT_FUNCTIONS: dict[tuple[str, str], str] = {}
"""Functions without a strategy, with the reason."""
EXEMPT_ARGUMENTS: dict[tuple[str, str], dict[str, str]] = {
    ("secure_naive_bayes", "fit"): {"membership": "drawn by join and leave"},
}
"""Arguments that no strategy draws, with the reason."""


def drawn_arguments(method: str, function: str, wanted: set[str], cases: int = 1000) -> set[str]:
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
