"""Columns that are products of two stations' columns, on shares: their values, their factor of the relative risk, and the guard against few records.

One station, the chooser, has columns v_j of 0 and 1 of which a record has at most one; the other has numbers u_i. With coefficients b_ij

    exp(sum_ij b_ij u_i v_j) = 1 + sum_j v_j (exp(u_j) - 1),    u_j = sum_i b_ij u_i,

which is linear in what either enters: the chooser its v_j once, the other one exp(u_j) - 1 at every point. So a product's factor of the relative risk, its
part of the linear predictor and its columns each take one multiplication, in the dealer's order of the rows as all inputs.

Numbers are centred at a_i, which is public and coarse, and the rest, a_i (v_j - p_j) with p_j the mean of v_j, is the chooser's own: its column, and in its own
factor. Neither changes anything but a constant of all records, so that risks stay near one.

**The guard.** A product tells of the records for which it is not zero. How many there are of each combination of what either side's part spans is
counted on shares and opened under a mask; the dealer, who knows the mask, deals a table of shares which says at each place whether the count is one of few
records. The share holders add up what they read there: the number of combinations of few records, which they tell one another and which must be 0.

References
----------
Ishai, Kushilevitz, Meldgaard, Orlandi, Paskin-Cherniavsky, On the power of correlated randomness in secure computation, TCC 2013 (tables at a masked place).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

from fedbayes.mpc.shared_fixed import Dealer, Engine
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, Wire
from fedbayes.typing import Indices

from ..messages.names import Input, Name
from ..messages.products import CENTRE_UNITS, Product
from .layout import Get, Layout

NUMBER_BITS = 28  # as `layout.FEATURE_BITS`
SPLIT_BITS = 24  # of v_j - p_j: with the 4 of a centre as many as a number's
GROWTH_BITS = 40  # of exp(u_j) - 1
NUMBERS, LEVELS, SPLITS, SUPPORTS = "number", "level", "split", "support"
GROWTH, SLANT, TALLY, FEW = "grown", "slant", "tally", "few"
BITS = {NUMBERS: NUMBER_BITS, LEVELS: 0, SPLITS: SPLIT_BITS, SUPPORTS: 0}


def column_inputs(products: list[Product]) -> list[Input]:
    """Return what both sides enter with the columns."""
    inputs = []
    for part, one in enumerate(products):
        inputs.append(Input(Name(NUMBERS, 0, part=part), one.numbers, len(one.columns)))
        inputs.append(Input(Name(SUPPORTS, 0, part=part), one.numbers, one.supports))
        inputs.append(Input(Name(LEVELS, 0, part=part), one.chooser, one.cells))
        inputs.append(Input(Name(SPLITS, 0, part=part), one.chooser, len(one.levels)))
    return inputs


def point_inputs(products: list[Product], step: int, kind: str = GROWTH) -> list[Input]:
    """Return what the side with numbers enters at a point, or (`SLANT`) where the linear predictor is wanted."""
    return [Input(Name(kind, step, part=part), one.numbers, len(one.levels)) for part, one in enumerate(products)]


def receive_columns(engine: Engine, layout: Layout, permuted: Mapping[Name, Wide]) -> dict[Name, Wire]:
    """Return the wires of `column_inputs`, in the dealer's order of the rows."""
    return {
        one.name: _wire(engine, layout, one, permuted, BITS[one.name.kind])
        for one in column_inputs(layout.plan.products)
    }


def _wire(engine: Engine, layout: Layout, one: Input, permuted: Mapping[Name, Wide], bits: int) -> Wire:
    return Wire(permuted.get(one.name), engine.random(one.name, (layout.plan.rows, one.columns)), bits)


def columns(engine: Engine, layout: Layout, get: Get) -> list[Share]:
    """Return the columns of every product, (rows, width) each: of the numbers' columns in turn, each with all of the chooser's."""
    return [_columns(engine, part, one, get) for part, one in enumerate(layout.plan.products)]


def _columns(engine: Engine, part: int, one: Product, get: Get) -> Share:
    first = [place for place in range(len(one.columns)) for _ in one.levels]
    second = [place for _ in one.columns for place in range(len(one.levels))]
    level = get(Name(LEVELS, 0, part=part)).columns([one.levels[place] for place in second])
    share = engine.product(f"product{part}", [get(Name(NUMBERS, 0, part=part)).columns(first), level], complete=True)
    rest = engine.lifted(get(Name(SPLITS, 0, part=part)).columns(second))
    centred = _times(rest, [one.centres[place] for place in first], NUMBER_BITS)
    return _times(share + centred, [1 << one.powers[place] for place in second], NUMBER_BITS)


def _times(share: Share, factors: list[int], frac_bits: int) -> Share:
    return Share(share.held * Wide.encode(np.array([factors], dtype=np.float64), 0), share.shape, frac_bits)


def joined_columns(shares: list[Share]) -> Share:
    """Return shares side by side."""
    whole = Wide.concatenate([share.held for share in shares], axis=1)
    return Share(whole, whole.shape, shares[0].frac_bits)


def risks(engine: Engine, layout: Layout, step: int, permuted: Mapping[Name, Wide], get: Get) -> list[Share]:
    """Return every product's factor of the relative risk, (rows, 1)."""
    factors = []
    for part, one in enumerate(point_inputs(layout.plan.products, step)):
        grown = _wire(engine, layout, one, permuted, GROWTH_BITS)
        share = _chosen(engine, layout, part, f"{step}/growth{part}", grown, get)
        factors.append(share + _ones(engine, share))
    return factors


def _ones(engine: Engine, share: Share) -> Share:
    values = np.full(share.shape, 1.0 if engine.leads else 0.0)
    return Share(Wide.encode(values, share.frac_bits), share.shape, share.frac_bits)


def lines(
    engine: Engine, layout: Layout, step: int, permuted: Mapping[Name, Wide], get: Get, frac_bits: int
) -> list[Share]:
    """Return every product's part of the linear predictor but the chooser's own, (rows, 1)."""
    parts = []
    for part, one in enumerate(point_inputs(layout.plan.products, step, SLANT)):
        slant = _wire(engine, layout, one, permuted, frac_bits)
        parts.append(_chosen(engine, layout, part, f"{step}/slant{part}", slant, get))
    return parts


def _chosen(engine: Engine, layout: Layout, part: int, name: str, values: Wire, get: Get) -> Share:
    level = get(Name(LEVELS, 0, part=part)).columns(layout.plan.products[part].levels)
    return engine.complete(name, level, values, _by_row, (layout.plan.rows, 1))


def _by_row(left: Wide, right: Wide) -> Wide:
    both = left * right
    return reduce(add, (both[:, [place]] for place in range(both.shape[1])))


def tallied(engine: Engine, layout: Layout, get: Get) -> dict[Name, Share]:
    """Return how many records each combination of both sides' supports has, (supports, cells), to be opened."""
    tallies = {}
    for part, one in enumerate(layout.plan.products):
        both = get(Name(SUPPORTS, 0, part=part)), get(Name(LEVELS, 0, part=part))
        shape = (one.supports, one.cells)
        tallies[Name(TALLY, 0, part=part)] = engine.complete(f"tally{part}", *both, Wide.transposed_product, shape)
    return tallies


def counted_few(engine: Engine, layout: Layout, get: Get) -> Share:
    """Return how many combinations of each product have few records, (products, 1)."""
    parts = [_few(engine, layout, part, get(Name(TALLY, 0, part=part))) for part in range(len(layout.plan.products))]
    if isinstance(engine, Dealer):
        return Share(None, (len(parts), 1), 0)
    return Share(Wide.concatenate(parts, axis=0), (len(parts), 1), 0)


def _few(engine: Engine, layout: Layout, part: int, count: Wire) -> Wide:
    one, places = layout.plan.products[part], 1 << int(layout.plan.rows).bit_length()
    shape = (one.supports * one.cells, places)
    table = engine.deal(f"few{part}", shape, lambda: _table(count.mask, places, one.limit))
    if count.public is None:
        return Wide.zeros((1, 1))
    chosen = _low(count.public, places)
    return table[np.arange(len(chosen)), chosen].total()[None, None]


def _table(mask: Wide, places: int, limit: int) -> Wide:
    """Return 1 where a masked count at that place would be one of few records."""
    counts = (np.arange(places)[None, :] + _low(mask, places)[:, None]) % places
    return Wide.encode(((counts > 0) & (counts < limit)).astype(np.float64), 0)


def _low(values: Wide, places: int) -> Indices:
    return np.asarray(values.low.ravel() % np.uint64(places), dtype=np.intp)


assert 1 << (NUMBER_BITS - SPLIT_BITS) == CENTRE_UNITS
