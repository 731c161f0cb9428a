"""Naive Bayes with smooth sensitivity: the remotely callable functions, and nothing else."""

from fedbayes.federation import remote
from fedbayes.federation.horizontal import partial_schema
from fedbayes.federation.remote import *  # noqa: F403

from .central import evaluate, fit
from .partial import partial_evaluate, partial_release

__all__ = [
    *remote.__all__,
    "evaluate",
    "fit",
    "partial_evaluate",
    "partial_release",
    "partial_schema",
]
