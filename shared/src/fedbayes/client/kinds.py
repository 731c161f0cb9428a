"""What kind of result a JSON file is: decided by its content (`view`), so that results of any version of an algorithm can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .exits import UsageProblem
from .inputs.files import read_json

NAIVE_BAYES = "naive Bayes"
WEIGHTED = "weighted naive Bayes"
NETWORK = "Bayesian network"
ENSEMBLE = "ensemble"
COX = "Cox regression"
COUNTS = "counts"
PREDICTIONS = "predictions"
SAMPLE = "synthetic records"
GAIN = "information gain"
DESCRIPTION = "description"
SCORES = "scores"
HAZARD = "baseline hazard"
OTHER = "other"


class ConversionError(TypeError):
    """The result holds no model of the kind that was asked for; the message says what it has."""


SECTIONS: dict[str, type] = {
    "privacy": dict,
    "federation": dict,
    "diagnostics": dict,
    "warnings": list,
    "versions": dict,
    "provenance": dict,
}
DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError)
OWN = ("fedbayes.", "v6_")  # of the modules whose errors are words of ours: neither Python's nor those of numpy
STANDARD = ("model", *SECTIONS)


def read_result(path: Path) -> dict[str, Any]:
    """Return the result in a file.

    Raises
    ------
    UsageProblem
        If the file holds no result.
    """
    result = read_json(path, "the result")
    if not isinstance(result, dict):
        raise UsageProblem(f"{path} holds no result: a JSON object was expected")
    wrong = malformed(result)
    if wrong is not None:
        raise UsageProblem(f"{path} holds no result: its '{wrong}' is malformed; give a file that `fedbayes run` wrote")
    return result


def malformed(result: Mapping[str, Any]) -> str | None:
    """Return the name of a section that is of another kind than results have; None where all are right."""
    return next((name for name, kind in SECTIONS.items() if not isinstance(result.get(name), kind | None)), None)


def arguments_of(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a result's task, as the researcher gave them; empty where it does not tell."""
    arguments = (result.get("provenance") or {}).get("arguments")
    return arguments if isinstance(arguments, Mapping) else {}


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """Say that a result's file was changed, or is of somebody else's making, where what is inside it cannot be shown.

    Raises
    ------
    UsageProblem
        In the place of what Python raises where a value is of another kind, size or depth than results have.
    """
    try:
        yield
    except DAMAGE as problem:
        if type(problem).__module__.startswith(OWN):  # they say what is wrong
            raise
        raise UsageProblem(
            f"{path} holds no result: something in it is malformed ({type(problem).__name__}: {str(problem)[:100]}); give a file that `fedbayes run` wrote"
        ) from problem


def extras_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result beyond the standard ones, such as ``accuracy`` or ``count``."""
    return {name: value for name, value in result.items() if name not in STANDARD}


COEFFICIENTS = ("coef", "coef_", "params", "params_", "hazard_ratios_", "pvalues", "p", "standard_errors_")
ESTIMATOR = ("predict_proba", "predict_log_proba", "classes_", "score", "feature_names_in_")
"""Attributes of what lifelines, statsmodels and scikit-learn fit."""


def no_attribute(result: Mapping[str, Any], name: str) -> str:
    """Return what is said of an attribute that a result does not have: where what people mean by it is."""
    model = result.get("model")
    if name in result:
        meant = f"it is a dict: result[{name!r}]"
    elif isinstance(model, Mapping) and name in model:
        meant = f"it is in the model: result['model'][{name!r}]"
    elif name in COEFFICIENTS:
        meant = "coefficients, standard errors and p are in to_frame()"
    elif name in ESTIMATOR:
        meant = f"to_sklearn() has {name} where the model is a classifier"
    else:
        meant = (
            f"it has the entries {', '.join(map(repr, result))}, and summary(), to_frame(), plot(), predict(), save()"
        )
    return f"a result has no attribute {name!r}; {meant}"
