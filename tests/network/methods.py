"""One case a method for the dev network: what to submit, and which numbers of the result are the same in the embedded federation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HELPER = "helper"

PEOPLE: dict[str, Any] = {
    "age": {"bounds": [18.0, 90.0]},
    "weight": {"bounds": [40.0, 160.0]},
    "smoker": {"categories": ["yes", "no"]},
    "exercise": {"categories": ["low", "medium", "high"]},
    "outcome": {"categories": ["ill", "well"]},
}
YES_NO: dict[str, Any] = {"categories": ["yes", "no"]}
COURSE: dict[str, Any] = {
    "split": "horizontal",
    "time": "days",
    "event": "relapse",
    "features": ["age", "smoker"],
    "domain": {name: PEOPLE[name] for name in ("age", "smoker")},
    "times": [30.0 * month for month in range(1, 13)],
}
PRISONERS: dict[str, Any] = {
    "id_column": "id",
    "time": "week",
    "event": "arrest",
    "features": ["fin", "age", "prio"],
    "domain": {"fin": {"bounds": [0, 1]}, "age": {"bounds": [15, 45]}, "prio": {"bounds": [0, 20]}},
    "times": [13.0, 26.0, 39.0, 52.0],
}


@dataclass(frozen=True)
class Case:
    """A task.

    Attributes
    ----------
    function, arguments
        What is called.
    label : str
        The database: `default` (horizontal), `vertical` or `asia`.
    at : str
        Where central runs.
    same : tuple of str
        Dotted paths into the result that equal the embedded federation's.
    tolerance : float
        Largest relative difference of numbers there.
    private : bool or None
        What the result must say; None where it has no privacy statement.
    seconds : float
        Longest time on real nodes.
    refining : int
        By how many rounds two runs may differ: on shares, rounding decides whether reciprocals are refined once more (three rounds; about one fit in twenty).
    keys : tuple of str
        What the result holds at least.
    """

    function: str
    arguments: dict[str, Any]
    label: str = "default"
    at: str = HELPER
    same: tuple[str, ...] = ()
    tolerance: float = 1e-9
    private: bool | None = False
    seconds: float = 240.0
    refining: int = 0
    keys: tuple[str, ...] = field(default=("model", "privacy", "federation", "diagnostics", "warnings", "versions"))


CASES: dict[str, tuple[Case, ...]] = {
    "dp_naive_bayes": (
        Case("fit", {"label": "outcome", "domain": PEOPLE, "epsilon": 1.0}, private=True),
        Case("fit", {"label": "outcome", "domain": PEOPLE, "epsilon": 1.0, "noise": "none"}, same=("model",)),
    ),
    "smooth_naive_bayes": (
        Case(
            "fit", {"label": "outcome", "features": ["age", "weight"], "domain": PEOPLE, "epsilon": 1.0}, private=True
        ),
    ),
    "discriminative_naive_bayes": (
        Case("fit", {"label": "outcome", "features": ["smoker", "exercise"], "domain": PEOPLE, "rounds": 3}),
    ),
    "secure_naive_bayes": (
        Case(
            "fit",
            {
                "label": "outcome",
                "features": ["smoker", "exercise"],
                "domain": PEOPLE,
                "epsilon": 1.0,
                "modulus_bits": 2048,
            },
            private=True,
        ),
    ),
    "scalar_product": (
        Case(
            "count",
            {
                "id_column": "id",
                "conditions": [
                    {"column": "smoke", "op": "==", "value": "yes"},
                    {"column": "xray", "op": "==", "value": "no"},
                ],
            },
            label="asia",
            at="hospital-a",
            same=("count",),
            keys=("count", "privacy", "federation"),
        ),
    ),
    "vertibayes": (
        Case(
            "fit",
            {
                "id_column": "id",
                "columns": ["asia", "smoke", "tub", "lung", "bronc", "either", "xray", "dysp"],
                "structure": "k2",
                "max_parents": 2,
                "order": ["asia", "smoke", "tub", "lung", "bronc", "either", "xray", "dysp"],
            },
            label="asia",
            at="hospital-a",
            same=("model.edges",),
        ),
        Case(
            "fit",
            {
                "id_column": "id",
                "columns": ["smoke", "bronc", "either", "dysp"],
                "domain": {name: YES_NO for name in ("smoke", "bronc", "either", "dysp")},
                "structure": "private",
                "epsilon": 1.0,
                "delta": 1e-6,
            },
            label="asia",
            at="hospital-a",
            private=True,
        ),
    ),
    "bayesian_ensemble": (
        Case(
            "fit",
            {"id_column": "id", "label": "dysp", "max_parents": 2},
            label="asia",
            at="hospital-a",
            same=("model.classes", "diagnostics.records"),
        ),
        Case(
            "fit",
            {"id_column": "id", "label": "outcome", "domain": PEOPLE, "split": "horizontal", "weights": "rows"},
            same=("model.classes",),
        ),
    ),
    "verticox": (
        Case(
            "fit",
            {
                "id_column": "id",
                "time": "week",
                "event": "arrest",
                "features": ["fin", "age", "prio"],
                "tolerance": 1e-3,
            },
            label="vertical",
            at="hospital-b",
            same=("model.coefficients",),
            tolerance=1e-4,
            seconds=900.0,
            refining=3,
        ),
        Case("fit", {**COURSE, "robust": True}, same=("model.coefficients", "model.baseline"), tolerance=1e-6),
        Case("fit", {**COURSE, "epsilon": 1.0, "delta": 1e-6}, private=True),
        Case(
            "fit",
            {**PRISONERS, "epsilon": 1.0, "delta": 1e-6},
            label="vertical",
            at="hospital-b",
            private=True,
            seconds=900.0,
        ),
    ),
}
