"""Sums of openings that a relay adds up for the share holders, and of which it can change none.

Each share holder sends its part of an opening to the relay, which adds the parts and sends the sum back; so what travels does not grow with the square
of the number of share holders. One of them, the verifier, gets the sum as it is, as a whole number; the others only the bits that are left after the cut.
Beside its parts a share holder sends a checksum of them: every number times a secret random weight, summed, under a pad. The weights are expanded from a
key that the share holders alone have, so checksums add up as the parts do:

    sum over the holders of (checksum - pad)  =  checksum of the sums

A sum that the relay changed fits no checksum, unless it guesses a weight of 64 bits. Whether the others got the cut of what the verifier got is for the
caller to bind to what is revealed in the end. Parts are added without a modulus (what leaves it is counted in one byte more): modulo a power of two a
checksum would miss every other change of the highest bit. They are not cut before they are added: what is zero would not stay exactly zero.

**Reveals** nothing to the relay: parts are uniform, and so are checksums under their pads. **Assumes** that the relay lacks the key. One that is at a share
holder has it, and can change what that share holder's own parts could change: their sum by a number.

References
----------
Carter and Wegman, New hash functions and their use in authentication and set equality, JCSS 22, 1981 (weighted sums under a one-time pad); Agrawal
and Boneh, Homomorphic MACs, ACNS 2009.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from .prg import expand
from .wide import BITS, Wide
from .wires import ring_bits

MOST_PARTS = 256
"""Share holders whose parts may be added: what leaves the modulus is counted in one byte."""
CHECKSUM_BYTES = 32
"""A weight has 64 bits, a sum 17 x 8, and there are fewer than 2^50 numbers: a checksum of 250 bits never wraps."""
MODULUS = 1 << 8 * CHECKSUM_BYTES
LIMB_BITS = 16
"""Of a number; with halves of weights, 32 bits, 2^15 products fit into 64 bits."""
CHUNK = 1 << 15  # products of a limb and half a weight that are added before they are carried
Bytes = npt.NDArray[np.uint8]
N = TypeVar("N", bound=str)


@dataclass(frozen=True, slots=True)
class Form:
    """How an opening travels.

    Parameters
    ----------
    frac_bits, dropped : int
        Fractional bits of the wire, and bits that are cut off.
    """

    frac_bits: int
    dropped: int

    @property
    def bits(self) -> int:
        """Bits of a part: whole bytes."""
        return ring_bits(self.frac_bits, self.dropped)

    def part(self, opening: Wide) -> Bytes:
        """Return a share holder's part as it travels, (..., bytes), least significant byte first."""
        return opening.to_bytes(self.bits)

    def cut(self, total: Bytes) -> Bytes:
        """Return what is left of a sum: reduced, without the bits that are cut.

        Raises
        ------
        ValueError
            When the sum has another form.
        """
        if total.dtype != np.uint8 or total.ndim < 1 or total.shape[-1] != self.bits // 8 + 1:
            raise ValueError("a sum of openings has another form than it must")
        return Wide.from_bytes(total[..., :-1]).shift_right(self.dropped).to_bytes(8 * self._left)

    def public(self, cut: Bytes) -> Wide:
        """Return the public part of the wire.

        Raises
        ------
        ValueError
            When it has another form.
        """
        if cut.dtype != np.uint8 or cut.ndim < 1 or cut.shape[-1] != self._left:
            raise ValueError("an opening has another form than it must")
        return Wide.from_bytes(cut)

    @property
    def _left(self) -> int:
        return -(-(self.bits - self.dropped) // 8)


def relayed(parts: Sequence[Bytes]) -> Bytes:
    """Return the sum of parts as whole numbers, with one byte more: what the relay sends back to the verifier.

    Raises
    ------
    ValueError
        When there is no part, there are too many, or their shapes differ.
    """
    if not 0 < len(parts) <= MOST_PARTS or any(part.shape != parts[0].shape for part in parts):
        raise ValueError("parts of openings do not fit together")
    size = parts[0].shape[-1]
    total, over = Wide.from_bytes(parts[0]), np.zeros(parts[0].shape[:-1], dtype=np.uint64)
    for part in parts[1:]:
        before = total
        total = total + Wide.from_bytes(part)
        over += total.below(before)
    if 8 * size < BITS:
        return total.to_bytes(8 * (size + 1))
    return np.concatenate([total.to_bytes(BITS), over.astype(np.uint8)[..., None]], axis=-1)


def _checksum(key: bytes, label: str, numbers: Mapping[N, Bytes]) -> int:
    """Return the sum of all numbers times their secret weights.

    Parameters
    ----------
    key : bytes
        32 bytes that the share holders alone have.
    label : str
        Of the openings; one set of openings a label.
    numbers : mapping of str to ndarray of uint8, (..., bytes)
        Parts or sums by name: whole numbers along the last axis. The weights belong to names, order and shapes.
    """
    shapes = {name: numbers[name].shape[:-1] for name in sorted(numbers)}
    total, bound = 0, f"weights|{label}|{shapes}"
    for position, name in enumerate(shapes):
        values = np.ascontiguousarray(numbers[name]).reshape(-1, numbers[name].shape[-1])
        weights = expand(key, f"{bound}|{position}", len(values)).view("<u4").reshape(-1, 2)
        total += _weighed(weights, _limbs(values))
    return total


def _limbs(values: Bytes) -> npt.NDArray[np.uint16]:
    """Return numbers as limbs of 16 bits, (numbers, limbs)."""
    even = np.zeros((len(values), values.shape[1] + values.shape[1] % 2), dtype=np.uint8)
    even[:, : values.shape[1]] = values
    return even.view("<u2")


def _weighed(weights: npt.NDArray[np.uint32], limbs: npt.NDArray[np.uint16]) -> int:
    total = 0
    for start in range(0, len(limbs), CHUNK):
        part = slice(start, start + CHUNK)
        products = weights[part].T.astype(np.uint64) @ limbs[part].astype(np.uint64)
        for (half, limb), value in np.ndenumerate(products):
            total += int(value) << (32 * half + LIMB_BITS * limb)
    return total


def padded(key: bytes, label: str, holder: int, parts: Mapping[N, Bytes]) -> bytes:
    """Return a share holder's checksum of its parts under its pad: uniform to whoever lacks the key."""
    padded_sum = (_checksum(key, label, parts) + _pad(key, label, holder)) % MODULUS
    return padded_sum.to_bytes(CHECKSUM_BYTES, "little")


def is_sum(key: bytes, label: str, checksums: Sequence[bytes], totals: Mapping[N, Bytes]) -> bool:
    """Say whether totals are the sums of the parts for which these are the checksums, one a share holder in their order."""
    if any(len(one) != CHECKSUM_BYTES for one in checksums):
        return False
    total = sum(int.from_bytes(one, "little") for one in checksums)
    pads = sum(_pad(key, label, holder) for holder in range(len(checksums)))
    return (total - pads - _checksum(key, label, totals)) % MODULUS == 0


def _pad(key: bytes, label: str, holder: int) -> int:
    return int.from_bytes(expand(key, f"pad|{label}|{holder}", CHECKSUM_BYTES, np.uint8).tobytes(), "little")
