"""A station's share of every record's score: sums over factors of (joint indicator) times (weights)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...mpc.replicated import ComputingSide
from ...mpc.shared_products import DataSide
from ...randomness import uniform_bits
from ...typing import Words
from ..errors import MessageError
from ..gate import Sealed
from ..guards.once import asked_once
from ..messages.arrays import check_array
from ..messages.codec import Message
from ..station import Station
from .messages import Delivery, Setup
from .replication import Replica
from .sealed_sums import total_of
from .sides import data_side
from .workspace import Workspace

RING_BITS = 32  # of a record's score; the other half of the word masks what carries
Ring = Words


class WeightedFactors(Message):
    """A score of every record: a sum over factors of (joint indicator) times (weights), int64 matrices (states, classes), one a factor."""

    names: list[str]
    weights: list[np.ndarray]

    def __post_init__(self) -> None:
        """Check that factors and weights belong together."""
        if not self.names or len(self.names) != len(self.weights):
            raise ValueError("every factor needs its weights")
        for weights in self.weights:
            check_array("weights", weights, (None, self.weights[0].shape[-1]), np.int64)


def score_share(workspace: Workspace, delivery: Delivery, scored: WeightedFactors) -> Ring:
    """Return this organization's share of the scores, flat (rows, classes), in the low 32 bits; the high ones are uniform.

    Parameters
    ----------
    workspace : Workspace
        After it has received the delivery.
    delivery : Delivery
        Holds the factors.
    scored : WeightedFactors
        Names of factors, and their weights.

    Notes
    -----
    **Reveals** nothing as long as it is masked before it leaves: the sum over all organizations is the score.
    """
    side = _side(workspace, delivery, scored.names)
    share = np.zeros((delivery.rows, scored.weights[0].shape[1]), dtype=np.uint32)
    for name, matrix in zip(scored.names, scored.weights, strict=True):
        rows = None if side is None else side.row_share(name)
        if rows is not None and rows.shape[1] != len(matrix):
            raise MessageError("a weight of the request is not of the states of its factor; the job stops")
        if rows is not None:
            share += rows @ np.asarray(matrix).astype(np.uint32)
    wide: Ring = share.ravel().astype(np.uint64) + (uniform_bits(share.size) << np.uint64(RING_BITS))
    return wide


def scored_once(station: Station, question: str) -> None:
    """Refuse a question about single records in a second round of the job: of several answers more of a record would follow than of one."""
    asked_once(station, f"scored|{question}", station.round_name, "records are scored once in a job; start another job")


def summed(station: Station, setup: Setup, sealed: Mapping[int, Sealed], topic: str) -> Ring:
    """Return the sum of everyone's masked vectors (`sealed_sums.total_of`); `setup` says who takes part: every station, and the helper if there is one.

    Raises
    ------
    MessageError
        When a sender is missing or does not belong, sent another number of entries, or was asked something else: the masks would not cancel.
    """
    if set(sealed) != set(setup.everyone) - {station.organization}:
        raise MessageError("the vector of a station is missing, or one came that was not asked; the job stops")
    return total_of(station, sealed, topic)


def identifiers_of(workspace: Workspace, rows: int) -> list[str]:
    """Return the identifiers of the job's records, in their order; of a union empty where this station lacks the record."""
    texts = np.array(workspace.station.identifiers(workspace.setup.id_column), dtype=object)
    order = workspace.common_order(len(texts))
    if not workspace.setup.union:
        return list(texts[order])
    named = np.full(rows, "", dtype=object)
    named[order] = texts
    return list(named)


def _side(workspace: Workspace, delivery: Delivery, names: Sequence[str]) -> DataSide | ComputingSide | None:
    """Return what holds this organization's shares, or None where it has none."""
    if isinstance(workspace, Replica):
        return None if workspace.position is None else workspace.computing_side(delivery, names, RING_BITS)
    return None if workspace.is_helper else data_side(workspace, delivery, names, RING_BITS)
