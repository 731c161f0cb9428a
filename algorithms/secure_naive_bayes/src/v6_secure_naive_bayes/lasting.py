"""Noisy tables that a station keeps from one job to the next, beside its ledger, so that they are paid for once.

A file is named after the request (columns, domain, bins, budget), the study's dictionary, the rows that the task chose and the database's label,
never after the data: asked again, a station answers from the tables of the day on which they were made, whatever has changed in its data since. So
a repeat tells nothing that the first answer did not tell, not even whether the data changed, and needs no charge. Who
wants newer tables asks for them, and pays.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.node.secrets import once
from fedbayes.federation.tables.node_databases import folder_database, preprocessing, requested_label
from fedbayes.typing import Array

from .messages import TablesRequest

VERSION = "fedbayes-tables-1"
DAY_SECONDS = 86_400  # seconds of a day


def today() -> int:
    """Return the day, counted from 1970, UTC."""
    return int(time.time()) // DAY_SECONDS


def path_of(station: Station, request: TablesRequest) -> Path | None:
    """Return the file of the tables that answer a request, or None at a node without a ledger."""
    if station.policy.ledger is None:
        return None
    asked = {name: part for name, part in encode(replace(request, tables="kept")).items() if name != "letters"}
    content: list[Any] = [VERSION, requested_label(), asked]
    chosen = {"dictionary": station.require_members().dictionary, "rows": preprocessing()}
    if any(chosen.values()):
        content.append(chosen)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return folder_database(station.policy.ledger) / f"{VERSION}-{digest[:40]}"


def read(path: Path | None) -> dict[str, Array] | None:
    """Return the arrays of a file, or None where there is none.

    Raises
    ------
    DataProblem
        When the file is damaged.
    """
    if path is None or not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError):
        pass
    raise DataProblem(
        'the tables that the station keeps cannot be read; ask the node administrator to delete them, or give tables="renewed"'
    )


def write(path: Path | None, arrays: dict[str, Array], renew: bool) -> dict[str, Array]:
    """Store arrays in one step and return what the file holds then.

    Parameters
    ----------
    path : Path or None
        From `path_of`; nothing is stored at None.
    arrays : dict of ndarray
        What to store.
    renew : bool
        Whether they take the place of older ones; otherwise the first writer wins, and both jobs answer alike.
    """
    if path is None:
        return arrays
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    once(path, buffer.getvalue(), renew)
    return read(path) or arrays
