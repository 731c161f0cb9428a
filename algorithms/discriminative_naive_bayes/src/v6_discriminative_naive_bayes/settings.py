"""The settings of a fit, checked together, and what its result may promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedbayes.federation import Preflight, results
from fedbayes.federation.horizontal import CountNoise, Unit, preflight

from .messages import Shape

OPTIMIZERS = ("secure_gradient", "fedavg")
AGGREGATIONS = ("mean", "by_rows")
PERSONAL_ITERATIONS = 5
MOST_ROUNDS = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """How the weights are learned.

    Attributes
    ----------
    rounds, local_iterations : int
    optimizer, aggregation, tables : str
    regularization, clip, tolerance : float
    attribute_rounds : int or None
        So many of the first private steps learn one weight for each attribute; None leaves it to `attributes.first_rounds`.
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
    attribute_rounds: int | None
    table_noise: CountNoise
    step_noise: CountNoise
    unit: Unit

    @property
    def averaging(self) -> bool:
        """Whether stations improve the weights themselves."""
        return self.optimizer == "fedavg"


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
        composition=f"Gaussian: the square of mu, the largest that epsilon and delta allow, over {settings.rounds} steps"
        + ("" if whole_station else ", which have half of it, and the tables, which have the other half"),
        sensitivity=f"a {'row' if not settings.averaging else 'station'}'s contribution is cut at {settings.clip:g} (L2)"
        + ("; a row changes it by at most twice that" if settings.averaging and not whole_station else "")
        + settings.unit.statement,
        reveals=reveals,
    )
