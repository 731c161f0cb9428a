"""What travels between the stages of the private solver: the shares of a stage, openings in the outcome holder's order, arrays as one payload."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fedbayes.mpc.relayed_sums import Form
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share
from fedbayes.typing import Indices

from ..messages.names import Name
from . import newton_step as formulas
from .layout import Layout

Arrays = Mapping[str, Wide] | Mapping[Name, Wide]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Shares that leave a stage: to be opened to all share holders, to be revealed to central, to be told to single stations."""

    opened: dict[Name, Share] = field(default_factory=dict)
    revealed: dict[str, Share] = field(default_factory=dict)
    for_stations: dict[str, Share] = field(default_factory=dict)


def joined(parts: list[Outgoing]) -> Outgoing:
    """Return what several stages of one round send, in one."""
    opened = {name: share for part in parts for name, share in part.opened.items()}
    revealed = {name: share for part in parts for name, share in part.revealed.items()}
    return Outgoing(opened, revealed, {name: share for part in parts for name, share in part.for_stations.items()})


def scattered(array: Wide, places: Indices) -> Wide:
    """Return published rows at their places in the dealer's order."""
    full = Wide.zeros(array.shape)
    full.high[places], full.low[places] = array.high, array.low
    return full


def reorder(outgoing: Outgoing, order: np.ndarray) -> Outgoing:
    """Bring opened shares from the dealer's order of the inputs into the outcome holder's (secret) one of the rows."""
    return Outgoing(
        {name: share.rows(order) for name, share in outgoing.opened.items()}, outgoing.revealed, outgoing.for_stations
    )


def forms(layout: Layout, names: Iterable[Name]) -> dict[Name, Form]:
    """Return how openings travel.

    Raises
    ------
    LookupError
        When a name is none of an opening.
    """
    return {name: Form(*formulas.opening(layout, name)[1:]) for name in names}


def pack(arrays: Arrays) -> bytes:
    """Return named arrays as one payload."""
    header = json.dumps({name: list(array.shape) for name, array in arrays.items()}).encode()
    body = b"".join(np.ascontiguousarray(array.to_words()).astype("<u8").tobytes() for array in arrays.values())
    return len(header).to_bytes(4, "little") + header + body


def unpack(payload: bytes) -> dict[str, Wide]:
    """Return the arrays of `pack`.

    Raises
    ------
    ValueError
        When the payload is damaged.
    """
    size = int.from_bytes(payload[:4], "little")
    header = json.loads(payload[4 : 4 + size])
    words = np.frombuffer(payload, dtype="<u8", offset=4 + size).astype(np.uint64)
    if words.size != sum(2 * int(np.prod(shape)) for shape in header.values()):
        raise ValueError("a payload has another length than it says")
    arrays, start = {}, 0
    for name, shape in header.items():
        length = 2 * int(np.prod(shape))
        arrays[name] = Wide.from_words(words[start : start + length].reshape((*shape, 2)))
        start += length
    return arrays
