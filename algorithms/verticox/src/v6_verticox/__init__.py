"""Cox regression on vertically or horizontally split records: the remote functions."""

from fedbayes.federation import describe, disclosure_settings, preflight

from . import partial
from .central import fit
from .partial import *  # noqa: F403
from .use.apply import baseline, evaluate, predict

__all__ = [
    "baseline",
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    *partial.__all__,
    "predict",
    "preflight",
]
