"""Record alignment without a helper: Diffie-Hellman blinding of hashed identifiers.

Every identifier is hashed to a point of Curve25519 (Elligator 2, never of its twist) and multiplied by the secret scalar of one party after the
other; scalars are multiples of the cofactor, so what travels lies in the subgroup of prime order. The order of the parties does not matter, so equal
identifiers end as equal points, and nobody can test a guess without all scalars.

**Reveals** to every party the sizes of the others' lists and which places of the secretly shuffled lists belong
together, also among the others; no identifier.
**Assumes** semi-honest parties and the decisional Diffie-Hellman assumption on Curve25519; about 50 microseconds a point and party.

References
----------
.. [1] C. Meadows, "A more efficient cryptographic matchmaking protocol", IEEE S&P 1986.
.. [2] D. J. Bernstein, M. Hamburg, A. Krasnova, T. Lange, "Elligator: elliptic-curve points indistinguishable from
   uniform random strings", CCS 2013, section 5.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from fedbayes.mpc.alignment import Hashes

POINT_BYTES = 32
DOMAIN = b"fedbayes/matching/2|"
FIELD = 2**255 - 19
COEFFICIENT = 486662
"""Curve25519 is v^2 = u^3 + COEFFICIENT u^2 + u over the integers modulo FIELD."""


@cache
def _arithmetic() -> tuple[Any, Any, Any]:
    """Return (field, inverse, whether a square): gmpy2's where it is installed, else plain integers, about five times slower."""
    try:
        import gmpy2
    except ImportError:
        return FIELD, lambda value: pow(value, -1, FIELD), lambda value: pow(value, (FIELD - 1) // 2, FIELD) <= 1
    field = gmpy2.mpz(FIELD)
    return field, lambda value: gmpy2.invert(value, field), lambda value: gmpy2.jacobi(value, field) >= 0


def _to_curve(digest: bytes) -> bytes:
    """Return the u coordinate of a point of the curve by Elligator 2: of u and -u - A one belongs to the curve, the other to its twist.

    A raw digest would be of either, and every blinding keeps which: one bit of an identifier.
    """
    field, inverse, is_square = _arithmetic()
    number = (int.from_bytes(digest, "little") & ((1 << 255) - 1)) % field
    u = -COEFFICIENT * inverse(1 + 2 * number * number) % field
    if not is_square(u * (u * u + COEFFICIENT * u + 1) % field):
        u = (-COEFFICIENT - u) % field
    return int(u).to_bytes(POINT_BYTES, "little")


def points(identifiers: Iterable[str]) -> bytes:
    """Return one point of the curve an identifier, one after the other; the same steps for each."""
    return b"".join(_to_curve(hashlib.sha256(DOMAIN + identifier.encode()).digest()) for identifier in identifiers)


def blind(listed: bytes, secret: bytes) -> bytes:
    """Return every point multiplied by a party's secret scalar (32 bytes).

    Raises
    ------
    ValueError
        When the list is not made of points.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    if len(listed) % POINT_BYTES:
        raise ValueError("a list of points has 32 bytes a point")
    scalar = X25519PrivateKey.from_private_bytes(secret)
    return b"".join(
        scalar.exchange(X25519PublicKey.from_public_bytes(listed[start : start + POINT_BYTES]))
        for start in range(0, len(listed), POINT_BYTES)
    )


def finished(listed: bytes) -> Hashes:
    """Return fully blinded points cut to 64 bits, uint64 of shape (rows,)."""
    values: Hashes = np.frombuffer(listed, dtype="<u8").astype(np.uint64)[::4].copy()
    return values
