"""The fitted model as a classifier: `predict`, `predict_proba`, JSON both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.encoding import SchemaError
from fedbayes.federation.horizontal import Columns
from fedbayes.typing import Array, Floats, Integers

from .learning import learn_locally
from .likelihood import Evidence, log_posterior
from .messages import PERSONAL_ITERATIONS, Shape
from .model import LARGEST_WEIGHT, SMALLEST_VARIANCE, Codes, Layout, Tables, count, tables_from_counts

FORMAT = "fedbayes-weighted-naive-bayes-1"
FOLDS = 5  # each trains on four fifths of a station's rows
FIELDS = ("format", "label", "domain", "bins", "structure", "weighting", "prior", "tables_at", "weights", "tables")


@dataclass(frozen=True, slots=True)
class WeightedNaiveBayes:
    """A weighted naive Bayes model.

    Attributes
    ----------
    shape : Shape
        Kind of model and columns.
    weights : ndarray (parameters,) of float64
    tables : Tables or None
        None when every station keeps its own tables.
    personal_iterations : int
        Local iterations of the weights before a row is scored.
    """

    shape: Shape
    weights: Floats
    tables: Tables | None
    personal_iterations: int = 0

    @property
    def schema(self) -> Schema:
        """Domains of the features and the label."""
        return self.shape.columns.schema

    @property
    def label(self) -> str:
        """The label's column."""
        return self.shape.columns.label

    @property
    def features(self) -> list[str]:
        """The features' names."""
        return self.shape.columns.features

    @property
    def classes(self) -> list[Any]:
        """The classes as the domain writes them."""
        return list(self.schema[self.label].categories or ())

    @property
    def cross_fitted(self) -> bool:
        """Whether a row is scored by tables or weights that other rows of its station have changed."""
        return self.tables is None or self.personal_iterations > 0

    def codes(self, frame: Any) -> Codes:
        """Return the values of a frame's rows, int32 (n, m); -1 is missing."""
        lacking = [name for name in self.features if name not in frame]
        if lacking:
            raise SchemaError(
                f"column {lacking[0]!r} of the model is not in the table; add it, empty if nothing is known"
            )
        return self.shape.codes({name: self.schema[name].encode(frame[name]) for name in self.features})

    def predict_log_proba(self, frame: Any) -> Floats:
        """Return log P(class | row), float64 (n, classes).

        A cross-fitted model needs the label in the frame: its tables and weights are made from the other folds of its rows.
        """
        layout = self.shape.layout
        codes = self.codes(frame)
        if self.tables is not None and not self.cross_fitted:
            return log_posterior(layout, self.tables, self.weights, codes)
        if self.label not in frame:
            raise SchemaError(
                f"tables or weights of a station's own rows need the column {self.label!r} of these rows; leave label out, or rename the column"
            )
        labels = np.asarray(self.schema[self.label].encode(frame[self.label])).astype(np.int64)
        return self._cross_fitted(codes, labels)

    def _cross_fitted(self, codes: Codes, labels: Integers) -> Floats:
        layout = self.shape.layout
        folds = np.arange(len(codes)) % FOLDS
        logs = np.zeros((len(codes), layout.classes))
        for fold in range(FOLDS):
            others = (folds != fold) & (labels >= 0)
            tables, weights = self.tables, self.weights
            if tables is None:
                tables = tables_from_counts(layout, count(layout, codes[others], labels[others]), self.shape.prior)
            if self.personal_iterations:
                evidence = Evidence.of(layout, tables, codes[others])
                weights = learn_locally(evidence, weights, labels[others], self.personal_iterations, 0.0)
            logs[folds == fold] = log_posterior(layout, tables, weights, codes[folds == fold])
        return logs

    def predict_proba(self, frame: Any) -> Floats:
        """Return P(class | row), float64 (n, classes)."""
        return np.asarray(np.exp(self.predict_log_proba(frame)))

    def predict(self, frame: Any) -> Array:
        """Return the most probable class of each row, as the domain writes it."""
        return np.asarray(np.array(self.classes, dtype=object)[self.predict_log_proba(frame).argmax(axis=1)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON; `load_model` gives the same numbers."""
        shape = self.shape
        return {
            "format": FORMAT,
            "label": self.label,
            "domain": self.schema.to_domain(),
            "bins": shape.bins,
            "structure": shape.structure,
            "weighting": shape.weights,
            "prior": shape.prior,
            "tables_at": shape.tables,
            "continuous": shape.continuous,
            "weights": self.weights.tolist(),
            "tables": None if self.tables is None else self.tables.to_dict(),
        }


def load_model(data: Any) -> WeightedNaiveBayes:
    """Read what `WeightedNaiveBayes.to_dict` wrote.

    Raises
    ------
    SchemaError
        If anything is missing, unknown or does not fit.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise SchemaError("model must be the `model` of a fit of discriminative_naive_bayes")
    if set(data) - {"personal_iterations", "continuous", "seal"} != set(FIELDS):
        raise SchemaError(f"model must have exactly these fields: {', '.join(FIELDS)}")
    try:
        return _load(data)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        reason = str(problem) if isinstance(problem, SchemaError) else "its arrays do not fit its domain"
    raise SchemaError(f"model is malformed: {reason}")


def _load(data: Mapping[str, Any]) -> WeightedNaiveBayes:
    names = [name for name in data["domain"] if name != data["label"]]
    columns = Columns(str(data["label"]), names, dict(data["domain"]))
    kind = (data["structure"], data["weighting"], data["prior"], data["tables_at"], data.get("continuous", "binned"))
    shape = Shape(columns, dict(data["bins"]), *kind)
    weights = _numbers(data["weights"], (shape.layout.parameters,))
    if (data["tables"] is None) != (shape.tables == "local"):
        raise ValueError
    tables = None if data["tables"] is None else _tables(shape.layout, data["tables"])
    iterations = data.get("personal_iterations", 0)
    if type(iterations) is not int or iterations not in (0, PERSONAL_ITERATIONS):  # no thousand ways to judge a model
        raise ValueError
    return WeightedNaiveBayes(shape, weights, tables, iterations)


def _numbers(value: Any, size: tuple[int, ...]) -> Floats:
    """Return numbers of this shape, none of them so large that a score could overflow."""
    array = np.array(value)
    if array.shape != size or array.dtype.kind not in "iuf" or not np.all(np.abs(array) <= LARGEST_WEIGHT):
        raise ValueError
    return array.astype(np.float64)


def _tables(layout: Layout, data: Mapping[str, Any]) -> Tables:
    shapes = {"base": (layout.classes,), "single": (layout.values, layout.classes)}
    if layout.structure == "a1de":
        shapes |= {"joint": shapes["single"], "pairs": (layout.values, layout.values, layout.classes)}
    if layout.gaussians:
        shapes |= dict.fromkeys(("means", "variances"), (layout.gaussians, layout.classes))
    if {name for name, value in data.items() if value is not None} != set(shapes):
        raise ValueError
    tables = Tables(**{name: _numbers(data[name], size) for name, size in shapes.items()})
    if tables.variances is not None and not np.all(tables.variances >= SMALLEST_VARIANCE):
        raise ValueError
    return tables


def loader(private: bool) -> Callable[[Any], WeightedNaiveBayes]:
    """Return `load_model`, which with `private` refuses a model whose scores noise cannot protect.

    One row changes the tables and weights of a cross-fitted model, and with them the scores of all rows.
    """

    def load(data: Any) -> WeightedNaiveBayes:
        model = load_model(data)
        if private and model.cross_fitted:
            raise SchemaError(
                "epsilon does not protect scores by tables or weights of a station's own rows, where one row changes "
                "the scores of others; leave epsilon out, or give a model of shared tables"
            )
        return model

    return load
