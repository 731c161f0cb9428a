"""The only place that knows vantage6: decorators, rounds, messages, guards, errors; the embedded federation is in `.embedded`."""

from .decorators import central, partial
from .gate import Broadcast, Exact, Masked, Public, Released, Sealed, Share
from .messages.codec import Message
from .perimeter.opening import Parties, Preflight, Relation
from .rounds import Federation
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
    "partial",
]
