"""How well a classifier predicts, in a report: confusion matrix, what follows from it for each class, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures import calibration, confusion_matrix
from ..figures.style import to_svg
from ..formats import number
from ..scores import HEADERS, confusion_of, per_class, scores_of

MOST_CLASSES = 30


def pieces(result: Mapping[str, Any]) -> list[str]:
    """Return the pieces of the section on scores; nothing where the result judges no classifier."""
    found = _confusion(result)
    table = scores_of(result).get("calibration")
    if isinstance(table, Mapping) and {"confidence", "accuracy"} <= set(table):
        caption = f"Calibration; expected error {number(table.get('error'), 3)}"
        told = "Observed share by predicted probability; the dashed line is perfect."
        found.append(html.picture(to_svg(calibration(table)), told, caption))
    return found


def _confusion(result: Mapping[str, Any]) -> list[str]:
    confusion = confusion_of(result)
    if confusion is None or len(confusion[1]) > MOST_CLASSES:
        return []
    counts, classes = confusion
    rows = [
        (name, number(records), *("–" if value is None else f"{value:.3f}" for value in values))
        for name, records, *values in per_class(counts, classes)
    ]
    told = "Confusion matrix: records of each class (rows) by what was predicted (columns)."
    return [
        html.picture(to_svg(confusion_matrix(counts, classes)), told, told),
        html.table("Each class told from all the others", HEADERS, rows, (1, 2, 3, 4, 5, 6)),
    ]
