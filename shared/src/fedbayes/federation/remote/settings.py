"""Remote functions that every image exports: the first and the last round of a job, and `disclosure_settings`."""

from __future__ import annotations

from typing import Any

from ... import __version__
from ..decorators import partial
from ..errors import ThresholdError, too_few
from ..guards import announced
from ..node import limits, platform
from ..node.policy import PREFIX, Policy
from ..perimeter import acquaintance, peers
from ..perimeter.manifest import Card
from ..perimeter.opening import OpenReply, OpenRequest, Preflight
from ..replies import Empty
from ..station import Station
from ..tables.names import differs_unseen


@partial
def partial_open_channel(station: Station, request: OpenRequest) -> OpenReply:
    """Check what the task will ask, and make this station's key for the job.

    **Reveals** to central and to all members a fresh public key (and the lasting one, where the node keeps it); to central
    whether the station holds the task's database, which of the columns that the task announced (or one written nearly so), limits that
    `disclosure_settings` tells anyway, and by which keys it knows those that central names as the others: one that changed then stops no job after a debit.
    **Assumes** nothing: nothing is spent here, and no value of the table is looked at.
    """
    policy = station.policy
    if 0 < request.members < policy.minimum_organizations:
        raise ThresholdError(too_few("this node", policy.minimum_organizations))
    station.use_dictionary(request.dictionary)
    announced.keep(station.memory, request.preflight)
    if request.preflight is not None:
        _check(station, request.preflight)
        if station.has_data and request.stations and request.preflight.summed and not request.preflight.private:
            namings = station.namings(request.stations, request.stations)
            station.history.foresee(set(request.preflight.columns) & set(station.columns), namings)
    announced_columns = () if request.preflight is None or not station.has_data else request.preflight.columns
    present = set(station.columns) if announced_columns else set()
    card = Card.make(station.organization, station.memory.keys().public_bytes, station.identity, station.session)
    return OpenReply(
        card=station.public(card),
        has_data=station.public(station.has_data),
        columns=station.public([name for name in announced_columns if name in present]),
        alike=station.public(
            [name for name in announced_columns if name not in present and differs_unseen(name, present)]
        ),
        policy=station.public(limits.as_public(policy)),
        believed=station.public(_believed(station)),
    )


def _believed(station: Station) -> dict[int, str]:
    """Return by which lasting keys this node knows the others of the round: nobody where it has none itself, or the mock client lists nobody."""
    if station.identity is None or station.run.mock:
        return {}
    others = {*station.participants, station.aggregator} - {station.organization}
    return acquaintance.believed(
        station.policy, {at: name for at, name in platform.organizations().items() if at in others}
    )


def _check(station: Station, preflight: Preflight) -> None:
    """Refuse what this node would refuse later, before anything is spent anywhere."""
    policy = station.policy
    for function in preflight.functions:
        policy.check_function(function)
    policy.check_honest_fraction(preflight.honest_fraction)
    if not station.has_data or (preflight.concerned and station.organization not in preflight.concerned):
        return
    epsilon = preflight.least_epsilon(sum(name in station.columns for name in preflight.columns))
    policy.check_release(epsilon, preflight.delta)
    station.require_private(preflight.private, any(name in station.columns for name in preflight.derived_from))
    if preflight.single_records:
        station.require_predictions()
    station.check_columns(list(preflight.columns))
    if preflight.everywhere:
        station.check_names(list(preflight.columns))
    if preflight.linked_by and preflight.linked_by in station.columns:  # a file may have a column without a name
        station.check_linked_by(preflight.linked_by)
    policy.check_budget(epsilon, preflight.delta, preflight.queries)


@partial
def partial_close(station: Station, request: Empty) -> Empty:
    """End the job at this station: its keys and kept arrays are removed.

    **Reveals** nothing. **Assumes** nothing.
    """
    return Empty()


def disclosure_settings() -> dict[str, Any]:
    """Return every limit of this node, with the environment variable that sets it.

    Returns
    -------
    dict
        ``settings``: limit -> value; ``variables``: limit -> variable; ``version``; ``fingerprint`` of the node's lasting key, or None without a folder
        database; ``peers_are_known``: whether it authenticates its peers, and ``models_are_checked``: whether it checks that models come from a fit of
        the federation; ``answers_are_remembered``: whether exact answers are held against earlier ones over other organizations.
        Fingerprints of pinned keys are counted, not listed.

    Notes
    -----
    **Reveals** these to whoever starts the task; nothing of a table. **Assumes** nothing.
    """
    policy = Policy.from_environment()
    mark = peers.own_fingerprint(policy)
    settings = policy.to_dict()
    if settings["pinned_keys"] is not None:
        settings["pinned_keys"] = f"{len(settings['pinned_keys'])} pinned"
    return {
        "settings": settings,
        "variables": {name: PREFIX + name.upper() for name in settings},
        "version": __version__,
        "fingerprint": mark,
        "peers_are_known": mark is not None,
        "models_are_checked": mark is not None and not policy.allow_foreign_models,
        "answers_are_remembered": policy.ledger is not None and not policy.allow_differences,
    }


disclosure_settings.fedbayes_remote = "partial"  # type: ignore[attr-defined]
