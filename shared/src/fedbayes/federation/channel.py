"""The sealed channel between the stations of one job: key pairs, a directory, pairwise keys, masks.

References
----------
RFC 7748 (X25519), RFC 5869 (HKDF), RFC 8439 (ChaCha20-Poly1305); Bonawitz et al., Practical Secure Aggregation, CCS 2017, section 4 (pairwise masks).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..mpc.relay import KeyPair, SealBroken, fingerprint, pairwise_key, seal, unseal
from ..mpc.secure_sum import pairwise_mask
from .errors import MessageError, PolicyError, ThresholdError
from .policy import Policy

KEY_FILE = "private_key"
IDENTITY_FILE = "fedbayes-identity"
KEY_BYTES = 32


def own_keys(folder: Path, name: str = KEY_FILE) -> KeyPair:
    """Return the key pair of a folder: made once, kept with mode 0600.

    By default this station's key pair of the job, in the job's temporary folder.
    """
    path = folder / name
    if not path.exists():
        fresh = KeyPair.generate()
        draft = folder / f"{name}-{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(fresh.private_bytes)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return KeyPair.from_bytes(path.read_bytes())


class Channel:
    """What one station can say to others so that central, which carries every message, cannot read it.

    Parameters
    ----------
    organization : int
        This station.
    keys : KeyPair
        Its key pair of the job.
    directory : mapping of int to bytes
        Public keys of the members, as central handed them out: the job's key, and behind it a long-term key where the member has one.
    session, round_name : str
        The job and the round that every key and seal is bound to.
    policy : Policy
        `minimum_organizations` and `pinned_keys` are applied here.
    identity : KeyPair, optional
        This node's long-term key pair.

    Notes
    -----
    **Assumes** that central hands out the true directory, unless the administrators keep long-term keys and pin their peers': between two members with
    long-term keys every key needs both secrets, so a forged key of the job reads nothing.
    """

    def __init__(
        self,
        organization: int,
        keys: KeyPair,
        directory: Mapping[int, bytes],
        session: str,
        round_name: str,
        policy: Policy,
        identity: KeyPair | None = None,
    ) -> None:
        self.organization = organization
        self._identity = identity
        self.members = tuple(sorted(directory))
        self._keys = keys
        self._directory = dict(directory)
        self._session = session
        self._round = round_name
        self._policy = policy
        if directory and directory.get(organization, b"")[:KEY_BYTES] != keys.public_bytes:
            raise MessageError("the directory of keys does not hold this station's key; start the job again")
        if policy.pinned_keys is not None:
            _check_pins(organization, directory, identity, policy.pinned_keys)

    def part(self, name: str) -> Channel:
        """Return a channel whose keys and seals belong to one named part of the job, such as a fold of a cross-validation."""
        session = f"{self._session}|{name}"
        return Channel(
            self.organization, self._keys, self._directory, session, self._round, self._policy, self._identity
        )

    def key(self, peer: int, purpose: str) -> bytes:
        """Return 32 bytes that this station and `peer` share for one purpose, in this job."""
        if peer not in self._directory or peer == self.organization:
            raise MessageError(f"organization {peer} is not a member of the channel of this job")
        pair = f"{min(peer, self.organization)}|{max(peer, self.organization)}"
        context = f"{self._session}|{pair}|{purpose}".encode()
        theirs, lasting = self._directory[peer][:KEY_BYTES], self._directory[peer][KEY_BYTES:]
        if self._identity is not None and lasting:
            context += b"|" + pairwise_key(self._identity, lasting, context)
        return pairwise_key(self._keys, theirs, context)

    def _binding(self, sender: int, receiver: int, topic: str) -> bytes:
        return f"{self._session}|{topic}|{sender}|{receiver}".encode()

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
        try:
            return unseal(self.key(sender, "seal"), sealed, self._binding(sender, self.organization, topic))
        except SealBroken:
            raise MessageError(
                f"a sealed message from organization {sender} was changed, or is of another job or round; the job stops"
            ) from None

    def mask(self, values: np.ndarray[Any, Any], participants: Sequence[int], topic: str = "") -> np.ndarray[Any, Any]:
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
            **Reveals** nothing about `values` to whoever lacks another participant's masks; the sum of all is exact modulo 2^64.

        Raises
        ------
        ThresholdError
            If fewer participate than the node demands.
        """
        if self.organization not in participants or len(set(participants)) != len(participants):
            raise MessageError("the list of participants does not hold this station exactly once")
        if len(participants) < max(2, self._policy.minimum_organizations):
            raise ThresholdError("too few organizations for a secure sum at this node; include more of them")
        purpose = "mask|" + ",".join(str(member) for member in sorted(participants))
        keys = {peer: self.key(peer, purpose) for peer in participants if peer != self.organization}
        own = (
            np.asarray(values).astype(np.int64).astype(np.uint64)
            if values.dtype.kind == "i"
            else values.astype(np.uint64)
        )
        masked: np.ndarray[Any, Any] = own + pairwise_mask(self.organization, keys, f"{self._round}|{topic}", own.shape)
        return masked


def _check_pins(
    organization: int, directory: Mapping[int, bytes], identity: KeyPair | None, pinned: Sequence[str]
) -> None:
    if identity is None:
        raise PolicyError(
            "this node pins its peers' keys but has no long-term key of its own; set FEDBAYES_LONG_TERM_KEY"
        )
    for peer, key in directory.items():
        if peer != organization and (len(key) == KEY_BYTES or fingerprint(key[KEY_BYTES:]) not in pinned):
            raise PolicyError("a member has no long-term key, or one that this node's administrator did not pin")
