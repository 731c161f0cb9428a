"""Sealed messages between parties that can only talk through the aggregator.

Every party has an X25519 key pair for the job. Two parties derive a common key that no one else has, and seal
what one sends the other with ChaCha20-Poly1305. Whoever relays a sealed message sees its length, nothing
else, and cannot change it, replay it in another round or pass it off as someone else's: the associated data
bind it to its place.
"""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from fedbayes.randomness import secret_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

PROJECT = b"fedbayes"
PROTOCOL_VERSION = 1  # part of every derived key: versions cannot be mixed
KEY_BYTES = 32  # of X25519, Ed25519 and ChaCha20-Poly1305
NONCE_BYTES = 12  # of ChaCha20-Poly1305 (RFC 8439)
TAG_BYTES = 16  # of Poly1305
KEPT_IN_MEMORY = 256  # keys and exchanges of this process, which lives as long as one run: central has one exchange with every station


class SealBroken(ValueError):
    """A sealed message was changed, comes from elsewhere than it says, or was sealed with another key."""


@dataclass(frozen=True)
class KeyPair:
    """An X25519 key pair of one party for one job; the private half never shows in a representation."""

    private_bytes: bytes = field(repr=False)
    public_bytes: bytes

    @classmethod
    def generate(cls) -> "KeyPair":
        """Make a fresh key pair from the operating system's entropy."""
        return cls.from_bytes(secret_bytes(KEY_BYTES))

    @classmethod
    def from_bytes(cls, private_bytes: bytes) -> "KeyPair":
        """Restore a key pair from its 32 private bytes.

        Raises
        ------
        ValueError
            When there are not 32 of them.
        """
        if len(private_bytes) != KEY_BYTES:
            raise ValueError(f"a private key has {KEY_BYTES} bytes")
        return cls(
            private_bytes=bytes(private_bytes), public_bytes=_private(private_bytes).public_key().public_bytes_raw()
        )


@dataclass(frozen=True, slots=True)
class SigningPair:
    """An Ed25519 key pair with which an organization signs; the private half never shows in a representation.

    References
    ----------
    RFC 8032.
    """

    private_bytes: bytes = field(repr=False)
    public_bytes: bytes

    @classmethod
    def from_bytes(cls, private_bytes: bytes) -> "SigningPair":
        """Restore a key pair from its 32 private bytes; ValueError when there are not 32 of them."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(private_bytes) != KEY_BYTES:
            raise ValueError(f"a private key has {KEY_BYTES} bytes")
        private = Ed25519PrivateKey.from_private_bytes(private_bytes)
        return cls(private_bytes=bytes(private_bytes), public_bytes=private.public_key().public_bytes_raw())

    def sign(self, text: bytes) -> bytes:
        """Return the signature of a text, 64 bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        signature: bytes = Ed25519PrivateKey.from_private_bytes(self.private_bytes).sign(text)
        return signature


def is_signed(public_bytes: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether `signature` is the one of `text` under a public signing key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_bytes).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_bytes: bytes) -> str:
    """Return the SHA-256 fingerprint of a public key, 64 hexadecimal digits, for pinning."""
    return hashlib.sha256(public_bytes).hexdigest()


def pairwise_key(own: KeyPair, peer_public: bytes, context: bytes) -> bytes:
    """Derive the key that two parties share, the same at both ends.

    HKDF-SHA256 over the Diffie-Hellman secret; the information string is the project, the protocol version,
    the context and both public keys in order.

    Parameters
    ----------
    own : KeyPair
        This party's key pair.
    peer_public : bytes
        The peer's 32 public bytes.
    context : bytes
        What the key is for: job, both organizations in a fixed order, purpose. Other contexts give
        independent keys.

    Returns
    -------
    bytes
        32 bytes.

    Raises
    ------
    ValueError
        When the peer's public key is malformed, of low order, or our own.

    Notes
    -----
    **Reveals** nothing to whoever holds neither private key.
    **Assumes** that the directory of public keys is authentic: who can swap keys in it can sit between two
    parties. Pinned fingerprints remove that assumption.
    """
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    if len(peer_public) != KEY_BYTES or peer_public == own.public_bytes:
        raise ValueError(f"the peer's public key must have {KEY_BYTES} bytes and differ from our own")
    try:
        secret = _exchanged(own.private_bytes, peer_public)
    except ValueError as error:
        raise ValueError("the peer's public key is of low order; ask the peer for a fresh one") from error
    parts = [PROJECT, str(PROTOCOL_VERSION).encode(), context, *sorted((own.public_bytes, peer_public))]
    info = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _private(private_bytes: bytes) -> "X25519PrivateKey":
    """Return a private key as the library takes it, which costs as much as an exchange."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(private_bytes)


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _exchanged(private_bytes: bytes, peer_public: bytes) -> bytes:
    """Return the Diffie-Hellman secret of two keys of the job: the same for every purpose, and at central in every round."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return _private(private_bytes).exchange(X25519PublicKey.from_public_bytes(peer_public))


def seal(key: bytes, payload: bytes, associated: bytes, nonce: bytes | None = None) -> bytes:
    """Seal a payload for the holder of the same key.

    Parameters
    ----------
    key : bytes
        32 bytes of `pairwise_key`.
    payload : bytes
        What only the receiver may read.
    associated : bytes
        Where the message belongs: job, round, sender, receiver. It is authenticated and not sent.
    nonce : bytes, optional
        Looks random, and is of this payload alone under this key; by default it is drawn.

    Returns
    -------
    bytes
        Nonce (12 bytes), ciphertext and tag: 28 bytes longer than the payload.

    Notes
    -----
    **Reveals** the payload's length to whoever relays it.
    **Assumes** fewer than 2^32 messages under one key, as nonces are random.
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = nonce or secret_bytes(NONCE_BYTES)
    sealed: bytes = nonce + ChaCha20Poly1305(key).encrypt(nonce, payload, associated)
    return sealed


def unseal(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Open a sealed message and return its payload.

    Raises
    ------
    SealBroken
        When a bit changed, or key or associated data are not those of the sender; nothing of the payload is
        returned.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if len(sealed) < NONCE_BYTES + TAG_BYTES:
        raise SealBroken("a sealed message is too short to be one")
    try:
        content = memoryview(sealed)[NONCE_BYTES:]  # which may be long, and is not copied
        payload: bytes = ChaCha20Poly1305(key).decrypt(sealed[:NONCE_BYTES], content, associated)
    except InvalidTag as error:
        raise SealBroken(
            "a sealed message was changed on its way or belongs to another job, round, sender or receiver"
        ) from error
    return payload
