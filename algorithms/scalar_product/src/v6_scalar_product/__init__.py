"""Private counts, tables and scalar products of vertically split records: the remotely callable functions, and nothing else."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.vertical import partial_extend, partial_match, partial_submit, partial_tables

from .central import contingency, count, information_gain, scalar_product
from .partial import partial_chain_open, partial_chain_sum

__all__ = [
    "contingency",
    "count",
    "describe",
    "disclosure_settings",
    "information_gain",
    "partial_chain_open",
    "partial_chain_sum",
    "partial_close",
    "partial_describe",
    "partial_extend",
    "partial_match",
    "partial_open_channel",
    "partial_submit",
    "partial_tables",
    "preflight",
    "scalar_product",
]
