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
from collections.abc import Mapping, Sequence

import numpy as np

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import TWICE
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, expand_wide
from fedbayes.typing import Array

from ..messages.names import Name
from ..shares.agreed import CHECK
from ..shares.travel import Outgoing
from .holder import ShareHolder

PURPOSE, CHAIN = "verticox: what was told", "chain"
"""For what masks are drawn; what is noted for the rounds of the job."""


def chained(holder: ShareHolder, question: str, openings: Mapping[Name, Array], label: str) -> bytes:
    """Return the hash of all that central told this share holder up to this stage: `question` is what it asks now, as a text.

    Raises
    ------
    MessageError
        When the stage was asked for before with other contents.
    """
    links = _links(holder)
    content = hashlib.sha256(repr((label, question)).encode())
    for name, opening in sorted(openings.items()):
        content.update(repr((name, opening.dtype.name, opening.shape)).encode())
        content.update(np.ascontiguousarray(opening).data)
    position = _position(links, label)
    previous = links[position - 1][1] if position else ""
    digest = hashlib.sha256(bytes.fromhex(previous) + content.digest()).digest()
    if position == len(links):
        holder.station.note(CHAIN, [label, digest.hex()])
    elif links[position][1] != digest.hex():
        raise MessageError(TWICE)
    return digest


def before(holder: ShareHolder, label: str) -> str:
    """Return the label of the stage before this one, empty before the first: what it opened is what may be received now."""
    links = _links(holder)
    position = _position(links, label)
    return links[position - 1][0] if position else ""


def _links(holder: ShareHolder) -> list[tuple[str, str]]:
    """Return the label and the chain's hash, as hexadecimal digits, of every stage until now."""
    return [(label, digest) for label, digest in holder.station.noted(CHAIN)]


def _position(links: Sequence[tuple[str, str]], label: str) -> int:
    """Return where in the chain a stage is, or comes next."""
    return next((position for position, (one, _) in enumerate(links) if one == label), len(links))


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
    value = share.held
    for peer, key in keys.items():
        stream = expand_wide(key, name, value.shape)
        value = value + stream if holder.station.organization < peer else value - stream
    return Share(value, share.shape, share.frac_bits)
