"""The published n-party protocol over task rounds: its tree of protocols, and central's two rounds.

References
----------
.. [1] F. van Daalen et al., "Privacy Preserving n-Party Scalar Product Protocol", IEEE TPDS 34(4), 2023: sections 2.2.5
   (protocol), 2.3.2 (idle parties as commodity servers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.questions.factor_info import Condition
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical.engine import Engine

from .messages import ChainOpenRequest, ChainSumReply, ChainSumRequest

MOST_OWNERS = 5  # each one more doubles the published protocol's sub-protocols
Vector = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Protocol:
    """One run of the protocol.

    Attributes
    ----------
    path : str
        Names the run; "" is the outermost.
    owners : tuple of int
        The organization of each vector, in order. All but the last of a sub-protocol bring what they brought to the parent; the last is the
        parent's server with the product of the parent's masks at `masked`.
    sources : tuple of int
        For each owner the place of its vector in the parent (-1: the parent server's product; the outermost run: its own place).
    masked : tuple of int
        Places in the parent whose masks the parent's server multiplies.
    server : int
        Who makes the masks of this run.
    coefficient : int
        How often the run's result is added: |masked| - 1 for each level, multiplied.
    parent : str
        Path of the parent run.
    """

    path: str
    owners: tuple[int, ...]
    sources: tuple[int, ...]
    masked: tuple[int, ...]
    server: int
    coefficient: int
    parent: str


def protocols(owners: Sequence[int], helper: int) -> dict[str, Protocol]:
    """Return every run for the vectors of `owners`, by path, parents first.

    A sub-protocol is served by one of the idle parties, never one that serves a run around it (section 2.3.2).
    """
    outermost = Protocol("", tuple(owners), tuple(range(len(owners))), (), helper, 1, "")
    runs = {"": outermost}
    waiting: list[tuple[Protocol, tuple[int, ...]]] = [(outermost, (helper,))]
    while waiting:
        parent, servers = waiting.pop()
        places = range(len(parent.owners))
        for size in range(2, len(parent.owners)):
            for masked in combinations(places, size):
                child = _child(parent, masked, servers, (*owners, helper))
                runs[child.path] = child
                waiting.append((child, (*servers, child.server)))
    return runs


def _child(parent: Protocol, masked: tuple[int, ...], servers: tuple[int, ...], everyone: Sequence[int]) -> Protocol:
    kept = tuple(place for place in range(len(parent.owners)) if place not in masked)
    path = f"{parent.path}/{'.'.join(str(place) for place in masked)}"
    owners = (*(parent.owners[place] for place in kept), parent.server)
    server = next(party for party in everyone if party not in owners and party not in servers)
    return Protocol(path, owners, (*kept, -1), masked, server, parent.coefficient * (len(masked) - 1), parent.path)


def term(place: int, vectors: Mapping[str, Vector], openings: Sequence[Vector | None], scalar: int) -> int:
    """Return one owner's term of u (steps 9 and 10) modulo 2^32.

    Parameters
    ----------
    place : int
        The owner's place; place 0 multiplies its vector, the others their mask.
    vectors : mapping
        ``{"own": its vector, "mask": its mask}``.
    openings : sequence of ndarray or None
        Everybody's openings; its own is not used.
    scalar : int
        Its r.
    """
    others = [opening for index, opening in enumerate(openings) if index != place and opening is not None]
    product = vectors["own" if place == 0 else "mask"].copy()
    for opening in others:
        product *= opening
    total = int(product.sum(dtype=np.uint32))
    signed = total if place == 0 else -total
    return (signed + (len(openings) - 1) * scalar) % 2**32


def check_chain(engine: Engine) -> list[int]:
    """Return the organizations of the columns, ascending.

    Raises
    ------
    ArgumentError
        If the published protocol is not for them.
    """
    owners = sorted({holder for info in engine.factors.values() for holder in info.holders})
    if not engine.setup.helper:
        raise ArgumentError("protocol: thesis needs a helper; name an organization without data")
    if not 2 <= len(owners) <= MOST_OWNERS:
        raise ArgumentError(
            f"protocol: thesis takes the columns of 2 to {MOST_OWNERS} organizations; use masked_tables"
        )
    return owners


def chain_count(federation: Federation, engine: Engine, tests: Sequence[Condition]) -> tuple[int, dict[str, Any]]:
    """Return the count by the published protocol. Two rounds: all openings of all runs, then all their terms.

    The publication passes u from party to party; here every party sends its terms under pairwise masks, and only
    their sum can be read.
    """
    owners = check_chain(engine)
    runs = protocols(owners, engine.setup.helper)
    members = [*owners, engine.setup.helper]
    opened = federation.round(
        "partial_chain_open",
        {member: ChainOpenRequest(engine.delivery(member, set()), owners, list(tests)) for member in members},
        members,
        SealedReply,
    )
    letters = {
        member: {sender: reply.sealed[member] for sender, reply in opened.items() if member in reply.sealed}
        for member in members
    }
    summed = federation.secure_sum(
        "partial_chain_sum",
        {member: ChainSumRequest(engine.delivery(member, set()), owners, letters[member]) for member in members},
        members,
        ChainSumReply,
        last=True,
    )
    moved = sum(len(run.owners) * (len(run.owners) - 1) for run in runs.values())
    return int(summed[0]) % 2**32, {"protocol_runs": len(runs), "openings_moved": moved}
