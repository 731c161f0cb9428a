"""What single stations are told of the complete records, and what they refuse then: sums that central relays and cannot read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbayes.federation import Sealed, Station
from fedbayes.federation.errors import DataProblem, ThresholdError
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share
from fedbayes.typing import Floats

from ..messages.setup import Plan
from ..shares.layout import FEATURE_BITS
from .holder import ShareHolder

TOPIC = "complete records"


def sealed_for_stations(holder: ShareHolder, shares: Mapping[str, Share]) -> dict[int, Sealed]:
    """Return this station's shares of what each of the others may add up, sealed: counts, and the sums of its own columns; keep the own ones.

    **Reveals** to each receiver the sums alone: its own columns' and the numbers of complete records.
    """
    if not shares:
        return {}
    values = {name: share.held for name, share in shares.items()}
    ends = np.cumsum(holder.plan.widths)

    def summands(index: int) -> dict[str, Wide]:
        own = values["sums"][:, ends[index] - holder.plan.widths[index] : ends[index]]
        events = {"events": values["events"]} if index == len(holder.plan.holders) - 1 else {}
        return {"records": values["records"], "sums": own, **events}

    return holder.tell(summands, TOPIC)


def told_counts(holder: ShareHolder, parts: Mapping[int, Sealed]) -> list[int] | None:
    """Add the shares up, keep the sums, and check them; from the outcome holder return what central may know.

    Raises
    ------
    ThresholdError
        When fewer records are complete, or of a stratum, or fewer events, than this node demands.
    DataProblem
        Naming a column whose values or categories have too few complete records.
    """
    names = ["records", "sums", *(["events"] if holder.owns_outcome else [])]
    counted, summed, *events = holder.told(parts, names, TOPIC)
    strata, sums = counted.decode(0).ravel(), summed.decode(FEATURE_BITS).ravel()
    records = float(strata.sum())
    limit = max(holder.station.policy.minimum_count, 1)
    if records < max(holder.station.policy.minimum_rows, 1) or strata.min() < limit:
        raise ThresholdError(
            "fewer records are complete at all stations, or of a stratum, than this node demands; leave out columns with many gaps"
        )
    _check_categories(holder.station, records, sums, limit)
    counts = _for_central(holder, int(records), int(events[0].decode(0).item())) if events else None
    holder.station.keep("complete", records=np.array(records), sums=sums)  # what later stages look for
    return counts


def _check_categories(station: Station, records: float, sums: Floats, limit: int) -> None:
    """Refuse columns with two values one of which has few complete records; sums are of centred and scaled columns."""
    design, paired = station.kept("design"), station.kept("presence")["paired"]
    for place in np.flatnonzero(paired):
        low, high = np.unique(design["values"][station.kept("presence")["present"], place])[[0, -1]]
        upper = round(float((sums[place] - low * records) / (high - low)))
        if min(upper, records - upper) < limit:
            raise DataProblem(
                f"feature '{design['labels'][place]}' has a category with fewer complete records than this node reveals; "
                "leave it out or merge categories"
            )


def _for_central(holder: ShareHolder, records: int, events: int) -> list[int] | None:
    """Return the numbers of complete records and events; None where it would tell of few records that are left out.

    Raises
    ------
    ThresholdError
        When there are fewer events than this node demands.
    """
    limit = max(holder.station.policy.minimum_count, 1)
    outcome = holder.station.kept("outcome")
    if events < limit:
        raise ThresholdError("fewer events are complete at all stations than this node demands; use more records")
    left = (len(outcome["event"]) - records, int(outcome["event"].sum()) - events)
    return None if any(0 < count < limit for count in left) else [records, events]


def mean_of_complete(station: Station, plan: Plan) -> Floats:
    """Return the mean of the own columns, centred and scaled, over the complete records, (columns,); zeros where all count."""
    if not plan.complete:
        return np.zeros(len(station.kept("design")["means"]))
    kept = station.kept("complete")
    return np.asarray(kept["sums"] / kept["records"])
