"""A share holder or the dealer inside one round: keys, kept wires, sealed payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping

import numpy as np

from fedbayes.federation import Station
from fedbayes.federation.errors import MessageError
from fedbayes.mpc.relay import KEY_BYTES, SealBroken, seal, unseal
from fedbayes.mpc.shared_fixed import Dealer, Party, Share, Wire, expand_wide
from fedbayes.mpc.wide import Wide
from fedbayes.randomness import secret_bytes

from .messages import Broadcast, Plan, Sealed, StageInfo
from .program import Outgoing, Program, Stage, masks, pack, unpack
from .roles import OutcomeHolder, delta
from .shared_newton import Layout, line_names

PURPOSE = "verticox"


def layout(plan: Plan) -> Layout:
    """Return the shapes that all roles know."""
    return Layout(
        rows=plan.rows,
        features=sum(plan.widths),
        factors=len(input_names(plan, 1)),
        strata=tuple(plan.strata),
        owner=len(plan.holders) - 1,
        ties=tuple((first, size) for first, size in plan.ties),
        band=plan.band,
        lines=sum(1 for width in plan.widths if width),
    )


def stage_of(info: StageInfo) -> Stage:
    """Return the program's stage of a message."""
    return Stage(info.kind, info.step, info.version, info.source, (info.first, info.second), tuple(info.rows))


def input_names(plan: Plan, step: int) -> list[tuple[str, int, int]]:
    """Return name, share holder and columns of every private input of a step (0: the features)."""
    with_features = [(index, width) for index, width in enumerate(plan.widths) if width]
    if step == 0:
        return [(f"features/{index}", index, width) for index, width in with_features]
    entering = [index for index, _ in with_features]
    return [(f"{step}.0/factor{place}", index, 1) for place, index in enumerate(entering)]


def inputs_of(plan: Plan, step: int, beside: Iterable[int]) -> list[tuple[str, int, int]]:
    """Return every private input of a step and of the points beside it; with these, the linear predictors too."""
    others = list(beside)
    entries = [entry for one in (step, *others) for entry in input_names(plan, one)]
    if others:
        holding = [index for index, width in enumerate(plan.widths) if width]
        entries += [(name, index, 1) for name, index in zip(line_names(layout(plan), step), holding, strict=True)]
    return entries


class KeptWires(MutableMapping[str, Wire]):
    """Wires kept in the station's folder between rounds."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._fresh: dict[str, Wire] = {}

    def __getitem__(self, name: str) -> Wire:
        if name not in self._fresh:
            kept = self._station.kept(f"wire|{name}")
            self._fresh[name] = Wire(
                Wide.from_words(kept["public"]), Wide.from_words(kept["mask"]), int(kept["frac_bits"])
            )
        return self._fresh[name]

    def __setitem__(self, name: str, wire: Wire) -> None:
        self._fresh[name] = wire
        if wire.public is not None:
            self._station.keep(
                f"wire|{name}",
                public=wire.public.to_words(),
                mask=wire.mask.to_words(),
                frac_bits=np.array(wire.frac_bits),
            )

    def __contains__(self, name: object) -> bool:
        try:
            return self[str(name)] is not None
        except MessageError:
            return False

    def __delitem__(self, name: str) -> None:
        raise TypeError("wires are kept until the job ends")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fresh)

    def __len__(self) -> int:
        return len(self._fresh)


class ShareHolder:
    """One data station as a share holder.

    Parameters
    ----------
    station : Station
    plan : Plan

    Raises
    ------
    MessageError
        When the station has no such role in the plan.
    """

    def __init__(self, station: Station, plan: Plan) -> None:
        if station.organization not in plan.holders:
            raise MessageError("this organization holds no shares in this job")
        self.station, self.plan = station, plan
        self.index = plan.holders.index(station.organization)
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
        return OutcomeHolder(self.key, kept["time"], kept["event"], kept["stratum"], int(kept["limit"]), kept["trend"])

    def publish(self, step: int, arrays: dict[str, Wide]) -> None:
        """Keep what this party, the outcome holder, publishes in a step; once a step."""
        self.once(f"published|{step}", arrays)
        self.station.keep(f"published-names|{step}", names=np.array(list(arrays)))

    def engine(self, step: int, corrections: bytes) -> Party:
        """Return the arithmetic of this party; the outcome holder needs the dealer's corrections of the step."""
        if not self.owns_outcome:
            return Party(self.index, len(self.plan.holders), self.key)
        if corrections:
            plain = self.station.channel.unseal(self.plan.helper, corrections, "corrections")
            part = len(self._known_parts(step))
            self.once(f"corrections|{step}|{part}", {"": Wide.from_words(_words(plain))})
        found: dict[str, Wide] = {}
        for payload in self._known_parts(step):
            found.update(unpack(payload))
        return Party(self.index, len(self.plan.holders), self.key, found)

    def _known_parts(self, step: int) -> list[bytes]:
        parts: list[bytes] = []
        while True:
            try:
                kept = self.station.kept(f"corrections|{step}|{len(parts)}")
            except MessageError:
                return parts
            parts.append(_bytes(kept["0"]))

    def once(self, name: str, arrays: dict[str, Wide]) -> None:
        """Keep arrays under a name that may be used once in a job: two contents under one mask would show their difference.

        Raises
        ------
        MessageError
            When the name was used before for something else.
        """
        words = {str(place): array.to_words() for place, array in enumerate(arrays.values())}
        self.station.keep(name, **words)
        kept = self.station.kept(name)
        if sorted(kept) != sorted(words) or any(not np.array_equal(kept[key], words[key]) for key in words):
            raise MessageError("a step of the protocol was asked for twice with other contents; start the job again")

    def seal_all(self, arrays: dict[str, Wide], topic: str) -> Broadcast:
        """Return one payload sealed for the other share holders: enciphered once, the key sealed for each."""
        key = secret_bytes(KEY_BYTES)
        content = seal(key, pack(arrays), self._binding(self.station.organization, topic))
        return Broadcast(content, {peer: self.station.channel.seal(peer, key, topic) for peer in self.peers})

    def receive_sealed(self, sender: int, sealed: Sealed, topic: str) -> dict[str, Wide]:
        """Return what `seal_all` of another share holder enciphered."""
        key = self.station.channel.unseal(sender, sealed.key, topic)
        try:
            return unpack(unseal(key, sealed.content, self._binding(sender, topic)))
        except (SealBroken, ValueError, KeyError):
            raise MessageError("a sealed message was changed, or is of another job or round; the job stops") from None

    def _binding(self, sender: int, topic: str) -> bytes:
        return f"{self.station.session}|{topic}|{sender}".encode()

    def unseal(self, sender: int, sealed: bytes, topic: str) -> dict[str, Wide]:
        """Return named arrays that another member sealed for this one."""
        try:
            return unpack(self.station.channel.unseal(sender, sealed, topic))
        except (ValueError, KeyError):
            raise MessageError("a payload of the protocol is damaged; the job stops") from None

    def open(self, program: Program, label: str, outgoing: Outgoing) -> Broadcast | None:
        """Mask what a stage opens, keep the own part, and seal it for the others."""
        sent = {name: program.engine.open_with(name, share) for name, share in outgoing.opened.items()}
        own = {name: part for name, part in sent.items() if part is not None}
        if not own:
            return None
        self.once(f"sent|{label}", own)
        self.station.keep(f"names|{label}", names=np.array(list(own)))
        return self.seal_all(own, f"opening|{label}")

    def receive(self, program: Program, label: str, openings: dict[int, Sealed]) -> None:
        """Add the others' parts of a stage's openings to the own ones; wires come of it."""
        if not label:
            return
        if sorted(openings) != sorted(self.peers):
            raise MessageError("the openings of a share holder are missing; start the job again")
        names = [str(name) for name in self.station.kept(f"names|{label}")["names"]]
        kept = self.station.kept(f"sent|{label}")
        total = {name: Wide.from_words(kept[str(place)]) for place, name in enumerate(names)}
        for peer, sealed in openings.items():
            part = self.receive_sealed(peer, sealed, f"opening|{label}")
            if {name: array.shape for name, array in part.items()} != {n: a.shape for n, a in total.items()}:
                raise MessageError("an opening has another shape than it must; the job stops")
            total = {name: total[name] + part[name] for name in names}
        for name in names:
            program.receive(name, total[name])


def revealed_words(outgoing: Outgoing) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the shares for central as arrays of words, and their fractional bits."""
    shares = {name: share for name, share in outgoing.revealed.items() if isinstance(share, Share)}
    words = {name: share.value.to_words() for name, share in shares.items() if share.value is not None}
    return words, {name: shares[name].frac_bits for name in words}


def dealt(station: Station, plan: Plan, inputs: list[tuple[str, int, int]], stages: list[StageInfo]) -> bytes:
    """Return the dealer's corrections for some stages and inputs, sealed for the outcome holder.

    **Reveals** nothing to the dealer: it uses its keys and the plan alone.
    """
    if station.has_data:
        raise MessageError("the helper holds data of this task; name an organization without data as helper")
    if station.aggregator == station.organization:
        raise MessageError("the helper must not run the central function; start the task at another organization")
    keys = [station.channel.key(member, PURPOSE) for member in plan.holders]
    dealer = Dealer(keys)
    corrections = dict(masks(Program(dealer, layout(plan), {}), [stage_of(info) for info in stages]))
    if inputs:
        corrections.update(_deltas(dealer, keys, plan, inputs))
    return station.channel.seal(plan.holders[-1], pack(corrections), "corrections")


def _deltas(dealer: Dealer, keys: list[bytes], plan: Plan, entries: list[tuple[str, int, int]]) -> dict[str, Wide]:
    rows = plan.rows
    own = [expand_wide(keys[index], f"input/{name}", (rows, width)) for name, index, width in entries]
    if entries[0][0].startswith("features"):
        target = dealer.random("features", (rows, sum(plan.widths)))
        return {"features": delta(keys[-1], Wide.concatenate(own), target)}
    return {
        f"delta|{name}": delta(keys[-1], mask, dealer.random(name, mask.shape))
        for (name, _, _), mask in zip(entries, own, strict=True)
    }


def _words(payload: bytes) -> np.ndarray:
    """Return bytes as words with their length in front, for `Station.keep`."""
    padded = len(payload).to_bytes(8, "little") + payload
    padded += bytes(-len(padded) % 16)
    return np.frombuffer(padded, dtype="<u8").astype(np.uint64).reshape(-1, 2)


def _bytes(words: np.ndarray) -> bytes:
    """Return the bytes of `_words`."""
    plain = np.ascontiguousarray(words).astype("<u8").tobytes()
    size = int.from_bytes(plain[:8], "little")
    return plain[8 : 8 + size]
