"""How many rounds a task usually takes, for progress and plans; counted in `docs/status.md` and on the methods' pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .local import Job

ROUNDS: Mapping[tuple[str, str], int] = {
    ("dp_naive_bayes", "fit"): 2,
    ("dp_naive_bayes", "update"): 2,
    ("dp_naive_bayes", "evaluate"): 2,
    ("smooth_naive_bayes", "fit"): 2,
    ("smooth_naive_bayes", "evaluate"): 2,
    ("discriminative_naive_bayes", "evaluate"): 2,
    ("secure_naive_bayes", "fit"): 2,
    ("secure_naive_bayes", "evaluate"): 2,
    ("secure_naive_bayes", "classify"): 4,
    ("scalar_product", "count"): 5,
    ("scalar_product", "contingency"): 4,
    ("scalar_product", "information_gain"): 4,
    ("scalar_product", "scalar_product"): 4,
    ("vertibayes", "fit"): 8,
    ("vertibayes", "evaluate"): 5,
    ("vertibayes", "classify"): 5,
    ("vertibayes", "sample"): 0,
    ("bayesian_ensemble", "fit"): 5,
    ("bayesian_ensemble", "evaluate"): 4,
    ("bayesian_ensemble", "classify"): 4,
    ("verticox", "fit"): 45,
    ("verticox", "evaluate"): 6,
    ("verticox", "predict"): 5,
    ("verticox", "baseline"): 5,
}
OF_ALL = {"preflight": 1, "describe": 2}
"""Functions that every image has."""
BY_SOLVER = {"bfgs": 25}


def rounds_of(job: Job) -> int:
    """Return how many rounds a task usually takes; 0 where nobody knows.

    Parameters
    ----------
    job : Job
        What is asked; arguments that change the number are read as far as they are well-formed.
    """
    arguments: Mapping[str, Any] = job.arguments
    algorithm = job.algorithm.removeprefix("v6_")
    if job.function in OF_ALL:
        return OF_ALL[job.function]
    if (algorithm, job.function) == ("discriminative_naive_bayes", "fit"):
        rounds = arguments.get("rounds", 17)
        return rounds + 2 if isinstance(rounds, int) else 0
    usual = ROUNDS.get((algorithm, job.function), 0)
    return (
        BY_SOLVER.get(str(arguments.get("solver")), usual)
        if algorithm == "verticox" and job.function == "fit"
        else usual
    )
