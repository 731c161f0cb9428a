"""Who has got what: the parcels, orders and corrections of a job on their way through central, each sent to a member once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import StationError
from ..gate import Sealed
from ..questions.factor_info import FactorInfo, with_parts
from .messages import Delivery, Parcel, Setup


class Deliveries:
    """What travels through central, sealed.

    Parameters
    ----------
    factors : mapping of str to FactorInfo
        What has been opened; it grows.
    """

    def __init__(self, factors: Mapping[str, FactorInfo]) -> None:
        self._factors = factors
        self._orders: list[Parcel] | None = None
        self._corrections: dict[int, Sealed] = {}
        self._parcels: list[Parcel] = []
        self._delivered: set[tuple[int, int, int]] = set()
        self._ordered: set[tuple[int, int]] = set()

    def matched(self, orders: list[Parcel], corrections: dict[int, Sealed]) -> None:
        """Take the stations' orders and corrections, which the helper sent."""
        self._orders, self._corrections = orders, corrections

    def add(self, parcel: Parcel) -> None:
        """Take what a station opened."""
        self._parcels.append(parcel)

    def to(self, member: int, asked: set[str], setup: Setup, rows: int, dealt: list[list[str]]) -> Delivery:
        """Return what a member needs for a question about the factors asked, without what it got before.

        Parameters
        ----------
        member : int
            A station, or the helper.
        asked : set of str
            Factors; those that they are made of go with them.
        setup : Setup
            Of the job.
        rows : int
            Common records.
        dealt : list of list of str
            Tables that corrections were dealt for.
        """
        names = set(with_parts(self._factors, asked))
        if self._orders is None:
            raise StationError("records have not been matched")
        station = member in setup.stations
        first = station and (member, member) not in self._ordered
        pending = self._pending(member, names) if station else []
        senders = {member, *(parcel.sender for parcel in pending if parcel.stage == 0)}
        orders = [order for order in self._orders if order.stage in senders and member in order.keys]
        fresh = [addressed(order, member) for order in orders if (member, order.stage) not in self._ordered]
        self._ordered |= {(member, order.stage) for order in fresh}
        self._delivered |= {(member, parcel.sender, parcel.stage) for parcel in pending}
        self._parcels = [parcel for parcel in self._parcels if self._is_awaited(parcel)]
        beside = {n for n, info in self._factors.items() if self._travels_with(info, names, pending, dealt)}
        described = with_parts(self._factors, names | beside)
        kept = [info for info in self._factors.values() if info.name in described]
        return Delivery(
            setup=setup,
            rows=rows,
            factors=kept,
            orders=fresh,
            corrections=self._corrections.get(member) if first else None,
            dealt=dealt,
            parcels=pending,
        )

    def _pending(self, member: int, names: set[str]) -> list[Parcel]:
        """Return the parcels of others that hold one of the factors and have not been delivered."""
        return [
            addressed(parcel, member)
            for parcel in self._parcels
            if parcel.sender != member
            and member in parcel.keys
            and names.intersection(parcel.names)
            and (member, parcel.sender, parcel.stage) not in self._delivered
        ]

    def _is_awaited(self, parcel: Parcel) -> bool:
        """Return whether somebody has not got a parcel yet, which is long."""
        return any((receiver, parcel.sender, parcel.stage) not in self._delivered for receiver in parcel.keys)

    def _travels_with(
        self, info: FactorInfo, names: set[str], pending: Sequence[Parcel], dealt: Sequence[Sequence[str]]
    ) -> bool:
        """Whether a station needs a factor's width: to read a parcel that holds it, or one kept earlier."""
        if info.view_of:
            return False
        if any(info.name in parcel.names for parcel in pending) or any(info.name in table for table in dealt):
            return True
        openings = {
            (sender, self._factors[name].stage) for name in names for sender in self._factors[name].contributors
        }
        return any((sender, info.stage) in openings for sender in info.contributors)


def addressed(parcel: Parcel, member: int) -> Parcel:
    """Return a parcel with one receiver's key only."""
    return Parcel(parcel.sender, parcel.stage, parcel.names, parcel.content, {member: parcel.keys[member]})
