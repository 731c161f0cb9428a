"""A station's part of products with another organization's columns: what it tells, what it enters, what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.formulae.model_matrix import Codes, Numbers, indicators, whole
from fedbayes.bayes.formulae.terms import Term, Terms, name_of
from fedbayes.federation import Sealed, Station
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError, schema_errors
from fedbayes.mpc.wires import Share
from fedbayes.typing import Array, Floats

from ..cox.tails import reach
from ..messages.names import Name
from ..messages.products import CENTRE_UNITS, MOST_POWER, Product, Side
from ..shares.products import BITS, FEW, GROWTH_BITS, LEVELS, NUMBERS, SUPPORTS
from .columns import LARGEST_STANDARDISED, SMALLEST_SPREAD
from .formula import one_factor
from .holder import ShareHolder
from .isolation import spanned

COARSE = 4
"""Deviations: means are told rounded to so many."""
FARTHEST_MEAN = 64
"""Deviations: a column farther from zero is nearly its own product's other side."""
TOPIC = "combinations of few records"


@dataclass(frozen=True)
class Part:
    """One side of a product: what is told, and of every record the columns in their scale less centre, and which are supported.

    `values` is (records, columns), `supported` is (records, supports).
    """

    side: Side
    values: Floats
    supported: Floats


def parts_across(terms: Terms, here: set[str]) -> dict[str, Term]:
    """Return the factors here of every term that has others elsewhere, by the term's name."""
    factors_here = {}
    for term in terms.terms:
        own = tuple(factor for factor in term if set(factor.columns) <= here)
        if own and len(own) < len(term):
            factors_here[name_of(term)] = own
    return factors_here


def sides(frame: Any, parts: Mapping[str, Term], limit: int) -> list[Part]:
    """Return this station's sides of products.

    Raises
    ------
    DataProblem
        Naming the factor or the product.
    """
    with schema_errors(DataProblem):
        return [_part(frame, name, factors, limit) for name, factors in parts.items()]


def _part(frame: Any, name: str, factors: Term, limit: int) -> Part:
    if any(factor.spline is not None for factor in factors):
        raise DataProblem(
            f"feature '{name}' multiplies a spline with another organization's column, which is not offered"
        )
    own = {factor.name: one_factor(frame, factor, limit) for factor in factors}
    coded = {name: _binary(one) for name, one in own.items()}
    exclusive = all(isinstance(one, Codes) for one in coded.values())
    values, labels = _in_full(factors, own, coded, len(frame))
    whole_factors = {factor.name: spanned(frame, factor, own[factor.name]) for factor in factors}
    supported = _supported(factors, whole_factors, len(frame))
    centres, scales = _centred(values, name, exclusive)
    scaled = values / scales - centres / CENTRE_UNITS
    if np.max(np.abs(scaled)) > LARGEST_STANDARDISED:
        raise DataProblem(f"feature '{name}' has values thousands of standard deviations away; transform its columns")
    side = Side(
        name,
        [factor.name for factor in factors],
        labels,
        {key: list(one.levels) for key, one in own.items() if isinstance(one, Codes)},
        exclusive,
        scales.tolist(),
        [int(centre) for centre in centres],
        reach(scaled - scaled.mean(axis=0)),
        supported.shape[1],
        limit,
    )
    return Part(side, scaled, supported)


def _binary(one: Numbers | Codes) -> Numbers | Codes:
    """Return a column of 0 and 1 as categories."""
    if isinstance(one, Codes) or not np.all(np.isin(one.values, (0.0, 1.0))):
        return one
    return Codes(one.values[:, 0].astype(np.int_), ("0", "1"))


def _in_full(
    factors: Term, own: Mapping[str, Numbers | Codes], coded: Mapping[str, Numbers | Codes], rows: int
) -> tuple[Floats, list[list[str]]]:
    """Return the products of the factors' columns, every category in full, and the labels of each by factor."""
    values, labels = np.ones((rows, 1)), [list[str]()]
    for factor in factors:
        one, other = own[factor.name], coded[factor.name]
        block = indicators(factor.name, other, True) if isinstance(other, Codes) else other
        called = block.labels if isinstance(one, Codes) or one is other else ("", factor.name)
        values = (values[:, :, None] * block.values[:, None, :]).reshape(rows, -1)
        labels = [[*left, right] for left in labels for right in called]
    return values, labels


def _supported(factors: Term, whole_factors: Mapping[str, Numbers | Codes], rows: int) -> Floats:
    """Return which records a side's columns are not zero for, with all that they span; of numbers by category the categories too."""
    blocks = [whole(factors, whole_factors, rows) != 0.0]
    categories = tuple(factor for factor in factors if isinstance(whole_factors[factor.name], Codes))
    if 0 < len(categories) < len(factors):
        blocks.append(whole(categories, whole_factors, rows) != 0.0)
    return np.concatenate(blocks, axis=1).astype(np.float64)


def _centred(values: Floats, name: str, exclusive: bool) -> tuple[Floats, Floats]:
    """Return the columns' centres, in 16ths of their scales, and their scales."""
    means, spread = values.mean(axis=0), values.std(axis=0)
    if exclusive:
        ones = np.maximum(means, 2.0 ** (-2 * MOST_POWER))
        return np.zeros(len(means)), 2.0 ** np.round(np.log2(ones) / 2.0)
    empty = ~np.any(values, axis=0)
    if np.any(~empty & ~((spread > SMALLEST_SPREAD) & (FARTHEST_MEAN * spread > np.abs(means)))):
        raise DataProblem(
            f"feature '{name}' has a column that varies too little beside its mean; subtract a constant, or leave the term out"
        )
    unit = 2.0 ** np.round(np.log2(np.where(empty, 1.0, spread)))
    rounded_means = COARSE * unit * np.round(means / (COARSE * unit))
    scales = 2.0 ** np.floor(np.log2(np.maximum(np.abs(rounded_means), unit)))
    return np.round(rounded_means / scales * CENTRE_UNITS), scales


def keep(station: Station, parts: list[Part], copies: int) -> None:
    """Keep the sides for the job, the rows of records as often as a record has some; supports count a record once."""
    for part in parts:
        again = np.zeros(((copies - 1) * len(part.values), part.supported.shape[1]))
        station.keep(
            f"side|{part.side.term}",
            values=np.concatenate([part.values] * copies),
            supported=np.concatenate([part.supported, again]),
            scales=np.array(part.side.scales),
            exclusive=np.array(part.side.exclusive),
        )


def _kept(holder: ShareHolder, one: Product) -> dict[str, Array]:
    """Return this station's side of a product; `MessageError` where the plan says of it what it is not."""
    kept = holder.station.kept(f"side|{one.term}")
    width = kept["values"].shape[1]
    if one.numbers == holder.index:
        fits = max(one.columns) < width and one.supports == kept["supported"].shape[1]
    else:
        fits = bool(kept["exclusive"]) and one.cells == width
    if not fits or one.limit < max(holder.station.policy.minimum_count, 1):
        raise MessageError("this station has other products than the plan says; start the job again")
    return kept


def _levels(holder: ShareHolder, one: Product) -> Floats:
    """Return the chooser's columns of 0 and 1, every one, (rows, cells)."""
    kept = _kept(holder, one)
    return np.asarray(kept["values"] * kept["scales"])


def _means(holder: ShareHolder, one: Product) -> Floats:
    """Return the means of the chooser's columns, (levels,), rounded to what shares can hold."""
    return np.asarray(np.round(_levels(holder, one).mean(axis=0)[one.levels] * 2.0**MOST_POWER) / 2.0**MOST_POWER)


def own_width(holder: ShareHolder) -> int:
    """Return how many of a station's coefficients are those of its own columns."""
    return holder.plan.widths[holder.index]


def _weights(holder: ShareHolder, coefficients: list[float]) -> dict[int, Floats]:
    """Return the coefficients of this station's products, (columns, levels) each times the chooser's powers, by the product's place."""
    weights, behind = {}, own_width(holder)
    for part, one in enumerate(holder.plan.products):
        if holder.index in (one.numbers, one.chooser):
            own = np.array(coefficients[behind : behind + one.width], dtype=np.float64)
            if own.size != one.width:
                raise MessageError("coefficients of a product are missing; start the job again")
            weights[part] = own.reshape(len(one.columns), -1) * 2.0 ** np.array(one.powers)
            behind += one.width
    return weights


def slants(holder: ShareHolder, part: int, coefficients: list[float]) -> Floats:
    """Return what this station's numbers would add to the predictor at each of the chooser's levels, (rows, levels)."""
    one = holder.plan.products[part]
    values = _kept(holder, one)["values"][:, one.columns]
    return np.asarray(values @ _weights(holder, coefficients)[part])


def chosen_part(holder: ShareHolder, coefficients: list[float]) -> tuple[Floats, float]:
    """Return what this station adds to its own predictor as a chooser, (rows,), and that at the means."""
    total, mean = np.zeros(holder.plan.records), 0.0
    for part, weights in _weights(holder, coefficients).items():
        one = holder.plan.products[part]
        if one.chooser == holder.index:
            slope = np.array(one.centres) / CENTRE_UNITS @ weights
            centre = _means(holder, one)
            total += (_levels(holder, one)[:, one.levels] - centre) @ slope
            mean += float(centre @ slope)
    return total, mean


def column_values(holder: ShareHolder, name: Name) -> tuple[Floats, int]:
    """Return what this station enters of a product with the columns, and its fractional bits."""
    one = holder.plan.products[name.part or 0]
    if name.kind == NUMBERS:
        real = _kept(holder, one)["values"][:, one.columns]
    elif name.kind == SUPPORTS:
        real = _kept(holder, one)["supported"]
    elif name.kind == LEVELS:
        real = _levels(holder, one)
    else:
        real = _levels(holder, one)[:, one.levels] - _means(holder, one)
    return real, BITS[name.kind]


def growth(holder: ShareHolder, name: Name, coefficients: list[float], largest: float) -> tuple[Floats, int]:
    """Return by how much this station's numbers let the risk grow at each of the chooser's levels, less one.

    Raises
    ------
    DataProblem
        Naming the product, where a predictor is larger than `largest`.
    """
    log_risks, term = slants(holder, name.part or 0, coefficients), holder.plan.products[name.part or 0].term
    if not np.max(log_risks) <= largest:
        raise DataProblem(
            f"feature '{term}' gives a record a relative risk out of range; transform its columns, leave it out or set a penalty"
        )
    return np.expm1(log_risks), GROWTH_BITS


def sealed_few(holder: ShareHolder, share: Share) -> dict[int, Sealed]:
    """Return this station's share of the numbers of combinations of few records for each of the others, sealed; keep the own one.

    **Reveals** to each these numbers alone, which are 0 unless the job ends.
    """
    own = {FEW: share.held}
    return holder.tell(lambda index: own, TOPIC)


def check_few(holder: ShareHolder, parts: Mapping[int, Sealed]) -> None:
    """Refuse products with combinations of few records; note that there are none, which is what later stages look for.

    Raises
    ------
    ThresholdError
        Naming the product.
    """
    (total,) = holder.told(parts, [FEW], TOPIC)
    for one, number in zip(holder.plan.products, total.decode(0).ravel(), strict=True):
        if number != 0.0:
            raise ThresholdError(
                f"formula: '{one.term}' has a combination of categories, or a column, with fewer records than a node reveals; "
                "leave it out or merge categories"
            )
    holder.station.keep("products", judged=np.array(True))
