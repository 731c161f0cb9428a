"""What a station does in each round of the private solver.

**Assumes** that the helper, which deals, colludes with nobody, and that no two share holders do; what holds a central that sends them different openings:
`binding`, `openings`.
"""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Broadcast, Sealed, Station, partial
from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.federation.guards.once import asked_once
from fedbayes.mpc.wide import Wide

from ..messages.names import Name
from ..messages.private import (
    OFFSET_BITS,
    EnterReply,
    EnterRequest,
    FinishReply,
    FinishRequest,
    Opened,
    PermuteReply,
    PermuteRequest,
    StageReply,
    StageRequest,
)
from ..shares.agreed import inputs_of, most_points
from ..shares.clusters import KIND
from ..shares.layout import COLUMNS, STARTS, Layout
from ..shares.products import FEW
from ..shares.program import Program
from ..shares.sandwich import STAGES as SANDWICH
from ..shares.sorting import as_places
from ..shares.travel import Outgoing, forms, joined, pack, reorder, scattered
from .binding import before, bound, chained
from .clusters import WANTED, dealt_to_grouper, told_by_cluster
from .dealer import dealt, dealt_inputs
from .guards import check_effect
from .holder import KeptWires, ShareHolder, revealed_words
from .inputs import effects, masked_entry, own_numbers
from .openings import SUM_KEY, drawn_key, keep_key, opened, received
from .path import check_hazards, check_told
from .products import check_few, chosen_part, sealed_few
from .telling import mean_of_complete, sealed_for_stations, told_counts

TAU = Name("tau")
"""The permutation, published with the columns."""
BEFORE_COUNTING = ("features", "gather", "complete")
BEFORE_JUDGING = ("features", "tally", "few")


def enter(station: Station, request: EnterRequest, judged: bool = False) -> EnterReply:
    """Answer `partial_enter`, of the whole job or of one fold; where a model is `judged` no record may dominate the answer."""
    plan = request.plan
    if request.step > most_points(plan):
        raise MessageError("more points of the likelihood are asked for than so many records allow; the job stops")
    if station.organization == plan.helper:
        inputs = inputs_of(plan, request.step, request.beside) if request.inputs else []
        corrections = dealt(station, plan, request.stages)
        grouping = [stage for stage in request.stages if stage.kind == KIND]
        if grouping:
            return EnterReply(dealt_to_grouper(station, plan, grouping[0]), corrections)
        return EnterReply(dealt_inputs(station, plan, inputs) if inputs else None, corrections)
    holder = ShareHolder(station, plan)
    sent: dict[str, Wide] = {}
    for entry in inputs_of(plan, request.step, request.beside):
        if entry.holder == holder.index:
            step = entry.name.step or 0
            coefficients = request.beside.get(step, request.coefficients)
            if judged and step:
                _check_effects(holder, coefficients)
            sent[entry.name] = masked_entry(holder, entry.name, coefficients)
    if not sent:
        raise MessageError("this station has nothing to enter; start the job again")
    if holder.owns_outcome:
        return EnterReply(None, None)
    return EnterReply(station.seal(plan.holders[-1], pack(sent), f"input|{request.step}"), None)


def _check_effects(holder: ShareHolder, coefficients: list[float]) -> None:
    """Refuse coefficients under which one record, in its case weight, dominates what is opened."""
    records = holder.plan.records // holder.plan.copies  # with times of entry each has a second row
    weighted = holder.owns_outcome and holder.plan.weighted
    masses = holder.station.kept("outcome")["weights"][:records] if weighted else 1.0
    for effect in effects(holder, coefficients):
        check_effect(effect[:records], holder.station.policy.minimum_count, masses)


def permute(station: Station, request: PermuteRequest) -> PermuteReply:
    """Answer `partial_permute`, of the whole job or of one fold."""
    plan, step = request.plan, request.step
    holder = ShareHolder(station, plan)
    if not holder.owns_outcome:
        raise MessageError("only the outcome holder sorts")
    sorter = holder.sorter()
    engine = holder.engine(step, request.corrections)
    received: dict[Name, Wide] = {}
    entries = inputs_of(plan, step, request.beside)
    for index in dict.fromkeys(entry.holder for entry in entries):
        sender = plan.holders[index]
        names = [entry.name for entry in entries if entry.holder == index]
        received.update(_own_or_unsealed(holder, sender, request.inputs.get(sender), step, names))
    published: dict[Name, Wide] = {}
    if step == 0:
        columns = [received.pop(entry.name) for entry in entries if entry.name.kind == "features"]
        if columns:
            published[COLUMNS] = sorter.permuted(Wide.concatenate(columns), engine.correction(COLUMNS))
        published.update(sorter.entries(engine))
    for name, array in received.items():
        published[name] = sorter.permuted(array, engine.correction(f"delta|{name}"))
    holder.publish(step, published)
    if step == 0:  # the same in every step
        tau = sorter.tau.astype(np.uint64)
        published[TAU] = Wide.from_words(np.stack([tau, np.zeros_like(tau)], 1))
        published[SUM_KEY] = drawn_key(holder)
    return PermuteReply(holder.seal_all(published, f"published|{step}"))


def _own_or_unsealed(
    holder: ShareHolder, sender: int, sealed: Sealed | None, step: int, names: list[Name]
) -> dict[Name, Wide]:
    if sender != holder.station.organization:
        if sealed is None:
            raise MessageError("the input of a station is missing; start the job again")
        received = holder.unseal(sender, sealed, f"input|{step}")
        if sorted(received) != sorted(names):
            raise MessageError("a station entered something else than was asked for; the job stops")
        return {name: received[name] for name in names}
    return {name: Wide.from_words(holder.station.kept(f"input|{name}")["0"]) for name in names}


def compute(station: Station, request: StageRequest) -> StageReply:
    """Answer `partial_stage`, of the whole job or of one fold."""
    holder = ShareHolder(station, request.plan)
    stage, kinds = request.stages[0], {one.kind for one in request.stages}
    check_hazards(holder, request.stages)
    check_told(holder, request.stages)
    program = Program(holder.engine(stage.step, request.corrections), Layout(request.plan), KeptWires(station))
    label = f"{stage.kind}|{stage.label}"
    openings = _receive(holder, program, request.openings, before(holder, label))
    counts = None
    if request.for_stations and request.plan.products:
        check_few(holder, request.for_stations)
    elif request.for_stations:
        counts = told_counts(holder, request.for_stations)
    if request.plan.products and kinds.difference(BEFORE_JUDGING):
        station.kept("products")  # nothing is revealed before products were judged
    if request.plan.complete and kinds.difference(BEFORE_COUNTING):
        station.kept("complete")  # nothing is revealed before the counts were checked
    if kinds & {*SANDWICH, KIND}:
        station.kept(WANTED)  # of score residuals nothing is revealed where the question did not want them
    outgoing = _ran(holder, program, request)
    digest = chained(holder, repr((request.plan, request.stages)), openings, label)
    outgoing = bound(holder, digest, label, outgoing)
    words, frac_bits = revealed_words(outgoing)
    shares = {name: station.share(station.further(part)) for name, part in words.items()}
    answer = None if counts is None else station.further(counts)
    own = {name: program.engine.open_with(name, share) for name, share in outgoing.opened.items()}
    parts, checksum = opened(holder, label, own, forms(program.layout, own))
    few = outgoing.for_stations.get(FEW)
    for_stations = sealed_for_stations(holder, outgoing.for_stations) if few is None else sealed_few(holder, few)
    return StageReply(parts, checksum, shares, station.public(frac_bits), for_stations, answer)


def _ran(holder: ShareHolder, program: Program, request: StageRequest) -> Outgoing:
    """Run the stages of a request, with what was published for them, and bring what they open into the order in which it is opened."""
    stages, stage = request.stages, request.stages[0]
    if stage.kind in ("features", "relative_risk"):
        published = _published(holder, stage.step, request.permuted)
        tau = _tau(holder, published)
        if stage.kind == "features":
            program.enter({name: published.pop(name) for name in STARTS if name in published})
        full = {name: scattered(array, tau) for name, array in published.items()}
        return reorder(joined([program.run(one, full) for one in stages]), tau)
    if stage.kind == KIND:
        return program.run(stage, told_by_cluster(holder, stage, request.permuted))
    if stage.kind == "weigh_start" and stage.step:
        program.enter(_published(holder, stage.step, request.permuted))
    outgoing = joined([program.run(one) for one in stages])
    if stage.kind == "residuals" and request.plan.clusters:  # opened in the dealer's order of the rows
        return reorder(outgoing, np.argsort(_tau(holder, {})))
    return outgoing


def _receive(holder: ShareHolder, program: Program, opened_before: Opened, label: str) -> dict[Name, np.ndarray]:
    """Turn what the stage before opened into wires and return it; nothing, where central goes on without it (a step that is given up)."""
    if not opened_before.sums:
        return {}
    try:
        travelling = forms(program.layout, opened_before.sums)
        openings = received(holder, label, opened_before, travelling)
        for name, cut in openings.items():
            program.receive(name, travelling[name].public(cut))
        return openings
    except (ValueError, LookupError):
        raise MessageError("an opening has another shape than it must; the job stops") from None


def _published(holder: ShareHolder, step: int, sealed: Broadcast | None) -> dict[Name, Wide]:
    """Return what the outcome holder published in this step."""
    if holder.owns_outcome:
        kept = holder.station.kept(f"published|{step}")
        names = [Name.read(str(name)) for name in holder.station.kept(f"published-names|{step}")["names"]]
        return {name: Wide.from_words(kept[str(index)]) for index, name in enumerate(names)}
    if sealed is None:
        raise MessageError("what the outcome holder published is missing; start the job again")
    return holder.receive_sealed(holder.plan.holders[-1], sealed, f"published|{step}")


def _tau(holder: ShareHolder, published: dict[Name, Wide]) -> np.ndarray:
    """Return the permutation tau, taken out of what was published first with the key of checksums."""
    if holder.owns_outcome:
        return holder.sorter().tau
    tau, key = published.pop(TAU, None), published.pop(SUM_KEY, None)
    if key is not None:
        keep_key(holder, key)
    if tau is not None:
        holder.station.keep("tau", places=as_places(tau.low, holder.plan.rows))
    return np.asarray(holder.station.kept("tau")["places"])


@partial
def partial_finish(station: Station, request: FinishRequest) -> FinishReply:
    """Return coefficient times mean, summed over the own columns, masked for the sum over the stations.

    **Reveals** to central the sum over all stations alone: the linear predictor at the mean; with missing="complete" that at the mean of the records
    without a gap at the station of each column, and what the mean of the complete records adds. **Assumes** that at least two stations
    with features do not collude with central: of one alone it knows that one's sum.
    """
    station.require_asked(request.plan.holders)
    asked_once(station, "offset", station.round_name)
    if station.organization == request.plan.helper:
        return FinishReply(station.mask(station.further(np.zeros(2, dtype=np.uint64)), "offset", request.plan))
    holder = ShareHolder(station, request.plan)
    kept = station.kept("design")
    beta = own_numbers(request.coefficients, len(kept["means"]))
    own = np.array([beta @ (kept["means"] / kept["scales"]), beta @ mean_of_complete(station, request.plan)])
    if request.plan.products:
        own[0] += chosen_part(holder, request.coefficients)[1]
    if not np.max(np.abs(own)) < 2.0 ** (62 - OFFSET_BITS):
        raise DataProblem("coefficient times mean is out of range; centre the features of this station")
    value = np.rint(own * 2.0**OFFSET_BITS).astype(np.int64)
    return FinishReply(station.mask(station.further(value), "offset", request.plan))


@partial
def partial_enter(station: Station, request: EnterRequest) -> EnterReply:
    """Send the private vector of a step, masked, to the outcome holder; the helper deals.

    Coefficients of a job that the manifest calls an evaluation are the caller's, not a solver's: no record may dominate what is opened at them.

    **Reveals** to the outcome holder uniform vectors; to central and the helper nothing.
    **Assumes** what the module says.
    """
    return enter(station, request, judged=station.require_members().function == "evaluate")


@partial
def partial_permute(station: Station, request: PermuteRequest) -> PermuteReply:
    """Sort the stations' masked vectors in the secret order of the event times. The outcome holder only.

    **Reveals** to the other share holders uniform vectors and a uniform permutation.
    **Assumes** what the module says.
    """
    return permute(station, request)


@partial
def partial_stage(station: Station, request: StageRequest) -> StageReply:
    """Compute one stage of the private Newton step on shares.

    **Reveals** to the other share holders openings under fresh uniform masks; to central this station's shares of gradient,
    information matrix, scalar residuals, slopes along the line from zero and (at the end) the baseline hazard at a few times and the score of interactions with
    time: uniform but for their sum. Those of the hazard are cut to the steps in which it is told (`cox.coarse`); their sum is off by a step or two at random.
    **Assumes** what the module says.
    """
    return compute(station, request)
