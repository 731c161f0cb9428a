"""One member of a job, station or helper, during one round: who it is, its channel to the others, and what it remembers of the job."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ...mpc.relay import SigningPair
from ...typing import Array
from ..errors import MembersError, MessageError, ThresholdError, too_few, too_few_with_data
from ..gate import Broadcast, Gate, Sealed
from ..node.memory import Memory
from ..node.policy import Policy
from ..perimeter.channel import Channel
from ..perimeter.envelope import Request
from ..perimeter.manifest import Manifest
from ..perimeter.peers import lasting_keys

M = TypeVar("M", bound="Member")
LINKED = "linked records"


def _linked(text: bytes) -> tuple[frozenset[int], str]:
    stations, digest = json.loads(text)
    return frozenset(stations), str(digest)


class Member:
    """One organization that takes part, during one round. `TableReader` adds its table; `Station` adds limits and what may leave.

    Attributes
    ----------
    organization : int
        This member's organization.
    participants : tuple of int
        Every organization that got this round.
    policy : Policy
        The limits of this node.
    session, round_name, function : str
        The job, the round, and what is called in it.
    last : bool
        Whether central announced this as the job's last round.
    memory : Memory
        The job's folder at this node.
    manifest : Manifest or None
        What the job is, once central has made it.
    gate : Gate
        What this member has made for its reply.
    """

    def __init__(self, organization: int, memory: Memory, request: Request) -> None:
        self.policy = Policy.from_environment()
        self.organization = organization
        self.participants = request.participants
        self.session, self.memory = memory.session, memory
        self.function, self.round_name = request.function, request.round_name
        self.last = request.last
        self.gate = Gate()
        self.manifest: Manifest | None = None
        self._part = ""
        self._seen: set[str] = set()

    @property
    def identity(self) -> SigningPair | None:
        """The node's lasting key pair, if it has a folder database."""
        return lasting_keys(self.policy)

    def secret_for(self, purpose: str) -> bytes:
        """Return 32 bytes for a purpose that only this node knows, the same in every job; none without a folder database."""
        pair = self.identity
        return (
            b"" if pair is None else hashlib.blake2b(purpose.encode(), key=pair.private_bytes, digest_size=32).digest()
        )

    # -- the other members -----------------------------------------------------------------------------------------------

    def require_members(self) -> Manifest:
        """Return the job's manifest; raise `MessageError` if there is none yet, `ThresholdError` if it has fewer members than the node demands."""
        if self.manifest is None:
            raise MessageError("the channel is not open; central must call open_channel first")
        if len(self.manifest.members) < self.policy.minimum_organizations:
            raise MembersError(too_few("this node", self.policy.minimum_organizations))
        return self.manifest

    def summed_over(self, whole: bool = False) -> frozenset[int]:
        """Return the stations with data among this round's participants: an exact sum is over their rows.

        Raises
        ------
        ThresholdError
            If there is one beside others without, who add masks and no numbers; of `whole` or united records, if there are fewer than a station's node
            demands organizations.
        """
        over = frozenset(self.require_members().stations) & frozenset(self.participants)
        if len(over) < 2 <= len(self.participants):
            raise ThresholdError(
                "one organization alone holds data, whose exact numbers nothing would cover; include another, or give an epsilon"
            )
        if whole and self.organization in over and len(over) < self.policy.minimum_organizations:
            raise MembersError(too_few_with_data("this node", self.policy.minimum_organizations))
        return over

    def require_asked(self, members: Collection[int] | None = None) -> None:
        """Raise `MessageError` unless some stations, or all of the job, are asked in this round.

        What is told of a record, or of a model's columns, is the sum over all who have a part of it; zeros of others hide nobody's.
        """
        if not frozenset(self.require_members().stations if members is None else members) <= frozenset(
            self.participants
        ):
            raise MessageError("a sum is not asked of all stations that have a part of it; the job stops")

    def namings(self, members: Collection[int], names: Mapping[int, str]) -> list[frozenset[str]]:
        """Return members as this node remembers them: by name, under which it knows lasting keys, and by number. Both are a server's; itself by neither."""
        return [
            frozenset("itself" if member == self.organization else f"peer {naming[member]}" for member in members)
            for naming in (names, {member: str(member) for member in members})
        ]

    @cached_property
    def channel(self) -> Channel:
        """Keys and masks shared with the other members; `MessageError` before the channel is open."""
        if self.manifest is None:
            raise MessageError("the channel is not open; central must call open_channel first")
        channel = Channel(self.organization, self.memory.keys(), self.manifest, self.round_name, self.policy)
        linked = self.memory.read(LINKED)
        if linked is not None:
            channel.linked = _linked(linked)
        return channel

    def link(self, stations: Sequence[int], digest: str) -> None:
        """Bind the masks between some stations to the records that they link: `digest` is of their identifiers in the common order.

        Masks do not cancel from now on between two stations of which one puts other people together.

        Raises
        ------
        MessageError
            When records were linked otherwise before in this job.
        """
        text = json.dumps([sorted(stations), digest]).encode()
        if self.memory.once(LINKED, text) != text:
            raise MessageError("the records of this job were linked otherwise before; start the job again")
        self.channel.linked = _linked(text)

    def unseal(self, sender: int, sealed: Sealed, topic: str) -> bytes:
        """Return what `sender` sealed for this station; `MessageError` if it was changed, or sealed for another job, topic or receiver."""
        return self.channel.unseal(sender, sealed.content, topic)

    def open_broadcast(self, sender: int, sent: Broadcast, topic: str) -> bytes:
        """Return what `sender` broadcast; `MessageError` if it was changed, or is for another job, topic or station."""
        if self.organization not in sent.keys:
            raise MessageError("a broadcast of the request is not for this station; the job stops")
        return self.channel.open_broadcast(sender, sent.content, sent.keys[self.organization], topic)

    def part(self: M, name: str) -> M:
        """Return this member for one named part of the job, such as a fold of cross-validation.

        A part has keys, seals and kept arrays of its own; gate and debits are shared.
        """
        part = copy.copy(self)
        part.session, part._part = f"{self.session}|{name}", f"{self._part}{name}|"
        part.channel = self.channel.part(name)
        return part

    # -- the job's memory ------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The job's folder at this station, mode 0700."""
        return self.memory.path

    def nonce(self) -> str:
        """Return random text that identifies this job at this node and that central cannot choose."""
        from ...randomness import secret_bytes

        return self.memory.once("nonce", secret_bytes(16).hex().encode()).decode()

    def is_first(self, name: str) -> bool:
        """Return True the first time that a job asks for `name`, and again when the same round is repeated after a restart; else False."""
        first = name not in self._seen and self.memory.once(name, self.round_name.encode()) == self.round_name.encode()
        self._seen.add(name)
        return first

    def bind(self, question_digest: str) -> None:
        """Bind the round's name to one question, given by its digest.

        Masks are derived from the round's name. Central could cancel them by subtracting the answers to two questions under one name.

        Raises
        ------
        MessageError
            If another question was asked under this name before.
        """
        if self.memory.once(f"round-{self.round_name}", question_digest.encode()) != question_digest.encode():
            raise MessageError("this round of the job has been asked with another request before; start the job again")

    def keep(self, name: str, **arrays: Array) -> bool:
        """Keep arrays for later rounds of this job at this station (the first writer wins); return whether it was this call that kept them."""
        return self.memory.keep(self._part + name, **arrays)

    def kept(self, name: str) -> dict[str, Array]:
        """Return what `keep` stored; `MessageError` if nothing of that name was kept in this job."""
        return self.memory.kept(self._part + name)

    def once(self, name: str, content: bytes) -> bytes:
        """Keep a content under a name for this job at this station, and return what the first one kept there."""
        return self.memory.once(self._part + name, content)

    def note(self, kind: str, content: Any) -> None:
        """Add plain JSON to what the job has noted of a kind at this station, once."""
        self.memory.note(self._part + kind, content)

    def noted(self, kind: str) -> list[Any]:
        """Return what `note` added of a kind, in order."""
        return self.memory.noted(self._part + kind)

    @property
    def question_digest(self) -> str:
        """Digest of the question of this round, by which a repeat is recognised."""
        return (self.memory.read(f"round-{self.round_name}") or b"").decode()
