"""The fitted model as a classifier: `predict`, `predict_proba`, JSON both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.encoding import SchemaError
from fedbayes.bayes.schema import Schema
from fedbayes.federation.horizontal import Columns

from .learning import learn_locally
from .likelihood import Evidence, log_posterior
from .messages import Shape
from .model import Codes, Floats, Tables, count, tables_from_counts

FORMAT = "fedbayes-weighted-naive-bayes-1"
FOLDS = 5
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
        Local iterations of the weights before a row is scored (with local tables only).
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

    def codes(self, frame: Any) -> Codes:
        """Return the values of a frame's rows, int32 (n, m); -1 is missing."""
        return self.shape.codes({name: self.schema[name].encode(frame[name]) for name in self.features})

    def predict_log_proba(self, frame: Any) -> Floats:
        """Return log P(class | row), float64 (n, classes).

        With local tables the frame must hold the label: tables are made from the other folds of its rows.
        """
        layout = self.shape.layout
        codes = self.codes(frame)
        if self.tables is not None and not self.personal_iterations:
            return log_posterior(layout, self.tables, self.weights, codes)
        if self.label not in frame:
            raise SchemaError(f"a model with local tables needs the column {self.label!r} of the same rows")
        labels = np.asarray(self.schema[self.label].encode(frame[self.label])).astype(np.int64)
        return self._cross_fitted(codes, labels)

    def _cross_fitted(self, codes: Codes, labels: NDArray[np.int64]) -> Floats:
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

    def predict(self, frame: Any) -> NDArray[Any]:
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
    if set(data) - {"personal_iterations", "continuous"} != set(FIELDS):
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
    layout = shape.layout
    weights = np.array(data["weights"], dtype=np.float64)
    tables = None if data["tables"] is None else _tables(data["tables"])
    shapes = {"base": (layout.classes,), "single": (layout.values, layout.classes)}
    if layout.structure == "a1de":
        shapes |= {"joint": shapes["single"], "pairs": (layout.values, layout.values, layout.classes)}
    if layout.gaussians:
        shapes |= dict.fromkeys(("means", "variances"), (layout.gaussians, layout.classes))
    fits = tables is None or all(
        getattr(tables, name) is not None
        and getattr(tables, name).shape == size
        and np.all(np.isfinite(getattr(tables, name)))
        for name, size in shapes.items()
    )
    if weights.shape != (layout.parameters,) or not np.all(np.isfinite(weights)) or not fits:
        raise ValueError
    iterations = data.get("personal_iterations", 0)
    if type(iterations) is not int or not 0 <= iterations <= 1000:
        raise ValueError
    return WeightedNaiveBayes(shape, weights, tables, iterations)


def _tables(data: Mapping[str, Any]) -> Tables:
    arrays = {name: None if value is None else np.array(value, dtype=np.float64) for name, value in data.items()}
    base, single = arrays["base"], arrays["single"]
    if base is None or single is None:
        raise ValueError
    variances = arrays.get("variances")
    if variances is not None and not np.all(variances > 0):
        raise ValueError
    return Tables(base, single, arrays["joint"], arrays["pairs"], arrays.get("means"), variances)
