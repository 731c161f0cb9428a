"""The side of a station when there is no helper: replicated shares at the first three stations, of which two match identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...mpc import alignment, factors, replicated
from ...mpc.prg import KEY_BYTES
from ...mpc.subset_shares import Table
from ...typing import Array
from ..errors import DataProblem, MessageError
from ..gate import Sealed
from ..guards.once import opened_once
from ..questions.factor_info import FactorInfo, part_of
from ..station import Station
from .ciphers import HASH, PLACE, decipher, encipher, letter_of, places_of
from .identifiers import check_equal_rows
from .messages import Delivery, MatchReply, MatchRequest, Opened, Setup
from .opening import OwnPart, place_rows
from .told import check_delivery
from .workspace import DTYPES, Workspace, factor

ABSENT = bytes(KEY_BYTES)
PAIR = "alignment"
"""Purpose of the key under which two stations put their identifiers."""
HASHES, PLACES = "hashes", "matching"
"""Topics of lists on their way to who matches them, and of what was found."""


def check_matched(setup: Setup, rows: int, sizes: Iterable[int]) -> None:
    """Raise `DataProblem` where no record is common, or files that should be aligned have different numbers of rows."""
    if not setup.id_column:
        check_equal_rows([rows, *sizes])
    if rows == 0:
        raise DataProblem("the stations have no record in common; check the identifier column")


class Replica(Workspace):
    """A data station's workspace without a helper.

    Notes
    -----
    **Assumes** that no two of the three computing stations collude: two of them have all shares of all data; and that the second and the
    third, which match identifiers, collude with no station: with one they could test guesses on identifiers of those two pairs' lists.
    """

    @property
    def position(self) -> int | None:
        """Place 0, 1 or 2 of this station among the computing ones, or None."""
        members = self.setup.computing
        return members.index(self.own) if self.own in members else None

    # -- matching --------------------------------------------------------------------------------------------------------

    def submit(self, digests: bytes) -> dict[int, Sealed]:
        """Return the digests of this station's identifiers, for each of its peers under the key of the two, sealed for the station that matches the pair.

        **Reveals** to a matcher the number of rows, and digests under keys that it lacks, in a secret order.
        **Assumes** that a matcher colludes with neither station of the pair: with one of them it could test guessed identifiers.
        """
        leader, *others = self.setup.stations
        lists: dict[int, list[alignment.Hashes]] = {}
        for party in others if self.own == leader else [self.own]:
            peer = party if self.own == leader else leader
            matcher = alignment.matcher_of(self.setup.stations, party)
            lists.setdefault(matcher, []).append(alignment.under_key(digests, self.key(peer, PAIR)))
        return {
            matcher: self.station.seal(matcher, np.concatenate(hashes).astype("<u8").tobytes(), HASHES)
            for matcher, hashes in lists.items()
        }

    def match(self, request: MatchRequest) -> MatchReply:
        """Match the pairs of stations that are this one's to match; or, when all are matched, find the common rows.

        **Reveals** to central the number of common rows; to every station which of the first one's rows each other has, in the secret orders of these:
        so the first one which others have a record of its own, each other one the same of its own records that the first has.
        **Assumes** what `Replica` does.
        """
        if request.finished:
            return self._matched(request)
        leader = self.setup.stations[0]
        pairs = alignment.matched_by(self.setup.stations, self.own)
        if not pairs or sorted(request.hashes) != sorted([leader, *pairs]):
            raise MessageError(
                "only the second and the third station match, each the pairs that it is not of; start the job again"
            )
        opened = {owner: self.station.unseal(owner, sealed, HASHES) for owner, sealed in request.hashes.items()}
        if any(
            len(hashes) % (HASH.itemsize * (len(pairs) if owner == leader else 1)) for owner, hashes in opened.items()
        ):
            raise MessageError("a station has hashed its identifiers for others than are matched; the job stops")
        lists = {owner: np.frombuffer(hashes, dtype=HASH).astype(np.uint64) for owner, hashes in opened.items()}
        ahead = np.split(lists[leader], len(pairs))
        orders = {}
        for party, led in zip(pairs, ahead, strict=True):
            places = alignment.places_in(led, lists[party])
            content = np.concatenate([[len(lists[party])], places])
            self.station.keep(f"places-{party}", told=content)
            readers = [peer for peer in self.setup.stations if peer != self.own]
            orders[party] = self.parcel(PLACES, party, ["places"], content.astype(PLACE).tobytes(), readers)
        return MatchReply(self.station.public(0), orders, {})

    def _matched(self, request: MatchRequest) -> MatchReply:
        leader, *others = self.setup.stations
        positions = {
            parcel.stage: places_of(self._unpack(PLACES, parcel))
            for parcel in request.finished
            if parcel.stage in others and parcel.sender == alignment.matcher_of(self.setup.stations, parcel.stage)
        }
        positions |= {
            party: self.station.kept(f"places-{party}")["told"]
            for party in alignment.matched_by(self.setup.stations, self.own)
        }
        if sorted(positions) != sorted(others) or len({len(entry) for entry in positions.values()}) != 1:
            raise MessageError("the places of a station's rows are missing; start the job again")
        sizes = {leader: len(positions[others[0]]) - 1, **{party: int(entry[0]) for party, entry in positions.items()}}
        orders = alignment.common_to_all(leader, {party: entry[1:] for party, entry in positions.items()})
        rows = len(orders[leader])
        check_matched(self.setup, rows, sizes.values())
        self.station.keep("sizes", **{str(party): np.array(size) for party, size in sizes.items()})
        for party, places in orders.items():
            self.station.keep(f"order-{party}", places=places)
        self.note_linked()
        return MatchReply(self.station.public(rows), {}, {})

    # -- shares ----------------------------------------------------------------------------------------------------------

    def _share_key(self, stage: int, share: int) -> bytes:
        return self.derived(f"share|{stage}|{share}")

    def pack_shares(self, stage: int, part: OwnPart, order: Any, size: int | None, bits: int) -> Opened | None:
        """Return the corrections of own columns; the keys of the other shares travel with the content's key."""
        if not part.infos:
            return None
        keys = {share: self._share_key(stage, share) for share in (1, 2)}
        corrections = [
            replicated.share_values(place_rows(values, order, size), factor(info), keys)
            for info, values in zip(part.infos, part.values, strict=True)
        ]
        return self._share_parcel(stage, [info.name for info in part.infos], corrections, bits, keys)

    def pack_products(self, stage: int, names: Sequence[str], parts: Sequence[Array], bits: int) -> Opened | None:
        """Return this station's shares of products for its neighbour, and keep them."""
        if not names or self.position is None:
            return None
        return self._share_parcel(stage, list(names), parts, bits, {})

    def _share_parcel(
        self, stage: int, names: list[str], matrices: Sequence[Array], bits: int, keys: dict[int, bytes]
    ) -> Opened:
        opened_once(self.station, stage, names)
        joined = factors.side_by_side(matrices, DTYPES[bits])
        self.station.keep(f"parcel-{self.own}-{stage}", content=joined, names=np.array(names))
        plain = factors.little_endian(joined)
        members = self.setup.computing
        topic = self._topic("openings", self.own, stage)
        letters = {}
        content_key = self.derived(f"content|{self.station.round_name}|{topic}")
        for position, member in enumerate(members):
            if member == self.own:
                continue
            readers = [1, 2] if keys else [((self.position or 0) + 1) % replicated.COMPUTING]
            letter = content_key if position in readers else ABSENT
            letter += b"".join(keys[s] if keys and position != s else ABSENT for s in (1, 2))
            letters[member] = letter
        return self.letters(names, encipher(content_key, plain, topic), letters, topic)

    def receive(self, delivery: Delivery) -> None:
        """Unseal and keep the shares that came with a request."""
        check_delivery(self.station, delivery, self.is_helper)
        for parcel in delivery.parcels:
            topic = self._topic("openings", parcel.sender, parcel.stage)
            letter = self.station.unseal(parcel.sender, letter_of(parcel.keys, self.own), topic)
            self.note(topic, parcel.content)
            keys = {s: letter[KEY_BYTES * s : KEY_BYTES * (s + 1)] for s in (1, 2)}
            self.station.keep(
                f"share-{parcel.sender}-{parcel.stage}",
                **{str(s): np.frombuffer(key, dtype=np.uint8) for s, key in keys.items() if key != ABSENT},
            )
            if letter[:KEY_BYTES] != ABSENT:
                self._keep_content(parcel, decipher(letter[:KEY_BYTES], parcel.content, topic), delivery)

    def computing_side(self, delivery: Delivery, names: Iterable[str], bits: int) -> replicated.ComputingSide:
        """Return this computing station's side of the products over the named factors."""
        position = self.position
        if position is None:
            raise MessageError("only the first three stations compute")
        infos = {info.name: info for info in delivery.factors}
        shares = {
            name: {
                share: self._share(part_of(infos, name), infos, share, delivery.rows, bits)
                for share in range(replicated.COMPUTING)
                if share != position
            }
            for name in dict.fromkeys(names)
        }
        members = self.setup.computing
        neighbors = {other: self.key(members[other]) for other in range(replicated.COMPUTING) if other != position}
        return replicated.ComputingSide(position, neighbors, {name: factor(infos[name]) for name in shares}, shares)

    def _share(self, info: FactorInfo, infos: Mapping[str, FactorInfo], share: int, rows: int, bits: int) -> Array:
        return self.composed(
            f"share|{share}|{bits}", info, infos, lambda one: self._shared(one, infos, share, rows, bits)
        )

    def _shared(self, info: FactorInfo, infos: Mapping[str, FactorInfo], share: int, rows: int, bits: int) -> Array:
        if info.derived:
            sender = self.setup.computing[(share + 1) % replicated.COMPUTING]
            values = self.columns_of(sender, info, infos)
        else:
            values = self._owner_share(info, share, infos, rows)
        return replicated.complete_share(share, values.astype(DTYPES[bits], copy=False), factor(info))

    def _owner_share(self, info: FactorInfo, share: int, infos: Mapping[str, FactorInfo], rows: int) -> Array:
        owner = info.holders[0]
        if share == 0:
            values = self.columns_of(owner, info, infos)
        else:
            key = self._key_of(owner, info.stage, share)
            submitted = int(self.station.kept("sizes")[str(owner)]) if info.stage == 0 else rows
            values = replicated.expand_share(key, factor(info), submitted, DTYPES[info.bits])
        return self.placed(values, owner) if info.stage == 0 else values

    def _key_of(self, owner: int, stage: int, share: int) -> bytes:
        if owner == self.own:
            return self._share_key(stage, share)
        keys = self.station.kept(f"share-{owner}-{stage}")
        if str(share) not in keys:
            raise MessageError("a share of the request is not one that this station was sent; the job stops")
        return keys[str(share)].tobytes()

    def answers(self, delivery: Delivery, tables: Sequence[Table], bits: int) -> Array:
        """Return this station's shares of tables before its noise; zeros at a station that does not compute."""
        states = {info.name: factor(info).states for info in delivery.factors}
        cells = sum(int(np.prod([states[name] for name in table])) for table in tables)
        if self.position is None:
            return np.zeros(cells, dtype=DTYPES[bits])
        side = self.computing_side(delivery, [name for table in tables for name in table], bits)
        return side.answers(tables, self.station.round_name)


def workspace_of(station: Station, setup: Setup, delivery: Delivery | None = None) -> Workspace:
    """Return the side of an organization in a protocol with a helper, or in the one without; after it has received a delivery, if one came."""
    workspace = Workspace(station, setup) if setup.helper else Replica(station, setup)
    if delivery is not None:
        workspace.receive(delivery)
    return workspace
