"""Differentially private naive Bayes over horizontally partitioned tables: the remotely callable functions."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.horizontal import partial_schema

from .central import evaluate, fit, update
from .partial import partial_evaluate, partial_gossip, partial_statistics

__all__ = [
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_close",
    "partial_describe",
    "partial_evaluate",
    "partial_gossip",
    "partial_open_channel",
    "partial_schema",
    "partial_statistics",
    "preflight",
    "update",
]
