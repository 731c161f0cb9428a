"""Secret exponents of one computation: derived by everyone without a dealer, or dealt by a helper.

The aggregator makes a fresh key pair for every computation and takes part as party 0. So every fit, every
classification and every change of membership has exponents of its own, and a repeat of a round by a restarted
central never meets an old mask.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fedbayes.federation import Federation, Parties, Station
from fedbayes.federation.errors import ArgumentError, MessageError, PlacementError, ThresholdError
from fedbayes.federation.jobs.waiting import TIMEOUT_SECONDS
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.node.secrets import own_keys
from fedbayes.mpc.joye_libert import AGGREGATOR, deal_keys, secret_key
from fedbayes.mpc.moduli import Modulus, generate_modulus, import_modulus, published_modulus
from fedbayes.mpc.relay import KeyPair, pairwise_key

from .messages import DealReply, DealRequest, Keying

KEYS = ("dealerless", "dealer")
REFERENCE_BITS = 3072  # modulus for which the limits below hold; work grows with its cube
MOST_SUMS = 2_000  # ciphertexts of a station in a fit, at `REFERENCE_BITS`; the README has what each takes
MOST_PRODUCTS = 20_000  # the same of records' factors, 10 ms each (README)
MOST_SECONDS = 1800.0  # of a round with as many, at a station that is ten times as slow


def check_keys(keys: str, modulus_bits: int) -> None:
    """Check the arguments `keys` and `modulus_bits` together.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    if keys == "dealerless" and modulus_bits not in (2048, 3072):
        raise ArgumentError('modulus_bits must be 2048 or 3072, or give keys="dealer" and a helper organization')
    if modulus_bits % 8:
        raise ArgumentError("modulus_bits must be a multiple of 8")


def check_work(argument: str, ciphertexts: int, most: int, bits: int) -> float:
    """Return how long to wait for a round; refuse more ciphertexts of a station than about three minutes of one core.

    Parameters
    ----------
    argument : str
        What to give less of.
    ciphertexts : int
        Of one station.
    most : int
        As many as there may be with 3072 bits; the time of one grows with the third power of the bits.
    bits : int
        Length of the modulus.

    Returns
    -------
    float
        Seconds, with room for a station that is ten times as slow.

    Raises
    ------
    ArgumentError
        Naming the argument and the limit.
    """
    limit = most * REFERENCE_BITS**3 // max(bits, REFERENCE_BITS) ** 3
    if ciphertexts > limit:
        raise ArgumentError(
            f"{argument} make {ciphertexts} ciphertexts a station, more than the {limit} that a round has time for; give fewer"
        )
    return TIMEOUT_SECONDS + MOST_SECONDS * ciphertexts / limit


def _context(session: str, organization: int, epoch: int) -> bytes:
    """Return what the key between a station and the aggregator is bound to."""
    return f"{session}|{organization}|{epoch}|joye-libert aggregator".encode()


def _purpose(participants: tuple[int, ...], aggregator_key: bytes, epoch: int) -> str:
    """Return what the exponents of one computation are bound to."""
    return f"joye-libert|{epoch}|{aggregator_key.hex()}|{','.join(str(member) for member in sorted(participants))}"


def _dealt_for(stations: Sequence[int], products: bool) -> str:
    """Return what a dealt exponent is sealed as: for whom it adds up to zero, so that central opens no sum of fewer stations than believe to be in it."""
    return f"exponent|{products}|{','.join(map(str, sorted(stations)))}"


def encryption_label(round_name: str, *content: Any) -> str:
    """Return the label of one encryption, which no other may have: the round, and a digest of everything that the quantity depends on."""
    digest = hashlib.sha256(json.dumps(encode(list(content)), sort_keys=True).encode()).hexdigest()
    return f"{round_name}|{digest}"


def station_exponent(station: Station, keying: Keying, products: bool = False) -> tuple[Modulus, int]:
    """Return the modulus and this station's secret exponent.

    Parameters
    ----------
    station : Station
        Whose participants are the members of the sum.
    keying : Keying
        From the request.
    products : bool
        Whether factors rather than terms are encrypted.

    Returns
    -------
    tuple of Modulus and int

    Raises
    ------
    ThresholdError
        When fewer organizations take part than this node demands.
    PlacementError
        When the dealer has another role as well.
    MessageError
        When the modulus is not a published one or was changed after the dealer sealed it, or the dealer dealt for other stations.

    Notes
    -----
    **Reveals** nothing.
    **Assumes** that the directory of channel keys is authentic (administrators can pin keys).
    """
    if len(station.participants) < station.policy.minimum_organizations:
        raise ThresholdError("too few organizations for an encrypted sum at this node; include more of them")
    if keying.dealer:
        return _dealt(station, keying, products)
    value = _hexadecimal(keying.modulus)
    try:
        modulus = published_modulus(value.bit_length())
    except ValueError:
        modulus = None
    if modulus is None or modulus.value != value:
        raise MessageError("without a dealer the modulus must be a published challenge; the job stops")
    purpose = _purpose(station.participants, keying.aggregator_key, keying.epoch)
    keys = {peer: station.channel.key(peer, purpose) for peer in station.participants if peer != station.organization}
    context = _context(station.session, station.organization, keying.epoch)
    try:
        keys[AGGREGATOR] = pairwise_key(own_keys(station.folder), keying.aggregator_key, context)
    except ValueError:
        raise MessageError("the key of the organization that runs central is malformed; the job stops") from None
    return modulus, secret_key(station.organization, keys, purpose, modulus, products)


def _dealt(station: Station, keying: Keying, products: bool) -> tuple[Modulus, int]:
    """Open what the dealer sealed: the modulus and this station's exponent."""
    if keying.dealer in (station.aggregator, *station.participants):
        raise PlacementError("the dealer of keys must be neither a station nor the organization that runs central")
    if keying.sealed is None:
        raise MessageError("the dealer's exponent is missing; the job stops")
    topic = _dealt_for(station.participants, products)
    opened = station.unseal(keying.dealer, keying.sealed, topic).decode().split("|")
    if len(opened) != 2 or opened[0] != keying.modulus:
        raise MessageError("the modulus is not the one that the dealer sealed; the job stops")
    value = _hexadecimal(opened[0])
    return _imported(value, value.bit_length()), int(opened[1])


def _hexadecimal(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise MessageError("the modulus is not a hexadecimal number") from None


def _imported(value: int, bits: int) -> Modulus:
    try:
        return import_modulus(value, bits)
    except ValueError as problem:
        raise MessageError(str(problem)) from None


def deal(station: Station, request: DealRequest) -> DealReply:
    """Make a modulus, forget its factors, and deal exponents that add up to zero: the answer of `partial_deal`."""
    if station.has_data or station.organization in (station.aggregator, *request.stations):
        raise PlacementError("the dealer of keys must be neither a station nor the organization that runs central")
    modulus = generate_modulus(request.bits)
    dealt = deal_keys((AGGREGATOR, *request.stations), modulus, request.products)
    text, topic = f"{modulus.value:x}", _dealt_for(request.stations, request.products)
    sealed = {member: station.seal(member, f"{text}|{dealt[member]}".encode(), topic) for member in request.stations}
    own = dealt[AGGREGATOR]
    exponent = own.to_bytes(own.bit_length() // 8 + 1, "big", signed=True)
    return DealReply(station.public(text), sealed, station.share(exponent))


@dataclass(frozen=True)
class Keyring:
    """The aggregator's side of one computation: its key pair, the modulus, and what the dealer sent.

    Attributes
    ----------
    modulus : Modulus
        N.
    stations : tuple of int
        Members of the sum.
    products : bool
        Whether factors rather than terms are encrypted.
    epoch : int
        Of the membership.
    dealer : DealReply or None
        What the dealer sent, if there is one.
    dealer_id : int
        Its organization, or 0.
    pair : KeyPair
        Of this computation alone; by default it is drawn.
    """

    modulus: Modulus
    stations: tuple[int, ...]
    products: bool = False
    epoch: int = 0
    dealer: DealReply | None = None
    dealer_id: int = 0
    pair: KeyPair = field(default_factory=KeyPair.generate, repr=False)

    def keying(self, member: int) -> Keying:
        """Return one station's part of the request."""
        sealed = self.dealer.sealed[member] if self.dealer else None
        return Keying(f"{self.modulus.value:x}", self.pair.public_bytes, self.epoch, self.dealer_id, sealed)

    def exponent(self, session: str, public_keys: dict[int, bytes]) -> int:
        """Return the aggregator's secret exponent, from the stations' public channel keys."""
        if self.dealer is not None:
            return int.from_bytes(self.dealer.aggregator.value, "big", signed=True)
        keys = {
            member: pairwise_key(self.pair, public, _context(session, member, self.epoch))
            for member, public in public_keys.items()
        }
        purpose = _purpose(self.stations, self.pair.public_bytes, self.epoch)
        return secret_key(AGGREGATOR, keys, purpose, self.modulus, self.products)


def open_keyring(
    federation: Federation, parties: Parties, keys: str, bits: int, epoch: int = 0, products: bool = False
) -> Keyring:
    """Prepare one computation; asks the helper (one round) only with ``keys="dealer"``.

    Raises
    ------
    ArgumentError
        When a dealer is wanted and there is not exactly one organization for it, or fewer than two stations.
    PlacementError
        When the helper runs central.
    """
    pair = federation.key_pair(f"{federation.rounds}|{epoch}")
    if keys == "dealerless":
        return Keyring(published_modulus(bits), parties.stations, products, epoch, pair=pair)
    helpers = parties.helpers
    if len(helpers) != 1:
        raise ArgumentError('keys="dealer" needs exactly one organization without data among organizations')
    if helpers[0] == federation.organization:
        raise PlacementError(
            f"{federation.name(helpers[0])} deals the keys, so it must not run central; start the task elsewhere"
        )
    if len(parties.stations) < 2:
        raise ArgumentError('keys="dealer" needs two or more stations with data; with one, use keys="dealerless"')
    request = DealRequest(bits, parties.stations, products)
    reply = federation.round("partial_deal", request, helpers, DealReply)[helpers[0]]
    modulus = _imported(_hexadecimal(reply.modulus.value), bits)
    return Keyring(modulus, parties.stations, products, epoch, reply, helpers[0], pair)
