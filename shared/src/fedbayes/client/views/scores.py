"""How well a classifier predicts, in a report: confusion matrix, what follows from it for each class, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import html
from ..figures import calibration, confusion_matrix, roc
from ..figures.style import to_svg
from ..formats import number
from ..scores import HEADERS, HIDDEN_CLASSES, about_accuracy, confusion_of, is_hidden, is_told, per_class, scores_of

MOST_CLASSES = 30  # of a matrix that can be read
MOST_CURVES = 10  # that colours tell apart


def pieces(result: Mapping[str, Any]) -> list[str]:
    """Return the pieces of the section on scores; nothing where the result judges no classifier."""
    drawn = [html.paragraph(remark)] if (remark := about_accuracy(result)) else []
    drawn += _confusion(result)
    table = scores_of(result).get("calibration")
    if isinstance(table, Mapping) and {"confidence", "accuracy"} <= set(table):
        caption = f"Calibration; expected error {number(table.get('error'), 3)}"
        description = "Observed share by predicted probability; the dashed line is perfect."
        drawn.append(html.picture(to_svg(calibration(table)), description, caption))
    return [*drawn, *_curves(result)]


def _curves(result: Mapping[str, Any]) -> list[str]:
    confusion, roc_curves = confusion_of(result), scores_of(result).get("roc") or []
    names = confusion[1] if confusion is not None else []
    names = names if len(roc_curves) == len(names) else names[-1:]
    # Of a hidden curve nothing, or its two ends alone, is told.
    shown = [position for position, curve in enumerate(roc_curves) if len(curve["false_positive_rate"]) > 2]
    if not shown or len(shown) > MOST_CURVES:
        return []
    curves, classes = (
        [roc_curves[position] for position in shown],
        [names[position] for position in shown if position < len(names)],
    )
    caption = f"ROC curve{'s' if len(shown) > 1 else ''} (true against false positive rate); area {number(scores_of(result).get('auc'), 3)}"
    words = "Of two classes the curve of the second, else each class against all others; the dashed line is guessing."
    return [html.picture(to_svg(roc(curves, classes)), words, caption)]


def _confusion(result: Mapping[str, Any]) -> list[str]:
    confusion = confusion_of(result)
    if confusion is None or len(confusion[1]) > MOST_CLASSES:
        return []
    counts, classes = confusion
    each = per_class(counts, classes)
    rows = [
        (name, number(records), *("–" if value is None else f"{value:.3f}" for value in values))
        for name, records, *values in each
    ]
    if is_hidden(counts):
        return [
            html.paragraph(f"Confusion matrix, sensitivity, specificity and predictive values are {HIDDEN_CLASSES}.")
        ]
    description = "Confusion matrix: records of each class (rows) by what was predicted (columns)."
    if np.isnan(counts).any():
        description += " A count with a dash is hidden."
    return [
        html.picture(to_svg(confusion_matrix(counts, classes)), description, description, wide=len(classes) > 4),
        html.table("Each class against all the others", HEADERS, rows, (1, 2, 3, 4, 5, 6))
        if is_told(each)
        else html.paragraph(f"Sensitivity, specificity and predictive values are {HIDDEN_CLASSES}."),
    ]
