"""Naive Bayes with smooth sensitivity: the remotely callable functions, and nothing else."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.horizontal import partial_schema

from .central import evaluate, fit
from .partial import partial_evaluate, partial_release

__all__ = [
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_close",
    "partial_describe",
    "partial_evaluate",
    "partial_open_channel",
    "partial_release",
    "partial_schema",
    "preflight",
]
