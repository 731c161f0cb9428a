"""Envelopes: the sender, job and round around a message, its seal and its signature.

Central signs every request. As soon as it has the stations' keys it also seals the message: enciphered once, with the key sealed for each
station. A station seals its reply for central with its key of the job, bound to the round, to itself and to the digest of the request.
Whoever carries envelopes sees sizes and times only. A changed, repeated or misplaced envelope is refused.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from ...mpc.relay import KEY_BYTES, NONCE_BYTES, KeyPair, SealBroken, SigningPair, is_signed, pairwise_key, seal, unseal
from ..errors import MessageError
from ..messages.codec import Message, decode, encode
from ..messages.packing import pack, unpack
from ..node.memory import Memory
from .manifest import Manifest, text_of

PROTOCOL = "fedbayes/2"
UNSIGNED = frozenset({"signature", "filed"})
NOT_ASKED = frozenset(
    {"signature", "filed", "near", "signer", "lasting", "reply_key", "manifest", "body", "sealed", "keys"}
)
"""Fields in which two requests may differ and still ask the same question; the keys among them are held to the job's first (`arrival`)."""
LEAST_FILED = 2**16
"""Sealed contents of this many bytes or more are left in the job's folder; below, writing a file takes longer than sending them."""


class Request(Message):
    """A request of the aggregator to stations.

    Attributes
    ----------
    protocol, session, round_name, function : str
        Protocol version, hex id of the job, unique name of the round, remote function.
    sender : int
        The organization that runs central.
    participants : tuple of int
        Every organization that gets this round.
    last : bool
        Whether stations wipe what they keep for the job after this round.
    manifest_hash : str
        Of the job's manifest; empty before there is one.
    manifest : Manifest or None
        The manifest itself, in the first request that a station gets after it was made.
    reply_key : bytes
        The aggregator's X25519 key of the job.
    signer : bytes
        The aggregator's Ed25519 key: its lasting one, or one of the job.
    lasting : bool
        Whether `signer` is its lasting key.
    body : dict or None
        The message as JSON, in the first round, when stations have no keys yet; else None.
    sealed : bytes
        The message, packed and enciphered.
    keys : dict of int to bytes
        Station -> the key of `sealed`, sealed for it.
    near : bool
        Whether it goes only to the station of central's own organization, which shares the job's folder with central. Long contents are then
        left in that folder and do not travel. The reply of the last round, which wipes the folder, does.
    filed : bytes
        SHA-256 of `sealed`, in its place, if that was left in the job's folder (`Memory.leave`).
    signature : bytes
        Over everything above, with `sealed` itself.
    """

    protocol: str
    session: str
    round_name: str
    function: str
    sender: int
    participants: tuple[int, ...]
    last: bool
    manifest_hash: str
    manifest: Manifest | None
    reply_key: bytes
    signer: bytes
    lasting: bool
    body: dict[str, Any] | None
    sealed: bytes = b""
    keys: dict[int, bytes] | None = None
    near: bool = False
    filed: bytes = b""
    signature: bytes = b""

    def __post_init__(self) -> None:
        """Check the keys' lengths, and that the message is either sealed or not."""
        if len(self.reply_key) != KEY_BYTES or len(self.signer) != KEY_BYTES:
            raise ValueError("a key of the request is malformed")
        if (self.body is None) == (not self.sealed and not self.filed):
            raise ValueError("the message must be either sealed or plain")

    @cached_property
    def asked(self) -> bytes:
        """Canonical text of what is asked and by whom, without the message; the same before and after sealing."""
        return _text(self, NOT_ASKED)

    def sign(self, pair: SigningPair) -> Request:
        """Return the same request with the signature of the aggregator."""
        return replace(self, signature=pair.sign(_text(self, UNSIGNED)))

    def check(self, function: str) -> None:
        """Raise `MessageError` if the request is for another version or function, or was changed on its way."""
        if self.protocol != PROTOCOL:
            raise MessageError("the request speaks another protocol version; use one image version at all stations")
        if self.function != function:
            raise MessageError("the request is for another function")
        if not is_signed(self.signer, self.signature, _text(self, UNSIGNED)):
            raise MessageError("the request was changed on its way")


class Left(Protocol):
    """Where to read sealed contents that do not travel."""

    def left(self, digest: bytes) -> bytes:
        """Return what was left under a digest."""


def _text(request: Request, without: frozenset[str]) -> bytes:
    """Return the canonical text of a request; the sealed message, which may be long, goes in by its hash."""
    parts: dict[str, Any] = {}
    for field in fields(request):
        value = getattr(request, field.name)
        if field.name in without:
            continue
        parts[field.name] = hashlib.sha256(value).hexdigest() if field.name == "sealed" else value
    return text_of(parts)


def question(request: Request, *packed: bytes) -> str:
    """Return the digest of a question: of the request, without the aggregator's keys, and of its message.

    Parameters
    ----------
    request : Request
        Its header counts.
    packed : bytes
        The encoded message, as a whole or in parts.
    """
    digest = hashlib.sha256(request.asked + b"|")
    for part in packed:
        digest.update(part)
    return digest.hexdigest()


def _key_context(request: Request, organization: int) -> bytes:
    return f"request|{request.session}|{request.manifest_hash}|{organization}".encode()


def seal_body(
    request: Request, packed: bytes, asked: str, keys: KeyPair, manifest: Manifest, stations: tuple[int, ...]
) -> Request:
    """Return a request with its message sealed for stations; `asked` is the digest of the question.

    The same keys and question give the same seal, whose secrets follow from central's: of a central that is run again a station where the job is over knows
    the signature, by which it finds its reply; it has no key any more to read more with.

    **Reveals** sizes and times to who carries it, the message to `stations`. **Assumes** that the manifest's keys are theirs.
    """
    drawn = hmac.digest(keys.private_bytes, f"seal|{asked}|{stations}".encode(), "sha512")
    content_key, nonce = drawn[:KEY_BYTES], drawn[KEY_BYTES:][:NONCE_BYTES]
    sealed_keys = {}
    for member in stations:
        context = _key_context(request, member)
        sealed_keys[member] = seal(manifest.cards[member].shared(keys, context), content_key, context, nonce)
    return replace(request, body=None, sealed=seal(content_key, packed, request.asked, nonce), keys=sealed_keys)


def open_body(request: Request, organization: int, keys: KeyPair) -> Any:
    """Return the encoded message of a request.

    Raises
    ------
    MessageError
        If it is not sealed for this station, or was changed.
    """
    if request.body is not None:
        return request.body
    context = _key_context(request, organization)
    try:
        shared = pairwise_key(keys, request.reply_key, context)
        content_key = unseal(shared, (request.keys or {})[organization], context)
        return unpack(unseal(content_key, request.sealed, request.asked))
    except (SealBroken, KeyError, ValueError):
        raise MessageError("the request is not sealed for this station, or was changed on its way") from None


def _binding(request: Request, organization: int, question_digest: str) -> bytes:
    parts = (PROTOCOL, request.session, request.manifest_hash, request.round_name, request.function)
    return "|".join((*parts, str(organization), question_digest)).encode()


class Reply(Message):
    """A reply as it travels: the station, its public key of the job, and the sealed content, or its digest if it was left in the job's folder."""

    organization: int
    public_key: bytes
    sealed: bytes
    filed: bytes = b""


Kept = TypeVar("Kept", Request, Reply)


def filed(message: Kept, memory: Memory) -> Kept:
    """Leave a long sealed content in the job's folder and return the message without it (see `Request.near`); a short one is returned as it is."""
    if len(message.sealed) < LEAST_FILED:
        return message
    return replace(message, sealed=b"", filed=memory.leave(message.sealed, stays=isinstance(message, Reply)))


def whole(message: Kept, memory: Left) -> Kept:
    """Return a message with its sealed content, read back from the job's folder if it was left there: the inverse of `filed`."""
    return replace(message, sealed=memory.left(message.filed), filed=b"") if message.filed else message


def seal_reply(
    request: Request,
    question_digest: str,
    organization: int,
    content: dict[str, Any],
    keys: KeyPair,
    memory: Memory | None = None,
) -> Any:
    """Return the sealed reply of a station as JSON.

    Parameters
    ----------
    request : Request
        What is answered.
    question_digest : str
        Digest of the question.
    organization : int
        This station.
    content : dict
        Encoded, with raw bytes.
    keys : KeyPair
        The station's of the job.
    memory : Memory, optional
        The job's folder, where the reply may stay if central shares it.

    Notes
    -----
    **Reveals** its size to the server, its content to the organization that runs central. **Assumes** that `reply_key` is the aggregator's.
    """
    binding = _binding(request, organization, question_digest)
    key = pairwise_key(keys, request.reply_key, b"reply|" + binding)
    reply = Reply(organization, keys.public_bytes, seal(key, pack(content), binding))
    near = request.near and not request.last and request.sender == organization
    return encode(filed(reply, memory) if near and memory is not None else reply)


def open_reply(
    request: Request, question_digest: str, payload: Any, keys: KeyPair, memory: Left
) -> tuple[int, dict[str, Any], bytes]:
    """Return (organization, content, public key) of a sealed reply.

    Parameters
    ----------
    request : Request
        What is answered.
    question_digest : str
        Digest of the question.
    payload : object
        JSON of the reply.
    keys : KeyPair
        Central's of the job.
    memory : Left
        The job's folder at central's node, where the reply of its own organization may lie.

    Raises
    ------
    MessageError
        If it is malformed, or does not belong to this request, or was changed.
    """
    reply: Reply = decode(Reply, payload)
    if reply.filed and (request.last or not request.near):
        raise MessageError("a reply is missing: it lies at another node; the job stops")
    reply = whole(reply, memory)
    binding = _binding(request, reply.organization, question_digest)
    if len(reply.public_key) != KEY_BYTES:
        raise MessageError("a reply carries no usable key")
    try:
        key = pairwise_key(keys, reply.public_key, b"reply|" + binding)
        content = unpack(unseal(key, reply.sealed, binding))
    except (SealBroken, ValueError):
        raise MessageError(
            "a reply was changed on its way, or belongs to another job, round or station; the job stops"
        ) from None
    if not isinstance(content, dict):
        raise MessageError("a reply is malformed")
    return reply.organization, content, reply.public_key
