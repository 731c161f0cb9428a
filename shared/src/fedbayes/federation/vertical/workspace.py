"""What one organization has of the shared matrices in this job: openings, masks, orders, kept between its rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, takewhile

import numpy as np
import numpy.typing as npt

from ...mpc import alignment, factors
from ...mpc.prg import expand
from ...randomness import secret_bytes
from ...typing import Array
from ..errors import MessageError
from ..gate import Sealed
from ..guards.once import OTHER_SETUP, asked_once, opened_once
from ..messages.arrays import from_bytes
from ..perimeter.manifest import digest_of
from ..questions.factor_info import NOT_DESCRIBED, FactorInfo, part_of
from ..station import Station
from .ciphers import decipher, encipher, letter_of, places_of
from .messages import Delivery, Opened, Parcel, Setup
from .told import check_delivery

PURPOSE = "shared products"
DTYPES: dict[int, npt.DTypeLike] = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def factor(info: FactorInfo) -> factors.Factor:
    """Return the protocol's view of a factor; its masks are those of its stage, which a station answers once, so no mask serves twice."""
    sides = (info.sides[0], info.sides[1]) if info.sides else None
    return factors.Factor(f"{info.stage}|{info.name}", tuple(info.holders), info.width, info.complete, sides)


class Workspace:
    """The station's side of the job, rebuilt in every round from what was kept.

    Parameters
    ----------
    station : Station
        This round.
    setup : Setup
        The roles.
    """

    def __init__(self, station: Station, setup: Setup) -> None:
        self.station = station
        self.setup = setup
        self.own = station.organization
        self._matrices: dict[tuple[str, str], Array] = {}
        self._contents: dict[str, tuple[Array, list[str], dict[str, int]]] = {}
        if self.own not in (*setup.stations, setup.helper):
            raise MessageError("this organization has no role in the request")
        if self.is_helper and station.has_data:
            raise MessageError("the helper holds data of this task; name an organization without data as helper")
        if setup.helper in (station.aggregator,):
            raise MessageError("the helper must not run the central function; start the task at another organization")
        asked_once(station, "setup", self._setup_digest, OTHER_SETUP)

    @property
    def is_helper(self) -> bool:
        """Whether this organization is the commodity server."""
        return self.own == self.setup.helper

    @cached_property
    def secret(self) -> bytes:
        """32 secret bytes of this station in this job, the same when the platform runs a round again."""
        self.station.keep("vertical-secret", secret=np.frombuffer(secret_bytes(32), dtype=np.uint8))
        return self.station.kept("vertical-secret")["secret"].tobytes()

    def derived(self, purpose: str) -> bytes:
        """Return a 32-byte key of this station alone, for one purpose."""
        return expand(self.secret, purpose, 32, np.uint8).tobytes()

    def key(self, peer: int, purpose: str = PURPOSE) -> bytes:
        """Return the key with a peer, bound to roles, identifier, domains, bins, and linked records: other states have other masks."""
        return self.station.channel.mask_key(peer, f"{purpose}|{self._setup_digest}")

    @cached_property
    def _setup_digest(self) -> str:
        return digest_of(self.setup)

    # -- parcels ---------------------------------------------------------------------------------------------------------

    def pack(self, stage: int, names: Sequence[str], matrices: Sequence[Array], bits: int) -> Opened | None:
        """Return openings as one sealed content for all other data stations, and keep a copy for this one."""
        if not names:
            return None
        opened_once(self.station, stage, names)
        joined = factors.side_by_side(matrices, DTYPES[bits])
        receivers = [peer for peer in self.setup.stations if peer != self.own]
        if not self.is_helper:
            self.station.keep(f"parcel-{self.own}-{stage}", content=joined, names=np.array(names))
        return self.parcel("openings", stage, names, factors.little_endian(joined), receivers)

    def parcel(self, kind: str, stage: int, names: Sequence[str], plain: bytes, receivers: Sequence[int]) -> Opened:
        """Return one content, enciphered once, with its key sealed for each receiver."""
        topic = self._topic(kind, self.own, stage)
        key = self.derived(f"content|{self.station.round_name}|{topic}")
        return self.letters(names, encipher(key, plain, topic), dict.fromkeys(receivers, key), topic)

    def letters(self, names: Sequence[str], content: bytes, letters: Mapping[int, bytes], topic: str) -> Opened:
        """Return an enciphered content with a letter for each receiver."""
        self.note(topic, content)
        sealed = {peer: self.station.seal(peer, letter, topic) for peer, letter in letters.items()}
        return Opened(self.station.public(list(names)), self.station.share(content), sealed)

    def _unpack(self, kind: str, parcel: Parcel) -> bytes:
        topic = self._topic(kind, parcel.sender, parcel.stage)
        key = self.station.unseal(parcel.sender, letter_of(parcel.keys, self.own), topic)
        self.note(topic, parcel.content)
        return decipher(key, parcel.content, topic)

    def note(self, topic: str, content: bytes) -> None:
        """Keep the digest of what was sent or received, see `agreement`."""
        self.station.keep(f"seen {topic}", digest=np.frombuffer(hashlib.sha256(content).digest(), dtype=np.uint8))

    def seen(self, kind: str, sender: int, stage: int) -> bytes:
        """Return the digest that `note` kept; `MessageError` where nothing was sent or received."""
        return self.station.kept(f"seen {self._topic(kind, sender, stage)}")["digest"].tobytes()

    def _topic(self, kind: str, sender: int, stage: int) -> str:
        return f"{self.station.session}|{kind}|{sender}|{stage}"

    def receive(self, delivery: Delivery) -> None:
        """Unseal and keep what came with a request.

        Raises
        ------
        MessageError
            When something was changed, or is of another job, stage or sender, or an order has a record twice, which would then count so.
        ThresholdError
            When fewer records are common than this node demands.
        """
        check_delivery(self.station, delivery, self.is_helper)
        for parcel in delivery.orders:
            positions = places_of(self._unpack("order", parcel))
            rows = len(positions) if self.setup.union else delivery.rows
            if len(positions) != rows or not alignment.are_places(positions, self.setup.union and self.setup.private):
                raise MessageError("an order of the match names a record twice, or leaves one out; the job stops")
            self.station.keep(f"order-{parcel.stage}", places=positions)
        if delivery.corrections is not None:
            self._receive_corrections(delivery.corrections, delivery.factors[0].bits)
        if not self.is_helper:
            own, union = self.order_of(self.own), self.setup.union
            if own.max(initial=-1) >= delivery.rows if union else len(own) != delivery.rows:
                raise MessageError("the number of common records is not that of the match; the job stops")
            asked_once(self.station, "common records", delivery.rows)
        if delivery.orders:
            self.note_linked()
        for parcel in delivery.parcels:
            self._keep_content(parcel, self._unpack("openings", parcel), delivery)

    def _keep_content(self, parcel: Parcel, plain: bytes, delivery: Delivery) -> None:
        """Keep what another station opened, (widths of its factors, rows), with the factors' names."""
        infos = {info.name: info for info in delivery.factors}
        chosen = [part_of(infos, name) for name in parcel.names]
        dtype, width = np.dtype(DTYPES[chosen[0].bits]), sum(info.width for info in chosen)
        if not width or len(plain) % (width * dtype.itemsize):
            raise MessageError(NOT_DESCRIBED)
        content = np.frombuffer(plain, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(width, -1)
        name = f"parcel-{parcel.sender}-{parcel.stage}"
        if self.station.keep(name, content=content, names=np.array(parcel.names)):
            self._contents[name] = (content.T, list(parcel.names), {})

    def _receive_corrections(self, sealed: Sealed, bits: int) -> None:
        plain = self.station.unseal(self.setup.helper, sealed, "corrections")
        flat = from_bytes(plain, np.dtype(DTYPES[bits]).newbyteorder("<"))
        self.station.keep("corrections", flat=flat)

    # -- orders ----------------------------------------------------------------------------------------------------------

    def order_of(self, party: int) -> Array:
        """Return where the common records stand in a party's submitted rows; of a union, the places of the own rows in it."""
        return np.asarray(self.station.kept(f"order-{party}")["places"], dtype=np.int64)

    def submit_rows(self, texts: Sequence[str]) -> tuple[Array, bytes]:
        """Return this station's secret order of its own rows, which it submits for matching, and the digests of their identifiers in it."""
        rows, digested = alignment.submitted(texts, self.derived("row order"), self.setup.union)
        digests = np.frombuffer(digested, np.uint8).reshape(-1, alignment.HASH_BYTES)
        self.station.keep("submitted", digests=digests, rows=rows)
        return rows, digested

    def note_linked(self) -> None:
        """Note which own rows count, for whatever leaves as an exact answer, of a union all; bind masks to whom common ones are of."""
        if not self.is_helper:
            digests = self.station.kept("submitted")["digests"]
            if not self.setup.union:
                whose = hashlib.sha256(self.placed(digests, self.own).tobytes()).hexdigest()
                self.station.link(self.setup.stations, whose)
            rows = np.arange(len(digests)) if self.setup.union else self.common_order(len(digests))
            self.station.history.note_linked(rows, len(digests), self.setup.id_column)

    def common_order(self, total: int) -> Array:
        """Return, of `total` own rows, that of each common record, int64 (records,); of a union, the place of each own row, or none, (total,)."""
        rows, order = self.station.kept("submitted")["rows"], self.order_of(self.own)
        if not self.setup.union:
            return np.asarray(rows[order], dtype=np.int64)
        if len(order) != len(rows):
            raise MessageError("the records were matched in another way than the request says; the job stops")
        positions = np.full(total, alignment.LEFT_OUT, dtype=np.int64)
        positions[rows] = order
        return positions

    # -- matrices --------------------------------------------------------------------------------------------------------

    def composed(
        self, kind: str, info: FactorInfo, infos: Mapping[str, FactorInfo], own: Callable[[FactorInfo], Array]
    ) -> Array:
        """Return a matrix of a factor, made once in a round.

        Parameters
        ----------
        kind : str
            Which matrix of the factor it is.
        info : FactorInfo
            The factor: of a view the columns of the other factor are taken, a product is completed with its factors' matrices.
        infos : mapping of str to FactorInfo
            All factors of the request.
        own : callable
            A factor -> what was opened or drawn for it, of a product the part that travels.
        """
        if info.view_of:
            return self.composed(kind, part_of(infos, info.view_of), infos, own)[:, : info.states]
        if (kind, info.name) not in self._matrices:
            core = own(info)
            if info.made_of:
                left, right = (self.composed(kind, part_of(infos, name), infos, own) for name in info.made_of)
                if not len(core) == len(left) == len(right):
                    raise MessageError(NOT_DESCRIBED)
                core = factors.complete_product(core, left, right)
            if any(len(one) != len(core) for one in self._matrices.values()):
                raise MessageError(NOT_DESCRIBED)
            self._matrices[kind, info.name] = core
        return self._matrices[kind, info.name]

    def opening(self, info: FactorInfo, infos: Mapping[str, FactorInfo], bits: int) -> Array:
        """Return the complete opening (rows, states) of a factor in the common order, in a ring of `bits` bits."""
        return self.composed(f"opening|{bits}", info, infos, lambda one: self._opened(one, infos, bits))

    def _opened(self, info: FactorInfo, infos: Mapping[str, FactorInfo], bits: int) -> Array:
        """Return what all contributors opened of a factor together."""
        pieces = [self.columns_of(sender, info, infos) for sender in info.contributors]
        if info.stage == 0:
            pieces = [self.placed(piece, sender) for piece, sender in zip(pieces, info.contributors, strict=True)]
        if len({len(piece) for piece in pieces}) != 1:
            raise MessageError(NOT_DESCRIBED)
        total = sum(pieces[1:], pieces[0])
        return factors.complete_opening(total.astype(DTYPES[bits], copy=False), factor(info))

    def placed(self, rows: Array, owner: int) -> Array:
        """Return a station's rows in the common order."""
        order = self.order_of(owner)
        if order.max(initial=-1) >= len(rows):
            raise MessageError(NOT_DESCRIBED)
        return factors.in_order(rows, order)

    def columns_of(self, sender: int, info: FactorInfo, infos: Mapping[str, FactorInfo]) -> Array:
        """Return what a station opened of a factor, (rows, width)."""
        content, names, starts = self._content(sender, info.stage)
        if info.name not in starts:
            listed = list(takewhile(infos.__contains__, names))
            starts.update(zip(listed, accumulate((infos[name].width for name in listed), initial=0), strict=False))
        there = info.name in starts and starts[info.name] + info.width <= content.shape[1]
        if not there or content.dtype != DTYPES[info.bits]:
            raise MessageError(NOT_DESCRIBED)
        return content[:, starts[info.name] : starts[info.name] + info.width]

    def _content(self, sender: int, stage: int) -> tuple[Array, list[str], dict[str, int]]:
        """Return what a station opened in a stage, (rows, widths of all its factors), their names, and where each begins once that was asked for."""
        name = f"parcel-{sender}-{stage}"
        if name not in self._contents:
            kept = self.station.kept(name)
            self._contents[name] = (kept["content"].T, [str(entry) for entry in kept["names"]], {})
        return self._contents[name]

    def mask(self, info: FactorInfo, infos: Mapping[str, FactorInfo], holder: int, rows: int, bits: int) -> Array:
        """Return a holder's part of a factor's mask in the common order; the holder itself and the helper can. Zero where it holds nothing of it."""

        def own(one: FactorInfo) -> Array:
            if holder not in one.holders:
                return np.zeros((rows, one.width if one.made_of else one.states), dtype=DTYPES[bits])
            return self._mask_part(one, holder, rows, bits)

        return self.composed(f"mask|{holder}|{bits}", info, infos, own)

    def _mask_part(self, info: FactorInfo, holder: int, rows: int, bits: int) -> Array:
        key = self.key(holder if self.is_helper else self.setup.helper)
        ring = DTYPES[info.bits]
        if info.stage == 0:
            sizes = self.station.kept("sizes") if self.is_helper else {}
            submitted = int(sizes[str(holder)]) if self.is_helper else len(self._content(holder, 0)[0])
            part = self.placed(factors.mask_part(key, factor(info), submitted, ring), holder)
        else:
            part = factors.mask_part(key, factor(info), rows, ring)
        return part.astype(DTYPES[bits], copy=False)
