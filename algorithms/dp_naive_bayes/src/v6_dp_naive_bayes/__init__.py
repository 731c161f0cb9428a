"""Differentially private naive Bayes over horizontally partitioned tables: the remotely callable functions."""

from fedbayes.federation import remote
from fedbayes.federation.horizontal import partial_schema
from fedbayes.federation.remote import *  # noqa: F403

from .central import evaluate, fit, update
from .partial import partial_evaluate, partial_gossip, partial_statistics

__all__ = [
    *remote.__all__,
    "evaluate",
    "fit",
    "partial_evaluate",
    "partial_gossip",
    "partial_schema",
    "partial_statistics",
    "update",
]
