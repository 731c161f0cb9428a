"""What a station, or the helper, does in a private fit of columns of the same records."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.federation.gate import Receipt
from fedbayes.federation.horizontal import CountNoise, SumReply, one_budget, one_question
from fedbayes.federation.manifest import digest_of
from fedbayes.mpc.shared_fixed import Dealer
from fedbayes.mpc.wide import BITS as RING
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share

from ..horizontal.private.layout import BITS, Layout, outline_layout
from ..messages.names import Name
from ..messages.setup import Plan
from ..shares.agreed import taker
from ..shares.program import Outgoing, pack
from ..stations.binding import bound, chained
from ..stations.holder import KeptWires, ShareHolder, dealer_keys
from ..stations.setup import rows_in_order
from . import records
from .blurred import blurred
from .cuts import Limits
from .messages import (
    ArrangeReply,
    ArrangeRequest,
    Factors,
    FactorsReply,
    Joint,
    Products,
    ProductsReply,
    SurveyRequest,
)
from .program import BESIDE, DIAGONAL, Step, flat

NOTE = "a Cox model of columns of the same records"


@partial
def partial_arrange(station: Station, request: ArrangeRequest) -> ArrangeReply:
    """Put the rows in the common order, and say which of the columns are here.

    **Reveals** to central which columns are here, and the number of common records, which the promise takes for public.
    """
    question, asked = request.question, request.asked
    station.require_private(asked.noise.promises)
    here = set(station.columns)
    features = [name for name in asked.question.domain if name in here]
    outcome = [name for name in (question.time, question.event) if name in here]
    if question.id_column is not None and question.id_column not in here:
        raise DataProblem(f"identifier column '{question.id_column}' is not in this station's table; check its name")
    if len(outcome) == 1:
        raise DataProblem(
            f"column '{outcome[0]}' is here without the other outcome column; check its name: both must be at one station"
        )
    named = [question.id_column] if question.id_column else [*outcome, *features][:1]
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

    **Reveals** uniform numbers to the share holders and central; to the helper shapes alone. **Assumes** that the helper shares no key with who sees them.
    """
    plan = request.plan
    if station.organization == plan.helper:
        keys, takes = dealer_keys(station, plan), taker(plan, station.aggregator)
        _same_point(station, request)
        dealer = Dealer(keys, plan.holders.index(takes))
        dealt = pack(Step(dealer, plan, request.sizes, {}).deal())
        return FactorsReply({}, station.seal(takes, dealt, "corrections"))
    if request.point is None:
        raise MessageError("a point of the fit is missing; start the job again")
    station.require_private(request.point.asked.noise.promises)
    holder, joint = _holder(station, plan), Joint(request.point.asked, plan)
    _same_point(station, request)
    engine = holder.engine(request.sizes.step)
    step = Step(engine, plan, request.sizes, KeptWires(station))
    values = records.entered(step, joint, request.point, holder.index, records.read(station, joint, holder.index))
    entries = step.entries()
    sent = {name: engine.enter(name, Wide.encode(values[name], entries[name].bits)) for name in sorted(values)}
    holder.once(f"entered|{request.sizes.step}", sent)
    return FactorsReply({name: station.share(part.to_bytes(RING)) for name, part in sent.items()}, None)


@partial
def partial_products(station: Station, request: Products) -> ProductsReply:
    """Multiply what is on shares; at the last stage add this station's share of the noise and reveal the sums.

    **Reveals** to the share holders and central openings under uniform masks, and to central, with noise, slope, missed events, matrix and drift over all
    records. **Assumes** that the honest fraction of the stations adds its share, that the helper colludes with nobody, and that central knows not the
    shares of all stations.
    """
    plan, point, stage = request.plan, request.point, request.stage
    station.require_private(point.asked.noise.promises)
    holder, joint = _holder(station, plan), Joint(point.asked, plan)
    told = _same_point(station, request)
    step = Step(holder.engine(point.step, request.corrections), plan, request.sizes, KeptWires(station))
    _receive(step, stage, request.openings)
    if not stage:
        _check_own(holder, step, request.openings)
    label = f"products|{point.step}|{stage}"
    outgoing, receipt = step.run(stage), None
    if outgoing.revealed:
        layout = Limits.of(point, plan.widths).layout(point)
        receipt = _paid(station, joint, layout, f"slope-{point.step}")
        outgoing = _with_noise(outgoing, joint, layout)
    outgoing = bound(holder, chained(holder, f"{told}|{stage}", request.openings, label), label, outgoing)
    own = {name: step.engine.open_with(name, share) for name, share in outgoing.opened.items()}
    if own:
        holder.once(f"sent|{label}", own)
    return ProductsReply(
        {name: station.share(part.to_bytes(RING)) for name, part in own.items()}, _revealed(station, outgoing, receipt)
    )


def _holder(station: Station, plan: Plan) -> ShareHolder:
    """Return this share holder; refuse where central is at the helper, who would know all masks."""
    if station.aggregator == plan.helper:
        raise MessageError("the helper must not run the central function; start the task at another organization")
    return ShareHolder(station, plan)


def _same_point(station: Station, request: Factors | Products) -> str:
    """Return the digest of the point of a step, one a step: cuts, scales and noise must be those of one point.

    The dealer deals for one plan and one set of sizes: who takes the corrections of two could subtract what hides them, as it is the same in both.
    """
    digest = digest_of((request.plan, request.sizes, request.point))
    station.keep(f"point|{request.sizes.step}", digest=np.array(digest))
    if str(station.kept(f"point|{request.sizes.step}")["digest"]) != digest:
        raise MessageError("a step of the protocol was asked for twice with other contents; start the job again")
    return digest


def _receive(step: Step, stage: int, openings: dict[Name, np.ndarray[Any, Any]]) -> None:
    """Turn what was entered, or opened in the stage before, into wires."""
    expected = step.opens(stage - 1) if stage else step.entries()
    if set(openings) != set(expected):
        raise MessageError("openings of another stage came; the job stops")
    for name, opening in openings.items():
        if opening.dtype != np.uint8 or opening.ndim != 3 or opening.shape[-1] != RING // 8:
            raise MessageError("an opening has another form than it must; the job stops")
        try:
            if stage:
                step.receive(stage - 1, name, Wide.from_bytes(opening))
            else:
                step.enter(name, Wide.from_bytes(opening))
        except (ValueError, LookupError):
            raise MessageError("an opening has another shape than it must; the job stops") from None


def _check_own(holder: ShareHolder, step: Step, openings: dict[Name, np.ndarray[Any, Any]]) -> None:
    """Refuse where what this station entered came back changed; the others, who were told the same, then add up nothing."""
    own = {
        name: Wide.from_bytes(openings[name])
        for name, entry in sorted(step.entries().items())
        if entry.holder == holder.index
    }
    holder.once(f"entered|{step.sizes.step}", own)


def _paid(station: Station, joint: Joint, layout: Layout, name: str) -> Receipt:
    """Charge the fit's budget once in the job, and refuse a portion that is spent, before anything is sampled."""
    noise, parties = joint.asked.noise, len(joint.plan.holders)
    _check_asked(station, joint.plan)
    noise.shares(0, 1.0 / layout.portion, layout.change(noise), parties)  # what cannot be sampled is not charged
    receipt = station.charge(noise.epsilon, noise.delta, note=NOTE, once=one_budget(station), summed=False)
    one_question(station, name)
    return receipt


def _check_asked(station: Station, plan: Plan) -> None:
    """Refuse where others are asked than the share holders: noise is in as many shares as there are of them."""
    if set(station.participants) != set(plan.holders):
        raise MessageError("noisy sums must be asked of all share holders, and of nobody else; start the job again")


def _noise(joint: Joint, layout: Layout) -> np.ndarray[Any, Any]:
    noise: CountNoise = joint.asked.noise
    return noise.shares(layout.length, 1.0 / layout.portion, layout.change(noise), len(joint.plan.holders))


def _with_noise(outgoing: Outgoing, joint: Joint, layout: Layout) -> Outgoing:
    """Return the sums of a step with this station's noise, each block in one row, units of 2^-`BITS` of the block's norm."""
    parts = [flat(_folded(share) if name == "matrix" else share) for name, share in outgoing.revealed.items()]
    ends = np.cumsum(layout.sizes)[:-1]
    found = {}
    for name, share, noise in zip(outgoing.revealed, parts, np.split(_noise(joint, layout), ends), strict=True):
        assert share.value is not None
        found[name] = Share(blurred(share.value, noise, share.frac_bits - BITS), share.shape, share.frac_bits)
    return Outgoing({}, found)


def _folded(share: Share) -> Share:
    """Return the upper triangle of a matrix, what is off the diagonal about times the root of two."""
    rows, columns = np.triu_indices(share.shape[0])
    assert share.value is not None
    upper = share.value[rows, columns]
    value = upper.times(DIAGONAL).where(rows == columns, upper.times(BESIDE))
    return Share(value, value.shape, share.frac_bits)


def _revealed(station: Station, outgoing: Outgoing, receipt: Receipt | None) -> dict[str, Any]:
    if receipt is None:
        return {}
    words = {name: share.value.to_words() for name, share in outgoing.revealed.items() if share.value is not None}
    return {name: station.share(station.released(part, receipt)) for name, part in words.items()}
