"""What share holders open to one another: parts that central adds up and can change none of.

The outcome holder draws a key and seals it for the other share holders with the first thing that it publishes. Under this key every share holder sends
a checksum of its parts beside them. One share holder, the verifier, gets the sums whole and checks them (`fedbayes.mpc.relayed_sums`) before it
computes with one: all that the stage before opened, or none of it. The others get them cut; what share holders reveal is bound to what they got
(`binding`), so that one who got something else than the verifier reveals nothing. No round is added; a checksum has 32 bytes.

**Assumes** that central is at no share holder. One that is can change a sum as that share holder could by its own part, which is a station that deviates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fedbayes.federation import Share
from fedbayes.federation.errors import MessageError
from fedbayes.mpc.prg import KEY_BYTES
from fedbayes.mpc.relayed_sums import Form, is_sum, padded
from fedbayes.mpc.wide import Wide
from fedbayes.randomness import secret_bytes
from fedbayes.typing import Array

from ..messages.names import Name
from ..messages.private import Opened
from ..shares.agreed import verifier
from .holder import ShareHolder

SUM_KEY = Name("sumkey")
"""The key of checksums, published with the columns."""
KEPT = "key of sums"


def drawn_key(holder: ShareHolder) -> Wide:
    """Return the key of the job's checksums as numbers, (2,), drawn at the first call. At the outcome holder only."""
    holder.station.keep(KEPT, key=np.frombuffer(secret_bytes(KEY_BYTES), dtype="<u8").astype(np.uint64))
    return Wide.from_words(holder.station.kept(KEPT)["key"].reshape(2, 2))


def keep_key(holder: ShareHolder, numbers: Wide) -> None:
    """Keep the key that the outcome holder published; `MessageError` if it is none."""
    if numbers.shape != (2,):
        raise MessageError("a payload of the protocol is damaged; the job stops")
    holder.station.keep(KEPT, key=numbers.to_words().reshape(-1))


def _key(holder: ShareHolder) -> bytes:
    return bytes(np.ascontiguousarray(holder.station.kept(KEPT)["key"]).astype("<u8").tobytes())


def opened(
    holder: ShareHolder, label: str, own: Mapping[Name, Wide], forms: Mapping[Name, Form]
) -> tuple[dict[Name, Share[Array]], Share[bytes] | None]:
    """Return this station's parts of what a stage opens, and their checksum: uniform to whoever lacks the key shared with the dealer, and that of checksums.

    Parameters
    ----------
    holder : ShareHolder
        This one.
    label : str
        Of the stage.
    own : mapping of Name to Wide
        Shares under masks; each name is opened once in a job.
    forms : mapping of Name to Form
        How each travels.
    """
    station = holder.station
    if station.aggregator == holder.plan.helper:
        raise MessageError("the helper must not run the central function; start the task at another organization")
    if not own:
        return {}, None
    for name, share in own.items():  # masks follow from the name, whichever stage it is of
        holder.once(f"sent|{name}", {name: share})
    parts = {name: forms[name].part(share) for name, share in own.items()}
    proof = station.share(padded(_key(holder), label, holder.index, parts))
    return {name: station.share(part) for name, part in parts.items()}, proof


def received(
    holder: ShareHolder, label: str, opened_before: Opened, forms: Mapping[Name, Form]
) -> dict[Name, npt.NDArray[np.uint8]]:
    """Return what the stage `label` opened, cut; at the verifier after it saw that these are the sums.

    Raises
    ------
    MessageError
        If central changed a sum, left one out, or told those of another stage.
    """
    if holder.station.organization != verifier(holder.plan, holder.station.aggregator):
        return opened_before.sums
    if len(opened_before.checksums) != len(holder.plan.holders) or not is_sum(
        _key(holder), label, opened_before.checksums, opened_before.sums
    ):
        raise MessageError(
            "an opening is not the sum of what the stations sent: it was changed on its way; the job stops"
        )
    try:
        return {name: forms[name].cut(total) for name, total in opened_before.sums.items()}
    except (ValueError, LookupError):
        raise MessageError("an opening has another form than it must; the job stops") from None
