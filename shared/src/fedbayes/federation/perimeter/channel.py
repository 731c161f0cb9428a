"""The sealed channel between the stations of one job: pairwise keys bound to the job's manifest, sealed messages, masks.

References
----------
RFC 7748 (X25519), RFC 5869 (HKDF), RFC 8439 (ChaCha20-Poly1305); Bonawitz et al., Practical Secure Aggregation, CCS 2017, section 4 (pairwise masks).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...mpc.relay import KEY_BYTES, KeyPair, SealBroken, seal, unseal
from ...mpc.secure_sum import pairwise_mask
from ...randomness import secret_bytes
from ...typing import Array
from ..errors import MembersError, MessageError
from ..node.policy import Policy
from .manifest import Manifest

CHECK = "|check"


class Channel:
    """Messages and masks that one station shares with others, and that central, which carries every message, cannot read.

    Parameters
    ----------
    organization : int
        This station.
    keys : KeyPair
        Its key pair of the job.
    manifest : Manifest
        Of the job, checked by the station. Its hash goes into every key, so two stations with different manifests share no key.
    round_name : str
        The round that masks are bound to.
    policy : Policy
        `minimum_organizations` is applied here.
    part : str
        A named part of the job with keys of its own, such as a fold of a cross-validation.

    Attributes
    ----------
    linked : tuple of frozenset of int and str
        With whom records are linked, and the digest of these records in their common order (`Member.link`).

    Notes
    -----
    **Assumes** that the keys in the manifest are the members' own. Lasting keys that are known or pinned prove it; for members without one,
    central is trusted.
    """

    def __init__(
        self, organization: int, keys: KeyPair, manifest: Manifest, round_name: str, policy: Policy, part: str = ""
    ) -> None:
        self.organization = organization
        self.members = manifest.members
        self._keys = keys
        self._manifest = manifest
        self._round = round_name
        self._policy = policy
        self._job = f"{manifest.session}|{manifest.hash}|{part}"
        self.linked: tuple[frozenset[int], str] = (frozenset(), "")
        card = manifest.cards.get(organization)
        if card is None or card.exchange != keys.public_bytes:
            raise MessageError("the manifest of the job does not hold this station's key; start the job again")

    def part(self, name: str) -> Channel:
        """Return a channel whose keys and seals belong to one named part of the job, such as a fold of a cross-validation."""
        part = Channel(self.organization, self._keys, self._manifest, self._round, self._policy, name)
        part.linked = self.linked
        return part

    def key(self, peer: int, purpose: str) -> bytes:
        """Return 32 bytes that this station and `peer` share for one purpose, in this job."""
        if peer not in self.members or peer == self.organization:
            raise MessageError(f"organization {peer} is not a member of the channel of this job")
        pair = f"{min(peer, self.organization)}|{max(peer, self.organization)}"
        return self._manifest.cards[peer].shared(self._keys, f"{self._job}|{pair}|{purpose}".encode())

    def mask_key(self, peer: int, purpose: str) -> bytes:
        """Return 32 bytes for masks that cancel between this station and `peer`: the same at both only if they link the same records."""
        stations, digest = self.linked
        return self.key(peer, f"{purpose}|linked|{digest}" if peer in stations else purpose)

    def _binding(self, sender: int, receiver: int, topic: str) -> bytes:
        return f"{self._job}|{topic}|{sender}|{receiver}".encode()

    def seal(self, receiver: int, payload: bytes, topic: str) -> bytes:
        """Return `payload` sealed for one member, bound to job, topic, sender and receiver."""
        return seal(self.key(receiver, "seal"), payload, self._binding(self.organization, receiver, topic))

    def unseal(self, sender: int, sealed: bytes, topic: str) -> bytes:
        """Return what `sender` sealed for this station.

        Raises
        ------
        MessageError
            If it was changed, or is of another job, topic, sender or receiver.
        """
        return self._opened(self.key(sender, "seal"), sealed, sender, self.organization, topic)

    def broadcast(self, receivers: Iterable[int], payload: bytes, topic: str) -> tuple[bytes, dict[int, bytes]]:
        """Return `payload` enciphered once under a fresh key, and that key sealed for every receiver."""
        key = secret_bytes(KEY_BYTES)
        content = seal(key, payload, self._binding(self.organization, 0, topic))
        return content, {peer: self.seal(peer, key, f"{topic}|key") for peer in receivers}

    def open_broadcast(self, sender: int, content: bytes, sealed_key: bytes, topic: str) -> bytes:
        """Return what `sender` broadcast; `MessageError` as for `unseal`."""
        key = self.unseal(sender, sealed_key, f"{topic}|key")
        return self._opened(key, content, sender, 0, topic)

    def _opened(self, key: bytes, sealed: bytes, sender: int, receiver: int, topic: str) -> bytes:
        try:
            return unseal(key, sealed, self._binding(sender, receiver, topic))
        except (SealBroken, ValueError):  # ValueError: a key of another length
            raise MessageError(
                f"a sealed message from organization {sender} was changed, or is of another job or round; the job stops"
            ) from None

    def mask(self, values: Array, participants: Sequence[int], topic: str = "") -> Array:
        """Return `values` plus pairwise masks that cancel in the sum over `participants`.

        Parameters
        ----------
        values : ndarray of uint64 or int64
            Any shape; negative numbers are taken modulo 2^64.
        participants : sequence of int
            Exactly those whose results will be added.
        topic : str
            Tells several masked arrays of one round apart.

        Returns
        -------
        ndarray of uint64
            **Reveals** nothing about `values` to anybody who lacks one of the masks. The sum over all participants is exact modulo 2^64.

        Raises
        ------
        ThresholdError
            If fewer participate than the node demands.
        """
        if self.organization not in participants or len(set(participants)) != len(participants):
            raise MessageError("the list of participants does not hold this station exactly once")
        if len(participants) < max(2, self._policy.minimum_organizations):
            raise MembersError("too few organizations for a secure sum at this node; include more of them")
        purpose = "mask|" + ",".join(str(member) for member in sorted(participants))
        keys = {peer: self.mask_key(peer, purpose) for peer in participants if peer != self.organization}
        whole = np.asarray(values)
        own = whole.astype(np.int64).astype(np.uint64) if whole.dtype.kind == "i" else whole.astype(np.uint64)
        masked: Array = own + pairwise_mask(self.organization, keys, f"{self._round}|{topic}", own.shape)
        return masked

    def check_word(self, participants: Sequence[int], topic: str = "") -> Array:
        """Return a masked zero: the sum over `participants` is 0 exactly if all use the same manifest, round and set."""
        return self.mask(np.zeros(1, dtype=np.uint64), participants, topic + CHECK)
