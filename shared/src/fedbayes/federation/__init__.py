"""The only place that knows vantage6: decorators, rounds, messages, guards, errors; the embedded federation is in `.embedded`."""

from .codec import Message
from .decorators import central, partial
from .rounds import Federation, Parties
from .settings import disclosure_settings, partial_open_channel
from .station import Station

__all__ = [
    "Federation",
    "Message",
    "Parties",
    "Station",
    "central",
    "disclosure_settings",
    "partial",
    "partial_open_channel",
]
