"""Answers that can be read only if everyone was sent the same: masks bound to the openings behind an answer.

Central relays openings, so a central that deviates could send one station other openings than the next and learn from the difference. Every two
organizations therefore add masks that cancel only if both name the same openings, orders, factors and questions; words of zeros beside the answer show
central whether they do. A product is bound in the same way to what it was made of, so no round is added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np

from ...mpc.replicated import COMPUTING
from ...mpc.ring import RingArray
from ...mpc.secure_sum import pairwise_mask
from ..codec import encode
from ..errors import MessageError
from .messages import Delivery, FactorInfo
from .workspace import Workspace

CHECK_WORDS = 4
"""Words of zeros behind the shares of an answer: 64 bits in the smallest ring."""


def bound(
    workspace: Workspace,
    delivery: Delivery,
    names: Sequence[str],
    question: str,
    values: RingArray,
    members: Sequence[int],
) -> RingArray:
    """Return a share under masks that cancel over all who share, if they were sent the same openings of `names` and asked the same.

    Parameters
    ----------
    workspace : Workspace
        After it has received the delivery.
    delivery : Delivery
        Describes the factors.
    names : sequence of str
        The factors behind the share.
    question : str
        What else must be the same; one share a round and question.
    values : ndarray
        This organization's share.
    members : sequence of int
        Who shares.

    Notes
    -----
    **Reveals** nothing: where two organizations were sent different things, the sum of all shares is uniform.
    **Assumes** nothing of central; an organization that lies about its own openings changes its own data.
    """
    keys = keys_of(workspace, delivery, names, question, members)
    masked: RingArray = values + pairwise_mask(workspace.own, keys, question, values.shape, values.dtype)
    return masked


def keys_of(
    workspace: Workspace, delivery: Delivery, names: Sequence[str], question: str, members: Sequence[int]
) -> dict[int, bytes]:
    """Return the key with every peer that shares, bound to what both have seen."""
    infos = _behind({info.name: info for info in delivery.factors}, names)
    setup = workspace.setup
    computing = setup.stations if setup.helper else setup.stations[:COMPUTING]
    told = hashlib.sha256(json.dumps([encode(info) for info in infos]).encode() + question.encode()).hexdigest()
    seen = _openings(workspace, infos, None) if workspace.own in computing else ""
    by_helper = _openings(workspace, infos, setup.helper) if setup.helper else ""
    keys = {}
    for peer in members:
        if peer == workspace.own:
            continue
        common = seen if workspace.own in computing and peer in computing else ""
        if setup.helper in (peer, workspace.own):
            common = by_helper
        keys[peer] = workspace.key(peer, f"agreed|{told}|{common}")
    return keys


def with_check(shares: RingArray) -> RingArray:
    """Return flat shares with words of zeros behind them."""
    return np.concatenate([shares, np.zeros(CHECK_WORDS, dtype=shares.dtype)])


def _behind(known: Mapping[str, FactorInfo], names: Sequence[str]) -> list[FactorInfo]:
    """Return the factors behind the names, by name: themselves, and what they are views or products of."""
    found: dict[str, FactorInfo] = {}
    left = list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        if name not in known:
            raise MessageError("a factor of the request is not described; the job stops")
        info = found[name] = known[name]
        left += [*info.made_of, *([info.view_of] if info.view_of else [])]
    return [found[name] for name in sorted(found)]


def _openings(workspace: Workspace, infos: Sequence[FactorInfo], sender: int | None) -> str:
    """Return the digest of all openings of the factors, or of those of one sender, and of the orders of their rows."""
    parts = {(member, info.stage) for info in infos if not info.view_of for member in info.contributors}
    chosen = sorted(part for part in parts if sender in (None, part[0]))
    digest = hashlib.sha256()
    for member, stage in chosen:
        digest.update(f"{member}|{stage}|".encode() + workspace.seen("openings", member, stage))
    ordered = sorted({member for member, stage in parts if stage == 0})
    for member in [] if workspace.setup.union else ordered:
        digest.update(np.ascontiguousarray(workspace.order_of(member), dtype="<i8").tobytes())
    return digest.hexdigest()
