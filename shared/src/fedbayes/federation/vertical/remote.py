"""The remote functions of every image that asks for tables over columns of several stations."""

from .matching import partial_match
from .partials import partial_extend, partial_submit, partial_tables

__all__ = ["partial_extend", "partial_match", "partial_submit", "partial_tables"]
