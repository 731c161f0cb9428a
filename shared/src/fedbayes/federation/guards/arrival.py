"""What a station checks of a request before anything else: origin, signer, participants, manifest, peers, models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...dp import shares
from ...mpc.relay import fingerprint, is_signed
from ..errors import MessageError, PolicyError
from ..messages.codec import decode, encode
from ..node import platform
from ..node.memory import Memory
from ..node.policy import Policy
from ..perimeter import peers
from ..perimeter.envelope import Request
from ..perimeter.manifest import Manifest, ModelClaim, model_digest
from ..tables import node_databases
from . import announced, dictionaries

SIGNER = "signer"
END = "partial_close"
WITHOUT_MANIFEST = ("partial_open_channel", END)
"""Functions of the job's first round, and of its end: nothing else is answered before the stations know who asks and among whom."""
ALWAYS = (*WITHOUT_MANIFEST, "partial_schema", "partial_deal")
"""Functions that any job may call: they read no table."""

if TYPE_CHECKING:
    from .member import Member
    from .table_reader import TableReader


def check(station: TableReader, run: platform.Run, origin: platform.Origin, request: Request) -> Manifest | None:
    """Check a request against what the platform says of this sub-task, and return the job's manifest.

    Raises
    ------
    MessageError
        If sender, session, participants or manifest are not this job's.
    PolicyError
        If a member's lasting key is not the one that this node knows.
    """
    if request.sender != origin.organization:
        raise MessageError("the request does not come from the organization that runs central; the job stops")
    if request.session != station.session:
        raise MessageError("the request is of another job; the job stops")
    chosen = request.participants
    if run.organization not in chosen or len(set(chosen)) != len(chosen):
        raise MessageError("the request is for other stations")
    _check_keys(station, request)
    if not request.manifest_hash and request.function not in WITHOUT_MANIFEST:
        raise MessageError("the channel is not open; central must call open_channel first")
    # A station that has refused the manifest is told of the job's end, too.
    if not request.manifest_hash or request.function == END:
        return None
    if request.body is not None:
        raise MessageError("the request is not sealed for this station; the job stops")
    manifest = _manifest(station, run, origin, request)
    if manifest.database != node_databases.asked():
        raise MessageError(
            "the sub-task asks for another database than the job, or for other rows of it; the job stops"
        )
    if not set(request.participants) <= set(manifest.members):
        raise MessageError("an organization takes part in this round that is no member of the job")
    if request.function not in ALWAYS:
        announced.check_function(station.memory, request.function)
    return manifest


def _check_keys(station: Member, request: Request) -> None:
    """Check that one key signs all requests of the job, and that replies to all are sealed for one: a reply that is recorded is sealed for that one alone."""
    mark = _mark_of(request)
    if station.memory.once(SIGNER, mark) != mark:
        raise MessageError(
            "a request of this job is signed by another key than the first, or asks for a reply under other keys; the job stops"
        )


def _mark_of(request: Request) -> bytes:
    return request.signer + (b"\x01" if request.lasting else b"\x00") + request.reply_key


def is_centrals(memory: Memory, request: Request) -> bool:
    """Return whether a request is signed as the job's first: such a one ends the job at a station that refuses it for whatever reason."""
    return memory.read(SIGNER) == _mark_of(request)


def _manifest(station: TableReader, run: platform.Run, origin: platform.Origin, request: Request) -> Manifest:
    kept = station.memory.read("manifest")
    if kept is None and request.manifest is not None:
        _check_new(station, run, origin, request, request.manifest)
        kept = station.memory.once("manifest", json.dumps(encode(request.manifest)).encode())
    if kept is None:
        raise MessageError("this station has not seen the manifest of the job; start the job again")
    manifest: Manifest = decode(Manifest, json.loads(kept))
    if manifest.hash != request.manifest_hash:
        raise MessageError("the manifest of the job has changed; the job stops")
    return manifest


def _check_new(
    station: TableReader, run: platform.Run, origin: platform.Origin, request: Request, manifest: Manifest
) -> None:
    if (manifest.session, manifest.aggregator) != (station.session, origin.organization):
        raise MessageError("the manifest is of another job; the job stops")
    if manifest.image != origin.image:
        raise MessageError("the manifest is of another image; the job stops")
    if manifest.roles.get(run.organization, "helper") != ("station" if station.has_data else "helper"):
        raise MessageError(
            "the manifest gives this organization another part than it has: it holds data or it does not; the job stops"
        )
    if station.has_data and manifest.minimum_count < station.policy.minimum_count:
        raise MessageError("the manifest says that fewer records may be shown than this node does; the job stops")
    dictionaries.check_agreed(station.memory, manifest)
    announced.check_agreed(station.memory, manifest)
    manifest.check_cards()
    listed = manifest.names if run.mock else platform.organizations()
    if any(listed.get(member) != name for member, name in manifest.names.items()):
        raise MessageError("the manifest names an organization that is not in this collaboration; the job stops")
    central = manifest.cards.get(manifest.aggregator)
    if central is not None and central.identity != (request.signer if request.lasting else b""):
        raise MessageError("the requests are not signed by the organization that runs central; the job stops")
    marks = peers.marks_of(manifest, run.organization)
    names = {manifest.aggregator: listed.get(manifest.aggregator, str(manifest.aggregator)), **manifest.names}
    if central is None:
        marks[names[manifest.aggregator]] = fingerprint(request.signer) if request.lasting else ""
    peers.believe(station.policy, marks, peers.ids_of(names))
    folder = station.policy.folder()
    if folder is not None:
        peers.keep_manifest(folder, manifest, announced.kept(station.memory))


@contextmanager
def as_agreed(manifest: Manifest | None, policy: Policy) -> Iterator[None]:
    """Hold what a station draws in a round to the job's manifest and the node's limit: no noise counts on more stations than they say.

    Raises
    ------
    MessageError
        If some would, whatever the method and the law.
    """
    try:
        agreed = shares.HONEST_FRACTION if manifest is None else manifest.honest_fraction
        most = agreed if policy.maximum_honest_fraction is None else min(agreed, policy.maximum_honest_fraction)
        with shares.trusting_at_most(most):
            yield
    except shares.UntrustedFraction as problem:
        raise MessageError(str(problem)) from None


def check_claimed(station: Member, *models: Mapping[str, Any]) -> None:
    """Raise `MessageError` unless a model of a request, or its outline, is one that the researcher gave: a claim of the manifest, by which its seal is
    checked. Of several forms of the model one is enough.
    """
    claims = () if station.manifest is None else station.manifest.models
    if not {model_digest(model) for model in models} & {claim.digest for claim in claims}:
        raise MessageError("the model of a request is none that the job's manifest names; the job stops")


def check_models(station: Member) -> None:
    """Check the seals of the models that were given as arguments, before an exact answer about them.

    Raises
    ------
    PolicyError
        If this node has a folder database and does not know a model as a fit of this federation.
    """
    folder, manifest = station.policy.folder(), station.manifest
    if station.policy.allow_foreign_models or folder is None or station.identity is None or manifest is None:
        return
    if not are_own(manifest.models, folder, station.organization, manifest.algorithm):
        raise PolicyError(
            "model: this node answers exactly only about models that a fit of this federation made, as they are; ask with an "
            "epsilon, or ask the node administrator to set FEDBAYES_ALLOW_FOREIGN_MODELS"
        )


def are_own(claims: Iterable[ModelClaim], folder: Any, organization: int, algorithm: str) -> bool:
    """Return whether an organization with this folder database, or none, knows all of some models as fits of its federation."""
    return folder is not None and all(_is_own(claim, folder, organization, algorithm) for claim in claims)


def _is_own(claim: ModelClaim, folder: Any, organization: int, algorithm: str) -> bool:
    seal = claim.seal
    if (
        seal is None
        or seal.algorithm != algorithm
        or not is_signed(seal.identity, seal.signature, seal.text(claim.digest))
    ):
        return False
    own = seal.tokens.get(organization)
    if own is not None and own != peers.token(folder, seal.manifest):
        return False
    fingerprints = {peer.fingerprint for peer in peers.KnownPeers(folder).list()}
    fingerprints.add(fingerprint(peers.identity(folder).public_bytes))
    return fingerprint(seal.identity) in fingerprints


def token_of(station: Member) -> str:
    """Return this node's tag of the job's manifest, for the seal of a model; empty without a folder database."""
    folder = station.policy.folder()
    if folder is None or station.identity is None or station.manifest is None:
        return ""
    return peers.token(folder, station.manifest.hash)
