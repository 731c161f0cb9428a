"""The manifest of a job: what is computed, for whom, among whom, under which keys.

Central makes it after the first round and signs it; every station checks it against what the platform says and against the peers that it knows
(`federation.peers`), and binds every key that it derives to its hash: two stations with different manifests have no key in common.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from ...dp.shares import HONEST_FRACTION
from ...mpc.relay import KEY_BYTES, KeyPair, SigningPair, is_signed, pairwise_key
from ..errors import MessageError
from ..messages.codec import Message, encode

SIGNATURE_BYTES = 64  # of Ed25519
ROLES = ("station", "helper")
_WHOLE = "digest"
"""In an outline: the digest of all of the model, or of all of a member."""
_PARTS = "digests"
"""In an outline: the digests of the parts that it may have whole."""
_PREDICTOR = (
    "features",
    "domain",
    "ties",
    "formula",
    "levels",
    "references",
    "missing",
    "time",
    "event",
    "strata",
    "weights",
    "entry",
    "offset",
)
"""What of a linear predictor every station may see beside its coefficients."""


def text_of(*parts: Any) -> bytes:
    """Return the one canonical JSON text of some parts, for a hash or a signature."""
    return json.dumps(encode(list(parts)), sort_keys=True, separators=(",", ":")).encode()


def digest_of(value: Any) -> str:
    """Return the SHA-256, 64 hexadecimal digits, of the canonical JSON of a value."""
    return hashlib.sha256(text_of(value)).hexdigest()


def outline_of(model: Mapping[str, Any], *, baseline: bool = False) -> dict[str, Any]:
    """Return what of a model every station may see, with digests of the rest: by this, a station knows a part of it without the others.

    Of an ensemble a member is its organizations and its digest, of linear predictors the coefficients and what they are of stay; other models are
    their own outline, and so is an outline. With `baseline` a linear predictor's baseline is there whole, for those who need it; the outline of that is the
    one without.
    """
    if isinstance(model.get("model"), Mapping):
        return {**model, "model": outline_of(model["model"], baseline=baseline)}
    members, coefficients = model.get("members"), model.get("coefficients")
    if isinstance(members, list):
        return {**model, "members": [_member_outline(one) for one in members]}
    if not isinstance(coefficients, list):
        return dict(model)
    shown = dict(model) if _WHOLE in model else _predictor_outline(model, coefficients)
    if isinstance(model.get("baseline"), Mapping):
        shown |= {_PARTS: {"baseline": digest_of(model["baseline"])}, "baseline": model["baseline"]}
    return shown if baseline else {name: part for name, part in shown.items() if name != "baseline"}


def _predictor_outline(model: Mapping[str, Any], coefficients: list[Any]) -> dict[str, Any]:
    shown = {name: model[name] for name in _PREDICTOR if name in model}
    return {**shown, "coefficients": [_coefficient_outline(one) for one in coefficients], _WHOLE: digest_of(model)}


def _member_outline(member: Any) -> Any:
    if not isinstance(member, Mapping) or set(member) == {"stations", _WHOLE}:
        return member
    stations = member.get("stations")
    return {"stations": sorted(stations) if isinstance(stations, Mapping) else [], _WHOLE: digest_of(member)}


def _coefficient_outline(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {name: entry[name] for name in ("feature", "category", "coefficient") if name in entry}


def model_digest(model: Mapping[str, Any]) -> str:
    """Return the digest by which a model is claimed and sealed: that of its outline, so that the outline alone has it too."""
    return digest_of(outline_of(model))


class Card(Message):
    """An organization's keys in one job.

    Attributes
    ----------
    organization : int
    exchange : bytes
        X25519 public key of the job, 32 bytes.
    identity : bytes
        Ed25519 public key of the organization, 32 bytes; empty without a folder database.
    signature : bytes
        Of session, organization and `exchange` under `identity`, 64 bytes; empty without one.
    """

    organization: int
    exchange: bytes
    identity: bytes = b""
    signature: bytes = b""

    def __post_init__(self) -> None:
        if len(self.exchange) != KEY_BYTES or (len(self.identity), len(self.signature)) not in (
            (0, 0),
            (KEY_BYTES, SIGNATURE_BYTES),
        ):
            raise ValueError("a key of a card is malformed")

    @classmethod
    def make(cls, organization: int, exchange: bytes, identity: SigningPair | None, session: str) -> Card:
        """Return the card of an organization, signed if it has a lasting key."""
        if identity is None:
            return cls(organization, exchange)
        signature = identity.sign(text_of("card", session, organization, exchange))
        return cls(organization, exchange, identity.public_bytes, signature)

    def check(self, session: str) -> None:
        """Raise `MessageError` if the signature is not of this session, organization and key."""
        if self.identity and not is_signed(
            self.identity, self.signature, text_of("card", session, self.organization, self.exchange)
        ):
            raise MessageError(f"the keys of organization {self.organization} are not signed by it; the job stops")

    def shared(self, keys: KeyPair, context: bytes) -> bytes:
        """Return the key that the organization shares with the owner of `keys`; `MessageError` if it shows a key that makes none."""
        try:
            return pairwise_key(keys, self.exchange, context)
        except ValueError:
            raise MessageError(f"organization {self.organization} shows no usable key; the job stops") from None


class ModelSeal(Message):
    """What shows that a model comes out of a fit of this federation.

    Attributes
    ----------
    algorithm : str
        The package that fitted it.
    manifest : str
        Hash of that job's manifest.
    tokens : dict of int to str
        Organization -> its tag of that hash under a key that only its own node has (`federation.peers.token`).
    identity, signature : bytes
        Lasting key of the organization that ran central, and its signature of all of this and the model's digest.
    """

    algorithm: str
    manifest: str
    tokens: dict[int, str]
    identity: bytes
    signature: bytes

    def text(self, digest: str) -> bytes:
        """Return what is signed for a model of this digest."""
        return text_of("model", self.algorithm, self.manifest, self.tokens, digest)


class ModelClaim(Message):
    """A model that was given as an argument: its digest, and its seal if it has one."""

    digest: str
    seal: ModelSeal | None = None


class Manifest(Message):
    """What a job is.

    Attributes
    ----------
    session : str
        The job, as the platform tells it.
    image, algorithm, function : str
        Image, its package, the central function that the researcher called.
    arguments : str
        Digest of the arguments.
    aggregator : int
        The organization that runs central.
    names : dict of int to str
        Members by name.
    roles : dict of int to str
        Member -> ``station`` (holds data of the task) or ``helper``.
    cards : dict of int to Card
        Member -> its keys.
    models : tuple of ModelClaim
        The models among the arguments.
    dictionary : str
        Digest of the study's data dictionary that stations apply; empty without one.
    announced : str
        Digest of what the job announced to every station before its first answer (`announced`); empty if nothing.
    honest_fraction : float
        Part of the stations whose shares of noise are counted on: no round may count on more.
    database : dict of str to str
        The ``label`` of the database that the task asks for, and what it says of it (`node_databases.asked`): no sub-task of the job may name another.
    minimum_count : int
        Fewest records of which any of the stations shows numbers: all of them look for so many, each in its own columns.
    """

    session: str
    image: str
    algorithm: str
    function: str
    arguments: str
    aggregator: int
    names: dict[int, str]
    roles: dict[int, str]
    cards: dict[int, Card]
    models: tuple[ModelClaim, ...] = ()
    dictionary: str = ""
    announced: str = ""
    honest_fraction: float = HONEST_FRACTION
    database: dict[str, str] = field(default_factory=dict)
    minimum_count: int = 0

    def __post_init__(self) -> None:
        """Check that every member has a name, a role, and keys of its own."""
        if not 0.0 < self.honest_fraction <= 1.0:
            raise ValueError("honest_fraction must be in (0, 1]")
        if not self.cards or set(self.names) != set(self.cards) or set(self.roles) != set(self.cards):
            raise ValueError("every member needs a name, a role and keys")
        if any(role not in ROLES for role in self.roles.values()):
            raise ValueError(f"a role is one of: {', '.join(ROLES)}")
        if any(card.organization != member for member, card in self.cards.items()):
            raise ValueError("a member's card is of another organization")
        exchanges = [card.exchange for card in self.cards.values()]
        identities = [card.identity for card in self.cards.values() if card.identity]
        for distinct in (exchanges, identities, list(self.names.values())):
            if len(set(distinct)) != len(distinct):
                raise ValueError("two organizations have one name or one key: an organization takes part once")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the manifest, 64 hexadecimal digits."""
        return digest_of(self)

    @property
    def members(self) -> tuple[int, ...]:
        """Organization ids, ascending."""
        return tuple(sorted(self.cards))

    @property
    def stations(self) -> tuple[int, ...]:
        """Members that hold data of the task, ascending; each checks its own part when it gets the manifest."""
        return tuple(member for member in self.members if self.roles[member] == "station")

    def check_cards(self) -> None:
        """Raise `MessageError` if a member's keys are not signed by it."""
        for card in self.cards.values():
            card.check(self.session)


def claim_of(model: Mapping[str, Any]) -> tuple[dict[str, Any], ModelClaim]:
    """Return a model without its seal, and what is claimed of it.

    Raises
    ------
    MessageError
        If the seal is malformed.
    """
    from ..messages.codec import decode

    bare = {key: value for key, value in model.items() if key != "seal"}
    seal = model.get("seal")
    return bare, ModelClaim(model_digest(bare), None if seal is None else decode(ModelSeal, seal))
