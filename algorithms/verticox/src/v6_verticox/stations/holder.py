"""A share holder inside one round: keys, kept wires, sealed payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fedbayes.federation import Broadcast, Sealed, Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import TWICE, asked_once
from fedbayes.mpc.shared_fixed import Party
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Wire
from fedbayes.typing import Array

from ..messages.names import Name
from ..messages.setup import Outcome, Plan, Question
from ..shares.agreed import taker
from ..shares.sorting import OutcomeHolder
from ..shares.travel import Arrays, Outgoing, pack, unpack

PURPOSE = "verticox"
PLAN = "plan"
"""One a job: who plays which part, and how many records and columns there are."""
TOLD = "rows of the plan"
"""What the outcome holder told of its rows, and what the question says of them."""
OTHERWISE = "the plan has other rows, strata or ties than the station with the outcome told; start the job again"


class KeptWires(dict[str, Wire]):
    """Wires kept in the station's folder between rounds; of the dealer, their masks."""

    def __init__(self, station: Station) -> None:
        super().__init__()
        self._station = station

    def __missing__(self, name: str) -> Wire:
        kept = self._station.kept(f"wire|{name}")
        public = Wide.from_words(kept["public"]) if "public" in kept else None
        wire = Wire(public, Wide.from_words(kept["mask"]), int(kept["frac_bits"]))
        super().__setitem__(name, wire)
        return wire

    def __setitem__(self, name: str, wire: Wire) -> None:
        super().__setitem__(name, wire)
        public = {} if wire.public is None else {"public": wire.public.to_words()}
        self._station.keep(f"wire|{name}", mask=wire.mask.to_words(), frac_bits=np.array(wire.frac_bits), **public)

    def __contains__(self, name: object) -> bool:
        try:
            return self[str(name)] is not None
        except MessageError:
            return False


def note_told(station: Station, question: Question, described: Outcome) -> None:
    """Keep what this station, the outcome holder, tells of its rows: with other strata or ties in the plan single records would count unlike others."""
    cases = [question.flat, question.weights is not None or question.entry is not None, question.missing == "complete"]
    rows = [described.strata, described.ties, described.band, described.single]
    asked_once(station, TOLD, [*rows, *cases, question.copies], OTHERWISE)


class ShareHolder:
    """One data station as a share holder.

    Parameters
    ----------
    station : Station
    plan : Plan

    Raises
    ------
    MessageError
        When the station has no such role in the plan, or the job has another one.
    """

    def __init__(self, station: Station, plan: Plan) -> None:
        if station.organization not in plan.holders:
            raise MessageError("this organization holds no shares in this job")
        asked_once(station, PLAN, plan)
        self.station, self.plan = station, plan
        self.index = plan.holders.index(station.organization)
        if self.owns_outcome:
            asked_once(station, TOLD, plan.told, OTHERWISE)
        self.key = station.channel.key(plan.helper, PURPOSE)

    @property
    def owns_outcome(self) -> bool:
        """Whether this is the outcome holder."""
        return self.index == len(self.plan.holders) - 1

    @property
    def peers(self) -> list[int]:
        """The other share holders."""
        return [member for member in self.plan.holders if member != self.station.organization]

    def sorter(self) -> OutcomeHolder:
        """Return the secret order, the same in every round. At the outcome holder only."""
        kept = self.station.kept("outcome")
        return OutcomeHolder(
            self.key,
            kept["time"],
            kept["event"],
            kept["stratum"],
            int(kept["limit"]),
            kept["trend"],
            self.plan.flat or self.plan.complete > 0.0,
            kept["weights"] if self.plan.weighted else None,
            self.plan.complete > 0.0,
        )

    def publish(self, step: int, arrays: Arrays) -> None:
        """Keep what this party, the outcome holder, publishes in a step; once a step."""
        self.once(f"published|{step}", arrays)
        self.station.keep(f"published-names|{step}", names=np.array(list(arrays)))

    def engine(self, step: int, corrections: Sealed | None = None) -> Party:
        """Return the arithmetic of this party; who takes the dealer's corrections needs those of the step, the outcome holder its own too."""
        takes = self.plan.holders.index(taker(self.plan, self.station.aggregator))
        if corrections is not None:
            plain = self.station.unseal(self.plan.helper, corrections, "corrections")
            part = len(self._known_parts(step))
            self.station.keep(f"corrections|{step}|{part}", payload=np.frombuffer(plain, dtype=np.uint8))
        known_corrections: dict[str, Wide] = {}
        for payload in self._known_parts(step):
            known_corrections.update(unpack(payload))
        return Party(self.index, len(self.plan.holders), self.key, known_corrections, takes)

    def _known_parts(self, step: int) -> list[bytes]:
        parts: list[bytes] = []
        while True:
            try:
                kept = self.station.kept(f"corrections|{step}|{len(parts)}")
            except MessageError:
                return parts
            parts.append(kept["payload"].tobytes())

    def once(self, name: str, arrays: Arrays) -> None:
        """Keep arrays under a name that may be used once in a job: two contents under one mask would show their difference.

        Raises
        ------
        MessageError
            When the name was used before for something else.
        """
        words = {str(place): array.to_words() for place, array in enumerate(arrays.values())}
        if self.station.keep(name, **words):
            return
        kept = self.station.kept(name)
        if sorted(kept) != sorted(words) or any(not np.array_equal(kept[key], words[key]) for key in words):
            raise MessageError(TWICE)

    def kept(self, name: str, names: Sequence[Name]) -> dict[Name, Wide]:
        """Return what `once` kept under a name, of arrays with these names in their order; `MessageError` if it kept none, or others."""
        kept = self.station.kept(name)
        if len(kept) != len(names):
            raise MessageError(TWICE)
        return {one: Wide.from_words(kept[str(place)]) for place, one in enumerate(names)}

    def tell(self, arrays: Callable[[int], Mapping[str, Wide]], topic: str) -> dict[int, Sealed]:
        """Return what `arrays` gives for each of the other share holders, by its index among them, sealed; keep what it gives for this one."""
        self.once(topic, arrays(self.index))
        return {
            member: self.station.seal(member, pack(arrays(index)), topic)
            for index, member in enumerate(self.plan.holders)
            if index != self.index
        }

    def told(self, parts: Mapping[int, Sealed], names: Sequence[str], topic: str) -> list[Wide]:
        """Return the sums, by name, of what `tell` kept and what the others sealed; `MessageError` where one of them did not."""
        if sorted(parts) != sorted(self.peers):
            raise MessageError("what a station tells the others is missing; start the job again")
        kept = self.station.kept(topic)
        total = [Wide.from_words(kept[str(index)]) for index in range(len(names))]
        for sender, sealed in parts.items():
            arrays = self.unseal(sender, sealed, topic)
            total = [one + arrays[name] for one, name in zip(total, names, strict=True)]
        return total

    def seal_all(self, arrays: Arrays, topic: str) -> Broadcast:
        """Return one payload sealed for the other share holders: enciphered once, the key sealed for each."""
        return self.station.broadcast(self.peers, pack(arrays), topic)

    def receive_sealed(self, sender: int, sealed: Broadcast, topic: str) -> dict[Name, Wide]:
        """Return what `seal_all` of another share holder enciphered."""
        try:
            arrays = unpack(self.station.open_broadcast(sender, sealed, topic))
            return {Name.read(name): array for name, array in arrays.items()}
        except (ValueError, KeyError):
            raise MessageError("a payload of the protocol is damaged; the job stops") from None

    def unseal(self, sender: int, sealed: Sealed, topic: str) -> dict[str, Wide]:
        """Return named arrays that another member sealed for this one."""
        try:
            return unpack(self.station.unseal(sender, sealed, topic))
        except (ValueError, KeyError):
            raise MessageError("a payload of the protocol is damaged; the job stops") from None


def revealed_words(outgoing: Outgoing) -> tuple[dict[str, Array], dict[str, int]]:
    """Return the shares for central as arrays of words, and their fractional bits."""
    words = {name: share.held.to_words() for name, share in outgoing.revealed.items()}
    return words, {name: outgoing.revealed[name].frac_bits for name in words}
