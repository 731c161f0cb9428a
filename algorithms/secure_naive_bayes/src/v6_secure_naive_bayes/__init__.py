"""Naive Bayes from encrypted noisy counts (Huai et al.), repaired: the remotely callable functions."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.horizontal import partial_schema

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
    "classify",
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "join",
    "leave",
    "partial_close",
    "partial_confirm",
    "partial_counts",
    "partial_deal",
    "partial_describe",
    "partial_evaluate",
    "partial_factors",
    "partial_features",
    "partial_grades",
    "partial_open_channel",
    "partial_schema",
    "partial_scores",
    "partial_tables",
    "preflight",
]
