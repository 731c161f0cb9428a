"""What share holders reveal together is bound to all that central told them: two that were told different things reveal nothing.

Central adds the openings and sends one array back to every share holder. Each share holder chains the hashes of what it was told: the plan, the stages,
the openings. A share that is to be added up, by central or by another station, gets masks first, one for each pair of share holders, expanded from their key of
the job and the chain's hash: they cancel where the chains are equal, and are uniform where they are not. A sum of zeros that is revealed beside shows
which. No round, 16 bytes.

An opening that central changes in the same way for all is noticed before (`openings`).

**Assumes** that central knows the key of no pair of share holders that it tells different things: it is at neither of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import MessageError
from fedbayes.federation.once import TWICE
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, expand_wide

from ..messages.names import Name
from ..shares.agreed import CHECK
from ..shares.travel import Outgoing
from .holder import ShareHolder

PURPOSE = "verticox: what was told"


def chained(holder: ShareHolder, question: str, openings: Mapping[Name, npt.NDArray[Any]], label: str) -> bytes:
    """Return the hash of all that central told this share holder up to this stage: `question` is what it asks now, as a text.

    Raises
    ------
    MessageError
        When the stage was asked for before with other contents.
    """
    station, position, previous = holder.station, 0, b""
    content = hashlib.sha256(repr((label, question)).encode())
    for name, opening in sorted(openings.items()):
        content.update(repr((name, opening.dtype.name, opening.shape)).encode())
        content.update(np.ascontiguousarray(opening).data)
    while (kept := _link(station, position)) is not None and kept[0] != label:
        previous, position = kept[1], position + 1
    digest = hashlib.sha256(previous + content.digest()).digest()
    if kept is None:
        station.keep(f"chain|{position}", label=np.array(label), digest=np.frombuffer(digest, dtype=np.uint8))
    elif kept[1] != digest:
        raise MessageError(TWICE)
    return digest


def before(holder: ShareHolder, label: str) -> str:
    """Return the label of the stage before this one, empty before the first: what it opened is what may be received now."""
    position, last = 0, ""
    while (kept := _link(holder.station, position)) is not None and kept[0] != label:
        position, last = position + 1, kept[0]
    return last


def _link(station: Any, position: int) -> tuple[str, bytes] | None:
    try:
        kept = station.kept(f"chain|{position}")
    except MessageError:
        return None
    return str(kept["label"]), bytes(kept["digest"].tobytes())


def bound(holder: ShareHolder, digest: bytes, label: str, outgoing: Outgoing) -> Outgoing:
    """Return what leaves, the shares to be added up under masks that cancel between share holders with the same chain.

    **Reveals** nothing beyond the sums, and not these where central told two share holders different things.
    """
    revealed = dict(outgoing.revealed)
    if revealed:
        revealed[CHECK] = Share(Wide.zeros((1,)), (1,), 0)
    keys = {peer: holder.station.channel.mask_key(peer, PURPOSE) for peer in holder.peers}

    def masked(kind: str, shares: Mapping[str, Share]) -> dict[str, Share]:
        return {
            name: _masked(holder, keys, f"{digest.hex()}|{label}|{kind}|{name}", share)
            for name, share in shares.items()
        }

    return Outgoing(outgoing.opened, masked("revealed", revealed), masked("for stations", outgoing.for_stations))


def _masked(holder: ShareHolder, keys: Mapping[int, bytes], name: str, share: Share) -> Share:
    value = share.value
    assert value is not None
    for peer, key in keys.items():
        stream = expand_wide(key, name, value.shape)
        value = value + stream if holder.station.organization < peer else value - stream
    return Share(value, share.shape, share.frac_bits)
