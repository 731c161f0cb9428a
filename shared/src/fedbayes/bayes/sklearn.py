"""A scikit-learn compatible classifier over a public schema; imports scikit-learn when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .naive_bayes import NaiveBayes
from .naive_bayes.counting import fit_model
from .schema import Schema
from .values.written import with_decimals

if TYPE_CHECKING:
    BaseEstimator: Any = object
    ClassifierMixin: Any = object
else:
    from sklearn.base import BaseEstimator, ClassifierMixin


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes over mixed columns, or any fitted model of the library, as a scikit-learn classifier.

    Parameters
    ----------
    domain : dict
        ``{column: {"categories": [...]} | {"bounds": [low, high]}}`` of every feature and of the label.
    label : str
        The label's column in the domain.
    statistics : {"gaussian", "histogram"}
        How numeric columns are modelled.
    bins : int
        Bins of a histogram.
    pseudocount : float
        Laplace smoothing of tables.

    Attributes
    ----------
    model_ : NaiveBayes
    classes_ : ndarray
        As the domain writes them, in its order.
    feature_names_in_ : ndarray of str
    """

    def __init__(
        self,
        domain: dict[str, Any],
        label: str,
        statistics: str = "histogram",
        bins: int = 20,
        pseudocount: float = 1.0,
    ) -> None:
        self.domain = domain
        self.label = label
        self.statistics = statistics
        self.bins = bins
        self.pseudocount = pseudocount

    @classmethod
    def from_model(cls, model: NaiveBayes | dict[str, Any]) -> NaiveBayesClassifier:
        """Wrap a fitted model, or a result's ``model``, so that scikit-learn's tools can use it."""
        fitted = model if isinstance(model, NaiveBayes) else NaiveBayes.from_dict(model)
        wrapper = cls(fitted.schema.to_domain(), fitted.label)
        wrapper._adopt(fitted)
        return wrapper

    def _adopt(self, model: NaiveBayes) -> None:
        self.model_ = model
        self.classes_ = model.class_array
        self.feature_names_in_ = np.array(list(model.features), dtype=object)
        self.n_features_in_ = len(model.features)

    def fit(self, X: Any, y: Any) -> NaiveBayesClassifier:
        """Count a DataFrame ``X`` with the features and its labels ``y``, without noise; return self."""
        schema = Schema.from_domain(self.domain)
        names = [name for name in schema.names if name != self.label]
        encoded = schema.select(names).encode(with_decimals(X))
        encoded[self.label] = schema[self.label].encode(y)
        self._adopt(fit_model(schema, self.label, encoded, self.statistics, self.bins, self.pseudocount))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(class | row), shape (n, classes)."""
        return self.model_.predict_proba(with_decimals(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return log P(class | row), shape (n, classes)."""
        return self.model_.predict_log_proba(with_decimals(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n,)."""
        return self.model_.predict(with_decimals(X))
