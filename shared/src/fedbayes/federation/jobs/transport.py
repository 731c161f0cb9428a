"""Requests on their way to stations and replies on their way back: sealed, signed, counted.

Central's keys of the job lie in the job's folder, so that a central function that the node runs a second time asks the same questions under the same keys.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from vantage6.algorithm.tools.util import info as log_info

from ...mpc.relay import KeyPair, SigningPair
from ...mpc.secure_sum import reconstruct
from ...randomness import secret_bytes
from ..errors import UNFITTING, MessageError, StationError, adding_up
from ..gate import Masked
from ..messages.codec import Message, encode
from ..messages.packing import pack
from ..node.memory import AGGREGATOR_FILES, Memory
from ..node.platform import Run
from ..node.policy import Policy
from ..node.secrets import once, own_keys
from ..perimeter.envelope import LEAST_FILED, PROTOCOL, Request, filed, open_reply, question, seal_body
from ..perimeter.manifest import Manifest, ModelSeal, model_digest
from ..perimeter.peers import lasting_keys
from .contents import COSTS, checked
from .waiting import SILENT_SECONDS, TIMEOUT_SECONDS, cause, may_be_asked_again, results_of


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way: itself, the digest of its question, whom it goes to."""

    request: Request
    question_digest: str
    members: tuple[int, ...]

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        travels = 0 if self.is_filed else len(self.request.sealed)
        return (travels * 4 // 3 + 100 * len(self.members) + 600) * len(self.members)

    @property
    def is_filed(self) -> bool:
        """Whether the sealed message lies in the job's folder instead."""
        return self.request.near and len(self.request.sealed) >= LEAST_FILED


class Transport:
    """What central sends and receives in one job.

    Parameters
    ----------
    client : AlgorithmClient or MockAlgorithmClient
        vantage6's own client.
    run : Run
        Identity of this container.
    policy : Policy
        The limits of this node.
    memory : Memory
        The job's folder at this node.
    name : callable
        Organization id -> its name.

    Attributes
    ----------
    manifest : Manifest or None
        Of the job, once the channel is open; set by `start`.
    spent : dict
        Organization -> what it has debited in this job.
    answered : set of int
        Who answered in the last round without a refusal.
    repeated : set of int
        Who was asked a second time in some round, because the platform lost the reply.
    lasting : SigningPair or None
        The node's lasting key pair.
    """

    def __init__(self, client: Any, run: Run, policy: Policy, memory: Memory, name: Callable[[int], str]) -> None:
        self.session = memory.session
        self.manifest: Manifest | None = None
        self.spent: dict[int, dict[str, float]] = {}
        self.answered: set[int] = set()
        self.repeated: set[int] = set()
        self.lasting = lasting_keys(policy)
        self._client, self._run, self._memory, self._name = client, run, memory, name
        self._keys: KeyPair = own_keys(memory.path, AGGREGATOR_FILES[0])
        fresh = secret_bytes(32)
        self._signer = self.lasting or SigningPair.from_bytes(once(memory.path / AGGREGATOR_FILES[1], fresh))
        self._has_manifest: set[int] = set()
        self._tokens: dict[int, str] = {}

    @property
    def public_key(self) -> bytes:
        """Central's X25519 key of the job."""
        return self._keys.public_bytes

    def key_pair(self, purpose: str) -> KeyPair:
        """Return a key pair of central for one purpose, the same if central is run again."""
        return KeyPair.from_bytes(hmac.digest(self._keys.private_bytes, f"key pair|{purpose}".encode(), "sha256"))

    def start(self, manifest: Manifest | None) -> None:
        """Use a manifest, or none, from the next request on."""
        self.manifest = manifest
        self._has_manifest.clear()

    def forget(self) -> None:
        """Remove central's keys of the job from the folder: the job is over."""
        self._memory.wipe_aggregator()

    def prepare(
        self, function: str, round_name: str, request: Any, participants: tuple[int, ...], last: bool
    ) -> list[Sent]:
        """Return one request for all who are asked the same."""
        bodies = {member: request[member] if isinstance(request, Mapping) else request for member in participants}
        groups: list[tuple[Message, list[int]]] = []
        for member in participants:
            same = next((group for group in groups if group[0] is bodies[member]), None)
            if same is None:
                groups.append((bodies[member], [member]))
            else:
                same[1].append(member)
        return [self.seal(function, round_name, participants, body, tuple(members), last) for body, members in groups]

    def seal(
        self,
        function: str,
        round_name: str,
        participants: tuple[int, ...],
        body: Message,
        to: tuple[int, ...],
        last: bool,
    ) -> Sent:
        """Return a signed request to some stations, sealed for them if the job has a manifest."""
        manifest = self.manifest
        content = encode(body, raw=manifest is not None)
        plain = Request(
            protocol=PROTOCOL,
            session=self.session,
            round_name=round_name,
            function=function,
            sender=self._run.organization,
            participants=participants,
            last=last,
            manifest_hash="" if manifest is None else manifest.hash,
            manifest=None if set(to) <= self._has_manifest else manifest,
            reply_key=self._keys.public_bytes,
            signer=self._signer.public_bytes,
            lasting=self.lasting is not None,
            body=content,
            near=self._is_near(to),
        )
        packed = pack(content)
        digest = question(plain, packed)
        if manifest is not None:
            plain = seal_body(plain, packed, digest, self._keys, manifest, to)
            self._has_manifest.update(to)
        return Sent(plain.sign(self._signer), digest, to)

    def _is_near(self, to: tuple[int, ...]) -> bool:
        """Return whether a request goes to the station of this organization alone, which has the same folder of the job."""
        own = to == (self._run.organization,)
        return own and self.manifest is not None and not self._run.mock and self._memory.has_station()

    def create(self, sent: Sent, round_name: str) -> int:
        """Make the sub-task of a request; return its id. `StationError` if the server does not take it."""
        message = filed(sent.request, self._memory) if sent.is_filed else sent.request
        task = self._client.task.create(
            input_={"method": sent.request.function, "kwargs": {"message": encode(message)}},
            organizations=list(sent.members),
            name=f"round {round_name}",
            description=f"fedbayes {sent.request.function}",
        )
        if not isinstance(task, dict) or "id" not in task:
            raise StationError(
                "the server did not accept a sub-task; check that every organization is in the collaboration and online"
            )
        return int(task["id"])

    def collect(self, task: int, sent: Sent, began: float, timeout: float, record: dict[str, Any]) -> dict[int, Any]:
        """Wait for the replies to a request; return organization -> content, and count bytes in `record`.

        Raises
        ------
        StationError
            If a station is silent.
        MessageError
            If a reply is malformed, stale, comes twice, or was not sealed with its station's key.
        """
        patience = min(SILENT_SECONDS, timeout / 2.0)
        answers = self._receive(self._payloads(task, sent, began, timeout, patience), sent, record)
        missing = _missing(sent, answers)
        if missing and not self._run.mock and may_be_asked_again(self._client, task, missing):
            again = replace(sent, members=missing)
            self.repeated.update(missing)
            log_info(f"round {sent.request.round_name} once more at {len(missing)} organizations")
            record["bytes"] += again.size
            task = self.create(again, sent.request.round_name)
            payloads = self._payloads(task, again, began, timeout, TIMEOUT_SECONDS)
            answers.update(self._receive(payloads, again, record))
            missing = _missing(sent, answers)
        if missing:
            names = ", ".join(self._name(member) for member in missing)
            why = "" if self._run.mock else f" ({cause(self._client, task, missing, self._name)})"
            raise StationError(
                f"no answer from {names}: its container crashed or was stopped, or its node refused it{why}"
                + self.costs()
            )
        return answers

    def _receive(self, payloads: list[Any], sent: Sent, record: dict[str, Any]) -> dict[int, Any]:
        """Open replies, count their bytes in `record`; each leaves the list before it is opened, as it may be long."""
        answers: dict[int, Any] = {}
        payloads.reverse()
        while payloads:
            payload = payloads.pop()
            member, content = self._open(sent, payload)
            if member in answers:
                raise MessageError("a reply came twice; the job stops")
            answers[member] = content
            record["bytes"] += len(str(payload.get("sealed", "")))
        return answers

    def _payloads(self, task: int, sent: Sent, began: float, timeout: float, patience: float) -> list[Any]:
        if self._run.mock:
            return list(self._client.wait_for_results(task))
        return results_of(self._client, task, sent.members, began, timeout, self._name, patience)

    def _open(self, sent: Sent, payload: Any) -> tuple[int, dict[str, Any]]:
        """Return who answered and what, of a reply that was sealed with that station's key."""
        member, content, public_key = open_reply(sent.request, sent.question_digest, payload, self._keys, self._memory)
        if member not in sent.members:
            raise MessageError("a reply comes from an organization that was not asked; the job stops")
        if self.manifest is not None and self.manifest.cards[member].exchange != public_key:
            raise MessageError(f"{self._name(member)}: the reply was not sealed with the station's key; the job stops")
        content = checked(content)
        if "reply" in content:
            self.answered.add(member)
        before = self.spent.setdefault(member, dict.fromkeys(COSTS, 0.0))
        for name, cost in content["spent"].items():
            before[name] += float(cost)
        if content.get("token"):
            self._tokens[member] = content["token"]
        return member, content

    def costs(self) -> str:
        """Return in words what the job has cost already; empty if nothing was debited."""
        parts = [
            f"{self._name(member)} {', '.join(f'{name} {cost:g}' for name, cost in costs.items() if cost)}"
            for member, costs in sorted(self.spent.items())
            if any(costs.values())
        ]
        return f" (already debited: {'; '.join(parts)})" if parts else ""

    def seal_of(self, algorithm: str, model: Mapping[str, Any]) -> ModelSeal | None:
        """Return what shows that a model comes out of this job; None without a lasting key."""
        if self.lasting is None or self.manifest is None:
            return None
        unsigned = ModelSeal(algorithm, self.manifest.hash, dict(self._tokens), self.lasting.public_bytes, b"")
        signature = self.lasting.sign(unsigned.text(model_digest(model)))
        return ModelSeal(algorithm, unsigned.manifest, unsigned.tokens, unsigned.identity, signature)

    def without_lasting_key(self, members: set[int]) -> list[str]:
        """Return those asked, and central, whose identity rests on the platform's word alone, for want of a folder database."""
        cards = {} if self.manifest is None else self.manifest.cards
        without = {member for member in members if member not in cards or not cards[member].identity}
        if self.lasting is None:
            without.add(self._run.organization)
        return [self._name(member) for member in sorted(without)]


def _missing(sent: Sent, answers: Mapping[int, Any]) -> tuple[int, ...]:
    """Return who has not answered; nobody where somebody refused: the refusal tells more."""
    if any("error" in answer for answer in answers.values()):
        return ()
    return tuple(member for member in sent.members if member not in answers)


def summed(parts: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return the sum modulo 2^64 of masked arrays, one a participant.

    Raises
    ------
    MessageError
        If the masks do not fit: a station was told another manifest, round or set of participants.
    StationError
        If the arrays differ in length, or some are masked and others not.
    """
    if parts and all(isinstance(part, Masked) for part in parts):
        if int(reconstruct([part.check for part in parts])[0]) != 0:
            raise MessageError(UNFITTING)
        parts = [part.value for part in parts]
    with adding_up():
        return reconstruct([np.asarray(part, dtype=np.uint64) for part in parts])
