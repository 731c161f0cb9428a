"""A scikit-learn classifier around any model that predicts; imports scikit-learn when it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bayes.values.encoding import number_written
from ...typing import Array, Floats
from ..inputs.dictionaries import frame_as_fitted
from ..view import view_of
from .coverage import domain_of
from .networks import states_of
from .predictions import predict_table

if TYPE_CHECKING:
    BaseEstimator: Any = object
    ClassifierMixin: Any = object
else:
    from sklearn.base import BaseEstimator, ClassifierMixin


def as_cells(classes: Sequence[Any]) -> Array:
    """Return classes, shape (classes,), as a table holds them, with which scikit-learn compares: a network has texts of numbers and truth values."""
    texts = [str(one) for one in classes]
    written = [number_written(text) for text in texts]
    if {*texts} <= {"true", "false"}:
        return np.array([text == "true" for text in texts])
    if None not in written and all(isinstance(one, str) for one in classes):
        return np.array([int(text) if text.lstrip("-").isdigit() else float(text) for text in texts])
    array = np.array(classes)
    return np.array(classes, dtype=object) if array.dtype.kind == "U" else array


def _classes(model: Mapping[str, Any], label: str) -> list[str]:
    """Return the classes that networks predict: those that an ensemble has seen of its label, else the states of the node; none of another model."""
    view = view_of(model)
    if not view.networks:
        return []
    seen = model.get("classes") if label == model.get("label") else None
    return list(seen or states_of(view.part("networks")(model), label))


class ModelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted model of a result (network, ensemble, weighted naive Bayes) as a scikit-learn classifier.

    Parameters
    ----------
    model : dict
        The `model` of a result.
    label : str, optional
        What a network predicts; its label by default.

    Attributes
    ----------
    classes_ : ndarray
        As a table holds them: numbers or truth values where all are, else texts.
    """

    def __init__(self, model: Mapping[str, Any], label: str | None = None) -> None:
        self.model = model
        self.label = label

    def fit(self, X: Any = None, y: Any = None) -> ModelClassifier:
        """Read the classes; the model is fitted already, and what is given is not used. Return self."""
        label = self.label or self.model.get("label")
        if not isinstance(label, str):
            raise ValueError("label is needed: name the node to predict, to_sklearn(label=...)")
        domain = domain_of(self.model)
        if label not in domain:
            raise ValueError(f"label: the model has no column '{label[:60]}'; it has: {', '.join(domain)}"[:400])
        self._states = _classes(self.model, label) or list(domain[label]["categories"])
        self.classes_ = as_cells(self._states)
        self.feature_names_in_ = np.array([name for name in domain if name != label], dtype=object)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row), shape (n, classes)."""
        table = predict_table(self.model, frame_as_fitted(X, None, domain_of(self.model)), self.label)
        return np.asarray(table[[f"P({name})" for name in self._states]], dtype=np.float64)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row, shape (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def of_study(classifier: Any, model: Mapping[str, Any], dictionary: Any) -> Any:
    """Return a fitted classifier for records as stations write them.

    Parameters
    ----------
    classifier : estimator
        Fitted, on columns as the dictionary makes them.
    model : dict
        The `model` of a result.
    dictionary : dict or None
        Of the fit. Where there was one, a pipeline applies its codes of missing values, recodes and derived columns to every table first.
    """
    if not isinstance(dictionary, Mapping):
        return classifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    options = {"content": dictionary, "domain": domain_of(model)}
    return make_pipeline(FunctionTransformer(frame_as_fitted, kw_args=options), classifier)


def fitted(model: Mapping[str, Any], label: str | None) -> Any:
    """Return a fitted classifier of any model that predicts classes."""
    return ModelClassifier(model, label).fit()


def naive_bayes(model: Mapping[str, Any], label: str | None) -> Any:
    """Return a fitted naive Bayes classifier, which predicts its own label."""
    from ...bayes.sklearn import NaiveBayesClassifier

    return NaiveBayesClassifier.from_model(dict(model))
