"""Records that are complete at all stations, found on shares: nobody sees which they are.

Every share holder enters, like a column, which of its records have no gap. The product of these columns, c, is opened under a mask like everything else.
Then a record counts with c: its event indicator is c d, its relative risk has c among its factors (each station's is zero where it has a gap), and its
columns, zero where there is a gap, do not matter. Tied events are rows of their own with Breslow's risk sets, since nobody knows how many of them are complete.
The reciprocals at zero coefficients, which the outcome holder knows else, are refined from c d / (expected number of complete records at risk).

**Reveals** to every share holder: how many records are complete, in each stratum, and the sums of its own columns over them; to the outcome holder
besides: how many events. To central: these two numbers, if the outcome holder's node lets them out, and the share of each station's own records that
have no gap, rounded up to eighths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.shared_fixed import Engine, Share, Wire
from fedbayes.mpc.wide import Wide

from .shared_newton import MOST_FACTORS, RECIPROCAL_BITS, Get, Layout, presence_name

EIGHTHS = 8
Vector = npt.NDArray[np.float64]


def groups(layout: Layout) -> list[list[int]]:
    """Return the share holders in groups of at most three, one product each."""
    holders = layout.owner + 1
    return [list(range(start, min(start + MOST_FACTORS, holders))) for start in range(0, holders, MOST_FACTORS)]


def opened_names(layout: Layout) -> list[str]:
    """Return the names under which the groups' products are opened: that of the whole where there is one group."""
    found = groups(layout)
    return ["0.0/present"] if len(found) == 1 else [f"0.0/present{place}" for place in range(len(found))]


def gathered(engine: Engine, layout: Layout, permuted: Mapping[str, Wide]) -> dict[str, Share]:
    """Multiply the stations' presence columns, group by group (in the dealer's order of the rows)."""
    shape, result = (layout.rows, 1), {}
    for name, group in zip(opened_names(layout), groups(layout), strict=True):
        own = [presence_name(index) for index in group]
        wires = [Wire(permuted.get(column), engine.random(column, shape), 0) for column in own]
        whole = len(wires) > 1
        result[name] = engine.product(name, wires, complete=True) if whole else engine.lifted(wires[0])
    return result


def combined(engine: Engine, layout: Layout, get: Get) -> Share:
    """Multiply the groups' products, where there is more than one group."""
    return engine.product("0.0/present", [get(name) for name in opened_names(layout)], complete=True)


def scaled(wire: Wire, operation: Callable[[Wide], Wide], added_bits: int) -> Wire:
    """Return a wire multiplied by public numbers, of which some bits count as fractional."""
    multiplied = wire.apply(operation)
    return Wire(multiplied.public, multiplied.mask, wire.frac_bits + added_bits)


def first_reciprocals(layout: Layout, events: Wire) -> Wire:
    """Return c d / (expected number of complete records at risk): where the refinement at zero coefficients starts."""
    left = np.concatenate([np.arange(size, 0, -1) for size in layout.strata]).astype(np.float64)
    guess = Wide.encode((1.0 / (layout.complete * left))[:, None], RECIPROCAL_BITS)
    return scaled(events, lambda values: values * guess, RECIPROCAL_BITS)


def counts(engine: Engine, layout: Layout, present: Wire, events: Wire, columns: Wire) -> dict[str, Share]:
    """Return complete records of each stratum, (strata, 1), their events, (1, 1), and the sums of the columns over them, (1, features)."""
    ends = np.cumsum((0, *layout.strata))

    def by_stratum(values: Wide) -> Wide:
        parts = [values[start:end].total()[None, :] for start, end in pairwise(ends)]
        return Wide.concatenate(parts, axis=0)

    return {
        "records": engine.hidden("complete records", engine.lifted(present.apply(by_stratum))),
        "events": engine.inner("complete events", present, events),
        "sums": engine.inner("complete sums", present, columns),
    }


def expected(shares: Sequence[float]) -> float:
    """Return the share of complete records that central expects from those of the stations."""
    return max(float(np.prod(shares)), 1.0 / EIGHTHS**2)


def rounded_up(present: npt.NDArray[np.bool_]) -> float:
    """Return the share of records without a gap, rounded up to eighths."""
    return max(float(np.ceil(EIGHTHS * present.mean() - 1e-9)), 1.0) / EIGHTHS


def without_gaps(frame: Any, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which rows have a value in all columns, (rows,)."""
    if not len(columns):
        return np.ones(len(frame), dtype=np.bool_)
    return np.asarray(~frame[list(columns)].isna().any(axis=1).to_numpy(), dtype=np.bool_)


def spread_out(values: npt.NDArray[Any], present: npt.NDArray[np.bool_], blank: Any = 0) -> npt.NDArray[Any]:
    """Return values of the rows without a gap at their places among all rows, and `blank` elsewhere."""
    result = np.full((len(present), *values.shape[1:]), blank, dtype=values.dtype)
    result[present] = values
    return result
