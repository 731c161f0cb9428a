"""Remote functions that every image exports: `partial_open_channel` and `disclosure_settings`."""

from __future__ import annotations

from typing import Any

from .. import __version__
from ..mpc.relay import fingerprint
from .channel import own_keys
from .decorators import partial
from .opening import OpenReply, OpenRequest
from .policy import PREFIX, Policy
from .station import Station, long_term_keys

TOLD = (
    "minimum_rows",
    "minimum_organizations",
    "minimum_count",
    "maximum_epsilon",
    "allow_non_private",
    "allow_predictions",
)


@partial
def partial_open_channel(station: Station, request: OpenRequest) -> OpenReply:
    """Make this station's channel key for the job.

    **Reveals** to central and to all members a fresh public key (and the long-term one, where the node keeps it); to central
    whether the station holds the task's database, and limits that `disclosure_settings` tells anyway.
    """
    limits = station.policy.to_dict()
    identity = station.identity
    return OpenReply(
        public_key=own_keys(station.folder).public_bytes + (identity.public_bytes if identity else b""),
        has_data=station.has_data,
        minimum_organizations=station.policy.minimum_organizations,
        policy={name: limits[name] for name in TOLD},
    )


def disclosure_settings() -> dict[str, Any]:
    """Return every limit of this node, with the environment variable that sets it.

    Returns
    -------
    dict
        ``settings``: limit -> value; ``variables``: limit -> variable; ``version``; ``fingerprint`` of the node's long-term key, if it keeps one.
        Fingerprints of pinned keys are counted, not listed.
    """
    policy = Policy.from_environment()
    identity = long_term_keys(policy)
    limits = policy.to_dict()
    if limits["pinned_keys"] is not None:
        limits["pinned_keys"] = f"{len(limits['pinned_keys'])} pinned"
    return {
        "settings": limits,
        "variables": {name: PREFIX + name.upper() for name in limits},
        "version": __version__,
        "fingerprint": fingerprint(identity.public_bytes) if identity else None,
    }


disclosure_settings.fedbayes_remote = "partial"  # type: ignore[attr-defined]
