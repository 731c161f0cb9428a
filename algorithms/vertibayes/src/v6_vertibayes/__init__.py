"""VertiBayes: the remotely callable functions, and nothing else."""

from fedbayes.federation import disclosure_settings, partial_close, partial_open_channel, preflight
from fedbayes.federation.vertical import partial_extend, partial_match, partial_submit, partial_tables

from .central import classify, evaluate, fit, sample
from .partial import partial_counts, partial_scores, partial_tally

__all__ = [
    "classify",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_close",
    "partial_counts",
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
