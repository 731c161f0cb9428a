"""Who a node knows: its own lasting key, the fingerprints of its peers, the manifests of its jobs; all beside the ledger.

A peer's key is believed when it is seen for the first time, and remembered, as ssh does with hosts; where the administrator pins fingerprints, only those are
believed. A key that has changed, or that has been seen under another name, ends the job.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ...mpc.relay import SigningPair, fingerprint
from ..errors import MessageError, PolicyError
from ..messages.codec import encode
from ..node.policy import Policy
from ..node.secrets import once
from .manifest import Card, Manifest
from .opening import Preflight

IDENTITY_FILE = "fedbayes-identity"
PEERS_FILE = "fedbayes-peers.json"
MANIFESTS_FILE = "fedbayes-manifests.jsonl"
NOTED = ("private", "relation", "linked_by", "epsilon", "delta", "most", "queries", "single_records")
"""What is noted of an announcement."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A known organization: its name, the fingerprint of its lasting key, when it was first seen (UTC)."""

    name: str
    fingerprint: str
    first_seen: str


def identity(folder: Path) -> SigningPair:
    """Return the node's lasting key pair, made when first asked for."""
    from ...randomness import secret_bytes

    return SigningPair.from_bytes(once(folder / IDENTITY_FILE, secret_bytes(32)))


def lasting_keys(policy: Policy) -> SigningPair | None:
    """Return the node's lasting key pair, made when first asked for, kept beside the ledger; None without a folder database."""
    folder = policy.folder() if policy.long_term_key else None
    return None if folder is None else identity(folder)


def own_fingerprint(policy: Policy) -> str | None:
    """Return the fingerprint of the node's lasting key, or None."""
    pair = lasting_keys(policy)
    return None if pair is None else fingerprint(pair.public_bytes)


def token(folder: Path, manifest: str) -> str:
    """Return this node's tag of a manifest's hash, 64 hexadecimal digits; only this node can make or check it."""
    key = hashlib.sha256(b"fedbayes model token|" + identity(folder).private_bytes).digest()
    return hmac.new(key, manifest.encode(), hashlib.sha256).hexdigest()


class KnownPeers:
    """The file of known peers in a node's folder.

    Parameters
    ----------
    folder : Path
        The folder of the ledger.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / PEERS_FILE

    def list(self) -> list[Peer]:
        """Return the known peers by name.

        Raises
        ------
        PolicyError
            If the file cannot be read.
        """
        if not self._path.exists():
            return []
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return [
                Peer(str(name), str(entry["fingerprint"]), str(entry["first_seen"]))
                for name, entry in sorted(content.items())
            ]
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            raise PolicyError("the node's file of known peers cannot be read; ask the node administrator") from None

    def accept(self, name: str, mark: str) -> None:
        """Know a peer by this fingerprint from now on, whatever was known of it."""
        with self._locked() as peers:
            peers[name] = Peer(name, mark, _now())

    def forget(self, name: str) -> bool:
        """Forget a peer; return whether it was known."""
        with self._locked() as peers:
            return peers.pop(name, None) is not None

    def meet(self, marks: dict[str, str], pinned: bool = False) -> None:
        """Check peers against those known, and remember the new ones.

        Parameters
        ----------
        marks : dict of str to str
            Organization -> fingerprint of the key that it showed; empty if it showed none.
        pinned : bool
            Whether they are those that the administrator pins, which are believed whatever was known.

        Raises
        ------
        PolicyError
            Naming the organization whose key has changed, is missing, or was known under another name; nothing is remembered then.
        """
        with self._locked() as peers:
            if pinned:
                _forget_others(peers, marks)
            owners = {peer.fingerprint: peer.name for peer in peers.values()}
            for name, mark in marks.items():
                if name in peers and peers[name].fingerprint != mark:
                    raise changed(name, mark)
                if mark and owners.get(mark, name) != name:
                    raise PolicyError(f"{name} shows the lasting key of another organization; the job stops")
                if mark:
                    owners[mark] = name
                    peers.setdefault(name, Peer(name, mark, _now()))

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Peer]]:
        """Give the known peers, and write them back whole if they changed; one process at a time."""
        try:
            lock = os.open(self._folder / f"{PEERS_FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise PolicyError(
                "the node's folder of known peers cannot be written; ask the node administrator"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            peers = {peer.name: peer for peer in self.list()}
            before = dict(peers)
            yield peers
            if peers != before:
                self._write(peers)
        finally:
            os.close(lock)

    def _write(self, peers: dict[str, Peer]) -> None:
        content = {name: {"fingerprint": p.fingerprint, "first_seen": p.first_seen} for name, p in peers.items()}
        once(self._path, json.dumps(content, indent=1, sort_keys=True).encode(), renew=True)


def check_pins(marks: dict[str, str], ids: dict[str, int], pinned: dict[str, str]) -> None:
    """Check that every organization shows the key that is pinned for it, by name or by id.

    Raises
    ------
    PolicyError
        Naming the first that does not.
    """
    for name, mark in marks.items():
        if not mark or pinned_for(pinned, name, ids[name]) != mark:
            raise not_pinned(name)


def pinned_for(pinned: Mapping[str, str], name: str, number: int) -> str:
    """Return the fingerprint that is pinned for an organization, by name or by id; empty if there is none, or another one by each: names are a server's."""
    wanted = {pinned[key] for key in (name, str(number)) if key in pinned}
    return wanted.pop() if len(wanted) == 1 else ""


def changed(name: str, mark: str) -> PolicyError:
    """Return the refusal of a peer that shows another key than is known of it, or none."""
    fault = "has changed" if mark else "is missing"
    return PolicyError(
        f"the lasting key of {name} {fault}; ask its administrator, and accept the new key with 'fedbayes node peers'"
    )


def not_pinned(name: str) -> PolicyError:
    """Return the refusal of a peer that does not show the key that is pinned for it."""
    return PolicyError(
        f"{name} has no lasting key, or one that this node's administrator did not pin; see FEDBAYES_PINNED_KEYS"
    )


def believe(policy: Policy, marks: dict[str, str], ids: dict[str, int]) -> None:
    """Check the keys that peers show against the pinned and the known ones, and remember the new ones.

    Parameters
    ----------
    policy : Policy
        Of this node; without a folder database, or with ``long_term_key`` false, nobody is known and nothing is checked.
    marks : dict of str to str
        Organization -> fingerprint of the key that it showed; empty if it showed none.
    ids : dict of str to int
        Organization -> its id.

    Raises
    ------
    PolicyError
        Naming the organization that is not believed.
    """
    folder = policy.folder()
    if folder is None or not policy.long_term_key:
        if policy.pinned_keys is not None:
            raise PolicyError(
                "this node pins its peers' keys but has no lasting key of its own; see FEDBAYES_LONG_TERM_KEY"
            )
        return
    if policy.pinned_keys is not None:
        check_pins(marks, ids, policy.pinned_keys)
    KnownPeers(folder).meet(marks, policy.pinned_keys is not None)


def ids_of(names: Mapping[int, str]) -> dict[str, int]:
    """Return name -> id; `MessageError` if two organizations have one name, of which one would pass for the other."""
    if len(set(names.values())) != len(names):
        raise MessageError("the server calls two organizations of this job alike; the job stops")
    return {name: number for number, name in names.items()}


def marks_of(manifest: Manifest, own: int) -> dict[str, str]:
    """Return name -> fingerprint (empty: no lasting key) of every member but `own`."""
    return {manifest.names[member]: mark_of(card) for member, card in manifest.cards.items() if member != own}


def mark_of(card: Card) -> str:
    """Return the fingerprint of a member's lasting key; empty if it has none."""
    return fingerprint(card.identity) if card.identity else ""


def keep_manifest(folder: Path, manifest: Manifest, preflight: Preflight | None) -> None:
    """Note a job's manifest beside the ledger: date, hash, question, what was announced of its privacy, participants with roles."""
    line: dict[str, Any] = {
        "date": _now(),
        "hash": manifest.hash,
        "session": manifest.session,
        "image": manifest.image,
        "function": f"{manifest.algorithm}.{manifest.function}",
        "arguments": manifest.arguments,
        "dictionary": manifest.dictionary,
        "database": manifest.database,
        "honest_fraction": manifest.honest_fraction,
        "announced": None if preflight is None else {name: encode(getattr(preflight, name)) for name in NOTED},
        "aggregator": manifest.aggregator,
        "participants": {manifest.names[member]: manifest.roles[member] for member in manifest.members},
    }
    with open(folder / MANIFESTS_FILE, "a", encoding="utf-8", opener=_for_the_owner) as file:
        file.write(json.dumps(line, sort_keys=True) + "\n")


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file that nobody else may read, whatever the process lets new files be."""
    return os.open(path, flags, 0o600)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _forget_others(peers: dict[str, Peer], marks: Mapping[str, str]) -> None:
    """Forget what else is known of these names, or of these keys under other names."""
    for peer in list(peers.values()):
        concerned = peer.name in marks or peer.fingerprint in marks.values()
        if concerned and marks.get(peer.name) != peer.fingerprint:
            del peers[peer.name]
