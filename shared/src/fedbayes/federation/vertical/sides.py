"""Each party's side of the products over factors, made of what its workspace has: the data stations' and the helper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...mpc import shared_products as products
from ...mpc import subset_shares
from ...typing import Array
from ..errors import MessageError
from ..questions.factor_info import part_of
from .messages import Delivery
from .workspace import DTYPES, Workspace, factor

NOT_DEALT = "the helper has dealt for other tables than the request says; the job stops"


class _Dealt(dict[subset_shares.Table, subset_shares.Correction]):
    """Corrections by the factors that they are of."""

    def __missing__(self, subset: subset_shares.Table) -> subset_shares.Correction:
        raise MessageError(NOT_DEALT)


def data_side(workspace: Workspace, delivery: Delivery, names: Iterable[str], bits: int) -> products.DataSide:
    """Return a data station's side of the products over the named factors."""
    infos = {info.name: info for info in delivery.factors}
    chosen = [part_of(infos, name) for name in dict.fromkeys(names)]
    openings = {info.name: workspace.opening(info, infos, bits) for info in chosen}
    held = [info for info in chosen if workspace.own in info.holders]
    masks = {info.name: workspace.mask(info, infos, workspace.own, delivery.rows, bits) for info in held}
    return products.DataSide(
        workspace.own,
        workspace.setup.stations,
        workspace.key(workspace.setup.helper),
        {info.name: factor(info) for info in chosen},
        openings,
        masks,
        _corrections(workspace, delivery, bits),
        dealt_corrections(delivery.dealt, workspace.setup.stations),
    )


def helper_side(workspace: Workspace, delivery: Delivery, names: Iterable[str], bits: int) -> products.HelperSide:
    """Return the commodity server's side of the products over the named factors."""
    infos = {info.name: info for info in delivery.factors}
    chosen = [part_of(infos, name) for name in dict.fromkeys(names)]
    masks: dict[str, Array] = {}
    for info in chosen:
        parts = [workspace.mask(info, infos, holder, delivery.rows, bits) for holder in info.holders]
        masks[info.name] = sum(parts[1:], parts[0])
    keys = {party: workspace.key(party) for party in workspace.setup.stations}
    return products.HelperSide(keys, {info.name: factor(info) for info in chosen}, masks)


def _corrections(workspace: Workspace, delivery: Delivery, bits: int) -> dict[subset_shares.Table, Array]:
    """Return what this station was dealt; with few subsets that may be nothing."""
    mine = [
        entry
        for entry in dealt_corrections(delivery.dealt, workspace.setup.stations).values()
        if entry.receiver == workspace.own
    ]
    if not mine:
        return {}
    flat = workspace.station.kept("corrections")["flat"].astype(DTYPES[bits])
    states = {info.name: factor(info).states for info in delivery.factors}
    corrections: dict[subset_shares.Table, Array] = {}
    start = 0
    for correction in mine:
        width = int(np.prod([states[name] for name in correction.subset]))
        stop = start + width * delivery.rows
        if stop > len(flat):
            raise MessageError(NOT_DEALT)
        corrections[correction.subset] = flat[start:stop].reshape(delivery.rows, width)
        start = stop
    return corrections


def dealt_corrections(
    tables: Iterable[Sequence[str]], stations: Sequence[int]
) -> dict[subset_shares.Table, subset_shares.Correction]:
    """Return who pads and who is sent each correction of the tables that were dealt for."""
    return _Dealt(subset_shares.corrections_for([tuple(table) for table in tables], stations))
