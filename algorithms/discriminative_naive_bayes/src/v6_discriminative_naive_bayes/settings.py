"""The settings of a fit, checked together, and what its result may promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedbayes.federation import Preflight, arguments, results
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import (
    HONEST_FRACTION,
    NEIGHBORS,
    CountNoise,
    Unit,
    check_noise,
    check_unit,
    preflight,
)
from fedbayes.federation.horizontal.columns import REFUSALS

from .messages import CONTINUOUS, LARGEST_CLIP, MOST_ITERATIONS, PRIORS, STRUCTURES, TABLES, WEIGHTS, Shape

OPTIMIZERS = ("secure_gradient", "fedavg")
AGGREGATIONS = ("mean", "by_rows")
PERSONAL_ITERATIONS = 5
MOST_ROUNDS = 500
DELTA, CLIP, TOLERANCE, LOCAL_ITERATIONS, BINS = 1e-6, 1.0, 1e-6, 5, 10


@dataclass(frozen=True, slots=True)
class Settings:
    """How the weights are learned.

    Attributes
    ----------
    rounds, local_iterations : int
    optimizer, aggregation, tables : str
    regularization, clip, tolerance : float
    table_noise, step_noise : CountNoise
        Budget of the tables, and of all steps; the same one where both are noisy, which is spent once.
    unit : Unit
        Whom the promise is for, where rows are protected.
    """

    rounds: int
    local_iterations: int
    optimizer: str
    aggregation: str
    tables: str
    regularization: float
    clip: float
    tolerance: float
    table_noise: CountNoise
    step_noise: CountNoise
    unit: Unit

    @property
    def averaging(self) -> bool:
        """Whether stations improve the weights themselves."""
        return self.optimizer == "fedavg"


def check_settings(given: dict[str, Any]) -> Settings:
    """Return the checked settings.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy, also for combinations that cannot keep their promise.
    """
    number, choice = arguments.check_number, arguments.check_choice
    choice("prior", given["prior"], PRIORS)
    choice("weights", given["weights"], WEIGHTS)
    choice("structure", given["structure"], STRUCTURES)
    gaussian = choice("continuous", given["continuous"], CONTINUOUS) == "gaussian"
    if gaussian and (given["structure"] != "naive" or given["tables"] == "dp"):
        raise ArgumentError(
            'continuous="gaussian" needs structure="naive" and no tables="dp"; give continuous="binned"'
        )
    choice("neighbors", given["neighbors"], NEIGHBORS)
    unit = check_unit(given["unit"], given["id_column"], given["max_rows_per_identifier"])
    arguments.check_flag("personalize", given["personalize"])
    tables = choice("tables", given["tables"], TABLES)
    optimizer = choice("optimizer", given["optimizer"], OPTIMIZERS)
    epsilon = number("epsilon", given["epsilon"], above=0, optional=True)
    _check_combination(tables, optimizer, epsilon, given["personalize"])
    choice("outside", given["outside"], ("clip", "refuse"))
    if epsilon is not None and given["outside"] == "refuse":
        raise ArgumentError(REFUSALS)
    if epsilon is not None and tables == "local" and unit.id_column is not None:
        raise ArgumentError('unit must be "row" with tables="local", where whole stations are protected; leave it out')
    number("delta", given["delta"], low=0, below=1)
    table_noise, step_noise = _noises(given, tables, epsilon, unit)
    return Settings(
        rounds=number("rounds", given["rounds"], low=1, high=MOST_ROUNDS, integer=True),
        local_iterations=number(
            "local_iterations", given["local_iterations"], low=1, high=MOST_ITERATIONS, integer=True
        ),
        optimizer=optimizer,
        aggregation=choice("aggregation", given["aggregation"], AGGREGATIONS),
        tables=tables,
        regularization=number("regularization", given["regularization"], low=0, high=1e6),
        clip=number("clip", given["clip"], above=0, high=LARGEST_CLIP),
        tolerance=number("tolerance", given["tolerance"], low=0, below=1),
        table_noise=table_noise,
        step_noise=step_noise,
        unit=unit,
    )


def _check_combination(tables: str, optimizer: str, epsilon: float | None, personalize: bool) -> None:
    if tables == "dp" and epsilon is None:
        raise ArgumentError('epsilon is needed for tables="dp"; give a number greater than 0')
    if tables == "secure_sum" and epsilon is not None:
        raise ArgumentError('epsilon does not protect exact tables; give tables="dp", or leave epsilon out')
    if tables == "local" and epsilon is not None and optimizer != "fedavg":
        raise ArgumentError(
            'epsilon with tables="local" protects whole stations, so it needs optimizer="fedavg"; or give tables="dp"'
        )
    if personalize and epsilon is not None:
        raise ArgumentError("personalize adds an exact evaluation; leave it out with epsilon, and call evaluate")


def _noises(given: dict[str, Any], tables: str, epsilon: float | None, unit: Unit) -> tuple[CountNoise, CountNoise]:
    relation, honest = given["neighbors"], given["honest_fraction"]
    none = check_noise("none", None, 0.0, relation, honest, unit)
    if epsilon is None:
        return none, none
    delta = arguments.check_number("delta", given["delta"], above=0, below=1)
    whole = check_noise("distributed", epsilon, delta, relation, honest, unit)
    return (none if tables == "local" else whole), whole


def without_effect(settings: Settings, shape: Shape, bins: Any, delta: float) -> list[str]:
    """Return a warning for every argument that was given and is not used."""
    noise, noisy, averaging = settings.step_noise, settings.step_noise.private, settings.averaging
    numeric = [name for name in shape.columns.features if not shape.columns.schema[name].is_categorical]
    checks = [
        ("local_iterations", settings.local_iterations != LOCAL_ITERATIONS and not averaging, 'optimizer="fedavg"'),
        ("aggregation", settings.aggregation != "mean" and not averaging, 'optimizer="fedavg"'),
        ("bins", bins != BINS and not [name for name in numeric if name not in shape.gaussians], "a binned feature"),
        ("continuous", shape.continuous != "binned" and not numeric, "a numeric feature"),
        ("neighbors", noise.neighbors != NEIGHBORS[0] and not noisy, "epsilon"),
        ("honest_fraction", noise.honest_fraction != HONEST_FRACTION and not noisy, "epsilon"),
        ("delta", delta != DELTA and not noisy, "epsilon"),
        ("clip", settings.clip != CLIP and not noisy, "epsilon"),
    ]
    found = [f"{name} has no effect without {needed}" for name, useless, needed in checks if useless]
    if noisy and settings.tolerance != TOLERANCE:
        found.append("tolerance has no effect with epsilon: all steps are made")
    if noisy and settings.aggregation == "by_rows":
        found.append("aggregation has no effect with epsilon: noisy improvements are averaged over the stations")
    return found


def check_evaluation(personalize: Any, epsilon: Any) -> None:
    """Refuse noise where it protects nothing; `evaluate_model` checks the rest.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    if arguments.check_flag("personalize", personalize) and epsilon is not None:
        raise ArgumentError(
            "epsilon does not protect personalised scores, where one row changes the scores of others; "
            "give personalize=false, or leave epsilon out"
        )


def before_fit(settings: Settings, columns: list[str], personalize: bool) -> Preflight:
    """Return what a fit says of itself before anything is spent."""
    counted = ("partial_counts",) if settings.tables != "local" else ()
    scored = ("partial_evaluate",) if personalize else ()
    noise = settings.step_noise
    return preflight(columns, (*counted, "partial_step", *scored), noise, noise.promises, settings.unit)


def statement(settings: Settings, shape: Shape) -> dict[str, Any]:
    """Return the privacy statement of a fit."""
    sums = "the sum over all stations of every step's " + ("weights" if settings.averaging else "loss and gradient")
    reveals = {
        "central": sums + ("" if shape.tables == "local" else ", and the tables over all stations"),
        "stations": "the weights of every step" + ("" if shape.tables == "local" else ", and the tables"),
        "researcher": "the model",
    }
    if not settings.step_noise.private:
        return results.not_private(
            "weights are functions of the data, and the tables are exact; give epsilon for noise", reveals
        )
    noise, whole_station = settings.step_noise, shape.tables == "local"
    return results.privacy(
        True,
        unit="party" if whole_station else settings.unit.name,
        neighbors=noise.neighbors,
        epsilon=noise.epsilon,
        delta=noise.delta,
        mechanism="discrete Gaussian in shares inside the secure sum",
        composition=f"zero-concentrated (zCDP): rho of epsilon and delta over {settings.rounds} steps"
        + ("" if whole_station else ", which have half of it, and the tables, which have the other half"),
        sensitivity=f"a {'row' if not settings.averaging else 'station'}'s contribution is cut at {settings.clip:g} (L2)"
        + ("; a row changes it by at most twice that" if settings.averaging and not whole_station else "")
        + settings.unit.statement,
        reveals=reveals,
    )
