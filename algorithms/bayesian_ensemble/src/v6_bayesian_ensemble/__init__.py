"""Federated Bayesian network ensembles: the remotely callable functions, and nothing else."""

from fedbayes.federation import remote
from fedbayes.federation.remote import *  # noqa: F403
from fedbayes.federation.vertical import remote as matched
from fedbayes.federation.vertical.remote import *  # noqa: F403

from .central import classify, evaluate, fit
from .local import partial_local, partial_outside, partial_predict, partial_tested
from .partial import partial_columns, partial_evidence, partial_member, partial_predicted, partial_tally, partial_votes

__all__ = [
    *remote.__all__,
    *matched.__all__,
    "classify",
    "evaluate",
    "fit",
    "partial_columns",
    "partial_evidence",
    "partial_local",
    "partial_member",
    "partial_outside",
    "partial_predict",
    "partial_predicted",
    "partial_tally",
    "partial_tested",
    "partial_votes",
]
