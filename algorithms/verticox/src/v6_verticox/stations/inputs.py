"""What a station enters in a step of the private solver: columns, and what follows from them at its coefficients, masked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.mpc.wide import Wide
from fedbayes.typing import Floats

from ..messages.names import Name
from ..shares.layout import FEATURE_BITS, LINE_BITS, Layout, presence_name
from ..shares.products import BITS, GROWTH, SLANT
from ..shares.sorting import masked_input
from .holder import ShareHolder
from .products import chosen_part, column_values, growth, slants

LARGEST_PREDICTOR = 11.0
"""Of one station: e^11 is 16 bits of the 20 that the ring has for values (`layout.RECIPROCAL_BITS`)."""


def masked_entry(holder: ShareHolder, name: Name, coefficients: list[float]) -> Wide:
    """Return this station's masked input of that name; keep it."""
    station, plan = holder.station, holder.plan
    kept = station.kept("design")["values"]
    if kept.shape != (plan.records, plan.widths[holder.index]):
        raise MessageError("this station has other columns than the plan says; start the job again")
    if name.kind == "features":
        real, bits = kept, FEATURE_BITS
    elif name == presence_name(holder.index):
        real, bits = _presence(station), 0
    elif name.kind == "line":
        real, bits = _predictor(holder, coefficients)[:, None], LINE_BITS
    elif name.kind in BITS:
        real, bits = column_values(holder, name)
    elif name.kind == GROWTH:
        real, bits = growth(holder, name, coefficients, LARGEST_PREDICTOR)
    elif name.kind == SLANT:
        real, bits = slants(holder, name.part or 0, coefficients), LINE_BITS
    else:
        real, bits = _relative_risk(holder, coefficients) * _presence(station), Layout(plan).factor_bits()
        if plan.weighted and holder.owns_outcome:
            real = real * station.kept("outcome")["weights"][:, None]
    real = np.concatenate([real, np.zeros((plan.rows - plan.records, real.shape[1]))])  # blank rows
    sent = masked_input(holder.key, name, Wide.encode(real, bits))
    holder.once(f"input|{name}", {name: sent})
    return sent


def own_numbers(numbers: Sequence[float], columns: int) -> Floats:
    """Return the numbers of a request that are of this station's columns, one each; `MessageError` where there are fewer."""
    if len(numbers) < columns:
        raise MessageError("the request has not one number for each column of this station; the job stops")
    return np.array(numbers[:columns], dtype=np.float64)


def _presence(station: Station) -> np.ndarray:
    """Return 1 for the records without a gap here, 0 for the others, (records, 1)."""
    return np.asarray(station.kept("presence")["present"][:, None], dtype=np.float64)


def _predictor(holder: ShareHolder, coefficients: list[float]) -> np.ndarray:
    """Return the linear predictor of the own columns, with this station's part of products as their chooser, (rows,)."""
    values = holder.station.kept("design")["values"]
    beta = np.asarray(coefficients, dtype=np.float64)[: values.shape[1]]
    own = values @ beta if len(beta) else np.zeros(len(values))
    return np.asarray(own + chosen_part(holder, coefficients)[0] if holder.plan.products else own)


def effects(holder: ShareHolder, coefficients: list[float]) -> list[np.ndarray]:
    """Return the predictors that this station can have a part in: its own, and with its numbers at each level of a product."""
    own = _predictor(holder, coefficients)
    parts = [part for part, one in enumerate(holder.plan.products) if one.numbers == holder.index]
    return [own, *(own + column for part in parts for column in slants(holder, part, coefficients).T)]


def _relative_risk(holder: ShareHolder, coefficients: list[float]) -> np.ndarray:
    """Return exp(linear predictor) of the own columns, (rows, 1), inside the headroom of the ring."""
    predictor = _predictor(holder, coefficients)
    if not np.max(predictor) <= LARGEST_PREDICTOR:
        design_kept = holder.station.kept("design")
        beta = np.asarray(coefficients, dtype=np.float64)[: len(design_kept["labels"])]
        worst = np.argmax(np.abs(beta) * np.max(np.abs(design_kept["values"]), axis=0))
        raise DataProblem(
            f"feature '{design_kept['labels'][worst]}' gives a record a relative risk out of range (an outlier, it separates "
            "the events, or other features nearly make it up); transform it, leave one out or set a penalty"
        )
    return np.asarray(np.exp(predictor)[:, None])
