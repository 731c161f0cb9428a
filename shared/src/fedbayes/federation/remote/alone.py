"""What a station tells of columns that it alone has: sealed under a key whose words are in a masked sum.

Who has a column, each station checks for itself. So what one tells as the only one opens for central not before all have answered the same request, in
which each finds what is said of it to be so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from ...mpc.relay import KEY_BYTES, SealBroken, seal, unseal
from ...randomness import secret_bytes
from ..errors import MessageError
from ..gate import Masked, Share
from ..jobs.transport import summed
from ..messages.codec import Message, decode, encode
from ..messages.packing import pack, unpack
from ..questions.shown import Shown
from ..station import Station

TOPIC = "keys of what one station alone tells"
"""Tells these masks from those of the counts, and binds what is sealed to its place."""
WORDS = KEY_BYTES // 8
"""Of 64 bits, of a key."""


class Alone(Message):
    """What is shown of columns that one station alone has, by name."""

    columns: dict[str, Shown]


class AloneReply(Protocol):
    """A reply with what a station alone tells, sealed, and its part of the masked keys."""

    @property
    def alone(self) -> Share[bytes] | None:
        """Of a station that has such a column."""

    @property
    def keys(self) -> Masked | None:
        """Of everybody, where anybody has such a column."""


def sealed_alone(
    station: Station, homes: Mapping[str, int], shown: dict[str, Shown]
) -> tuple[Share[bytes] | None, Masked | None]:
    """Return what is shown of columns that this station alone has, sealed, and the keys of all such stations under masks.

    Every participant has a part of the masked keys: such a station its key at its own place, all others zeros.

    Parameters
    ----------
    station : Station
        A participant.
    homes : dict of str to int
        Column -> the station that alone has it, as all were told.
    shown : dict of str to Shown
        Of those of this station.

    Raises
    ------
    MessageError
        If not all stations of the job are asked: who is not could have the column too.

    Notes
    -----
    **Reveals** to central what is shown if all participants were asked the same, else its length alone.
    **Assumes** that at least two of them do not collude with central.
    """
    if not homes:
        return None, None
    station.require_asked()
    keys = {owner: np.zeros(WORDS, dtype=np.uint64) for owner in _owners(homes)}
    letter = None
    if shown:
        key = secret_bytes(KEY_BYTES)
        keys[station.organization] = np.frombuffer(key, dtype="<u8").astype(np.uint64)
        sealed = seal(key, pack(encode(Alone(shown), raw=True)), _place(station.organization))
        letter = station.share(station.further(sealed))
    return letter, station.mask(station.further(np.concatenate([*keys.values()])), TOPIC)


def opened_alone(homes: Mapping[str, int], replies: Mapping[int, AloneReply]) -> dict[str, Shown]:
    """Return what is shown of each column that one station alone has.

    Raises
    ------
    MessageError
        If not all were asked the same, or something does not open.
    """
    if not homes:
        return {}
    words = summed([reply.keys for reply in replies.values()])
    letters = {member: reply.alone.value for member, reply in replies.items() if reply.alone is not None}
    try:
        keys = words.astype("<u8").reshape(-1, WORDS)
        opened = {
            owner: decode(Alone, unpack(unseal(key.tobytes(), letters[owner], _place(owner))))
            for owner, key in zip(_owners(homes), keys, strict=True)
        }
        return {name: opened[owner].columns[name] for name, owner in homes.items()}
    except (SealBroken, KeyError, ValueError):
        raise MessageError("what a station tells of a column that it alone has does not open; the job stops") from None


def _owners(homes: Mapping[str, int]) -> list[int]:
    return sorted(set(homes.values()))


def _place(owner: int) -> bytes:
    return f"{TOPIC}|{owner}".encode()
