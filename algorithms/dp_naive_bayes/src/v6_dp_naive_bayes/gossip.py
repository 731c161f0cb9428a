"""Who sends to whom so that every station ends with the same sums, without a trusted aggregator.

The paper proposes gossip averaging, which comes near the sums after many random exchanges. Dimension exchange
does it exactly in about log2(n) steps: stations beyond the largest power of two first hand their vector to a
partner, the rest exchange along the dimensions of a hypercube, and the partners hand the total back.

References
----------
.. [1] Jelasity, Montresor, Babaoglu (2005), Gossip-based aggregation in large dynamic networks.
.. [2] Cybenko (1989), Dynamic load balancing for distributed memory multiprocessors (dimension exchange).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """What one station does in one step.

    Attributes
    ----------
    sender, receiver : int or None
        Whose vector of the step before it takes, and who gets its own.
    replaces : bool
        Whether the vector that it takes is the total, in place of its own.
    tells : bool
        Whether central gets its vector: the total, from one station.
    """

    sender: int | None
    receiver: int | None
    replaces: bool
    tells: bool


def move_of(stations: Sequence[int], own: int, step: int) -> Move:
    """Return what station `own` does in a step, from 0 to the number of exchanges.

    Raises
    ------
    ValueError
        If there is no such step, or the station is none of them.
    """
    steps = schedule(stations)
    if not 0 <= step <= len(steps) or own not in stations:
        raise ValueError("there is no such step of gossip")
    ends = step == len(steps)
    senders = {receiver: sender for sender, receiver in steps[step - 1].items()} if step else {}
    receiver = None if ends else steps[step].get(own)
    return Move(senders.get(own), receiver, ends and own in replaced(stations), ends and own == min(stations))


def schedule(stations: Sequence[int]) -> list[dict[int, int]]:
    """Return for every step {sender: receiver}; nobody receives from two in one step.

    Parameters
    ----------
    stations : sequence of int
        Distinct organizations.
    """
    order = sorted(stations)
    core = 1 << (len(order).bit_length() - 1)
    extra = {order[core + place]: order[place] for place in range(len(order) - core)}
    steps = [extra] if extra else []
    dimension = 1
    while dimension < core:
        steps.append({order[place]: order[place ^ dimension] for place in range(core)})
        dimension *= 2
    if extra:
        steps.append({partner: late for late, partner in extra.items()})
    return steps


def replaced(stations: Sequence[int]) -> frozenset[int]:
    """Return the stations that get the total at the end instead of adding to it."""
    order = sorted(stations)
    return frozenset(order[1 << (len(order).bit_length() - 1) :])
