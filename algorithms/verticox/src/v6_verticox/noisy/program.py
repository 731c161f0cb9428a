"""The products of a step on shares, the same for share holders and the dealer.

With F and V the products over the stations with features, but the outcome holder, of what a record is kept by and of that times its risk, and what the
outcome holder enters with its own factors and the blocks' scales in it (e events, h hazard, m events and x hazard by group, z hazard by period, w weight of
the matrix), a step opens among them, under masks, F and V, then the residuals r = F e - V h, the weights V z and the weighed columns a V w (or a F w). Revealed
are, with noise, the sums a' r, F' m - V' x, a' (a V w) and a' (V z). Nothing is cut off an opening: the ring is exact.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from dataclasses import dataclass

from fedbayes.federation.errors import MessageError
from fedbayes.mpc.shared_fixed import Dealer, Engine
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, Wire

from ..messages.names import Name
from ..messages.setup import Plan
from ..shares.travel import Outgoing
from .messages import Sizes

COLUMN_BITS = 14
"""Fractional bits of whitened columns: cut by 6e-5 of a deviation at most."""
OUTCOME_BITS = 24
"""Of what the outcome holder enters, of which a record's block is 1 at most."""
FACTOR_BITS = 44
"""Of all factors of a record together: with the others 2 x 14 + 44 + 24 + 5 = 101 bits, and 26 for the sum over records and its noise."""
MOST_FACTOR_BITS = 20  # of one station's factor: with two or less stations more gain nothing beside the columns' 14
TOGETHER = 3
"""Factors that are multiplied in one round."""
DIAGONAL, BESIDE = 29, 41
"""41 / 29 is the root of 2, less 3e-4: what is off the diagonal of the matrix stands for two entries."""
MOST_HOLDERS = 7
"""Stations with features beside the outcome holder: of more the factors would have less than 6 bits each."""


@dataclass(frozen=True)
class Entry:
    """What one share holder enters: its position, columns, and fractional bits."""

    holder: int
    columns: int
    bits: int


class Step:
    """One role's run through the products of a step.

    Parameters
    ----------
    engine : Party or Dealer
    plan : Plan
    sizes : Sizes
    wires : mutable mapping of str to Wire
        What earlier stages left; new wires are added.
    """

    def __init__(self, engine: Engine, plan: Plan, sizes: Sizes, wires: MutableMapping[str, Wire]) -> None:
        self.engine, self.plan, self.sizes, self.wires = engine, plan, sizes, wires
        self.owner = len(plan.holders) - 1
        self.others = [holder for holder, width in enumerate(plan.widths[:-1]) if width]

    @property
    def factor_bits(self) -> int:
        """Fractional bits of one station's factor."""
        return min(MOST_FACTOR_BITS, FACTOR_BITS // len(self.others))

    def named(self, kind: str, version: int = 0, part: int | None = None) -> Name:
        """Return a name of this step."""
        return Name(kind, self.sizes.step, version, part)

    @classmethod
    def shape(cls, plan: Plan, sizes: Sizes) -> Step:
        """Return a step of which only the shapes are asked, as at central."""
        return cls(Dealer([b""] * len(plan.holders)), plan, sizes, {})

    def reveals(self) -> dict[str, int]:
        """Return the fractional bits of what is revealed at the end, in the order of a step's layout."""
        bits = len(self.others) * self.factor_bits + OUTCOME_BITS
        return {
            "slope": bits + COLUMN_BITS,
            "missed": bits,
            "matrix": bits + 2 * COLUMN_BITS,
            "drift": bits + COLUMN_BITS,
        }

    def entries(self) -> dict[Name, Entry]:
        """Return everything that is entered in this step."""
        bits, sizes = self.factor_bits, self.sizes
        entered = {
            self.named("columns", part=holder): Entry(holder, width, COLUMN_BITS)
            for holder, width in enumerate(self.plan.widths)
            if width
        }
        for kind in ("kept", "risk"):
            entered |= {
                self.named(kind, part=holder): Entry(self.others[holder], 1, bits) for holder in range(self._factors(0))
            }
        owned = {
            "event": 1,
            "hazard": 1,
            "matrix": 1,
            "missed": sizes.groups,
            "expected": sizes.groups,
            "drift": sizes.periods,
        }
        return entered | {self.named(kind): Entry(self.owner, columns, OUTCOME_BITS) for kind, columns in owned.items()}

    def _factors(self, level: int) -> int:
        """Return how many factors are left after so many rounds."""
        return -(-len(self.others) // int(TOGETHER**level))

    @property
    def levels(self) -> int:
        """Rounds until one factor is left."""
        level = 0
        while self._factors(level) > 1:
            level += 1
        return level

    @property
    def stages(self) -> int:
        """Rounds after what is entered: products of factors, products with them, sums."""
        return self.levels + 2

    def opens(self, stage: int) -> dict[Name, tuple[tuple[int, int], int]]:
        """Return shape and fractional bits of what a stage opens."""
        rows, bits = self.plan.rows, self.factor_bits
        if stage < self.levels:
            level = stage + 1
            opened: dict[Name, tuple[tuple[int, int], int]] = {}
            for part in range(self._factors(level)):
                behind = min((part + 1) * TOGETHER**level, len(self.others)) - part * TOGETHER**level
                opened |= {self.named(kind, level, part): ((rows, 1), behind * bits) for kind in ("kept", "risk")}
            return opened
        if stage > self.levels:
            return {}
        weighed = len(self.others) * bits + OUTCOME_BITS
        return {
            self.named("residual"): ((rows, 1), weighed),
            self.named("spent"): ((rows, self.sizes.periods), weighed),
            self.named("weighed"): ((rows, sum(self.plan.widths)), weighed + COLUMN_BITS),
        }

    def enter(self, name: Name, public: Wide | None) -> None:
        """Turn what a share holder entered into a wire."""
        entry = self.entries()[name]
        shape = (self.plan.rows, entry.columns)
        if public is not None and public.shape != shape:
            raise ValueError("an input has another shape than it must")
        self.wires[name] = self.engine.entered(name, entry.holder, public, shape, entry.bits)

    def receive(self, stage: int, name: Name, public: Wide | None, opened: Wide | None = None) -> None:
        """Turn an opening of a stage into a wire."""
        shape, bits = self.opens(stage)[name]
        if public is not None and public.shape != shape:
            raise ValueError("an opening has another shape than it must")

        def mask() -> Wide:
            assert opened is not None
            return -opened

        self.wires[name] = Wire(public, self.engine.deal(f"{name}/mask", shape, mask), bits)

    def run(self, stage: int) -> Outgoing:
        """Compute one stage."""
        if stage < self.levels:
            return self._multiplied(stage + 1)
        return self._weighed() if stage == self.levels else self._summed()

    def deal(self) -> dict[str, Wide]:
        """Run all stages at the dealer; return the corrections."""
        assert isinstance(self.engine, Dealer)
        for name in self.entries():
            self.enter(name, None)
        for stage in range(self.stages):
            for name, share in self.run(stage).opened.items():
                self.receive(stage, name, None, self.engine.open_with(name, share))
        return self.engine.corrections

    def _get(self, kind: str, version: int = 0, part: int | None = None) -> Wire:
        name = self.named(kind, version, part)
        if name not in self.wires:
            raise MessageError("an earlier stage of the protocol is missing; the job stops")
        return self.wires[name]

    def _whole(self, kind: str) -> Wire:
        return self._get(kind, self.levels, 0)

    def _columns(self) -> Wire:
        parts = [self._get("columns", part=holder) for holder, width in enumerate(self.plan.widths) if width]
        publics = [part.public for part in parts if part.public is not None]
        mask = Wide.concatenate([part.mask for part in parts])
        return Wire(Wide.concatenate(publics) if publics else None, mask, COLUMN_BITS)

    def _multiplied(self, level: int) -> Outgoing:
        opened = {}
        for name in self.opens(level - 1):
            first = (name.part or 0) * TOGETHER
            last = min(first + TOGETHER, self._factors(level - 1))
            wires = [self._get(name.kind, level - 1, part) for part in range(first, last)]
            opened[name] = self.engine.product(name, wires) if len(wires) > 1 else self.engine.lifted(wires[0])
        return Outgoing(opened)

    def _weighed(self) -> Outgoing:
        kept, risk, multiply = self._whole("kept"), self._whole("risk"), self.engine.product
        dead = multiply(self.named("dead"), [kept, self._get("event")])
        expected = multiply(self.named("hazards"), [risk, self._get("hazard")])
        spent = multiply(self.named("spent"), [risk, self._get("drift")])
        weight = risk if self.sizes.weighted else kept
        weighed = multiply(self.named("weighed"), [self._columns(), weight, self._get("matrix")])
        return Outgoing(
            {self.named("residual"): dead - expected, self.named("spent"): spent, self.named("weighed"): weighed}
        )

    def _summed(self) -> Outgoing:
        columns, inner = self._columns(), self.engine.inner
        missed = inner(self.named("sumevents"), self._whole("kept"), self._get("missed"))
        expected = inner(self.named("sumhazards"), self._whole("risk"), self._get("expected"))
        return Outgoing(
            {},
            {
                "slope": inner(self.named("sumslope"), columns, self._get("residual")),
                "missed": missed - expected,
                "matrix": inner(self.named("summatrix"), columns, self._get("weighed")),
                "drift": inner(self.named("sumdrift"), columns, self._get("spent")),
            },
        )


def flat(share: Share) -> Share:
    """Return a share's numbers in one row."""
    value, size = share.held, math.prod(share.shape)
    return Share(Wide(value.high.reshape(size), value.low.reshape(size)), (size,), share.frac_bits)
