"""Sums that a relay adds: they are the sums, and no change of one goes unnoticed."""

import numpy as np
import pytest

from fedbayes.mpc import relayed_sums
from fedbayes.mpc.relayed_sums import CHECKSUM_BYTES, Form, is_sum, padded, relayed
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import added

KEY, ROWS = bytes(range(32)), 500
FORMS = {"y": Form(28, 26), "r": Form(34, 65), "w": Form(26, 58), "line": Form(34, 0), "e": Form(28, 20)}


def uniform(rng, shape):
    return Wide.from_words(rng.integers(0, 2**64, (*shape, 2), dtype=np.uint64))


def sent(count, seed=0):
    """Return whole openings, parts by holder, and checksums."""
    rng = np.random.default_rng(seed)
    openings = {name: [uniform(rng, (ROWS, 1 + place)) for _ in range(count)] for place, name in enumerate(FORMS)}
    parts = [{name: FORMS[name].part(openings[name][holder]) for name in FORMS} for holder in range(count)]
    return openings, parts, [padded(KEY, "stage", holder, own) for holder, own in enumerate(parts)]


def totals(parts):
    return {name: relayed([own[name] for own in parts]) for name in parts[0]}


def numbers(values):
    """Return the whole numbers of bytes along the last axis."""
    return np.array([int.from_bytes(row.tobytes(), "little") for row in values.reshape(-1, values.shape[-1])], object)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
@pytest.mark.parametrize("name", FORMS)
def test_sums_are_those_of_whole_numbers(count, name):
    _, parts, _ = sent(count)
    total = relayed([own[name] for own in parts])
    assert total.shape[-1] == FORMS[name].bits // 8 + 1
    np.testing.assert_array_equal(numbers(total), sum(numbers(own[name]) for own in parts))


def test_the_most_share_holders_fit_into_the_further_byte():
    parts = [np.full((3, 1, size), 255, dtype=np.uint8) for size in [16]] * 256
    assert numbers(relayed(parts))[0] == 256 * (2**128 - 1)
    with pytest.raises(ValueError, match="do not fit together"):
        relayed([*parts, parts[0]])


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_left_is_the_sum_without_the_bits_that_are_cut(count, name):
    form = FORMS[name]
    openings, parts, _ = sent(count, seed=3)
    found = form.public(form.cut(relayed([own[name] for own in parts])))
    expected = numbers(added(openings[name]).to_bytes(128)) % 2**form.bits // 2**form.dropped
    np.testing.assert_array_equal(numbers(found.to_bytes(128)), expected)
    with pytest.raises(ValueError, match="another form"):
        form.public(parts[0][name][..., :-1])
    with pytest.raises(ValueError, match="another form"):
        form.cut(parts[0][name])


def test_control_parts_that_are_cut_before_they_are_added_leave_no_exact_zeros():
    """Why they are added whole: Newton's reciprocal of a record without an event is zero, and doubles whatever else it is."""
    form, rng = FORMS["r"], np.random.default_rng(4)
    shares = [uniform(rng, (ROWS, 1)) for _ in range(2)]
    masks = [uniform(rng, (ROWS, 1)) for _ in range(3)]
    shares.append(-added(shares))
    sent_parts = [share + mask for share, mask in zip(shares, masks, strict=True)]

    def value(public):
        return public.low - added(masks).shift_right(form.dropped).low

    whole = form.public(form.cut(relayed([form.part(part) for part in sent_parts])))
    assert not np.any(value(whole))
    assert np.any(value(added(part.shift_right(form.dropped) for part in sent_parts)))


def test_sums_and_checksums_of_the_stations_fit():
    for count in (1, 2, 3, 8):
        _, parts, checksums = sent(count)
        assert is_sum(KEY, "stage", checksums, totals(parts))


CHANGES = {
    "lowest bit": lambda total: total.__setitem__((0, 0, 0), total[0, 0, 0] ^ 1),
    "highest bit of the modulus": lambda total: total.__setitem__((7, 0, -2), total[7, 0, -2] ^ 128),
    "the further byte": lambda total: total.__setitem__((7, 0, -1), total[7, 0, -1] + 1),
    "two rows exchanged": lambda total: total.__setitem__([0, 1], total[[1, 0]]),
    "up here, down there": lambda total: (
        total.__setitem__((0, 0, 3), total[0, 0, 3] ^ 1),
        total.__setitem__((1, 0, 3), total[1, 0, 3] ^ 1),
    ),
    "everything": lambda total: total.__setitem__(..., 0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FORMS)
def test_no_change_of_a_sum_fits(change, name):
    _, parts, checksums = sent(3)
    told = totals(parts)
    CHANGES[change](told[name])
    assert not is_sum(KEY, "stage", checksums, told)


def test_neither_do_other_checksums_names_or_labels():
    _, parts, checksums = sent(3)
    told = totals(parts)
    flipped = bytes([checksums[0][0] ^ 1]) + checksums[0][1:]
    assert not is_sum(KEY, "stage", [flipped, *checksums[1:]], told)
    assert not is_sum(KEY, "stage", checksums[:2], told)
    assert not is_sum(KEY, "stage", [*checksums[:2], b""], told)
    assert not is_sum(KEY, "other stage", checksums, told)
    assert not is_sum(bytes(32), "stage", checksums, told)
    assert not is_sum(KEY, "stage", checksums, {name: told[name] for name in list(told)[1:]})
    assert not is_sum(KEY, "stage", checksums, {**told, "w": told["w"][:-1]})
    assert is_sum(KEY, "stage", checksums[::-1], told), "pads add up in any order"


def test_control_a_checksum_modulo_a_power_of_two_misses_every_other_change_of_the_highest_bit():
    """Why sums travel as whole numbers: modulo 2^128 an even weight times the highest bit is nothing."""
    weights = np.random.default_rng(0).integers(0, 2**63, 400)
    missed = [int(weight) * 2**127 % 2**128 == 0 for weight in weights]
    assert 0.4 < np.mean(missed) < 0.6


def test_control_without_pads_a_relay_reads_the_weights(monkeypatch):
    """And changes a sum so that its checksum fits."""
    monkeypatch.setattr(relayed_sums, "_pad", lambda *_: 0)
    parts = [{"w": np.zeros((1, 1, 9), dtype=np.uint8)} for _ in range(2)]
    parts[0]["w"][0, 0, 0] = 1
    checksums = [padded(KEY, "s", holder, own) for holder, own in enumerate(parts)]
    weight = int.from_bytes(checksums[0], "little")
    told = totals(parts)
    told["w"][0, 0, 0] = 2
    forged = (2 * weight).to_bytes(CHECKSUM_BYTES, "little")
    assert is_sum(KEY, "s", [forged, checksums[1]], told)
    monkeypatch.undo()
    assert not is_sum(KEY, "s", [forged, checksums[1]], told)


def test_what_the_relay_sees_is_uniform():
    """Checksums of parts that are all zero, under many labels."""
    zero = {"w": np.zeros((4, 1, 9), dtype=np.uint8)}
    seen = np.frombuffer(b"".join(padded(KEY, f"{place}", 0, zero) for place in range(500)), dtype=np.uint8)
    assert 0.49 < np.unpackbits(seen).mean() < 0.51
    assert len({padded(KEY, "s", holder, zero) for holder in range(20)}) == 20
