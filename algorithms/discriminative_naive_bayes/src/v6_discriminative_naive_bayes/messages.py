"""What travels: the shape of the model, and one request and one reply a round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes.counting import column_edges, table_width
from fedbayes.bayes.values.encoding import SchemaError, bin_codes
from fedbayes.federation import Message, Relation
from fedbayes.federation.horizontal import Columns, CountNoise
from fedbayes.federation.messages.arrays import check_array

from .model import GRID, LARGEST_WEIGHT, Codes, Layout

STRUCTURES = ("naive", "a1de")
WEIGHTS = ("value", "attribute")
PRIORS = ("log", "published")
TABLES = ("secure_sum", "local", "dp")
CONTINUOUS = ("binned", "gaussian")
MOST_COUNTS = 5_000_000  # 40 MB in a round
MOST_POINTS = 4  # of a round, and one of the first (`descent`)
MOST_ROUNDS = 500  # half an hour on stock nodes
MOST_ITERATIONS = 1000  # at a station; the published fits take five
PERSONAL_ITERATIONS = 5  # of a personalised score, as the local iterations of a step of fedavg
LARGEST_CLIP = 1e6  # far above the length of any row's gradient


class Shape(Message):
    """What kind of model is learned, from which columns.

    Attributes
    ----------
    columns : Columns
    bins : dict
        Numeric feature -> number of bins or edges.
    structure, weights, prior, tables, continuous : str
        See `STRUCTURES`, `WEIGHTS`, `PRIORS`, `TABLES`, `CONTINUOUS`.
    """

    columns: Columns
    bins: dict[str, Any]
    structure: str = "naive"
    weights: str = "value"
    prior: str = "log"
    tables: str = "secure_sum"
    continuous: str = "binned"

    def __post_init__(self) -> None:
        for value, choices in (
            (self.structure, STRUCTURES),
            (self.weights, WEIGHTS),
            (self.prior, PRIORS),
            (self.tables, TABLES),
            (self.continuous, CONTINUOUS),
        ):
            if value not in choices:
                raise ValueError(f"must be one of {', '.join(choices)}")
        if self.gaussians and (self.structure != "naive" or self.tables == "dp"):
            raise ValueError("gaussian features belong to structure naive without noise")
        if self.layout.counts > MOST_COUNTS:
            raise SchemaError(
                f"structure and domain make tables of more than {MOST_COUNTS:,} cells; "
                'give fewer features, bins or categories, or structure="naive"'
            )

    @property
    def gaussians(self) -> list[str]:
        """The normally distributed features."""
        schema = self.columns.schema
        normal = self.continuous == "gaussian"
        return [name for name in self.columns.features if normal and not schema[name].is_categorical]

    @property
    def attributes(self) -> list[str]:
        """The features in the order of the arrays: normally distributed ones last."""
        last = self.gaussians
        return [name for name in self.columns.features if name not in last] + last

    @property
    def cells(self) -> dict[str, Any]:
        """The bins of numeric features; the grid of normally distributed ones."""
        return {**self.bins, **dict.fromkeys(self.gaussians, GRID)}

    @property
    def layout(self) -> Layout:
        """Sizes of the arrays."""
        schema, normal = self.columns.schema, self.gaussians
        widths = [1 if name in normal else table_width(schema, name, self.bins) - 1 for name in self.attributes]
        return Layout(tuple(widths), self.columns.classes, self.structure, self.weights, len(normal))

    def codes(self, encoded: Mapping[str, Any]) -> Codes:
        """Return the values of encoded columns, int32 (n, m); -1 is missing."""
        schema, cells = self.columns.schema, self.cells
        parts = [
            encoded[name]
            if schema[name].is_categorical
            else bin_codes(encoded[name], column_edges(schema, name, cells))
            for name in self.attributes
        ]
        return np.asarray(np.column_stack(parts).astype(np.int32))


def relation_of(noise: CountNoise, tables: str) -> Relation:
    """Return whom the noise of a job is for: whole stations where each keeps its tables, which one row changes together with the improvement."""
    return replace(noise.relation, unit="party") if tables == "local" else noise.relation


class CountsRequest(Message):
    """Ask for the counts of the tables, in a secure sum, with noise if `noise` says so."""

    shape: Shape
    noise: CountNoise

    def __post_init__(self) -> None:
        """Refuse moments with the noise of counts."""
        if self.noise.private and self.shape.gaussians:
            raise ValueError("gaussian features have no noisy counts")
        self.noise.check_unit(self.shape.columns.unit)


class StepRequest(Message):
    """Ask for the summed loss and gradient at some weights, or for a station's own improvement of them.

    Attributes
    ----------
    shape : Shape
    weights : ndarray (points, parameters) of float64
        Where; several points for loss and gradient only.
    counts : ndarray (counts,) of int64 or None
        Counts of all stations; None when every station uses its own.
    iterations : int
        0: loss and gradient. Else: so many local iterations of L-BFGS.
    regularization : float
        Of local iterations.
    by_rows : bool
        Whether a local improvement counts by the station's rows.
    noise : CountNoise
        Budget of all `steps` together.
    clip : float
        Longest contribution of a row (gradient) or of a station (improvement), with noise.
    step, steps : int
        Which of how many.
    additive : bool
        Whether the weights are what values add to the scores themselves, so that no tables are needed (`terms`).
    """

    shape: Shape
    weights: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any] | None
    iterations: int
    regularization: float
    by_rows: bool
    noise: CountNoise
    clip: float
    step: int
    steps: int
    additive: bool = False

    def __post_init__(self) -> None:
        layout = self.shape.layout
        check_array("weights", self.weights, (None, layout.parameters), np.float64, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        several = self.step > 1 and not self.iterations and not self.noise.private
        if not 1 <= len(self.weights) <= (MOST_POINTS if several else 1):
            raise ValueError(
                "weights must be of one point, or of a few without noise and local iterations after the first"
            )
        if self.counts is not None:
            check_array("counts", self.counts, (layout.counts,), np.int64)
        if (self.counts is None) != (self.shape.tables == "local" or self.additive):
            raise ValueError("counts must be given exactly when the tables are shared and used")
        if not 1 <= self.step <= self.steps <= MOST_ROUNDS or not 0 <= self.iterations <= MOST_ITERATIONS:
            raise ValueError("step must be one of steps, and neither these nor iterations too many")
        if not (0 < self.clip <= LARGEST_CLIP and 0 <= self.regularization < math.inf):
            raise ValueError(f"clip must be positive and at most {LARGEST_CLIP:g}, regularization not negative")
        self._check_promise()

    @property
    def question(self) -> tuple[Any, ...]:
        """What all exact steps of a job have in common."""
        return self.shape, self.counts, self.iterations, self.regularization, self.by_rows, self.steps

    def _check_promise(self) -> None:
        """Refuse noise that would promise nothing, whatever central asks."""
        by_value = self.shape.structure == "naive" and self.shape.weights == "value" and not self.shape.gaussians
        if self.additive and (
            self.iterations or not self.noise.private or self.shape.tables == "local" or not by_value
        ):
            raise ValueError("additive steps are noisy gradients of naive Bayes by value with shared tables")
        if self.noise.private and self.shape.tables == "local" and not self.iterations:
            raise ValueError("a row changes its station's tables and with them every gradient: no noise for that")
        if self.noise.placement == "local":
            raise ValueError("the noise of a step is distributed")
        self.noise.check_unit(self.shape.columns.unit)
        if self.noise.private and self.shape.tables == "local" and self.shape.columns.unit.id_column is not None:
            raise ValueError("with tables of its own a station is the unit, not an identifier")
