"""The sealed relay: two ends agree, and every change on the way is detected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.mpc import relay
from fedbayes.mpc.relay import KeyPair, SealBroken, fingerprint, pairwise_key, seal, unseal

ALICE, BOB, EVE = (KeyPair.generate() for _ in range(3))
KEY = pairwise_key(ALICE, BOB.public_bytes, b"job")


def test_both_ends_derive_the_same_key_and_no_one_else_does():
    assert pairwise_key(BOB, ALICE.public_bytes, b"job") == KEY
    assert KEY not in (
        pairwise_key(EVE, ALICE.public_bytes, b"job"),
        pairwise_key(EVE, BOB.public_bytes, b"job"),
    )
    assert len(KEY) == 32


def test_a_key_pair_is_restored_and_exchanged_once_whatever_the_keys_are_for():
    """Each costs more than all else that is done for a small message; central has a message to and from every station in every round."""
    pair, peer = KeyPair.generate(), KeyPair.generate()
    before = relay._exchanged.cache_info().misses, relay._private.cache_info().misses
    again = KeyPair.from_bytes(pair.private_bytes)
    assert len({pairwise_key(one, peer.public_bytes, bytes([place])) for place, one in enumerate((pair, again))}) == 2
    assert (relay._exchanged.cache_info().misses, relay._private.cache_info().misses) == (before[0] + 1, before[1])


def test_contexts_give_independent_keys():
    assert pairwise_key(ALICE, BOB.public_bytes, b"job 2") != KEY


def test_a_key_pair_is_restored_from_its_private_bytes():
    assert KeyPair.from_bytes(ALICE.private_bytes) == ALICE


def test_the_private_key_does_not_show():
    assert repr(ALICE.private_bytes) not in repr(ALICE)
    assert ALICE.private_bytes.hex() not in repr(ALICE)


@given(payload=st.binary(max_size=300), associated=st.binary(max_size=50))
def test_unseal_undoes_seal(payload, associated):
    sealed = seal(KEY, payload, associated)
    assert unseal(KEY, sealed, associated) == payload
    assert len(sealed) == len(payload) + 28


def test_the_same_payload_never_looks_the_same():
    assert seal(KEY, b"count", b"") != seal(KEY, b"count", b"")


@given(position=st.integers(0, 8 * 40 - 1))
def test_every_flipped_bit_is_detected(position):
    sealed = bytearray(seal(KEY, b"twelve bytes", b"round"))
    sealed[position // 8] ^= 1 << (position % 8)
    with pytest.raises(SealBroken):
        unseal(KEY, bytes(sealed), b"round")


@pytest.mark.parametrize("associated", [b"", b"round 2", b"job|round|2|1"])
def test_another_place_is_detected(associated):
    sealed = seal(KEY, b"count", b"job|round|1|2")
    with pytest.raises(SealBroken):
        unseal(KEY, sealed, associated)


def test_another_key_and_a_stub_are_detected():
    sealed = seal(KEY, b"count", b"round")
    with pytest.raises(SealBroken):
        unseal(pairwise_key(EVE, BOB.public_bytes, b"job"), sealed, b"round")
    with pytest.raises(SealBroken):
        unseal(KEY, sealed[:27], b"round")


@pytest.mark.parametrize(
    "peer",
    [bytes(32), b"short", ALICE.public_bytes, b"\x01" + bytes(31)],
    ids=["zero", "short", "own", "low order"],
)
def test_bad_public_keys_are_refused(peer):
    with pytest.raises(ValueError, match="public key"):
        pairwise_key(ALICE, peer, b"job")


def test_a_private_key_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        KeyPair.from_bytes(b"short")


def test_fingerprints_tell_keys_apart():
    assert fingerprint(ALICE.public_bytes) != fingerprint(BOB.public_bytes)
    assert len(fingerprint(ALICE.public_bytes)) == 64
