"""VertiBayes: the remotely callable functions, and nothing else."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.vertical import partial_extend, partial_match, partial_submit, partial_tables

from .central import classify, evaluate, fit, sample
from .partial import partial_counts, partial_scores, partial_tally

__all__ = [
    "classify",
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_close",
    "partial_counts",
    "partial_describe",
    "partial_extend",
    "partial_match",
    "partial_open_channel",
    "partial_scores",
    "partial_submit",
    "partial_tables",
    "partial_tally",
    "preflight",
    "sample",
]
