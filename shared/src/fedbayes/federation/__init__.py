"""The only place that knows vantage6: decorators, rounds, messages, guards, errors; the embedded federation is in `.embedded`."""

from .checking import preflight
from .codec import Message
from .decorators import central, partial
from .gate import Broadcast, Exact, Masked, Public, Released, Sealed, Share
from .looking import describe, partial_describe
from .opening import Parties, Preflight, Relation
from .rounds import Federation
from .settings import disclosure_settings, partial_close, partial_open_channel
from .station import Station

__all__ = [
    "Broadcast",
    "Exact",
    "Federation",
    "Masked",
    "Message",
    "Parties",
    "Preflight",
    "Public",
    "Relation",
    "Released",
    "Sealed",
    "Share",
    "Station",
    "central",
    "describe",
    "disclosure_settings",
    "partial",
    "partial_close",
    "partial_describe",
    "partial_open_channel",
    "preflight",
]
