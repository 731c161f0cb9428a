"""Naive Bayes over a public schema: one distribution per feature and class, from counts that may be noisy.

The model keeps *statistics* (counts, sums, sums of squares), as they were released, and derives probabilities
when it predicts. So a model can be added to (an online update is a sum, in any order), travels through JSON
without loss, and post-processing never spends privacy.

References
----------
.. [1] Marchioro et al. (2022), Federated Naive Bayes under Differential Privacy, equations 1 to 5 and 10 to 16.
.. [2] scikit-learn's ``CategoricalNB`` and ``GaussianNB``: the same numbers without noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...typing import Array, Floats, Integers
from ..schema import Schema
from ..values.encoding import Outside, SchemaError
from .features import FEATURE_KINDS, LARGEST_COUNT, Feature

FORMAT = "fedbayes.naive_bayes/1"
SMALLEST_COUNT = 0.5  # of a class, of which a logarithm is taken


@dataclass(frozen=True)
class NaiveBayes:
    """A naive Bayes classifier.

    Parameters
    ----------
    schema : Schema
        Domains of the label and of every feature.
    label : str
        A categorical column of the schema.
    class_counts : ndarray, float64, shape (classes,)
        Rows of each class, possibly noisy or negative.
    features : mapping of str to Feature
        Distribution of each feature (``CategoricalTables``, ``Histogram`` or ``Gaussian``).
    class_noise : float
        Standard deviation of the noise in each class count; 0 for exact counts.
    provenance : mapping
        How it came about (JSON); carried along, never used for prediction.

    Raises
    ------
    SchemaError
        If the parts do not fit one another.
    """

    schema: Schema
    label: str
    class_counts: Floats
    features: Mapping[str, Feature] = field(default_factory=dict)
    class_noise: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        column = self.schema[self.label]
        if not column.is_categorical:
            raise SchemaError(f"label {self.label!r} must have categories in the domain")
        if column.cardinality < 2:
            raise SchemaError(f"label {self.label!r} has a single class: give at least two categories")
        counts = np.asarray(self.class_counts, dtype=np.float64)
        if counts.shape != (column.cardinality,) or not bool(np.all(np.abs(counts) <= LARGEST_COUNT)):
            raise SchemaError(f"class_counts must be {column.cardinality} finite numbers, one a class")
        if not 0 <= self.class_noise <= LARGEST_COUNT:
            raise SchemaError("class_noise must be a finite number, at least 0")
        object.__setattr__(self, "class_counts", counts)
        for name, feature in self.features.items():
            if name == self.label:
                raise SchemaError(f"column {name!r} is the label: it cannot be a feature too")
            feature.check(self.schema[name], column.cardinality)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label's categories as the domain writes them, in the order of their codes."""
        return self.schema[self.label].categories or ()

    @property
    def class_array(self) -> Array:
        """The same, shape (classes,): texts beside numbers or truth values stay what they are."""
        classes = np.array(self.classes)
        mixed = classes.dtype.kind == "U" and not all(isinstance(one, str) for one in self.classes)
        return np.array(self.classes, dtype=object) if mixed else classes

    @property
    def positive_counts(self) -> Floats:
        """Class counts after removing what noise made impossible: at least half a row, or the noise itself."""
        return np.maximum(self.class_counts, max(SMALLEST_COUNT, self.class_noise))

    @property
    def log_prior(self) -> Floats:
        """Log P(class), shape (classes,)."""
        counts = self.positive_counts
        return np.asarray(np.log(counts) - np.log(counts.sum()))

    def joint_log_likelihood(self, frame: Any, outside: Outside = "clip") -> Floats:
        """Return log P(class) + sum over features of log P(value | class); missing values are left out.

        Parameters
        ----------
        frame : DataFrame or mapping of columns
            Holds every feature; the label need not be there.
        outside : {"clip", "refuse"}
            See :meth:`fedbayes.bayes.schema.Column.encode`.

        Returns
        -------
        ndarray, float64, shape (n, classes)
        """
        encoded = self.schema.select(self.features).encode(frame, outside)
        return self.joint_from_codes(encoded, len(frame))

    def joint_from_codes(self, encoded: Mapping[str, Array], rows: int) -> Floats:
        """Return the joint log likelihood of columns that were encoded already; shape (rows, classes)."""
        totals = self.positive_counts
        joint = np.tile(self.log_prior, (rows, 1))
        for name, feature in self.features.items():
            joint += feature.log_likelihood(encoded[name], totals)
        return joint

    def predict_log_proba(self, frame: Any, outside: Outside = "clip") -> Floats:
        """Return log P(class | row), float64, shape (n, classes)."""
        joint = self.joint_log_likelihood(frame, outside)
        top = joint.max(axis=1, keepdims=True)
        return np.asarray(joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))

    def predict_proba(self, frame: Any, outside: Outside = "clip") -> Floats:
        """Return P(class | row), float64, shape (n, classes); rows sum to 1."""
        return np.asarray(np.exp(self.predict_log_proba(frame, outside)))

    def predict_codes(self, frame: Any, outside: Outside = "clip") -> Integers:
        """Return the code of the most probable class of each row, int64, shape (n,)."""
        return np.asarray(self.joint_log_likelihood(frame, outside).argmax(axis=1))

    def predict(self, frame: Any, outside: Outside = "clip") -> Array:
        """Return the most probable class of each row, as the domain writes it; shape (n,)."""
        return np.asarray(self.class_array[self.predict_codes(frame, outside)])

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON; :meth:`from_dict` gives back exactly the same numbers."""
        return {
            "format": FORMAT,
            "label": self.label,
            "domain": self.schema.to_domain(),
            "class_counts": self.class_counts.tolist(),
            "class_noise": float(self.class_noise),
            "features": {name: feature.to_dict() for name, feature in self.features.items()},
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_dict(cls, data: object) -> NaiveBayes:
        """Read what :meth:`to_dict` wrote; the ``seal`` that a federation puts on a model says nothing here.

        Raises
        ------
        SchemaError
            If anything is missing, unknown or does not fit.
        """
        keys = {"format", "label", "domain", "class_counts", "class_noise", "features", "provenance"}
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise SchemaError(
                f"model is not a naive Bayes model of format {json.dumps(FORMAT)}; give the result of a fit of naive Bayes"
            )
        if set(data) - {"seal"} != keys:
            raise SchemaError(f"model must have exactly these fields: {', '.join(sorted(keys))}")
        if not isinstance(data["features"], Mapping) or not isinstance(data["provenance"], Mapping):
            raise SchemaError("model.features and model.provenance must be objects")
        features = {str(name): _feature(str(name), entry) for name, entry in data["features"].items()}
        try:
            counts = np.array(data["class_counts"], dtype=np.float64)
            noise = float(data["class_noise"])
        except (TypeError, ValueError, OverflowError):
            raise SchemaError("model.class_counts and model.class_noise must be numbers") from None
        return cls(Schema.from_domain(data["domain"]), str(data["label"]), counts, features, noise, data["provenance"])


def _feature(name: str, data: object) -> Feature:
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in FEATURE_KINDS:
        raise SchemaError(f"model.features: {name!r} must be one of: {', '.join(FEATURE_KINDS)}")
    try:
        feature: Feature = FEATURE_KINDS[kind].from_dict(data)
        return feature
    except (TypeError, ValueError, KeyError, OverflowError) as problem:
        reason = f": {problem}" if isinstance(problem, SchemaError) else ""
    raise SchemaError(f"model.features: {name!r} is malformed{reason}")
