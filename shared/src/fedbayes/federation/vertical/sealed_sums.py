"""Masked parts of a sum that one station learns: they travel sealed for it, with the word that shows whether they fit together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...mpc.secure_sum import reconstruct
from ...typing import Words
from ..errors import UNFITTING, MessageError
from ..gate import Masked, Sealed
from ..station import Station


def sealed_part(station: Station, receiver: int, part: Masked, topic: str) -> Sealed | None:
    """Return this station's part of a sum, sealed for the member that learns the sum; None at that member, which keeps its own part for `total_of`."""
    letter = np.concatenate([part.value.reshape(-1), part.check])
    if station.organization == receiver:
        station.keep(f"part|{topic}", part=letter)
        return None
    return station.seal(receiver, letter.astype("<u8").tobytes(), topic)


def total_of(station: Station, sealed: Mapping[int, Sealed], topic: str, size: int | None = None) -> Words:
    """Return the sum of everybody's parts, after their masks were seen to cancel.

    Parameters
    ----------
    station : Station
        Who adds up, and kept its own part.
    sealed : mapping of int to Sealed
        Sender -> what `sealed_part` made there.
    topic : str
        What the parts were sealed for.
    size : int, optional
        How many numbers the sum has; as many as the own part where it is left out.

    Raises
    ------
    MessageError
        When a part has another length, or the masks do not cancel: somebody was asked something else, or linked other records.
    """
    own = station.kept(f"part|{topic}")["part"]
    numbers = own.size if size is None else size + 1
    letters = [station.unseal(sender, one, topic) for sender, one in sealed.items()]
    if any(len(letter) != numbers * own.itemsize for letter in (own.tobytes(), *letters)):
        raise MessageError("a part of a sum has another length than it must; the job stops")
    total = reconstruct([own, *(np.frombuffer(letter, dtype="<u8").astype(np.uint64) for letter in letters)])
    if int(total[-1]) != 0:
        raise MessageError(UNFITTING)
    sums: Words = total[:-1]
    return sums
