"""Naive Bayes from encrypted noisy counts (Huai et al.), repaired: the remotely callable functions."""

from fedbayes.federation import remote
from fedbayes.federation.horizontal import partial_schema
from fedbayes.federation.remote import *  # noqa: F403

from .central import classify, evaluate, fit, join, leave
from .grading import partial_grades, partial_scores
from .partial import (
    partial_confirm,
    partial_counts,
    partial_deal,
    partial_evaluate,
    partial_factors,
    partial_features,
    partial_tables,
)

__all__ = [
    *remote.__all__,
    "classify",
    "evaluate",
    "fit",
    "join",
    "leave",
    "partial_confirm",
    "partial_counts",
    "partial_deal",
    "partial_evaluate",
    "partial_factors",
    "partial_features",
    "partial_grades",
    "partial_schema",
    "partial_scores",
    "partial_tables",
]
