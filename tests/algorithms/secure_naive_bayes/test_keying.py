"""Keys of one computation: bound to session, participants, epoch and round; swaps and wrong placements are refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fedbayes.federation.errors import MessageError, PlacementError, ThresholdError
from fedbayes.federation.gate import Public, Sealed, Share
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.node.secrets import own_keys
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.perimeter.manifest import Card, Manifest
from fedbayes.mpc.joye_libert import AggregateBroken
from fedbayes.mpc.moduli import generate_modulus, published_modulus
from fedbayes.mpc.packing import Packing
from v6_secure_naive_bayes import drawing, keying, partial
from v6_secure_naive_bayes.messages import DealRequest, FactorsRequest, Keying, TablesRequest

STATIONS, DEALER, SESSION = (1, 2, 3), 9, "session"
MODULUS = published_modulus(2048)


@pytest.fixture
def parties(tmp_path):
    """Stations 1 to 3 and a helper 9 with a common directory; central runs at 1."""
    folders = {member: tmp_path / str(member) for member in (*STATIONS, DEALER)}
    for folder in folders.values():
        folder.mkdir()
    cards = {member: Card(member, own_keys(folder).public_bytes) for member, folder in folders.items()}
    names = {member: str(member) for member in folders}
    roles = {member: "helper" if member == DEALER else "station" for member in folders}
    manifest = Manifest(SESSION, "image", "v6_secure_naive_bayes", "fit", "", 1, names, roles, cards)

    def party(member, folder):
        channel = Channel(member, own_keys(folder), manifest, "2:partial_counts", Policy())
        return SimpleNamespace(
            organization=member,
            participants=(DEALER,) if member == DEALER else STATIONS,
            aggregator=1,
            session=SESSION,
            round_name="2:partial_counts",
            policy=Policy(),
            folder=folder,
            has_data=member != DEALER,
            channel=channel,
            public=Public,
            share=Share,
            seal=lambda receiver, payload, topic: Sealed(receiver, channel.seal(receiver, payload, topic)),
            unseal=lambda sender, sealed, topic: channel.unseal(sender, sealed.content, topic),
        )

    return {member: party(member, folder) for member, folder in folders.items()}


def summed(parties, ring, packing, label="round"):
    """Encrypt (1, ..., n) at every station with its exponent and decrypt as the aggregator."""
    public, sent = {}, []
    for member in STATIONS:
        modulus, exponent = keying.station_exponent(parties[member], ring.keying(member))
        assert modulus.value == ring.modulus.value
        sent.append(packing.encrypt(exponent, np.arange(packing.size) * member, label))
        public[member] = own_keys(parties[member].folder).public_bytes
    return packing.decrypt_sum(ring.exponent(SESSION, public), sent, label)


def test_exponents_without_a_dealer_fit_one_another(parties):
    ring = keying.Keyring(MODULUS, STATIONS)
    assert summed(parties, ring, Packing(5, 3, MODULUS)).tolist() == [0, 6, 12, 18, 24]


def test_exponents_of_a_dealer_fit_one_another(parties):
    reply = keying.deal(parties[DEALER], DealRequest(2048, STATIONS, False))
    modulus = keying._imported(int(reply.modulus.value, 16), 2048)
    ring = keying.Keyring(modulus, STATIONS, dealer=reply, dealer_id=DEALER)
    assert summed(parties, ring, Packing(5, 3, modulus)).tolist() == [0, 6, 12, 18, 24]


def test_every_computation_and_epoch_has_exponents_of_its_own(parties):
    rings = [keying.Keyring(MODULUS, STATIONS), keying.Keyring(MODULUS, STATIONS)]
    rings.append(replace(rings[0], epoch=1))
    exponents = [keying.station_exponent(parties[1], ring.keying(1))[1] for ring in rings]
    exponents.append(keying.station_exponent(parties[1], rings[0].keying(1), products=True)[1])
    assert len(set(exponents)) == 4


def test_another_set_of_participants_does_not_decrypt(parties):
    ring = keying.Keyring(MODULUS, STATIONS)
    parties[2].participants = (1, 2, 3, 4)
    with pytest.raises(MessageError, match="not a member"):
        summed(parties, ring, Packing(1, 3, MODULUS))
    parties[2].participants = STATIONS
    with pytest.raises(AggregateBroken):
        summed(parties, replace(ring, stations=(1, 2)), Packing(1, 3, MODULUS))


def test_a_modulus_that_someone_may_know_the_factors_of_is_refused(parties):
    own = generate_modulus(2048)
    ring = keying.Keyring(own, STATIONS)
    with pytest.raises(MessageError, match="published challenge"):
        keying.station_exponent(parties[1], ring.keying(1))


def test_central_cannot_swap_the_dealers_modulus(parties):
    reply = keying.deal(parties[DEALER], DealRequest(2048, STATIONS, False))
    swapped = replace(reply, modulus=Public(f"{generate_modulus(2048).value:x}"))
    modulus = keying._imported(int(swapped.modulus.value, 16), 2048)
    ring = keying.Keyring(modulus, STATIONS, dealer=swapped, dealer_id=DEALER)
    with pytest.raises(MessageError, match="dealer sealed"):
        keying.station_exponent(parties[1], ring.keying(1))
    mixed = replace(reply, sealed={**reply.sealed, 1: reply.sealed[2]})
    ring = keying.Keyring(modulus, STATIONS, dealer=mixed, dealer_id=DEALER)
    with pytest.raises(MessageError, match="changed"):
        keying.station_exponent(parties[1], ring.keying(1))


def of_two(parties):
    """Return what central decrypts of stations that believe to be three, with exponents that it had dealt to two of them alone."""
    two = STATIONS[:2]
    reply = keying.deal(parties[DEALER], DealRequest(2048, two, False))
    modulus = keying._imported(int(reply.modulus.value, 16), 2048)
    ring, packing = keying.Keyring(modulus, two, dealer=reply, dealer_id=DEALER), Packing(5, 3, modulus)
    sent = [
        packing.encrypt(
            keying.station_exponent(parties[member], ring.keying(member))[1], np.arange(5) * member, "round"
        )
        for member in two
    ]
    return packing.decrypt_sum(ring.exponent(SESSION, {}), sent, "round")


def test_exponents_are_for_the_stations_of_the_sum_alone(parties):
    with pytest.raises(MessageError, match="changed"):
        of_two(parties)


def test_control_unbound_they_open_the_sum_of_two(parties, monkeypatch):
    """Of sums of two, three give every station's own table; and of the noise of many stations two hold little."""
    monkeypatch.setattr(keying, "_dealt_for", lambda *_: "exponent")
    assert of_two(parties).tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize("change", ["data", "aggregator", "station"])
def test_a_dealer_has_no_other_role(parties, change):
    dealer = parties[DEALER]
    stations = STATIONS
    if change == "data":
        dealer.has_data = True
    elif change == "aggregator":
        dealer.aggregator = DEALER
    else:
        stations = (1, 2, DEALER)
    with pytest.raises(PlacementError, match="neither a station nor"):
        keying.deal(dealer, DealRequest(2048, stations, False))


def test_a_station_refuses_a_dealer_that_runs_central(parties):
    ring = keying.Keyring(MODULUS, STATIONS)
    with pytest.raises(PlacementError):
        keying.station_exponent(parties[2], replace(ring.keying(2), dealer=1, sealed=Sealed(2, b"x")))


def test_too_few_participants_are_refused(parties):
    parties[1].participants = (1, 2)
    with pytest.raises(ThresholdError, match="too few organizations"):
        keying.station_exponent(parties[1], keying.Keyring(MODULUS, (1, 2)).keying(1))


@pytest.mark.parametrize("uses", [4, 100, 1])
def test_a_station_sizes_its_noise_by_no_number_that_does_not_fit(parties, uses):
    with pytest.raises(MessageError, match="renew the membership"):
        partial._check_uses(parties[1], uses)


def test_labels_tell_rounds_and_contents_apart():
    labels = {
        keying.encryption_label("1:a", "x"),
        keying.encryption_label("2:a", "x"),
        keying.encryption_label("1:a", "y"),
        keying.encryption_label("1:a"),
    }
    assert len(labels) == 4


def test_what_a_station_sends_has_the_same_size_whatever_its_table(parties):
    ring = keying.Keyring(MODULUS, STATIONS)
    modulus, exponent = keying.station_exponent(parties[1], ring.keying(1))
    packing = Packing(40, 3, modulus)
    first = packing.encrypt(exponent, np.zeros(40, np.int64), "a")
    second = packing.encrypt(exponent, np.full(40, packing.limit), "b")
    assert len(first) == len(second)
    same = sum(one == other for one, other in zip(first, second, strict=True))
    assert same < len(first) / 10


def test_factors_of_records():
    kept = {
        "released": np.array([7, 8, 5, -2, 1, 3, 4, 0, 10, 20, 30, 40]),
        "shapes": np.array([[2, 3], [2, 2]]),
    }
    codes = np.array([[0, 0], [1, -1], [-1, -1]], dtype=np.int32)
    assert partial.record_factors(kept, codes, 2) == [[5 * 10, 3 * 30], [1, 4], [1, 1]]
    with pytest.raises(MessageError, match="do not fit"):
        partial.record_factors(kept, np.array([[2, 0]], dtype=np.int32), 2)
    with pytest.raises(MessageError, match="do not fit"):
        partial.record_factors(kept, np.array([[0]], dtype=np.int32), 2)


def test_at_most_keeps_rows_whole():
    encoded = {"x": np.arange(100), "y": np.arange(100) * 2}
    kept = drawing.at_most(encoded, 10)
    assert len(kept["x"]) == len(set(kept["x"].tolist())) == 10
    assert np.array_equal(kept["y"], 2 * kept["x"])
    assert drawing.at_most(encoded, 100) is encoded


@pytest.mark.parametrize(
    "make",
    [
        lambda: Keying("00" * 100, b"short", 0),
        lambda: Keying("00", bytes(32), 0),
        lambda: DealRequest(1024, STATIONS, False),
        lambda: FactorsRequest(Keying("00" * 200, bytes(32), 0), np.zeros((0, 2), np.int32), 2),
        lambda: FactorsRequest(Keying("00" * 200, bytes(32), 0), np.zeros((1, 2), np.int64), 2),
        lambda: TablesRequest(
            Columns("y", ["x"], {"x": {"categories": [0, 1]}, "y": {"categories": [0, 1]}}, "clip"),
            {},
            0.0,
            True,
            False,
        ),
    ],
)
def test_malformed_messages_are_refused(make):
    with pytest.raises(ValueError, match=r".+"):
        make()
