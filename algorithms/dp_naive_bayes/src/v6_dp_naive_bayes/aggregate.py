"""How the stations' answers become one model: by sums, robustly, or by gossip."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, Sealed
from fedbayes.federation.errors import ArgumentError, MessageError, StationError

from .arguments import AGGREGATION_NAMES
from .gossip import schedule
from .messages import GossipReply, GossipRequest, StatisticsReply, StatisticsRequest
from .model import Plan, finalise
from .robust import FEWEST, merge_robustly, rare_classes, tolerated


def collect_sum(federation: Federation, stations: Sequence[int], plan: Plan, rule: str) -> NaiveBayes:
    """Sum all stations' statistics in one round: masked, or in the open under local noise.

    **Reveals** to central the sum (masked), or every station's noisy statistics (local noise).
    """
    if not stations:
        raise StationError("none of the organizations holds the database that the task asks for; check its label")
    request = StatisticsRequest(plan)
    if plan.noise.placement == "local":
        replies = federation.round("partial_statistics", request, stations, StatisticsReply, last=True)
        vectors = [_checked(plan, reply.vector.value) for reply in replies.values()]
        return finalise(plan, np.sum(vectors, axis=0), len(stations))
    summed = federation.secure_sum("partial_statistics", request, stations, StatisticsReply, field="vector", last=True)
    return finalise(plan, _checked(plan, summed.astype(np.int64)), len(stations))


def collect_robustly(federation: Federation, stations: Sequence[int], plan: Plan, rule: str) -> NaiveBayes:
    """Merge the stations' own parameters by a rule that a minority cannot move far; one round.

    **Reveals** to central every station's noisy statistics.
    """
    if len(stations) < FEWEST:
        raise ArgumentError(f"aggregation='{rule}' needs at least {FEWEST} stations with data; include more")
    replies = federation.round("partial_statistics", StatisticsRequest(plan), stations, StatisticsReply, last=True)
    models = {station: finalise(plan, _checked(plan, reply.vector.value), 1) for station, reply in replies.items()}
    for station, model in models.items():
        if rare_classes(model):
            federation.warn(
                f"{federation.name(station)} has too few rows of a class for its noise: its parameters of that "
                f"class are guesses, which aggregation='{rule}' takes as evidence"
            )
    if tolerated(rule, len(stations)) == 0:
        federation.warn(f"aggregation='{rule}' tolerates no wrong station among so few; include more stations")
    return merge_robustly(list(models.values()), rule)


def collect_by_gossip(federation: Federation, stations: Sequence[int], plan: Plan, rule: str) -> NaiveBayes:
    """Let the stations add up among themselves: about log2(n) rounds, after which all hold the same sums.

    **Reveals** to a peer sums of statistics with whole local noise each; to central the total.
    """
    steps = schedule(stations)
    letters: dict[int, tuple[int, Sealed]] = {}
    replies: dict[int, GossipReply] = {}
    for number in range(len(steps) + 1):
        ends = number == len(steps)
        sends = {} if ends else steps[number]
        requests = {
            station: GossipRequest(number, plan, dict([letters[station]] if station in letters else ()))
            for station in stations
        }
        replies = federation.round("partial_gossip", requests, stations, GossipReply, last=ends)
        letters = {peer: (station, _passed_on(replies[station])) for station, peer in sends.items()}
    if len({reply.digest.value for reply in replies.values()}) != 1:
        raise MessageError("the stations do not end with the same sums; one of them does not follow the protocol")
    total = replies[min(stations)].vector
    if total is None:
        raise MessageError("the total is missing from the last reply")
    return finalise(plan, _checked(plan, total.value), len(stations))


def _passed_on(reply: GossipReply) -> Sealed:
    if reply.sealed is None:
        raise MessageError("a station did not pass its sums on; the job stops")
    return reply.sealed


def _checked(plan: Plan, vector: NDArray[np.generic]) -> NDArray[np.generic]:
    if vector.shape != (sum(plan.sizes),):
        raise MessageError("a station's answer has another length than asked for; use one version everywhere")
    return vector


Collector = Callable[[Federation, Sequence[int], Plan, str], NaiveBayes]

AGGREGATIONS: dict[str, Collector] = {
    **dict.fromkeys(AGGREGATION_NAMES, collect_robustly),
    "sum": collect_sum,
    "gossip": collect_by_gossip,
}
