"""The remote functions that every image has; it takes them by ``from fedbayes.federation.remote import *`` and names them by `__all__`."""

from .checking import preflight
from .looking import describe, partial_describe
from .settings import disclosure_settings, partial_close, partial_open_channel

__all__ = [
    "describe",
    "disclosure_settings",
    "partial_close",
    "partial_describe",
    "partial_open_channel",
    "preflight",
]
