"""What travels around a message: who, which job, which round, and a seal that shows a change on the way.

A request is readable by the server in an unencrypted collaboration; it carries a digest. A reply is sealed for the aggregator (X25519, HKDF,
ChaCha20-Poly1305) and bound to the job, the round, the function, the station and the digest of the request that it answers, so that a flipped bit, a replay or
a reply from elsewhere is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..mpc.relay import KeyPair, SealBroken, pairwise_key, seal, unseal
from .codec import Message, decode, encode
from .errors import MessageError

PROTOCOL = "fedbayes/1"


@dataclass(frozen=True, slots=True)
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
    directory : dict of int to bytes
        Public channel keys of the members, empty before the channel is open.
    reply_key : bytes
        The aggregator's public key for replies.
    last : bool
        Whether stations may wipe what they keep for the job after this round.
    body : dict
        JSON of the typed message.
    digest : str
        SHA-256 over everything above but `reply_key`.
    """

    protocol: str
    session: str
    round_name: str
    function: str
    sender: int
    participants: tuple[int, ...]
    directory: dict[int, bytes]
    reply_key: bytes
    last: bool
    body: dict[str, Any]
    digest: str = ""

    def sign(self) -> Request:
        """Return the same request with its digest."""
        values = {name: getattr(self, name) for name in self.__slots__ if name != "digest"}
        return Request(**values, digest=digest(self))

    def check(self, function: str) -> None:
        """Raise `MessageError` if the request is for another version or function, or was changed on its way."""
        if self.protocol != PROTOCOL:
            raise MessageError("the request speaks another protocol version; use one image version at all stations")
        if self.function != function:
            raise MessageError("the request is for another function")
        if self.digest != digest(self):
            raise MessageError("the request was changed on its way")


def digest(request: Request) -> str:
    """Return the SHA-256 of the canonical JSON of a request, without its reply key and digest."""
    content = encode(request)
    del content["digest"], content["reply_key"]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _binding(request: Request, organization: int) -> bytes:
    return "|".join(
        (PROTOCOL, request.session, request.round_name, request.function, str(organization), request.digest)
    ).encode()


def seal_reply(request: Request, organization: int, content: dict[str, Any], keys: KeyPair) -> dict[str, Any]:
    """Return the sealed reply of a station as JSON.

    **Reveals** its size to the server, its content to the organization that runs central. **Assumes** that `reply_key` is the aggregator's.
    """
    binding = _binding(request, organization)
    key = pairwise_key(keys, request.reply_key, b"reply|" + binding)
    sealed = seal(key, json.dumps(content, separators=(",", ":")).encode(), binding)
    return {"organization": organization, "public_key": encode(keys.public_bytes), "sealed": encode(sealed)}


@dataclass(frozen=True, slots=True)
class Reply(Message):
    """The outside of a reply: the station, its public key of this reply, the sealed content."""

    organization: int
    public_key: bytes
    sealed: bytes


def open_reply(request: Request, payload: Any, keys: KeyPair) -> tuple[int, dict[str, Any], bytes]:
    """Return (organization, content, public key) of a sealed reply.

    Raises
    ------
    MessageError
        If it is malformed, or does not belong to this request, or was changed.
    """
    reply = decode(Reply, payload)
    binding = _binding(request, reply.organization)
    if len(reply.public_key) != 32:
        raise MessageError("a reply carries no usable key")
    try:
        key = pairwise_key(keys, reply.public_key, b"reply|" + binding)
        content = json.loads(unseal(key, reply.sealed, binding))
    except (SealBroken, ValueError):
        raise MessageError(
            "a reply was changed on its way, or belongs to another job, round or station; the job stops"
        ) from None
    if not isinstance(content, dict):
        raise MessageError("a reply is malformed")
    return reply.organization, content, reply.public_key
