"""The settings of a fit, checked together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedbayes.federation import Preflight
from fedbayes.federation.horizontal import CountNoise, preflight

from . import terms
from .attributes import first_rounds
from .messages import Shape, relation_of

if TYPE_CHECKING:
    from .arguments import Fit

OPTIMIZERS = ("secure_gradient", "fedavg")
AGGREGATIONS = ("mean", "by_rows")
USUAL_CLIP = 1.0
"""Where the contribution of a row or a station is cut that is no gradient by terms."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the weights are learned: as it was asked, and what the plan and the steps chose of what was left to them.

    Attributes
    ----------
    asked : Fit
    clip : float or None
        None leaves it to the steps: `USUAL_CLIP`, or by terms what the noisy tables tell.
    attribute_rounds : int or None
        So many of the first private steps learn one weight for each attribute; None leaves it to the plan.
    by_terms : bool
        Whether private steps are made on what values add to the scores (`terms`); the plan tells.
    """

    asked: Fit
    clip: float | None
    attribute_rounds: int | None
    by_terms: bool = False

    @property
    def step_noise(self) -> CountNoise:
        """The budget of all steps; where the tables are noisy too it is theirs, and spent once."""
        return self.asked.added

    @property
    def table_noise(self) -> CountNoise:
        """The budget of the tables; none of those that stay at the stations."""
        noise = self.step_noise
        if self.asked.kind_of_tables != "local":
            return noise
        return CountNoise("none", 0.0, 0.0, noise.neighbors, noise.honest_fraction, noise.rows, noise.id_column)

    @property
    def averaging(self) -> bool:
        """Whether stations improve the weights themselves."""
        return self.asked.optimizer == "fedavg"

    @property
    def cut(self) -> float:
        """Longest contribution of a row, or of a station, with noise."""
        return USUAL_CLIP if self.clip is None else self.clip


def settled(settings: Settings, shape: Shape) -> Settings:
    """Return the settings with all that was left to the plan: what is chosen depends on them and the shape of the model, never on data."""
    layout = shape.layout
    noisy = settings.step_noise.private and not settings.averaging
    by_terms = noisy and shape.tables == "dp" and terms.fits(layout)
    usual = 0 if by_terms else first_rounds(None, settings.asked.steps, layout)
    asked = settings.attribute_rounds if layout.structure == "naive" else 0
    return replace(
        settings,
        by_terms=by_terms,
        attribute_rounds=usual if asked is None else asked,
    )


def before_fit(settings: Settings, columns: list[str], personalize: bool) -> Preflight:
    """Return what a fit says of itself before anything is spent."""
    counted = ("partial_counts",) if settings.asked.kind_of_tables != "local" else ()
    scored = ("partial_evaluate",) if personalize else ()
    noise = settings.step_noise
    before = preflight(columns, (*counted, "partial_step", *scored), noise, noise.promises, settings.asked.whom)
    return replace(before, relation=relation_of(noise, settings.asked.kind_of_tables)) if noise.private else before
