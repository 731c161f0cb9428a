"""What travels when a model is judged: the model, and one request a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from fedbayes.bayes.schema import Schema
from fedbayes.federation import Message
from fedbayes.federation.horizontal import ROW, CountNoise, Unit
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from ...cox.baseline import Step, steps_of
from ...cox.row_products import product
from ..messages import Question
from ..witnessed import Asking, Following, OfRecords, Opening

FINE = 64
"""Places of the linear predictor in one unit: of two records in one place one has at most e^(1/64), 1.016 times the risk of the other."""
REACH = 32
"""Of the linear predictor, either way of a record at the mean: beyond it a risk is more than e^32 times that."""
PLACES = 2 * REACH * FINE
LARGEST = 1e6
"""Of what one column adds to a predictor: far beyond `REACH`, and no sum of such overflows."""
MOST_BINS = 20
"""Of the linear predictor in a stratum: pairs in one bin are estimated, one in 20."""


def asked_by(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model of whole records, or its outline, says of the question of its records; of strata their column alone.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is none.
    """
    domain, references = model["domain"], model["references"]
    if not isinstance(domain, Mapping) or not isinstance(references, Mapping):
        raise TypeError("a domain and references are objects")
    return {
        "time": str(model["time"]),
        "event": str(model["event"]),
        "domain": Schema.from_domain(dict(domain)).to_domain(),
        "references": {str(name): str(one) for name, one in references.items()},
        "ties": str(model.get("ties") or "breslow"),
        "missing": str(model.get("missing", "refuse")),
        "strata": str(model.get("strata") or ""),
        "formula": str(model.get("formula") or ""),
    }


class Applied(Asking):
    """A model and the records that it is applied to.

    Parameters
    ----------
    question : Question
        Of the records.
    model : dict
        The outline of the model that the researcher gave (`manifest.outline_of`): stations compare it with the manifest before an exact answer, and take
        coefficients and offset from it.
    """

    model: dict[str, Any]

    def __post_init__(self) -> None:
        check_array("coefficients", self.coefficients, (len(self.question.labels),))
        middle, half = np.array(self.question.spans).T
        reach = np.abs(self.coefficients) * (np.abs(middle) + half)
        if not np.all(np.append(reach, abs(self.offset)) <= LARGEST):
            raise ValueError("coefficients or offset are no numbers, or far too large")

    @property
    def coefficients(self) -> Array:
        """Those of the model, float64 (columns,), of design columns in the units of the data."""
        try:
            named = {str(entry["feature"]): float(entry["coefficient"]) for entry in self.model["coefficients"]}
        except (KeyError, TypeError, AttributeError):
            raise ValueError("the model of the request is no linear predictor") from None
        if set(named) != set(self.question.labels):
            raise ValueError("coefficients and columns do not fit together")
        return np.array([named[name] for name in self.question.labels], dtype=np.float64)

    @property
    def is_asked_as_modelled(self) -> bool:
        """Whether outcome, columns, strata and what becomes of gaps are those of the model."""
        question = self.question
        try:
            modelled = asked_by(self.model)
        except (KeyError, TypeError, ValueError):
            return False
        own = {name: getattr(question, name) for name in modelled if name != "strata"}
        return {**own, "strata": next(iter(question.strata), "")} == modelled

    @property
    def offset(self) -> float:
        """Linear predictor of a record at the mean."""
        try:
            return float(self.model["offset"])
        except (KeyError, TypeError):
            raise ValueError("the model of the request has no offset") from None

    def predictors(self, columns: Array) -> Array:
        """Return the linear predictors of design columns in units of half of their bounds' width, against a record at the mean."""
        middle, half = np.array(self.question.spans).T
        return np.asarray(product(columns, self.coefficients * half) + (self.coefficients @ middle - self.offset))


class HazardRequest(Applied, Following):
    """Ask for the sums of case weights, and of relative risks, by time of the united grid, of which a baseline follows."""

    @property
    def is_asked_as_modelled(self) -> bool:
        """Whether case weights and times of entry are those of the model, too."""
        cases = (getattr(self.question, name) == str(self.model.get(name) or "") for name in ("weights", "entry"))
        return all(cases) and super().is_asked_as_modelled


class Judged(Applied):
    """A model and the records that it is judged on: without weights, entry and clusters, on the same grid in every stratum.

    The outline has the model's baseline, which stations take from it too.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        question = self.question
        if question.weights or question.entry or question.cluster:
            raise ValueError("records are judged one by one, from the start")
        if any(grid.tolist() != question.grids[0].tolist() for grid in question.grids):
            raise ValueError("all strata have one grid")

    @property
    def steps(self) -> list[Step]:
        """The model's baseline of every stratum."""
        steps = steps_of(self.model)
        if len(steps) != self.strata:
            raise ValueError("the model of the request has another number of baselines than there are strata")
        return steps

    def hazards(self, moments: Sequence[float]) -> Array:
        """Return the model's cumulative hazard of a record at the mean, (strata, moments)."""
        reached = [np.searchsorted(times, moments, side="right") for _, times, _ in self.steps]
        return np.array([np.append(0.0, step[2])[index] for step, index in zip(self.steps, reached, strict=True)])

    @property
    def times(self) -> int:
        """How many the grid has."""
        return self.question.sizes[0]

    @property
    def strata(self) -> int:
        """How many there are."""
        return len(self.question.sizes)


class OfModel(OfRecords):
    """Base of a request about a model and the records that it is judged on."""

    judged: Judged

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.judged.question


class PredictorsRequest(OfModel, Opening):
    """Ask for the counts of events and censored records by time of the grid, and of records by place of their linear predictor."""


class MeasuresRequest(OfModel, Following):
    """Ask for the records by bin of the linear predictor and united time, and for sums of predicted survival and of squared errors.

    Bins, united times and weights are not told: each station works them out of the counts over all stations.

    Parameters
    ----------
    ends : ndarray of int64, (moments,)
        Places in the grid of the times at which survival is judged, rising.
    """

    ends: Array

    def __post_init__(self) -> None:
        check_array("ends", self.ends, (None,), np.int64, 0)
        if not len(self.ends) or self.ends[-1] >= self.judged.times or np.any(np.diff(self.ends) < 1):
            raise ValueError("ends must be times of the grid that rise")
        _ = self.judged.steps


class TableRequest(Message):
    """Ask for the records by bin of the linear predictor, time and status, with noise.

    Parameters
    ----------
    judged : Judged
        Its grid is public.
    edges : ndarray of float, (bins - 1,)
        Between the bins, rising.
    noise : CountNoise
    unit : Unit
        Whom the promise is for.
    """

    judged: Judged
    edges: Array
    noise: CountNoise
    unit: Unit = field(default=ROW)

    def __post_init__(self) -> None:
        self.noise.check_unit(self.unit)
        if self.noise.placement != "distributed":
            raise ValueError("the noise of a judgement is distributed")
        check_array("edges", self.edges, (None,))
        if not 0 < len(self.edges) < MOST_BINS or np.any(np.diff(self.edges) <= 0.0):
            raise ValueError("edges must be a few that rise")
        design = self.judged.question.design
        if design is not None and design.terms.has_formula:
            raise ValueError("expressions are for exact answers")
        if self.unit.id_column in self.judged.question.columns:
            raise ValueError("the column of identifiers must be neither outcome nor feature")

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Shape of the table: strata, bins, times and beyond, status."""
        return self.judged.strata, len(self.edges) + 1, self.judged.times + 1, 2
