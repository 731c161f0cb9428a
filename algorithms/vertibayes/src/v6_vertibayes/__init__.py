"""VertiBayes: the remotely callable functions, and nothing else."""

from fedbayes.federation import disclosure_settings, partial_open_channel
from fedbayes.federation.vertical import partial_extend, partial_match, partial_submit, partial_tables

from .central import fit
from .partial import partial_counts

__all__ = [
    "disclosure_settings",
    "fit",
    "partial_counts",
    "partial_extend",
    "partial_match",
    "partial_open_channel",
    "partial_submit",
    "partial_tables",
]
