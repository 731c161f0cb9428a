"""Many counts in one ciphertext: vectors of integers under `fedbayes.mpc.joye_libert`.

One exponentiation costs as much as everything else together, and a plaintext has room for thousands of bits.
So the counts are laid side by side in slots that are wide enough for their sum over all parties; signs carry
between slots and are undone by the centred lift.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.joye_libert import AggregateBroken, decrypt_sum, encrypt
from fedbayes.mpc.moduli import Modulus

SLOT_BITS = 40  # bits of a packed count, if no bound of it is known
MOST_SLOT_BITS = 62  # a slot is read back as a signed 64-bit integer


@dataclass(frozen=True, slots=True)
class Packing:
    """How a vector of counts is laid out in plaintexts.

    Attributes
    ----------
    size : int
        Length of the vector.
    parties : int
        Number of stations whose vectors are added.
    modulus : Modulus
        N.
    slot_bits : int
        Bits of one slot.
    """

    size: int
    parties: int
    modulus: Modulus
    slot_bits: int = SLOT_BITS

    def __post_init__(self) -> None:
        if self.size < 1 or self.parties < 1 or not 2 <= self.slot_bits <= MOST_SLOT_BITS:
            raise ValueError("a packing needs counts, parties and slots of 2 to 62 bits")
        if self.slots < 1 or self.limit < 1:
            raise ValueError("the modulus or the slots are too small for this number of parties")

    @classmethod
    def fitting(cls, size: int, parties: int, modulus: Modulus, bound: int) -> "Packing":
        """Return the packing with the fewest ciphertexts for counts of a public bound, its slots as wide as they can be.

        Parameters
        ----------
        size, parties, modulus
            As in the class.
        bound : int
            Largest absolute value of one party's count; public, never computed from data.
        """
        least = min((bound * parties).bit_length() + 1, MOST_SLOT_BITS)
        blocks = cls(size, parties, modulus, least).blocks
        widest = (modulus.bits - 2) // -(-size // blocks)
        return cls(size, parties, modulus, max(least, min(widest, MOST_SLOT_BITS)))

    @property
    def slots(self) -> int:
        """Return the number of slots of one plaintext, two bits below the modulus for the sign."""
        return (self.modulus.bits - 2) // self.slot_bits

    @property
    def blocks(self) -> int:
        """Return the number of ciphertexts of one vector."""
        return -(-self.size // self.slots)

    @property
    def limit(self) -> int:
        """Return the largest absolute value of one party's count."""
        return ((1 << (self.slot_bits - 1)) - 1) // self.parties

    @property
    def ciphertext_bytes(self) -> int:
        """Return the bytes of one ciphertext modulo N^2."""
        return (2 * self.modulus.bits + 7) // 8

    def pack(self, counts: npt.NDArray[np.int64]) -> list[int]:
        """Return one signed integer a block.

        Parameters
        ----------
        counts : ndarray (size,) of int64
            Each of absolute value at most `limit`.

        Raises
        ------
        ValueError
            When the length is another or a count does not fit its slot.
        """
        if counts.shape != (self.size,):
            raise ValueError(f"this packing is for {self.size} counts")
        if int(np.abs(counts).max()) > self.limit:
            raise ValueError("a count does not fit in its slot; use wider slots")
        numbers = [int(count) for count in counts]
        return [
            sum(count << (self.slot_bits * slot) for slot, count in enumerate(numbers[start : start + self.slots]))
            for start in range(0, self.size, self.slots)
        ]

    def unpack(self, blocks: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the counts (size,) of signed integers as `pack` makes them, or of their sum.

        Raises
        ------
        AggregateBroken
            When something is left over: these are not sums of packed vectors.
        """
        half, full = 1 << (self.slot_bits - 1), 1 << self.slot_bits
        counts: list[int] = []
        for block in blocks:
            rest = block
            for _ in range(min(self.slots, self.size - len(counts))):
                low = rest % full
                count = low - full if low >= half else low
                counts.append(count)
                rest = (rest - count) >> self.slot_bits
            if rest:
                raise AggregateBroken("the sum is not that of packed counts: a ciphertext was changed")
        return np.array(counts, dtype=np.int64)

    def encrypt(self, key: int, counts: npt.NDArray[np.int64], label: str) -> bytes:
        """Encrypt a vector: `blocks` ciphertexts, every one under a label of its own."""
        return b"".join(
            encrypt(self.modulus, key, block, f"{label}|{index}").to_bytes(self.ciphertext_bytes, "big")
            for index, block in enumerate(self.pack(counts))
        )

    def decrypt_sum(self, key: int, ciphertexts: Sequence[bytes], label: str) -> npt.NDArray[np.int64]:
        """Return the sum (size,) of all stations' vectors with the aggregator's key.

        Raises
        ------
        AggregateBroken
            When a vector has the wrong length, is missing or was changed.
        """
        width = self.ciphertext_bytes
        if any(len(sent) != width * self.blocks for sent in ciphertexts):
            raise AggregateBroken("an encrypted vector has the wrong length")
        totals = [
            decrypt_sum(
                self.modulus,
                key,
                [int.from_bytes(sent[index * width : (index + 1) * width], "big") for sent in ciphertexts],
                f"{label}|{index}",
            )
            for index in range(self.blocks)
        ]
        return self.unpack(totals)
