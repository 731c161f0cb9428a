"""What stations do so that score residuals are summed by cluster: the column checked where it is, residuals brought to it unseen, sorted there.

**Assumes** that the helper, which deals, colludes with nobody, and that no two share holders do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Broadcast, Sealed, Station, partial
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.mpc.shared_fixed import Dealer
from fedbayes.mpc.wide import Wide

from ..cox.inference import CLUSTERS_PER_COLUMN
from ..cox.narrow import few, is_narrow
from ..messages.names import Name
from ..messages.private import GroupReply, GroupRequest, Opened, Stage
from ..messages.setup import Plan, Question
from ..shares.agreed import grouper
from ..shares.clusters import (
    KIND,
    arranged,
    blocks,
    delta,
    in_common_order,
    order_name,
    published,
    relay_mask,
    residuals_of,
    sorted_name,
)
from ..shares.layout import Layout
from ..shares.travel import forms, pack
from .binding import before
from .dealer import dealer_keys
from .holder import KeptWires, ShareHolder
from .openings import received

KEPT, ALONE = "clusters", ""
"""The one array of a payload has no name."""
WANTED = "scores"
"""Kept where the question wants score residuals: without it nothing is computed of them."""


def prepare_scores(station: Station, question: Question, frame: Any, columns: Sequence[str], has_outcome: bool) -> int:
    """Keep that score residuals are wanted, and by which clusters they are summed here; return how many these are, else 0.

    The frame is in the common order. Without clusters the station with the outcome (`has_outcome`) sums the rows of records that have two.

    Raises
    ------
    DataProblem, ThresholdError
        As `codes_of`; where case weights are elsewhere, with which clusters are checked.
    """
    if not question.robust:
        return 0
    station.keep(WANTED, asked=np.array(True))
    if columns and question.weights and not has_outcome:
        raise DataProblem(
            f"cluster column '{columns[0]}' must be at the station with the outcome where there are weights, which checks both together; "
            "bring it there, or leave one of them out"
        )
    if columns:
        codes = codes_of(frame[columns[0]], columns[0], max(station.policy.minimum_count, 2))
    elif has_outcome and question.copies > 1 and question.cluster is None:
        codes = np.arange(len(frame))
    else:
        return 0
    station.keep(KEPT, codes=codes)
    return int(codes.max()) + 1


def check_weighed(column: Any, name: str, weights: np.ndarray, minimum_count: int) -> None:
    """Raise `DataProblem` where few records carry what clusters add to the matrix, or what is outside the largest, as they weigh more than others."""
    codes = np.unique(column.astype(str).str.strip().to_numpy(dtype=str), return_inverse=True)[1]
    shared = weights * (np.bincount(codes, weights)[codes] - weights)
    outside = np.where(codes == np.argmax(np.bincount(codes)), 0.0, weights**2)
    if is_narrow(np.stack([shared, outside], axis=1), max(minimum_count, 2)):
        raise DataProblem(
            f"cluster column '{name}' and the weights: fewer records than this node reveals weigh more than all others in clusters of several, or outside "
            "the largest; cap the weights, or leave one of them out"
        )


def codes_of(column: Any, name: str, minimum_count: int) -> np.ndarray:
    """Return the cluster 0, 1, ... of each record, (records,).

    Raises
    ------
    DataProblem
        Naming the column: a gap; clusters that part few records from the others.
    ThresholdError
        When there are fewer clusters than the node reveals.
    """
    if column.isna().any():
        raise DataProblem(
            f"cluster column '{name}' has missing values; fill them in (a record of its own is a cluster)"
        )
    codes, counts = np.unique(
        column.astype(str).str.strip().to_numpy(dtype=str), return_inverse=True, return_counts=True
    )[1:]
    if len(counts) < minimum_count:
        raise ThresholdError(f"cluster column '{name}' has fewer clusters than this node reveals; use smaller clusters")
    if len(codes) - counts.max() < minimum_count or few(counts[counts > 1].sum(), minimum_count):
        raise DataProblem(
            f"cluster column '{name}' has fewer records than this node reveals outside its largest cluster, or in clusters of more than one record; "
            "use another column, or robust=true without clusters"
        )
    return np.asarray(codes, dtype=np.int64)


def dealt_to_grouper(station: Station, plan: Plan, stage: Stage) -> Sealed:
    """Return what the dealer tells the grouper for sorting the residuals that a stage sums; it was dealt before."""
    keys, member = dealer_keys(station, plan), grouper(plan)
    mask = KeptWires(station)[residuals_of(stage)].mask
    sorting = delta(
        Dealer(keys), Layout(plan), stage, mask, keys[-1], keys[plan.holders.index(member)], member != plan.holders[-1]
    )
    return station.seal(member, pack({ALONE: sorting}), _topic(stage))


@partial
def partial_group(station: Station, request: GroupRequest) -> GroupReply:
    """Bring masked score residuals from the rows' order into that of the records, at the outcome holder; sort them by cluster, where the clusters are.

    **Reveals** to the station with the clusters uniform vectors; to the other share holders uniform vectors and a uniform permutation; to central nothing.
    **Assumes** what the module says.
    """
    holder, stage = ShareHolder(station, request.plan), request.stage
    member = grouper(holder.plan)
    if stage.kind != KIND:
        raise MessageError("this is no stage that sums by cluster; start the job again")
    if not holder.owns_outcome and station.organization != member:
        raise MessageError("this station neither has the outcome nor the clusters; start the job again")
    if holder.owns_outcome:
        residuals = _opened(holder, stage, request.openings)
        if station.organization != member:
            masked = residuals + relay_mask(holder.key, stage, residuals.shape)
            return GroupReply(station.seal(member, pack({ALONE: masked}), _topic(stage)), None)
    else:
        residuals = _unsealed(holder, holder.plan.holders[-1], request.residuals, stage)
    sorting = _unsealed(holder, holder.plan.helper, request.dealt, stage)
    return GroupReply(None, _published(holder, stage, residuals, sorting))


def _topic(stage: Stage) -> str:
    return f"clusters|{stage.label}"


def _unsealed(holder: ShareHolder, sender: int, sealed: Sealed | None, stage: Stage) -> Wide:
    if sealed is None:
        raise MessageError("what another station sends for the clusters is missing; start the job again")
    arrays = holder.unseal(sender, sealed, _topic(stage))
    if list(arrays) != [ALONE]:
        raise MessageError("a payload of the protocol is damaged; the job stops")
    return arrays[ALONE]


def _opened(holder: ShareHolder, stage: Stage, openings: Opened) -> Wide:
    """Return the opened residuals in the common order of the records, (records, features). At the outcome holder."""
    name = residuals_of(stage)
    try:
        travelling = forms(Layout(holder.plan), openings.sums)
        cut = received(holder, before(holder, f"{stage.kind}|{stage.label}"), openings, travelling)
        public = travelling[name].public(cut[name])
    except (ValueError, LookupError):
        raise MessageError("an opening has another shape than it must; the job stops") from None
    if public.shape != (holder.plan.rows, Layout(holder.plan).features):
        raise MessageError("an opening has another shape than it must; the job stops")
    check_same(holder, stage, public)
    return in_common_order(holder.key, public, Layout(holder.plan))


def check_same(holder: ShareHolder, stage: Stage, public: Wide | None) -> None:
    """Raise `MessageError` if the outcome holder is told other residuals than before: those of the stage are bound to what is revealed."""
    if public is None:
        raise MessageError("the residuals of a stage are missing; start the job again")
    holder.once(f"grouping|{stage.label}", {ALONE: public})


def _published(holder: ShareHolder, stage: Stage, residuals: Wide, sorting: Wide) -> Broadcast:
    shapes, codes = Layout(holder.plan), holder.station.kept(KEPT)["codes"]
    count = int(codes.max()) + 1
    if len(codes) != shapes.records or count != shapes.clusters or count < CLUSTERS_PER_COLUMN * shapes.features:
        raise MessageError("this station has other clusters than the plan says; start the job again")
    arrangement = arranged(codes, blocks(shapes.records, shapes.clusters))
    if residuals.shape != (shapes.records, shapes.features) or sorting.shape != (len(arrangement), shapes.features):
        raise MessageError("a payload of the protocol is damaged; the job stops")
    arrays = published(holder.key, stage, residuals, arrangement, sorting)
    holder.once(f"grouped|{stage.label}", arrays)
    return holder.seal_all(arrays, _topic(stage))


def told_by_cluster(holder: ShareHolder, stage: Stage, sealed: Broadcast | None) -> dict[Name, Wide]:
    """Return what the grouper published for a stage; the outcome holder sees that what it told the grouper is what was opened."""
    member = grouper(holder.plan)
    if holder.owns_outcome:
        check_same(holder, stage, KeptWires(holder.station)[residuals_of(stage)].public)
    if holder.station.organization == member:
        return holder.kept(f"grouped|{stage.label}", [sorted_name(stage), order_name(stage)])
    if sealed is None:
        raise MessageError("what the station with the clusters published is missing; start the job again")
    return holder.receive_sealed(member, sealed, _topic(stage))
