"""Cox regression on vertically or horizontally split records: the remote functions."""

from fedbayes.federation import remote
from fedbayes.federation.remote import *  # noqa: F403

from . import partial
from .central import fit
from .partial import *  # noqa: F403
from .use.apply import baseline, evaluate, predict

__all__ = [
    *remote.__all__,
    *partial.__all__,
    "baseline",
    "evaluate",
    "fit",
    "predict",
]
