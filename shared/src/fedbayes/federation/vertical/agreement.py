"""Answers that can be read only if everyone was sent the same: masks bound to the openings behind an answer.

Central relays openings, so a central that deviates could send one station other openings than the next and learn from the difference. Every two
organizations therefore add masks that cancel only if both name the same openings, orders, factors and questions; words of zeros beside the answer show
central whether they do. A product is bound in the same way to what it was made of, so no round is added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...mpc.ring import RingArray
from ...mpc.secure_sum import pairwise_mask, reconstruct
from ..errors import MessageError, StationError
from ..messages.codec import encode
from ..questions.factor_info import FactorInfo, with_parts
from .messages import Delivery
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
    try:
        behind = with_parts({info.name: info for info in delivery.factors}, names)
    except KeyError:
        raise MessageError("a factor of the request is not described; the job stops") from None
    infos = [behind[name] for name in sorted(behind)]
    setup = workspace.setup
    alone = {column for info in infos if info.holders == [workspace.own] for column in info.columns}
    if setup.union and alone:
        workspace.station.history.entered.note_held_alone(alone)
    question_digest = hashlib.sha256(
        json.dumps([encode(info) for info in infos]).encode() + question.encode()
    ).hexdigest()
    seen = _openings(workspace, infos, None) if workspace.own in setup.computing else ""
    by_helper = _openings(workspace, infos, setup.helper) if setup.helper else ""
    keys = {}
    for peer in members:
        if peer == workspace.own:
            continue
        common = seen if workspace.own in setup.computing and peer in setup.computing else ""
        if setup.helper in (peer, workspace.own):
            common = by_helper
        keys[peer] = workspace.key(peer, f"agreed|{question_digest}|{common}")
    return keys


def with_check(shares: RingArray) -> RingArray:
    """Return flat shares with words of zeros behind them."""
    return np.concatenate([shares, np.zeros(CHECK_WORDS, dtype=shares.dtype)])


def without_check(shares: Sequence[RingArray], cells: int, ring: npt.DTypeLike) -> RingArray:
    """Return the sum of flat shares of answers without the words behind them, which must be zeros then."""
    if any(share.shape != (cells + CHECK_WORDS,) or share.dtype != np.dtype(ring) for share in shares):
        raise StationError("a station's shares do not fit the tables asked for; the job stops")
    total = reconstruct(shares)
    if total[cells:].any():
        raise StationError(
            "the organizations were not sent the same openings, not asked the same, or do not have the same records linked; the job stops"
        )
    return total[:cells]


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
