"""Every central function and argument of every method is drawn by a strategy, or its exemption has a reason."""

import importlib

import pytest
from harness.registry import EXEMPT_ARGUMENTS, EXEMPT_FUNCTIONS, FUNCTIONS, METHODS, drawn_arguments

from fedbayes.federation.signatures import central_functions


def declared() -> dict[tuple[str, str], set[str]]:
    """Return (method, function) -> the arguments that it declares."""
    return {
        (method, name): {one.name for one in function.fedbayes_declared.declared()}  # type: ignore[attr-defined]
        for method in METHODS
        for name, function in central_functions(importlib.import_module(f"v6_{method}"))
    }


def test_every_central_function_has_a_strategy() -> None:
    missing = set(declared()) - set(FUNCTIONS) - set(EXEMPT_FUNCTIONS)
    assert not missing, f"in no strategy and not exempt: {sorted(missing)}"
    assert not set(EXEMPT_FUNCTIONS) & set(FUNCTIONS), "exempt though there is a strategy"


@pytest.mark.audit
def test_every_argument_is_drawn() -> None:
    for (method, function), names in declared().items():
        if (method, function) in FUNCTIONS:
            exempt = EXEMPT_ARGUMENTS.get((method, function), {})
            missing = names - set(exempt) - drawn_arguments(method, function, names - set(exempt))
            assert not missing, f"{method}.{function}: no strategy draws {sorted(missing)}"
