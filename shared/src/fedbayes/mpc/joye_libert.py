"""Sums and products of private numbers under a composite modulus: Huai et al.'s encryption, repaired.

Party k encrypts x as ``(1 + x N) H(label)^sk_k mod N^2``. The secret keys of all participants, the aggregator
among them as party 0, add up to zero, so the product of all ciphertexts is ``1 + N sum(x)``: decryption takes
no logarithm.

The published scheme differs in three places, each of which breaks it:

- its modulus is a public prime p. Raising a ciphertext to the power p - 1 removes everything of order p - 1
  and leaves one linear equation modulo p in x and sk: one count that is known or guessed gives the key. Here
  N is a product of two primes that nobody knows, which makes this the scheme of Joye and Libert [2]_;
- its H takes the time alone, so two counts of one round are encrypted under one mask and their difference is
  readable. Here H takes a label that names round, quantity and block;
- its product variant ``x H^sk`` shows the Jacobi symbol of x. Here the square of x is encrypted, under a hash
  into the squares.

References
----------
.. [1] M. Huai et al., "Privacy-Preserving Naive Bayes Classification", KSEM 2015, sections 4.4 and 5.4.
.. [2] M. Joye, B. Libert, "A Scalable Scheme for Privacy-Preserving Aggregation of Time-Series Data", FC
   2013.
.. [3] E. Shi et al., "Privacy-Preserving Aggregation of Time-Series Data", NDSS 2011.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence

from fedbayes.mpc.modular import power
from fedbayes.mpc.moduli import Modulus
from fedbayes.mpc.prg import expand
from fedbayes.randomness import secret_bytes

AGGREGATOR = 0
"""The aggregator's number among the participants; organizations are numbered from 1."""
STATISTICAL_BITS = 128
"""How far secret exponents exceed the order of the group, in bits."""


class AggregateBroken(ValueError):
    """The ciphertexts do not belong together: one is missing, changed, or of another round."""


def hash_to_group(modulus: Modulus, label: str, square: bool = False) -> int:
    """Hash a label to a random element: of Z_{N^2}, or of the squares of Z_N.

    Parameters
    ----------
    modulus : Modulus
        N.
    label : str
        Round, quantity and block; a label serves one encryption per party.
    square : bool
        Whether to hash into the squares modulo N (products) rather than modulo N^2 (sums).

    Returns
    -------
    int
    """
    size = modulus.bits * (1 if square else 2) + STATISTICAL_BITS
    kind = "square" if square else "sum"
    seed = f"fedbayes/joye-libert/1|{kind}|{modulus.value:x}|{label}".encode()
    drawn = int.from_bytes(hashlib.shake_256(seed).digest((size + 7) // 8), "big")
    if square:
        return pow(drawn % modulus.value, 2, modulus.value)
    return drawn % modulus.value**2


def _exponent_bytes(modulus: Modulus, products: bool) -> int:
    """Return the length of a secret exponent: that of the group's order, and a statistical margin.

    The order is N phi(N) modulo N^2 (sums), and phi(N) / 4 for the squares modulo N (products).
    """
    return ((1 if products else 2) * modulus.bits + STATISTICAL_BITS + 7) // 8


def secret_key(own: int, keys: Mapping[int, bytes], name: str, modulus: Modulus, products: bool = False) -> int:
    """Derive this participant's secret exponent from its pairwise keys, without a dealer.

    Parameters
    ----------
    own : int
        This participant's number; `AGGREGATOR` for the aggregator.
    keys : mapping of int to bytes
        The pairwise key with every other participant, among them the aggregator.
    name : str
        Session and membership epoch; another name gives independent keys.
    modulus : Modulus
        N.
    products : bool
        Whether the key is for `encrypt_factor` (half as long) rather than for `encrypt`.

    Returns
    -------
    int
        The signed sum of the pairwise expansions. Over all participants these add up to zero.

    Raises
    ------
    ValueError
        When there is no other participant.

    Notes
    -----
    **Reveals** nothing: it is a local derivation.
    **Assumes** that at least two participants do not collude with the one who collects the ciphertexts. The
    exponent is bound to the set of participants.
    """
    if not keys or own in keys:
        raise ValueError("a secret exponent needs the keys of one or more others, and not one's own")
    bound = f"{'factor' if products else 'exponent'}|{','.join(str(party) for party in sorted([own, *keys]))}|{name}"
    total = 0
    for peer, key in keys.items():
        drawn = int.from_bytes(expand(key, bound, _exponent_bytes(modulus, products), "u1").tobytes(), "big")
        total += drawn if own < peer else -drawn
    return total


def deal_keys(participants: Iterable[int], modulus: Modulus, products: bool = False) -> dict[int, int]:
    """Draw secret exponents that add up to zero, as a dealer.

    Parameters
    ----------
    participants : iterable of int
        The stations' numbers and `AGGREGATOR`.
    modulus : Modulus
        N.
    products : bool
        As in `secret_key`.

    Returns
    -------
    dict of int to int

    Raises
    ------
    ValueError
        When there are fewer than two participants.

    Notes
    -----
    **Reveals** every key to the dealer, who can open whatever ciphertext it gets.
    **Assumes** that the dealer never gets one: it is neither a station nor the aggregator and colludes with
    none.
    """
    numbers = sorted(set(participants))
    if len(numbers) < 2:
        raise ValueError("keys are dealt to at least two participants")
    length = _exponent_bytes(modulus, products)
    dealt = {number: int.from_bytes(secret_bytes(length), "big") for number in numbers[1:]}
    return {numbers[0]: -sum(dealt.values()), **dealt}


def encrypt(modulus: Modulus, key: int, value: int, label: str) -> int:
    """Encrypt one integer for the sum under a label.

    Parameters
    ----------
    modulus : Modulus
        N.
    key : int
        This participant's secret exponent.
    value : int
        Of absolute value below N / (2 participants); negative numbers are residues.
    label : str
        As in `hash_to_group`; never use it twice with one key.

    Returns
    -------
    int
        In [0, N^2).

    Raises
    ------
    ValueError
        When the number does not fit in the modulus.

    Notes
    -----
    **Reveals** nothing but the sum, and that to who holds the aggregator's key and all other ciphertexts.
    **Assumes** decisional composite residuosity modulo N, a random oracle, and factors that no participant
    knows.
    """
    if 2 * abs(value) >= modulus.value:
        raise ValueError("the number does not fit in the modulus; pack fewer counts into one ciphertext")
    ring = modulus.value**2
    return (1 + value % modulus.value * modulus.value) * power(hash_to_group(modulus, label), key, ring) % ring


def decrypt_sum(modulus: Modulus, key: int, ciphertexts: Sequence[int], label: str) -> int:
    """Return the sum of what all stations encrypted under a label, as a centred integer.

    Parameters
    ----------
    modulus : Modulus
        N.
    key : int
        The aggregator's secret exponent.
    ciphertexts : sequence of int
        One of every station.
    label : str
        The stations' label.

    Returns
    -------
    int
        In (-N/2, N/2).

    Raises
    ------
    AggregateBroken
        When the ciphertexts are not those of all participants for this label.
    """
    ring = modulus.value**2
    product = power(hash_to_group(modulus, label), key, ring)
    for ciphertext in ciphertexts:
        product = product * ciphertext % ring
    total, rest = divmod(product - 1, modulus.value)
    if rest:
        raise AggregateBroken(
            "the ciphertexts do not decrypt: one is missing, was changed, or belongs to another round"
        )
    return total - modulus.value if 2 * total > modulus.value else total


def product_limit(modulus: Modulus, parties: int) -> int:
    """Return the largest factor that each party may bring into a product: its square must stay below N."""
    return math.isqrt(1 << ((modulus.bits - 1) // parties))


def encrypt_factor(modulus: Modulus, key: int, value: int, label: str, parties: int) -> int:
    """Encrypt one positive integer for the product under a label.

    Parameters
    ----------
    modulus : Modulus
        N.
    key : int
        This participant's secret exponent.
    value : int
        From 1 to `product_limit`.
    label : str
        As in `hash_to_group`; never use it twice with one key.
    parties : int
        Number of stations that bring a factor.

    Returns
    -------
    int
        In [0, N).

    Raises
    ------
    ValueError
        When the value is not positive or the product might not fit.

    Notes
    -----
    **Reveals** nothing but the product, and that to who holds the aggregator's key and all other ciphertexts.
    **Assumes** decisional Diffie-Hellman in the squares modulo N, a random oracle, and unknown factors.
    """
    if not 1 <= value <= product_limit(modulus, parties):
        raise ValueError("a factor must be at least 1, and the product must stay below the modulus")
    mask = power(hash_to_group(modulus, label, square=True), key, modulus.value)
    return value * value * mask % modulus.value


def decrypt_product(modulus: Modulus, key: int, ciphertexts: Sequence[int], label: str) -> int:
    """Return the product of what all stations encrypted under a label.

    Raises
    ------
    AggregateBroken
        When the ciphertexts are not those of all participants for this label.
    """
    squared = power(hash_to_group(modulus, label, square=True), key, modulus.value)
    for ciphertext in ciphertexts:
        squared = squared * ciphertext % modulus.value
    root = math.isqrt(squared)
    if root * root != squared:
        raise AggregateBroken(
            "the ciphertexts do not decrypt: one is missing, was changed, or belongs to another round"
        )
    return root
