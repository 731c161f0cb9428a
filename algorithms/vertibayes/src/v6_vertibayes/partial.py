"""What one station does in the rounds that are VertiBayes' own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.tables import count
from fedbayes.federation import Station, partial
from fedbayes.federation.vertical.states import resolve

from .messages import CountsReply, CountsRequest


@partial
def partial_counts(station: Station, request: CountsRequest) -> CountsReply:
    """Return this station's tables, masked, for records that are split by rows.

    Notes
    -----
    **Reveals** the sums of the tables over all participants to central, with noise where an epsilon is given, and nothing of
    one station. **Assumes** that two participants do not collude with central.
    """
    station.require_private(request.epsilon is not None)
    columns = list(dict.fromkeys(column for table in request.tables for column in table))
    frame = station.data(columns=columns)
    codes, shape = {}, {}
    for column in columns:
        states, found = resolve(column, frame[column], request.domain.get(column), request.bins, True)
        codes[column], shape[column] = found, states.cardinality
    station.charge(epsilon=request.epsilon or 0.0, note="tables", queries=len(request.tables))
    tables = [count([codes[c] for c in table], [shape[c] for c in table]).ravel() for table in request.tables]
    values = np.concatenate(tables)
    if request.epsilon is not None:
        values = values + _noise(values.shape, request, len(station.participants))
    return CountsReply(masked=station.channel.mask(values.astype(np.int64).view(np.uint64), station.participants))


def _noise(shape: tuple[int, ...], request: CountsRequest, parties: int) -> npt.NDArray[np.int64]:
    """Return this station's share of discrete Laplace noise: one record is in one cell of every table."""
    from fedbayes.dp.shares import polya

    scale = len(request.tables) / (request.epsilon or 1.0)
    return np.asarray(polya(shape, scale, parties, request.honest_fraction), dtype=np.int64)
