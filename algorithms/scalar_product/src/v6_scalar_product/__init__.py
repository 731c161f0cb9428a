"""Private counts, tables and scalar products of vertically split records: the remotely callable functions, and nothing else."""

from fedbayes.federation import remote
from fedbayes.federation.remote import *  # noqa: F403
from fedbayes.federation.vertical import remote as matched
from fedbayes.federation.vertical.remote import *  # noqa: F403

from .central import contingency, count, information_gain, scalar_product
from .partial import partial_chain_open, partial_chain_sum

__all__ = [
    *remote.__all__,
    *matched.__all__,
    "contingency",
    "count",
    "information_gain",
    "partial_chain_open",
    "partial_chain_sum",
    "scalar_product",
]
