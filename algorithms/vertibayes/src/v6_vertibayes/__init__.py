"""VertiBayes: the remotely callable functions, and nothing else."""

from fedbayes.federation import remote
from fedbayes.federation.remote import *  # noqa: F403
from fedbayes.federation.vertical import remote as matched
from fedbayes.federation.vertical.remote import *  # noqa: F403

from .central import classify, evaluate, fit, sample
from .partial import partial_counts, partial_scores, partial_tally

__all__ = [
    *remote.__all__,
    *matched.__all__,
    "classify",
    "evaluate",
    "fit",
    "partial_counts",
    "partial_scores",
    "partial_tally",
    "sample",
]
