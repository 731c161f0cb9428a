"""Who the first attack scripts played, with today's messages: a researcher whose own tasks name partial functions, and a server in the middle of a job."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from harness.inprocess import IMAGE, LABEL, InProcess

from fedbayes.federation.gate import Masked
from fedbayes.federation.guards import announced
from fedbayes.federation.jobs.job import Job
from fedbayes.federation.jobs.transport import Transport
from fedbayes.federation.messages.codec import Message, decode, encode
from fedbayes.federation.messages.packing import pack
from fedbayes.federation.node import platform
from fedbayes.federation.node.platform import Origin
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter import peers
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.perimeter.envelope import (
    PROTOCOL,
    Request,
    open_body,
    open_reply,
    question,
    seal_body,
    seal_reply,
)
from fedbayes.federation.perimeter.manifest import Card, Manifest
from fedbayes.federation.perimeter.opening import OpenRequest, Preflight
from fedbayes.mpc.relay import KeyPair, SigningPair
from fedbayes.randomness import secret_bytes
from v6_dp_naive_bayes.messages import StatisticsReply

NOWHERE = SimpleNamespace()
"""In the place of a folder of the job, which whoever is no node does not have."""


class Refused(Exception):
    """What a station told instead of a reply."""


class Researcher:
    """Plays central and every other organization in tasks of its own, at one station.

    Parameters
    ----------
    running : InProcess
        The federation.
    victim : int
        The station that is asked.
    helper : int
        Of the organizations that it plays, the one without data; 0: none.
    session : str
        What it calls its job.
    """

    def __init__(self, running: InProcess, victim: int, helper: int = 0, session: str = "") -> None:
        self.running, self.victim, self.helper = running, victim, helper
        others = [member for member in running.names if member != victim]
        self.central = others[0]
        self.session = session or Origin(1, 1, IMAGE, self.central, "").session
        self.keys = {member: KeyPair.generate() for member in others}
        self.signer, self.mine = SigningPair.from_bytes(secret_bytes(32)), KeyPair.generate()
        self.manifest: Manifest | None = None
        self._asked = 0

    def task(self, function: str, message: Any, **more: Any) -> Any:
        """Have the server run a task of the researcher's at the victim; `more`: further arguments of the function."""
        running, arguments = self.running, {"message": message, **more}
        number = running._task(None, self.central)
        running.tasks[number]["job_id"] = 1 if BELIEVED else number
        with (
            mock.patch.object(platform, "algorithm_client", running._client),
            mock.patch.object(platform, "ask", running._ask),
            contextlib.redirect_stdout(io.StringIO()),
            running._container(number, self.victim),
        ):
            return json.loads(json.dumps(getattr(running.module, function)(**json.loads(json.dumps(arguments)))))

    def channel(self, member: int) -> Channel:
        """Return the channel of an organization that it plays."""
        assert self.manifest is not None
        return Channel(member, self.keys[member], self.manifest, "", Policy())

    def open(self, preflight: Preflight, members: Collection[int] = ()) -> None:
        """Ask for the victim's key, and make a manifest, of some members or all, in which all others have keys of the researcher's."""
        body = OpenRequest(len(self.running.names), preflight)
        card: Card = decode(Card, self.ask("partial_open_channel", body)["card"])
        names = {member: name for member, name in self.running.names.items() if not members or member in members}
        roles = {member: "helper" if member == self.helper else "station" for member in names}
        cards = {member: card if member == self.victim else self._card(member) for member in names}
        what = (self.session, IMAGE, self.running.module.__name__, "fit", "", self.central)
        agreed: dict[str, Any] = {"announced": announced.digest(preflight), "database": {"label": LABEL}}
        agreed["minimum_count"] = Policy().minimum_count
        self.manifest = Manifest(*what, names, roles, cards, **agreed)

    def _card(self, member: int) -> Card:
        return Card(member, self.keys[member].public_bytes)

    def ask(self, function: str, body: Message) -> dict[str, Any]:
        """Ask the victim in a task of its own; return the reply, encoded. Raises `Refused`."""
        self._asked += 1
        manifest, content = self.manifest, encode(body, raw=self.manifest is not None)
        participants = tuple(self.running.names) if manifest is None else manifest.members
        header = (PROTOCOL, self.session, f"{self._asked}", function, self.central, participants, False)
        hashed = "" if manifest is None else manifest.hash
        keys = (self.mine.public_bytes, self.signer.public_bytes, False)
        asked = Request(*header, hashed, manifest, *keys, content)
        packed = pack(content)
        digest = question(asked, packed)
        if manifest is not None:
            asked = seal_body(asked, packed, digest, self.mine, manifest, (self.victim,))
        payload = self.task(function, encode(asked.sign(self.signer)))
        told = open_reply(asked, digest, payload, self.mine, NOWHERE)[1]
        if "error" in told:
            raise Refused(told["error"][1])
        return dict(told["reply"])


BELIEVED: list[int] = []
"""Who runs central, while stations believe that a researcher's tasks are of one job."""


@contextmanager
def believed(central: int) -> Iterator[None]:
    """Have stations not ask the platform whose task it is, and a researcher's tasks share a folder of one job: as it was once."""
    origin = Origin(1, 1, IMAGE, central, "")
    BELIEVED.append(central)
    try:
        with (
            mock.patch.object(platform, "sub_task_origin", return_value=origin),
            mock.patch.object(platform, "confirmed", lambda origin: origin),
        ):
            yield
    finally:
        BELIEVED.clear()


class Middle:
    """A server that is central to the stations and all stations to central, from the first round on.

    It announces no privacy, and asks for statistics without noise. What central asked is answered with numbers of the server's own.

    Parameters
    ----------
    running : InProcess
        The federation whose server it is.
    create : callable
        The honest server's.
    lasting : SigningPair or None
        With which it signs as central; None: with a key of the job, as a node without a folder database.
    whole : bool
        Whether it has a card of its own stand for central's organization too.
    """

    def __init__(
        self, running: InProcess, create: Any, lasting: SigningPair | None = None, whole: bool = False
    ) -> None:
        self.running, self._create, self._whole = running, create, whole
        self.keys = {member: KeyPair.generate() for member in running.names}
        self.signer, self.mine = lasting or SigningPair.from_bytes(secret_bytes(32)), KeyPair.generate()
        self.lasting = lasting is not None
        self.cards: dict[int, Card] = {}
        self.preflight: Preflight | None = None
        self.stolen: dict[int, Any] = {}
        self.claimed = 0.0
        self.manifest: Manifest | None = None

    def create(self, content: Any, organizations: list[int], parent: int, initiator: int) -> Any:
        """Take the place of `InProcess.create`."""
        asked: Request = decode(Request, content["kwargs"]["message"])
        if asked.function == "partial_close":
            return self._create(content, organizations, parent, initiator)
        number, runs = None, []
        for member in organizations:
            sent, packed = self._to_station(asked, member)
            message = {"method": content["method"], "kwargs": {"message": encode(sent)}}
            number = self._create(message, [member], parent, initiator)["id"]
            run = self.running.runs[number][0]
            if run["result"] is not None:
                run["result"] = self._to_central(asked, sent, packed, member, run["result"])
            runs.append(run)
        self.running.runs[number] = runs
        return dict(self.running.tasks[number])

    def _to_station(self, asked: Request, member: int) -> tuple[Request, bytes]:
        body = open_body(asked, member, self.keys[member])
        played = {"reply_key": self.mine.public_bytes, "signer": self.signer.public_bytes, "lasting": self.lasting}
        if not self.cards or asked.function == "partial_open_channel":
            self.preflight = decode(Preflight, body["preflight"])
            self.claimed = self.preflight.epsilon
            self.preflight = replace(self.preflight, private=False, epsilon=0.0, relation=None)
            body = {**body, "preflight": encode(self.preflight)}
            sent = replace(asked, body=body, **played)
            return sent.sign(self.signer), pack(body)
        given = asked.manifest or self.manifest
        self.manifest = given
        cards = dict(self.cards)
        if self._whole and member != given.aggregator:
            own = self.signer if self.lasting else None
            cards[given.aggregator] = Card.make(given.aggregator, self.mine.public_bytes, own, given.session)
        manifest = replace(given, cards=cards, announced=announced.digest(self.preflight))
        plan = body["plan"]
        body = {**body, "plan": {**plan, "noise": {**plan["noise"], "placement": "none"}}}
        sent = replace(
            asked, body=body, sealed=b"", keys=None, manifest=manifest, manifest_hash=manifest.hash, **played
        )
        packed = pack(body)
        return seal_body(sent, packed, question(sent, packed), self.mine, manifest, (member,)).sign(self.signer), packed

    def _to_central(self, asked: Request, sent: Request, packed: bytes, member: int, payload: Any) -> Any:
        told = open_reply(sent, question(sent, packed), payload, self.mine, NOWHERE)[1]
        if "reply" in told and asked.function == "partial_open_channel":
            self.cards[member] = decode(Card, told["reply"]["card"])
            card = Card(member, self.keys[member].public_bytes)
            told = {**told, "reply": {**told["reply"], "card": encode(card, raw=True)}}
        elif "reply" in told:
            self.stolen[member] = decode(StatisticsReply, told["reply"]).vector.value
            told = {**told, "reply": encode(self._made_up(asked, member), raw=True)}
            told["spent"] = {"epsilon": self.claimed, "delta": 0.0, "queries": 0.0}
        digest = question(asked, pack(open_body(asked, member, self.keys[member])))
        return seal_reply(asked, digest, member, told, self.keys[member])

    def _made_up(self, asked: Request, member: int) -> StatisticsReply:
        """Return what central takes for a station's masked statistics: nothing, and of the last one all of the exact sum."""
        last = len(self.stolen) == len(asked.participants)
        content = self.exact if last else np.zeros_like(self.stolen[member])
        channel = Channel(member, self.keys[member], self.manifest, asked.round_name, Policy(minimum_organizations=1))
        digest = question(asked, pack(open_body(asked, member, self.keys[member])))
        topic = f"|{asked.function}|{digest}"
        masked = channel.mask(content, asked.participants, topic)
        return StatisticsReply(Masked(masked, channel.check_word(asked.participants, topic)))

    @property
    def exact(self) -> Any:
        """What the stations' replies add up to."""
        return sum(self.stolen.values())


def forged(manner: str, fake: KeyPair, session: str, lasting: SigningPair, cards: dict[int, Card]) -> dict[int, Card]:
    """Return the members' cards, of which the third has a key of the first one's; `lasting` is that one's.

    `manner`: what the third card shows beside it, "its own lasting key" of the first, "the true one", "a new one" or "none"; or both are "exchanged".
    """
    true, new = cards[3].identity, SigningPair.from_bytes(secret_bytes(32))
    made = {
        "the true one": replace(Card.make(3, fake.public_bytes, lasting, session), identity=true),
        "a new one": Card.make(3, fake.public_bytes, new, session),
        "none": Card(3, fake.public_bytes),
    }
    first = replace(cards[1], identity=true) if manner == "exchanged" else cards[1]
    return {**cards, 1: first, 3: made.get(manner, Card.make(3, fake.public_bytes, lasting, session))}


@contextmanager
def forging(manner: str) -> Iterator[list[Any]]:
    """Central, at the first station, puts a key of its own in the card of the third, asks the second alone, and takes the masks off; yields what it has."""
    fake, taken = KeyPair.generate(), list[Any]()
    make, prepare, opened = Job._make_manifest, Transport.prepare, Transport._open

    def made(self: Job, parties: Any, cards: dict[int, Card], preflight: Any) -> Manifest:
        with unlooked():
            return make(self, parties, forged(manner, fake, self.session, self._transport.lasting, cards), preflight)

    def prepared(self: Transport, function: str, name: str, request: Any, members: Any, last: bool) -> Any:
        if function != "partial_statistics":
            return prepare(self, function, name, request, members, last)
        return [self.seal(function, name, members, request, (2,), last)]

    def read(self: Transport, sent: Any, payload: Any) -> Any:
        member, content = opened(self, sent, payload)
        if sent.request.function == "partial_statistics" and "reply" in content:
            masked = decode(StatisticsReply, content["reply"]).vector.value
            zeros, topic = np.zeros_like(masked), f"|partial_statistics|{sent.question_digest}"
            for played, keys in ((1, self._memory.keys()), (3, fake)):
                channel = Channel(played, keys, self.manifest, sent.request.round_name, Policy())
                masked = masked + channel.mask(zeros, sent.request.participants, topic)
            taken.append(masked.view(np.int64))
        return member, content

    with (
        mock.patch.object(Job, "_make_manifest", made),
        mock.patch.object(Transport, "prepare", prepared),
        mock.patch.object(Transport, "_open", read),
    ):
        yield taken


@contextmanager
def unlooked() -> Iterator[None]:
    """Nobody looks at cards and keys."""
    with (
        mock.patch.object(Manifest, "__post_init__", return_value=None),
        mock.patch.object(Manifest, "check_cards", return_value=None),
        mock.patch.object(peers, "believe", return_value=None),
    ):
        yield
