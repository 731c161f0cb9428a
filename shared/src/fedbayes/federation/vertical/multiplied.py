"""Exact products of a column with other organizations' columns, each of which tells many records' values by its digits.

Whoever knows the other numbers, and has the product, looks for the records whose numbers add up to it; with as many products of a column of numbers as there
are records these are a system of equations. A product has some `BITS`, a column as many as its values are mixed: one a record of 0 and 1 that are equally
frequent, half of it where one in nine has the 1, and the logarithm of the records where all differ. The owner answers no more products of a column than tell
half of that, about one for every 60 records of 0 and 1, one for every ten of numbers: very many columns then fit what was told. One product of a column of
more than `FEW_VALUES` values, which is no code, is told always: nobody else knows which values these are. Products of columns of few values of two digits
alone are counts, which have few digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from ...typing import Floats
from ..errors import MessageError, ThresholdError
from ..questions.factor_info import NUMBERS
from .values import FEW_VALUES, is_short
from .workspace import Workspace

BITS = 30.0
"""Of one product: a factor has some 28, and the sum over the records a few more."""
TOLD = 0.5
"""Which part of a column's values products may tell."""
KEPT = "multiplied"
TOO_MANY = (
    "columns: a column of 0 and 1 is multiplied by another organization's numbers once for every 60 records, one of many values by any column once for every "
    "ten or so, and less often where most have the same value: with the products that were told before, the digits of this one would show whose "
    "numbers add up to it; ask for one of those again, or use more records"
)


def note(workspace: Workspace, name: str, columns: Sequence[str], product: Floats) -> None:
    """Note for the answer how this station named the product of its columns, and keep it."""
    workspace.station.note(KEPT, [name, list(columns), is_short(product)])
    workspace.station.keep(f"{KEPT}|{name}", values=product)


def check(workspace: Workspace, names: Sequence[str]) -> None:
    """Refuse an exact answer about some factors where it is one of too many products of a column that is here.

    Which factors are numbers is in their names, and in those of products of them: masks hang on them, and every owner looks for its own.

    Raises
    ------
    MessageError
        If the request names this station's product otherwise than it was opened.
    ThresholdError
        If it is one of too many; nodes that let single records be told refuse none.
    StationError
        If the record of products cannot be read or written.
    """
    station, asked = workspace.station, " ".join(sorted(names))
    for name, columns, short in station.noted(KEPT):
        if name not in asked:
            raise MessageError("a request names a product otherwise than its station; the job stops")
        if (short and NUMBERS not in asked.replace(name, "")) or station.policy.minimum_count <= 1:
            continue
        values = station.kept(f"{KEPT}|{name}")["values"]
        _, counts = np.unique(values[workspace.common_order(len(values))], return_counts=True)
        mixed = float(counts @ np.log2(counts.sum() / counts))
        read = "" if station.manifest is None else station.manifest.dictionary
        most = max(int(TOLD * mixed / BITS), int(len(counts) > FEW_VALUES))
        digest = hashlib.sha256(json.dumps([asked, read]).encode()).hexdigest()
        if not station.history.questions.multiplies(columns, digest, most):
            raise ThresholdError(TOO_MANY)
