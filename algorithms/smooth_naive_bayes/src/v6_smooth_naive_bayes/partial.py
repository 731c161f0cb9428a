"""What runs at the stations."""

from __future__ import annotations

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Relation, Station, partial
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.horizontal import EvaluateRequest, SumReply, tally_station

from .messages import ReleaseReply, ReleaseRequest
from .model import perturb, summarise
from .options import check_release
from .queries import Release


@partial
def partial_release(station: Station, request: ReleaseRequest) -> ReleaseReply:
    """Compute the station's statistics, charge the ledger, and return them with noise.

    **Reveals** to central this station's noisy statistics, of the stated epsilon (``published``: with noise that is no guarantee); not the scales of
    their noise, which depend on the data.
    **Assumes** nothing about the others: the noise is whole at every station.
    """
    columns, settings = request.columns, request.settings
    station.require_private(settings.private)
    check_release(columns, settings)
    encoded = columns.read(station, private=settings.noisy)
    release = Release(columns.schema, columns.label, settings)
    summary = summarise(release, encoded)
    if not settings.noisy:
        asked_once(station, "statistics", station.round_name, ONE_QUESTION)
        return ReleaseReply(station.exact(perturb(summary, release), "counts and moments as published"))
    relation = Relation(settings.neighbors, columns.unit.name, settings.rows, columns.unit.id_column)
    receipt = station.charge(settings.epsilon, note="smooth_naive_bayes: counts and moments", relation=relation)
    return ReleaseReply(station.released(perturb(summary, release), receipt))


@partial
def partial_evaluate(station: Station, request: EvaluateRequest) -> SumReply:
    """Score the station's rows by a model.

    **Reveals** to central the sums of scores over all stations only.
    **Assumes** that at least two stations do not collude with central.
    """
    return tally_station(station, request, NaiveBayes.from_dict)
