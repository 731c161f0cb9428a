"""The repaired scheme: sums and products are exact, and the attacks on the published one fail."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.mpc import modular, moduli
from fedbayes.mpc.joye_libert import (
    AGGREGATOR,
    AggregateBroken,
    deal_keys,
    decrypt_product,
    decrypt_sum,
    encrypt,
    encrypt_factor,
    hash_to_group,
    product_limit,
    secret_key,
)
from fedbayes.mpc.modular import power
from fedbayes.mpc.packing import Packing

STATIONS = (1, 2, 5)
PUBLIC_PRIME = 2**521 - 1
"""A prime modulus as in the published scheme; all attacks below are independent of its size."""


@lru_cache(maxsize=1)
def modulus() -> moduli.Modulus:
    return moduli.generate_modulus(1024)


def pairwise(participants: tuple[int, ...]) -> dict[int, dict[int, bytes]]:
    keys: dict[int, dict[int, bytes]] = {party: {} for party in participants}
    for first, second in itertools.combinations(participants, 2):
        keys[first][second] = keys[second][first] = bytes([first, second]) * 16
    return keys


def exponents(name: str = "epoch 0", stations: tuple[int, ...] = STATIONS) -> dict[int, int]:
    """Every participant's secret exponent, derived without a dealer."""
    keys = pairwise((AGGREGATOR, *stations))
    return {party: secret_key(party, keys[party], name, modulus()) for party in keys}


def test_exponents_add_up_to_zero_and_are_long_enough():
    keys = exponents()
    assert sum(keys.values()) == 0
    assert all(abs(key).bit_length() > 2 * modulus().bits + 64 for key in keys.values())


def test_exponents_are_renewed_with_the_epoch_and_the_membership():
    assert not set(exponents().values()) & set(exponents("epoch 1").values())
    assert not set(exponents().values()) & set(exponents(stations=(1, 2)).values())


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.integers(-(2**200), 2**200), min_size=3, max_size=3))
def test_the_sum_is_exact(values):
    keys = exponents()
    sent = [encrypt(modulus(), keys[party], value, "r|c") for party, value in zip(STATIONS, values, strict=True)]
    assert decrypt_sum(modulus(), keys[AGGREGATOR], sent, "r|c") == sum(values)


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.integers(1, 10**9), min_size=3, max_size=3))
def test_the_product_is_exact(values):
    keys = exponents()
    sent = [
        encrypt_factor(modulus(), keys[party], value, "query", 3) for party, value in zip(STATIONS, values, strict=True)
    ]
    assert decrypt_product(modulus(), keys[AGGREGATOR], sent, "query") == values[0] * values[1] * values[2]


def test_dealt_keys_work_like_derived_ones():
    keys = deal_keys((AGGREGATOR, *STATIONS), modulus())
    sent = [encrypt(modulus(), keys[party], party, "round") for party in STATIONS]
    assert decrypt_sum(modulus(), keys[AGGREGATOR], sent, "round") == sum(STATIONS)
    with pytest.raises(ValueError, match="two participants"):
        deal_keys([1], modulus())


@pytest.mark.parametrize("broken", ["missing", "changed", "other label", "other epoch", "wrong aggregator key"])
def test_what_does_not_belong_together_is_detected(broken):
    keys = exponents()
    sent = [encrypt(modulus(), keys[party], 7, "round") for party in STATIONS]
    factors = [encrypt_factor(modulus(), keys[party], 7, "round", 3) for party in STATIONS]
    key, label = keys[AGGREGATOR], "round"
    if broken == "missing":
        sent, factors = sent[1:], factors[1:]
    elif broken == "changed":
        sent[0] ^= 1 << 99
        factors[0] ^= 1 << 99
    elif broken == "other label":
        label = "round 2"
    elif broken == "other epoch":
        sent[0] = encrypt(modulus(), exponents("epoch 1")[1], 7, "round")
        factors[0] = encrypt_factor(modulus(), exponents("epoch 1")[1], 7, "round", 3)
    else:
        key += 1
    with pytest.raises(AggregateBroken):
        decrypt_sum(modulus(), key, sent, label)
    with pytest.raises(AggregateBroken):
        decrypt_product(modulus(), key, factors, label)


@pytest.mark.parametrize("value", [0, -3])
def test_factors_are_positive_and_fit(value):
    key = exponents()[1]
    with pytest.raises(ValueError, match="at least 1"):
        encrypt_factor(modulus(), key, value, "query", 3)
    with pytest.raises(ValueError, match="at least 1"):
        encrypt_factor(modulus(), key, product_limit(modulus(), 3) + 1, "query", 3)
    assert product_limit(modulus(), 3) ** 6 < modulus().value


def test_plain_integers_and_gmpy2_agree(monkeypatch):
    arguments = [(3, 10**40, modulus().value), (5, -(10**40), modulus().value), (7, 0, modulus().value)]
    fast = [power(*one) for one in arguments]
    monkeypatch.setattr(modular, "_fast_arithmetic", lambda: None)
    assert [power(*one) for one in arguments] == fast


# The published scheme and the attacks on it


def published_encrypt(prime: int, key: int, value: int, time: str) -> int:
    """Section 4.4 as printed: a public prime modulus, and H of the time alone."""
    mask = pow(hash_to_group(moduli.Modulus(prime, "published"), time), key, prime**2)
    return (1 + value * prime) * mask % prime**2


def recovered_key(public_modulus: int, ciphertext: int, known_value: int, time: str) -> int:
    """Solve for the key modulo the modulus after raising to p - 1, as anyone can who sees one ciphertext."""
    ring = public_modulus**2
    base = hash_to_group(moduli.Modulus(public_modulus, "published"), time)

    def linear(element: int) -> int:
        return (pow(element, public_modulus - 1, ring) - 1) // public_modulus % public_modulus

    right = (linear(ciphertext) + known_value) % public_modulus  # linear(1 + x p) = -x
    return right * pow(linear(base), -1, public_modulus) % public_modulus


def test_one_known_count_breaks_the_key_of_the_published_scheme():
    key = 123456789**15 % PUBLIC_PRIME
    first = published_encrypt(PUBLIC_PRIME, key, 17, "round 1")
    assert recovered_key(PUBLIC_PRIME, first, 17, "round 1") == key
    secret = published_encrypt(PUBLIC_PRIME, key, 42, "round 2")
    unmasked = secret * pow(hash_to_group(moduli.Modulus(PUBLIC_PRIME, "published"), "round 2"), -key, PUBLIC_PRIME**2)
    read = (pow(unmasked % PUBLIC_PRIME**2, PUBLIC_PRIME - 1, PUBLIC_PRIME**2) - 1) // PUBLIC_PRIME
    assert -read % PUBLIC_PRIME == 42


def test_the_same_attack_fails_on_a_composite_modulus():
    number = modulus().value
    key = exponents()[1]
    sent = encrypt(modulus(), key, 17, "round 1")
    raised = pow(sent, number - 1, number**2)
    assert raised % number != 1, "raising to N - 1 must leave the mask"
    assert recovered_key(number, sent, 17, "round 1") != key % number


def difference(number: int, first: int, second: int) -> int | None:
    """Divide two ciphertexts: under one mask what is left is 1 + (x - y) N."""
    left, rest = divmod(first * pow(second, -1, number**2) % number**2 - 1, number)
    return None if rest else left


def test_two_counts_under_one_label_leak_their_difference_and_ours_have_two_labels():
    prime_key = 98765**20
    published = [published_encrypt(PUBLIC_PRIME, prime_key, value, "t") for value in (40, 2)]
    assert difference(PUBLIC_PRIME, *published) == 38
    packing = Packing(2, 3, modulus(), slot_bits=62)
    wide = Packing(2 * packing.slots, 3, modulus(), slot_bits=62)
    counts = np.full(wide.size, 40)
    sent = wide.encrypt(exponents()[1], counts, "round")
    halves = [int.from_bytes(sent[i : i + wide.ciphertext_bytes], "big") for i in (0, wide.ciphertext_bytes)]
    assert wide.blocks == 2
    assert difference(modulus().value, *halves) is None


def jacobi(value: int, number: int) -> int:
    """The Jacobi symbol by reciprocity."""
    sign, value = 1, value % number
    while value:
        while value % 2 == 0:
            value //= 2
            sign = -sign if number % 8 in (3, 5) else sign
        value, number = number, value
        sign = -sign if value % 4 == number % 4 == 3 else sign
        value %= number
    return sign if number == 1 else 0


def test_the_product_variant_as_printed_shows_a_symbol_of_the_count_and_ours_does_not():
    number = modulus().value
    key = 2 * 98765**40  # an even key: the mask is a square whatever the hash
    residues = [value for value in range(2, 200) if jacobi(value, number) == -1]
    mask = pow(hash_to_group(modulus(), "query"), key, number)
    assert residues
    assert all(jacobi(value * mask, number) == -1 for value in residues)
    assert all(jacobi(encrypt_factor(modulus(), key, value, "query", 3), number) == 1 for value in residues[:10])


# Packing


@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(1, 120))
def test_packed_vectors_add_up(data, size):
    packing = Packing(size, 3, modulus())
    counts = st.integers(-packing.limit, packing.limit)
    vectors = [np.array(data.draw(st.lists(counts, min_size=size, max_size=size))) for _ in STATIONS]
    plain = [packing.pack(vector) for vector in vectors]
    totals = [sum(blocks) for blocks in zip(*plain, strict=True)]
    assert packing.unpack(totals).tolist() == sum(vectors).tolist()


def test_encrypted_vectors_add_up():
    keys = exponents()
    packing = Packing(60, 3, modulus())
    vectors = [np.arange(60) * party - 70 for party in STATIONS]
    sent = [packing.encrypt(keys[party], own, "r") for party, own in zip(STATIONS, vectors, strict=True)]
    assert packing.decrypt_sum(keys[AGGREGATOR], sent, "r").tolist() == sum(vectors).tolist()
    assert all(len(one) == packing.blocks * packing.ciphertext_bytes for one in sent)
    with pytest.raises(AggregateBroken, match="length"):
        packing.decrypt_sum(keys[AGGREGATOR], [sent[0][:-1], *sent[1:]], "r")
    with pytest.raises(AggregateBroken):
        packing.decrypt_sum(keys[AGGREGATOR], [*sent, sent[0]], "r")


def test_ciphertexts_look_uniform():
    keys = exponents()
    packing = Packing(1, 3, modulus())
    sent = b"".join(packing.encrypt(keys[1], np.zeros(1, np.int64), f"round {index}") for index in range(300))
    counts = np.bincount(np.frombuffer(sent, np.uint8), minlength=256)
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 2000
    assert counts.min() > 0.5 * counts.mean()


@given(size=st.integers(1, 500), parties=st.integers(1, 1000), bound=st.integers(1, 2**30))
def test_the_fitting_packing_holds_the_bound_in_the_fewest_ciphertexts(size, parties, bound):
    packing = Packing.fitting(size, parties, moduli.published_modulus(2048), bound)
    narrow = Packing(size, parties, packing.modulus, (bound * parties).bit_length() + 1)
    assert packing.limit >= bound
    assert packing.blocks == narrow.blocks
    assert packing.slot_bits >= narrow.slot_bits


def test_what_does_not_fit_a_slot_is_refused():
    packing = Packing(2, 3, modulus())
    with pytest.raises(ValueError, match="slot"):
        packing.pack(np.array([0, packing.limit + 1]))
    with pytest.raises(ValueError, match="2 counts"):
        packing.pack(np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="too small"):
        Packing(2, 2**39, modulus())


# Moduli


@pytest.mark.parametrize("bits", [2048, 3072])
def test_published_moduli_are_composites_of_the_right_length(bits):
    published = moduli.published_modulus(bits)
    assert published.bits == bits
    assert moduli.import_modulus(published.value, bits).value == published.value


def test_there_is_no_other_published_modulus():
    with pytest.raises(ValueError, match="let a helper make one"):
        moduli.published_modulus(1024)


@pytest.mark.parametrize("value", [PUBLIC_PRIME, 3 * (2**519 + 1), 2**520], ids=["prime", "smooth", "even"])
def test_a_modulus_that_is_prime_even_or_smooth_is_refused(value):
    with pytest.raises(ValueError, match="two large primes"):
        moduli.import_modulus(value, 521)
    with pytest.raises(ValueError, match="factored in hours"):
        moduli.generate_modulus(512)
