"""What a station, or the helper, does in a private fit of columns of the same records."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Broadcast, Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.gate import Receipt
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.horizontal import CountNoise, SumReply, pay_part
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share
from fedbayes.typing import Array

from ..horizontal.private.layout import BITS, Layout, outline_layout
from ..messages.names import Name
from ..messages.setup import Plan
from ..shares.travel import Outgoing
from ..stations.binding import bound, chained
from ..stations.dealer import dealer, sealed_corrections
from ..stations.holder import KeptWires, ShareHolder, revealed_words
from ..stations.setup import identifier_of, rows_in_order
from . import records
from .blurred import blurred
from .cuts import Limits
from .messages import ArrangeReply, ArrangeRequest, Factors, FactorsReply, Joint, Products, ProductsReply, SurveyRequest
from .program import BESIDE, DIAGONAL, Step, flat

NOTE = "a Cox model of columns of the same records"
ENTERED = -1
"""In the place of a stage: what is before the first."""


@partial
def partial_arrange(station: Station, request: ArrangeRequest) -> ArrangeReply:
    """Put the rows in the common order, and say which of the columns are here.

    **Reveals** to central which columns are here, and the number of common records, which the promise takes for public.
    **Assumes** nothing beyond what the matching of the records did.
    """
    question, asked = request.question, request.asked
    station.require_private(asked.noise.promises)
    here = set(station.columns)
    features = [name for name in asked.question.domain if name in here]
    outcome = [name for name in (question.time, question.event) if name in here]
    named = identifier_of(question, here) or [*outcome, *features][:1]
    rows = len(station.data(named)) if named else 0
    places = rows_in_order(station, question, request.rows, request.order, rows)
    station.keep("places", places=places)
    return ArrangeReply(station.public(features), station.public(len(outcome) == 2), station.public(len(places)))


@partial
def partial_survey(station: Station, request: SurveyRequest) -> SumReply:
    """Add what this station has of the outline, with its share of the noise.

    **Reveals** to central, with noise, events and time at risk by time of the grid, and sums of columns and of their squares. **Assumes** that the honest
    fraction of the stations adds its share, and that central knows not those of all but one.
    """
    joint = request.joint
    station.require_private(joint.asked.noise.promises)
    holder = ShareHolder(station, joint.plan)
    layout = outline_layout(joint.asked.question)
    own = records.read(station, joint, holder.index)
    vector = records.outline(joint, layout, holder.index, own)
    receipt = _paid(station, joint, layout, "outline")
    return SumReply(station.mask(station.released(vector + _noise(joint, layout), receipt)))


@partial
def partial_factors(station: Station, request: Factors) -> FactorsReply:
    """Send what this station has of every record at a point, under masks; the helper deals for the step.

    **Reveals** uniform numbers to the other share holders; to the helper shapes alone. **Assumes** that the helper shares no key with who sees them.
    """
    plan = request.plan
    if station.organization == plan.helper:
        deals = Step(dealer(station, plan), plan, request.sizes, {})
        _one_point(station, request)
        return FactorsReply(None, sealed_corrections(station, plan, deals.deal()))
    if request.point is None:
        raise MessageError("a point of the fit is missing; start the job again")
    station.require_private(request.point.asked.noise.promises)
    holder, joint = _holder(station, plan), Joint(request.point.asked, plan)
    _one_point(station, request)
    engine = holder.engine(request.sizes.step)
    step = Step(engine, plan, request.sizes, KeptWires(station))
    values = records.entered(step, joint, request.point, holder.index, records.read(station, joint, holder.index))
    entries = step.entries()
    sent = {name: engine.enter(name, Wide.encode(value, entries[name].bits)) for name, value in values.items()}
    return FactorsReply(_sent(holder, _label(request.sizes.step, ENTERED), sent), None)


@partial
def partial_products(station: Station, request: Products) -> ProductsReply:
    """Multiply what is on shares; at the last stage add this station's share of the noise and reveal the sums.

    **Reveals** to the other share holders this one's parts of openings, uniform numbers, and to central, with noise, slope, missed events, matrix and
    drift over all records. **Assumes** that the honest fraction of the stations adds its share, that the helper colludes with nobody, and that central
    knows not the shares of all stations.
    """
    plan, point, stage = request.plan, request.point, request.stage
    station.require_private(point.asked.noise.promises)
    holder, joint = _holder(station, plan), Joint(point.asked, plan)
    point_digest = _one_point(station, request)
    step = Step(holder.engine(point.step, request.corrections), plan, request.sizes, KeptWires(station))
    openings = _received(holder, step, stage - 1, request.letters)
    label = _label(point.step, stage)
    outgoing, receipt = step.run(stage), None
    if outgoing.revealed:
        layout = Limits.of(point, plan.widths).layout(point)
        receipt = _paid(station, joint, layout, f"slope-{point.step}")
        outgoing = _with_noise(outgoing, joint, layout)
    outgoing = bound(holder, chained(holder, f"{point_digest}|{stage}", openings, label), label, outgoing)
    own = {name: step.engine.open_with(name, share) for name, share in outgoing.opened.items()}
    return ProductsReply(_sent(holder, label, own) if own else None, _revealed(station, outgoing, receipt))


def _holder(station: Station, plan: Plan) -> ShareHolder:
    """Return this share holder; refuse where central is at the helper, who would know all masks."""
    if station.aggregator == plan.helper:
        raise MessageError("the helper must not run the central function; start the task at another organization")
    return ShareHolder(station, plan)


def _one_point(station: Station, request: Factors | Products) -> str:
    """Return the digest of the point of a step, one a step: cuts, scales and noise must be those of one point.

    The dealer deals for one set of sizes a step: who takes the corrections of two could subtract what hides them, as it is the same in both.
    """
    point = [request.plan, request.sizes, request.point]
    asked_once(station, f"point|{request.sizes.step}", point)
    return digest_of(point)


def _label(step: int, stage: int) -> str:
    """Return the name of what share holders send one another after a stage of a step, or what they enter (`ENTERED`)."""
    return f"noisy|{step}|{stage}"


def _sent(holder: ShareHolder, label: str, own: dict[Name, Wide]) -> Broadcast:
    """Keep what this station sends, once, and seal it for the other share holders: central can change none of it."""
    ordered = {name: own[name] for name in sorted(own)}
    holder.once(label, ordered)
    return holder.seal_all(ordered, label)


def _received(holder: ShareHolder, step: Step, stage: int, letters: dict[int, Broadcast]) -> dict[Name, Array]:
    """Open what all share holders entered (`ENTERED`), or the parts of what a stage opened; return it in words, as wires have it."""
    label, organization, entries = _label(step.sizes.step, stage), holder.station.organization, step.entries()
    if sorted(letters) != sorted(holder.peers):
        raise MessageError("a letter of a share holder is missing, or one too many; the job stops")
    parts = {sender: holder.receive_sealed(sender, letter, label) for sender, letter in letters.items()}
    opened: dict[Name, Wide] = {}
    try:
        for position, member in enumerate(holder.plan.holders):
            own = {name for name, one in entries.items() if one.holder == position}
            names = sorted(own if stage == ENTERED else step.opens(stage))
            part = holder.kept(label, names) if member == organization else parts[member]
            if sorted(part) != names:
                raise MessageError("openings of another stage came; the job stops")
            opened |= {name: opened[name] + wide if name in opened else wide for name, wide in part.items()}
        for name, wide in opened.items():
            if stage == ENTERED:
                step.enter(name, wide)
            else:
                step.receive(stage, name, wide)
    except (ValueError, LookupError):
        raise MessageError("an opening has another shape than it must; the job stops") from None
    return {name: wide.to_words() for name, wide in opened.items()}


def _paid(station: Station, joint: Joint, layout: Layout, name: str) -> Receipt:
    """Charge the fit's budget once in the job, and refuse a portion that is spent, before anything is sampled."""
    noise = joint.asked.noise
    _check_asked(station, joint.plan)
    return pay_part(station, noise, 1.0 / layout.portion, layout.change(noise), NOTE, name, summed=False)


def _check_asked(station: Station, plan: Plan) -> None:
    """Refuse where others are asked than the share holders: noise is in as many shares as there are of them."""
    if set(station.participants) != set(plan.holders):
        raise MessageError("noisy sums must be asked of all share holders, and of nobody else; start the job again")


def _noise(joint: Joint, layout: Layout) -> Array:
    noise: CountNoise = joint.asked.noise
    return noise.shares(layout.length, 1.0 / layout.portion, layout.change(noise), len(joint.plan.holders))


def _with_noise(outgoing: Outgoing, joint: Joint, layout: Layout) -> Outgoing:
    """Return the sums of a step with this station's noise, each block in one row, units of 2^-`BITS` of the block's norm."""
    parts = [flat(_folded(share) if name == "matrix" else share) for name, share in outgoing.revealed.items()]
    ends = np.cumsum(layout.sizes)[:-1]
    revealed = {}
    for name, share, noise in zip(outgoing.revealed, parts, np.split(_noise(joint, layout), ends), strict=True):
        revealed[name] = Share(blurred(share.held, noise, share.frac_bits - BITS), share.shape, share.frac_bits)
    return Outgoing({}, revealed)


def _folded(share: Share) -> Share:
    """Return the upper triangle of a matrix, what is off the diagonal about times the root of two."""
    rows, columns = np.triu_indices(share.shape[0])
    upper = share.held[rows, columns]
    value = upper.times(DIAGONAL).where(rows == columns, upper.times(BESIDE))
    return Share(value, value.shape, share.frac_bits)


def _revealed(station: Station, outgoing: Outgoing, receipt: Receipt | None) -> dict[str, Any]:
    if receipt is None:
        return {}
    words, _ = revealed_words(outgoing)
    return {name: station.share(station.released(part, receipt)) for name, part in words.items()}
