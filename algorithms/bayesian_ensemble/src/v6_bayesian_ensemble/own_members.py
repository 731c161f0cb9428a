"""Members as their stations told them: a station seals a digest of its own for the others, which test no member but these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedbayes.federation import Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.gate import Sealed
from fedbayes.federation.guards import announced
from fedbayes.federation.perimeter.manifest import digest_of

from .ensemble import Ensemble, Member

TESTED = "partial_tested"
TOPIC = "a member of an ensemble"
OTHERS = "a member to test is not the one that its station told; the job stops"
LEFT_TO_CENTRAL = ("name", "weight")
"""Of a member: how central calls it, and how much its vote weighs."""


def _digest(entry: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(digest_of({name: value for name, value in entry.items() if name not in LEFT_TO_CENTRAL}))


def sealed_for_others(station: Station, entry: Mapping[str, Any]) -> list[Sealed]:
    """Keep the digest of a station's own member, and return it sealed for every other station with data; nothing in a job that tests none.

    Parameters
    ----------
    station : Station
        That has learned the member.
    entry : mapping
        The member, as `Member.to_json` writes it.
    """
    job = announced.kept(station.memory)
    if job is None or TESTED not in job.functions:
        return []
    digest = station.once(TOPIC, _digest(entry))
    others = (member for member in station.require_members().stations if member != station.organization)
    return [station.seal(member, digest, TOPIC) for member in others]


def check_members(station: Station, model: Ensemble, seals: Mapping[int, Sequence[Sealed]]) -> None:
    """Refuse members that are not those of their stations: of one that central has made, or of one under several names, sums tell more than of these.

    Raises
    ------
    MessageError
        If there is one.
    """
    for member in model.members:
        if _digest_from(station, member, seals.get(member.leader, ())) != _digest(member.to_json()):
            raise MessageError(OTHERS)


def _digest_from(station: Station, member: Member, seals: Sequence[Sealed]) -> bytes | None:
    """Return the digest that the station of a member told this one, or kept of its own."""
    if member.leader == station.organization:
        return station.memory.read(TOPIC)
    own = [one for one in seals if one.receiver == station.organization]
    return station.unseal(member.leader, own[0], TOPIC) if len(own) == 1 else None
