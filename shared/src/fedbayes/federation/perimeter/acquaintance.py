"""Lasting keys in a job's first round: which ones a node knows of the others, and who will not believe whom, before anybody has paid.

What a node believes is decided by itself, with whole fingerprints, when it gets the manifest (`peers`): often in the round in which others debit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import PolicyError
from ..node.policy import Policy
from . import peers
from .opening import OpenReply

MARK_DIGITS = 16
"""Of a fingerprint: enough to see that a key has changed."""


def believed(policy: Policy, names: Mapping[int, str]) -> dict[int, str]:
    """Return the beginning of the fingerprint by which this node knows each organization, for a first round.

    Parameters
    ----------
    policy : Policy
        Of this node, which has a lasting key.
    names : mapping of int to str
        The others of the collaboration.

    Returns
    -------
    dict
        Organization -> digits; empty where keys are pinned and none is for it. Who is not in it is believed at first sight.
    """
    if policy.pinned_keys is not None:
        pinned = policy.pinned_keys
        return {member: peers.pinned_for(pinned, name, member)[:MARK_DIGITS] for member, name in names.items()}
    folder = policy.folder()
    marks = {} if folder is None else {peer.name: peer.fingerprint for peer in peers.KnownPeers(folder).list()}
    return {member: marks[name][:MARK_DIGITS] for member, name in names.items() if name in marks}


def strangers(
    policy: Policy, organization: int, names: Mapping[int, str], replies: Mapping[int, OpenReply]
) -> dict[int, PolicyError]:
    """Return who will not believe the key that another one shows, and what it will say. A key that is known under another name is not seen here.

    Parameters
    ----------
    policy : Policy
        Of the node that runs central.
    organization : int
        That node's.
    names : mapping of int to str
        Organizations of the collaboration.
    replies : mapping of int to OpenReply
        Of the members.

    Raises
    ------
    PolicyError
        If central's own node, which is no member, does not believe one.
    """
    marks = {organization: peers.own_fingerprint(policy) or ""}
    marks |= {member: peers.mark_of(reply.card.value) for member, reply in replies.items()}

    def problem(member: int, wanted: Mapping[int, str], pinned: bool) -> PolicyError | None:
        for other, mark in sorted(marks.items()):
            if other != member and other in wanted and not (wanted[other] and mark.startswith(wanted[other])):
                return peers.not_pinned(names[other]) if pinned else peers.changed(names[other], mark)
        return None

    if organization not in replies and marks[organization]:
        own = problem(organization, believed(policy, names), policy.pinned_keys is not None)
        if own is not None:
            raise PolicyError(f"{own} (nothing was spent)")
    said = {
        member: problem(member, reply.believed.value, reply.policy.value.get("pinned_keys") is True)
        for member, reply in replies.items()
    }
    return {member: refusal for member, refusal in said.items() if refusal is not None}
