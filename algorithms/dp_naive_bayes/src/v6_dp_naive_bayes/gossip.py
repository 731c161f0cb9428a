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
