"""What one station does."""

from __future__ import annotations

import hashlib

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.horizontal import EvaluateRequest, Query, SumReply, added, one_budget, release, tally_station
from fedbayes.typing import Integers

from .gossip import Move, move_of
from .messages import GossipReply, GossipRequest, StatisticsReply, StatisticsRequest
from .model import Plan, summarise
from .published import publish

NOTE = "naive Bayes statistics"


@partial
def partial_statistics(station: Station, request: StatisticsRequest) -> StatisticsReply:
    """Count, add noise, and mask or tell (Algorithm 1).

    Notes
    -----
    **Reveals** to central, when masked, the sum over the stations only; else this station's statistics with the
    whole noise of the stated budget on them (``published``: with noise that is no guarantee).
    **Assumes** that two stations do not collude with central and, for distributed noise, that the honest fraction
    of the stations adds its share and keeps it secret.
    """
    plan = request.plan
    if plan.published or not plan.noise.promises:
        asked_once(station, "statistics", station.round_name, ONE_QUESTION)
    if plan.published:
        found = publish(plan, plan.columns.read(station, private=False))
        return StatisticsReply(station.exact(found, "naive Bayes statistics as published"))
    content = release(station, _queries(station, plan, plan.noise.private), plan.noise, NOTE)
    return StatisticsReply(content if plan.noise.placement == "local" else station.mask(content))


@partial
def partial_gossip(station: Station, request: GossipRequest) -> GossipReply:
    """Take part in one step of gossip: add what a peer sent, pass the sum on.

    Notes
    -----
    **Reveals** to one peer a step the sum of statistics that carry whole local noise each; to central a digest,
    and at the end, from one station, the total. **Assumes** nothing about the others' noise, each has its own; that peers
    add up what they were sent. Who sends to whom, and who tells when, is not central's to say.
    """
    move, before = _move(station, request), f"gossip-{request.step - 1}"
    noise = request.plan.noise
    receipt = station.charge(noise.epsilon, noise.delta, NOTE, once=one_budget(station), relation=noise.relation)
    vector = station.kept(before)["vector"] if request.step else _noisy(station, request.plan)
    if move.sender is not None:
        payload = station.unseal(move.sender, request.received[move.sender], before)
        if len(payload) != vector.nbytes:
            raise MessageError("a peer's vector has another length; use one version everywhere")
        other = np.frombuffer(payload, dtype="<i8")
        vector = other.astype(np.int64) if move.replaces else vector + other
    station.keep(f"gossip-{request.step}", vector=vector)
    payload = vector.astype("<i8").tobytes()
    sealed = None
    if move.receiver is not None:
        sealed = station.seal(move.receiver, payload, f"gossip-{request.step}")
    digest = station.released(hashlib.sha256(payload).digest(), receipt)
    return GossipReply(sealed, digest, station.released(vector, receipt) if move.tells else None)


def _move(station: Station, request: GossipRequest) -> Move:
    """Return what this station does, among all stations of the job, whatever central would have it do."""
    stations = station.require_members().stations
    if tuple(station.participants) != stations:
        raise MessageError("gossip goes round among all stations of the job, and some are not asked; the job stops")
    try:
        move = move_of(stations, station.organization, request.step)
    except ValueError:
        raise MessageError("there is no such step of gossip among these stations; the job stops") from None
    if set(request.received) != ({move.sender} - {None}):
        raise MessageError("a step of gossip lacks the vector that it adds, or has another's; the job stops")
    return move


def _noisy(station: Station, plan: Plan) -> Integers:
    return np.asarray(release(station, _queries(station, plan, True), plan.noise, NOTE, once=True).value)


def _queries(station: Station, plan: Plan, private: bool) -> list[Query]:
    return added(summarise(plan, part) for part in plan.columns.parts(station, private, sum(plan.sizes)))


@partial
def partial_evaluate(station: Station, request: EvaluateRequest) -> SumReply:
    """Score this station's rows.

    **Reveals** to central the sum of the tallies over the stations only (``local`` noise: the noisy tallies).
    **Assumes** that at least two stations do not collude with central.
    """
    return tally_station(station, request, NaiveBayes.from_dict)
