"""How well a classifier predicts, as a result tells it: scores, and what follows from the confusion table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..typing import Floats

NAMES = ("accuracy", "auc", "log_loss", "concordance", "n", "calibration", "roc")
HEADERS = (
    "Class",
    "Records",
    "Sensitivity",
    "Specificity",
    "Positive predictive value",
    "Negative predictive value",
    "F1",
)


def scores_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of a result by their common names, wherever its function puts them; empty if there are none."""
    model = result.get("model")
    inside = model if isinstance(model, Mapping) and "accuracy" in model else {}
    scores = {name: source[name] for source in (inside, result) for name in NAMES if name in source}
    if "n" not in scores and "rows" in inside:
        scores["n"] = inside["rows"]
    return scores


def confusion_of(result: Mapping[str, Any]) -> tuple[Floats, list[str]] | None:
    """Return the confusion table, shape (classes, classes), rows are the truth, NaN where hidden; and the classes."""
    model = result.get("model")
    diagnostics = result.get("diagnostics") or {}
    for source in (diagnostics, model if isinstance(model, Mapping) else {}, result):
        table, classes = source.get("confusion"), source.get("classes") or source.get("states")
        if isinstance(table, list) and isinstance(classes, list) and table:
            counts = np.array(table, dtype=np.float64)
            if counts.shape == (len(classes), len(classes)):
                return counts, [str(name) for name in classes]
    return None


def is_hidden(counts: Floats) -> bool:
    """Whether no count of a confusion table is told."""
    return bool(np.isnan(counts).all())


HIDDEN_CLASSES = (
    "hidden: each needs a count below the smallest that the nodes publish; more records, or an epsilon, tell more"
)


FEW_PREDICTED = (
    "In the accuracy, a class that is predicted for fewer records than the smallest count that the nodes publish "
    "is taken as the one that is predicted most."
)


def about_accuracy(result: Mapping[str, Any]) -> str:
    """Return how the accuracy is to be read where exact scores hide small counts (`docs/results.md`); else nothing."""
    hides = "log_loss_error" in (result.get("diagnostics") or {}) and "accuracy" in scores_of(result)
    return FEW_PREDICTED if hides else ""


def is_told(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether any number of `per_class` can be told."""
    return any(value is not None for row in rows for value in row[1:])


def per_class(counts: Floats, classes: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return a row for every class: name, records, sensitivity, specificity, predictive values, F1; None where a count is hidden or nothing is divided.

    Each class is told from all the others. Noise can make counts negative: they count as 0.
    """
    table = np.maximum(counts, 0.0)
    total = float(table.sum())
    rows: list[tuple[Any, ...]] = []
    for index, name in enumerate(classes):
        hit = float(table[index, index])
        missed, false = float(table[index].sum()) - hit, float(table[:, index].sum()) - hit
        rest = total - hit - missed - false
        values = [(hit, hit + missed), (rest, rest + false), (hit, hit + false), (rest, rest + missed)]
        f1 = _share(2 * hit, 2 * hit + missed + false)
        rows.append((name, _whole(hit + missed), *(_share(part, whole) for part, whole in values), f1))
    return rows


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 and np.isfinite(part) and np.isfinite(whole) else None


def _whole(value: float) -> int | None:
    return round(value) if np.isfinite(value) else None
