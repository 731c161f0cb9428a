"""Records that are complete at all stations, found on shares: nobody sees which they are.

Every share holder enters, like a column, which of its records have no gap. The product of these columns, c, is opened under a mask like everything else.
Then a record counts with c: its event indicator is c d, its relative risk has c among its factors (each station's is zero where it has a gap), and its
columns, zero where there is a gap, do not matter. Tied events are rows of their own with Breslow's risk sets, since nobody knows how many of them are complete.
The reciprocals at zero coefficients, which the outcome holder knows else, are refined from c d / (expected number of complete records at risk). The
log-likelihood there is the integral of d log S0 from what is expected at risk to what is, by six more reciprocals (how good it is: `cox/mixtures.py`).

**Reveals** to every share holder: how many records are complete, in each stratum, and the sums of its own columns over them; to the outcome holder
besides: how many events. To central: seven sums over the events, of which the log-likelihood at zero is made; these two numbers, if the outcome holder's node
lets them out; and the share of each station's own records that have no gap, rounded up to eighths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fedbayes.mpc.shared_fixed import Engine
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, Wire
from fedbayes.typing import Array, Booleans, Floats

from ..cox.mixtures import sum_of_logs
from ..messages.names import Name
from .layout import PRESENT, RECIPROCAL_BITS, Get, Layout, presence_name

EIGHTHS = 8  # the share of records without a gap is told in eighths, rounded up: enough to start from, and no count
BLEND_BITS = 20
"""Of a node: an error of 1e-6 in where the integrand is read, which the sum over six nodes does not notice."""
_ROOTS, _WEIGHTS = np.polynomial.legendre.leggauss(6)  # an error of 1e-6 (README); one sum is told for each
NODES, WEIGHTS = (_ROOTS + 1.0) / 2.0, _WEIGHTS / 2.0
"""Of Gauss and Legendre on [0, 1]."""


def opened_names(layout: Layout) -> list[Name]:
    """Return the names under which the groups' products are opened: that of the whole where there is one group."""
    parts = range(len(layout.groups()))
    return [PRESENT] if len(parts) == 1 else [Name("present", 0, part=part) for part in parts]


def gathered(engine: Engine, layout: Layout, permuted: Mapping[Name, Wide]) -> dict[Name, Share]:
    """Multiply the stations' presence columns, group by group (in the dealer's order of the rows)."""
    shape, result = (layout.plan.rows, 1), dict[Name, Share]()
    for name, group in zip(opened_names(layout), layout.groups(), strict=True):
        own = [presence_name(index) for index in group]
        wires = [Wire(permuted.get(column), engine.random(column, shape), 0) for column in own]
        result[name] = engine.product(name, wires, complete=True)
    return result


def combined(engine: Engine, layout: Layout, get: Get) -> Share:
    """Multiply the groups' products, where there is more than one group."""
    return engine.product(PRESENT, [get(name) for name in opened_names(layout)], complete=True)


def scaled(wire: Wire, operation: Callable[[Wide], Wide], added_bits: int) -> Wire:
    """Return a wire multiplied by public numbers, of which some bits count as fractional."""
    multiplied = wire.apply(operation)
    return Wire(multiplied.public, multiplied.mask, wire.frac_bits + added_bits)


def first_reciprocals(layout: Layout, events: Wire) -> Wire:
    """Return c d / (expected number of complete records at risk): where the refinement at zero coefficients starts."""
    guess = Wide.encode((1.0 / expected_at_risk(layout))[:, None], RECIPROCAL_BITS)
    return scaled(events, lambda values: values * guess, RECIPROCAL_BITS)


def expected_at_risk(layout: Layout) -> Floats:
    """Return how many complete records are expected at risk, row by row, (rows,)."""
    left = np.concatenate([np.arange(size, 0, -1) for size in layout.plan.strata])
    return np.asarray(layout.plan.complete * left, dtype=np.float64)


def blended(engine: Engine, layout: Layout, name: str, at_risk: Wire, node: int) -> Wire:
    """Return (1 - t) m + t S0, with m what is expected at risk and t the node `node` of the integral of 1 / (m + t (S0 - m))."""
    share = round(NODES[node] * 2.0**BLEND_BITS)
    part = engine.cut(name, scaled(at_risk, lambda values: values.times(share), BLEND_BITS), BLEND_BITS)
    return _plus(part, (1.0 - share / 2.0**BLEND_BITS) * expected_at_risk(layout))


def level(engine: Engine, layout: Layout, label: str, events: Wire, at_risk: Wire) -> Share:
    """Return sum_j q_j (S0_j - m_j), with q_j = c_j d_j / (m_j + t (S0_j - m_j)): integrated over t, that is sum_j c_j d_j log(S0_j / m_j)."""
    return engine.inner(f"{label}/level", events, _plus(at_risk, -expected_at_risk(layout)))


def expected_level(engine: Engine, layout: Layout, events: Wire) -> Share:
    """Return sum_j c_j d_j log m_j."""
    logs = Wide.encode(np.log(expected_at_risk(layout))[:, None], RECIPROCAL_BITS)
    return engine.hidden(
        "expected level", engine.lifted(scaled(events, lambda v: (v * logs).total()[None, :], RECIPROCAL_BITS))
    )


def integrated(layout: Layout, levels: Floats, exact: float) -> tuple[float, float]:
    """Return sum_j c_j d_j log(S0_j / m_j) of `level` at `NODES`, and how far it may be off; `exact`: how far the levels may be off."""
    nodes, records = np.round(NODES * 2.0**BLEND_BITS) / 2.0**BLEND_BITS, max(layout.plan.strata)
    of_one = 1.0 / layout.plan.complete
    # Of tied records the last one's m_j is that of one at risk, and its S0_j that of all.
    return sum_of_logs(levels, nodes, WEIGHTS, of_one / records, of_one * records, exact)


def _plus(wire: Wire, known: Floats) -> Wire:
    """Return a wire plus public numbers, (rows,)."""
    public = None if wire.public is None else wire.public + Wide.encode(known[:, None], wire.frac_bits)
    return Wire(public, wire.mask, wire.frac_bits)


def counts(engine: Engine, layout: Layout, present: Wire, events: Wire, columns: Wire) -> dict[str, Share]:
    """Return complete records of each stratum, (strata, 1), their events, (1, 1), and the sums of the columns over them, (1, features)."""
    ends = np.cumsum((0, *layout.plan.strata))

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


def rounded_up(present: Booleans) -> float:
    """Return the share of records without a gap, rounded up to eighths."""
    return max(float(np.ceil(EIGHTHS * present.mean() - 1e-9)), 1.0) / EIGHTHS


def without_gaps(frame: Any, columns: Sequence[str]) -> Booleans:
    """Return which rows have a value in all columns, (rows,)."""
    if not len(columns):
        return np.ones(len(frame), dtype=np.bool_)
    return np.asarray(~frame[list(columns)].isna().any(axis=1).to_numpy(), dtype=np.bool_)


def spread_out(values: Array, present: Booleans, blank: Any = 0) -> Array:
    """Return values of the rows without a gap at their places among all rows, and `blank` elsewhere."""
    result = np.full((len(present), *values.shape[1:]), blank, dtype=values.dtype)
    result[present] = values
    return result
