"""The answer of one station to a question about all: a vector under masks, or, with whole noise of its own, as it was released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...typing import Integers, Words
from ..gate import Exact, Masked, Released
from ..jobs.transport import summed
from ..messages.codec import Message
from ..perimeter.opening import Preflight
from ..rounds import Federation
from ..station import Station
from .counts import signed
from .noise import CountNoise
from .units import Unit


class SumReply(Message):
    """One station's vector of whole numbers: masked, or int64 with local noise."""

    vector: Masked | Released[np.ndarray]

    def __post_init__(self) -> None:
        value = self.vector.value
        if value.ndim != 1 or value.dtype not in (np.uint64, np.int64):
            raise ValueError("vector must be a one-dimensional array of whole numbers")


class SecureSums(Protocol):
    """What a fit of several rounds needs of a federation, or of a study's clients in one process: sums over stations, and a place for warnings."""

    def secure_sum(
        self,
        function: str,
        request: Any,
        organizations: Sequence[int],
        reply_type: Any,
        *,
        field: str,
        last: bool = False,
    ) -> Words:
        """Return the sum of the stations' vectors modulo 2^64; one round."""

    def warn(self, text: str) -> None:
        """Keep a warning for the result."""


def answer(station: Station, content: Exact[Any] | Released[Any], noise: CountNoise) -> SumReply:
    """Return what `release` made as it may leave: as it is with local noise, masked else."""
    if noise.placement == "local" and isinstance(content, Released):
        return SumReply(content)
    return SumReply(station.mask(content))


def whole_sums(
    federation: SecureSums, function: str, request: Any, stations: Sequence[int], length: int, last: bool = False
) -> Integers:
    """Return the sum of the stations' vectors of so many numbers, int64 (length,), of which central sees nothing else; one round."""
    return signed(federation.secure_sum(function, request, stations, SumReply, field="vector", last=last), length)


def sum_answers(
    federation: Federation,
    function: str,
    request: Message,
    stations: Sequence[int],
    noise: CountNoise,
    last: bool = False,
) -> Words:
    """Ask every station and return the sum of the vectors modulo 2^64; one round.

    **Reveals** the sum to central; with local noise every station's own noisy vector.
    """
    if noise.placement != "local":
        return federation.secure_sum(function, request, stations, SumReply, field="vector", last=last)
    replies = federation.round(function, request, stations, SumReply, last=last)
    return summed([reply.vector.value for reply in replies.values()])


def preflight(
    columns: Sequence[str | None],
    functions: Sequence[str],
    noise: CountNoise,
    private: bool,
    unit: Unit,
) -> Preflight:
    """Return what a task says of itself before anything is spent.

    Parameters
    ----------
    columns : sequence of str or None
        Columns of which every station must have all; None is left out.
    functions : sequence of str
        Partial functions.
    noise : CountNoise
        What is debited; an answer without noise counts as one question.
    private : bool
        Whether what leaves may be called private.
    unit : Unit
        Adds its column of identifiers.
    """
    read = unit.columns([name for name in columns if name is not None])
    return Preflight(
        columns=tuple(dict.fromkeys(read)),
        everywhere=True,
        summed=True,
        functions=tuple(functions),
        epsilon=noise.epsilon if noise.private else 0.0,
        delta=noise.delta if noise.private else 0.0,
        queries=0 if noise.private else 1,
        private=private,
        relation=noise.relation if noise.private else None,
        honest_fraction=noise.honest_fraction if noise.placement == "distributed" else 0.0,
    )
