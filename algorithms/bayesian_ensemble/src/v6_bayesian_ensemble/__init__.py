"""Federated Bayesian network ensembles: the remotely callable functions, and nothing else."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.vertical import partial_extend, partial_match, partial_submit, partial_tables

from .central import classify, evaluate, fit
from .local import partial_local, partial_outside, partial_predict, partial_tested
from .partial import partial_columns, partial_evidence, partial_member, partial_predicted, partial_tally, partial_votes

__all__ = [
    "classify",
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_close",
    "partial_columns",
    "partial_describe",
    "partial_evidence",
    "partial_extend",
    "partial_local",
    "partial_match",
    "partial_member",
    "partial_open_channel",
    "partial_outside",
    "partial_predict",
    "partial_predicted",
    "partial_submit",
    "partial_tables",
    "partial_tally",
    "partial_tested",
    "partial_votes",
    "preflight",
]
