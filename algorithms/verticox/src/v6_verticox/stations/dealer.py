"""The helper as the dealer: it deals for one plan, and every stage of it once.

What it deals for a stage hides products of masks behind numbers that follow from a name, which stages of two kinds can have in common. So a stage, and whatever
has a name, is dealt again only with the very stages that it was dealt with, which is the same question once more, and gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedbayes.federation import Sealed, Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import TWICE, asked_once
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.mpc.shared_fixed import Dealer
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import expand_wide

from ..messages.names import Input
from ..messages.private import Stage
from ..messages.setup import Plan
from ..shares.agreed import taker
from ..shares.layout import Layout
from ..shares.program import Program, masks
from ..shares.sorting import delta
from ..shares.travel import Arrays, pack
from .holder import PLAN, PURPOSE, KeptWires

DEALT = "names dealt"
"""For what names were dealt, noted for the rounds of the job."""


def dealer_keys(station: Station, plan: Plan) -> list[bytes]:
    """Return the dealer's keys with the share holders of the job's one plan.

    Raises
    ------
    MessageError
        When this organization must not deal, or dealt for another plan.
    """
    if station.has_data:
        raise MessageError("the helper holds data of this task; name an organization without data as helper")
    if station.aggregator == station.organization:
        raise MessageError("the helper must not run the central function; start the task at another organization")
    asked_once(station, PLAN, plan)
    return [station.channel.key(member, PURPOSE) for member in plan.holders]


def sealed_corrections(station: Station, plan: Plan, corrections: Arrays) -> Sealed:
    """Return what the dealer dealt, sealed for who takes it."""
    return station.seal(taker(plan, station.aggregator), pack(corrections), "corrections")


def dealer(station: Station, plan: Plan) -> Dealer:
    """Return the dealer's arithmetic; `MessageError` as `dealer_keys`."""
    return Dealer(dealer_keys(station, plan), plan.holders.index(taker(plan, station.aggregator)))


def dealt(station: Station, plan: Plan, stages: Sequence[Stage]) -> Sealed:
    """Return the dealer's corrections for some stages, sealed for who takes them; each stage, and each name, once in a job.

    **Reveals** nothing to the dealer: it uses its keys and the plan alone.
    """
    engine = dealer(station, plan)
    for stage in stages:
        asked_once(station, f"dealt|{stage.kind}|{stage.label}", list(stages))
    corrections = masks(Program(engine, Layout(plan), KeptWires(station)), list(stages))
    _named_once(station, list(corrections), digest_of(list(stages)))
    return sealed_corrections(station, plan, corrections)


def _named_once(station: Station, names: list[str], stages: str) -> None:
    """Note what is dealt for stages, by their digest; raise `MessageError` where something of that name was dealt for others."""
    station.note(DEALT, [stages, names])
    if any(other != stages and not set(before).isdisjoint(names) for other, before in station.noted(DEALT)):
        raise MessageError(TWICE)


def dealt_inputs(station: Station, plan: Plan, inputs: Sequence[Input]) -> Sealed:
    """Return what the dealer tells the outcome holder for sorting inputs: a[sigma] - b of each, which follows from plan and name."""
    keys = dealer_keys(station, plan)
    return station.seal(plan.holders[-1], pack(_deltas(Dealer(keys), keys, plan, inputs)), "corrections")


def _deltas(engine: Dealer, keys: Sequence[bytes], plan: Plan, entries: Sequence[Input]) -> dict[str, Wide]:
    rows = plan.rows
    own = {one.name: expand_wide(keys[one.holder], f"input/{one.name}", (rows, one.columns)) for one in entries}
    columns = [own.pop(one.name) for one in entries if one.name.kind == "features"]
    deltas = {f"delta|{name}": delta(keys[-1], mask, engine.random(name, mask.shape)) for name, mask in own.items()}
    if columns:
        target = engine.random("features", (rows, sum(plan.widths)))
        deltas["features"] = delta(keys[-1], Wide.concatenate(columns), target)
    return deltas
