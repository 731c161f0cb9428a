"""Figures of scores: comparisons with their spread, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .style import COLORS, INK, MUTED, clean, name_axes, new_figure, shade, wrapped, wrapped_name, write_cells


def score_bars(scores: Mapping[str, Mapping[str, Sequence[float]]], highlight: str | None = None) -> Any:
    """Return one panel a score: the mean of each candidate as a point, its runs as faint points beside it.

    Parameters
    ----------
    scores : mapping
        Score name -> {candidate -> values of its runs}.
    highlight : str, optional
        The candidate drawn in another colour.
    """
    candidates = list(next(iter(scores.values()), {}))
    figure = new_figure(3.9 * len(scores) + 1.2, 0.9 + 0.36 * len(candidates))
    for panel, (score, by_candidate) in enumerate(scores.items()):
        axes = figure.add_subplot(1, len(scores), panel + 1)
        for row, candidate in enumerate(candidates):
            values = np.asarray(by_candidate[candidate], dtype=np.float64)
            color = COLORS[1] if candidate == highlight else COLORS[0]
            axes.plot(values, np.full(len(values), row), "o", color=color, alpha=0.25, markersize=4)
            axes.plot(
                [values.mean() - values.std(), values.mean() + values.std()], [row, row], color=color, linewidth=1.6
            )
            axes.plot([values.mean()], [row], "D", color=color, markersize=6)
        names = [wrapped(candidate, 40) for candidate in candidates] if panel == 0 else [""] * len(candidates)
        axes.set_yticks(range(len(candidates)), names)
        axes.set_ylim(len(candidates) - 0.5, -0.5)
        axes.set_title(score, fontsize=9, color=INK, loc="left")
        clean(axes, "x")
    return figure


def calibration(table: Mapping[str, Any]) -> Any:
    """Return observed accuracy by predicted probability, from columns ``confidence`` and ``accuracy`` (None: no rows)."""
    pairs = [
        (float(confidence), float(accuracy))
        for confidence, accuracy in zip(table["confidence"], table["accuracy"], strict=True)
        if confidence is not None and accuracy is not None
    ]
    figure = new_figure(3.8, 3.6)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle="--")
    axes.plot([x for x, _ in pairs], [y for _, y in pairs], "o-", color=COLORS[0], linewidth=1.6)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    clean(axes, "y", "predicted probability", "observed share")
    return figure


def roc(curves: Sequence[Mapping[str, Sequence[float]]], classes: Sequence[Any] = ()) -> Any:
    """Return true against false positive rate, a line a class (of two classes one, of the second).

    Parameters
    ----------
    curves : sequence of mapping
        ``false_positive_rate`` and ``true_positive_rate``, as a result's ``roc``.
    classes : sequence
        Their names.
    """
    figure = new_figure(4.6, 3.6)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle="--")
    names = list(classes)[-1:] if len(curves) == 1 else list(classes)
    for number, curve in enumerate(curves):
        label = wrapped(names[number], 24) if number < len(names) else None
        line = (curve["false_positive_rate"], curve["true_positive_rate"])
        axes.plot(*line, color=COLORS[number % len(COLORS)], linewidth=1.6, label=label)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.005)
    if names:
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    clean(axes, "y", "false positive rate", "true positive rate")
    return figure


def confusion_matrix(table: npt.ArrayLike, classes: Sequence[Any]) -> Any:
    """Return true classes by predicted ones: counts, shaded by their share of the true class.

    Parameters
    ----------
    table : array of shape (classes, classes)
        Rows are the truth; NaN where a count is hidden.
    classes : sequence
        Their names.
    """
    counts = np.asarray(table, dtype=np.float64)
    records = np.maximum(np.nan_to_num(counts), 0.0)
    shares = records / np.maximum(records.sum(axis=1, keepdims=True), 1.0)
    size = 1.6 + 0.55 * len(counts)
    figure = new_figure(min(size + 1.2, 10.0), min(size, 9.0))
    axes = figure.add_subplot()
    names = [wrapped(name, 16) for name in classes]
    shade(axes, shares, names, names, vmax=1)
    write_cells(axes, counts, shares > 0.55, 8)
    name_axes(axes, "predicted", "truth")
    return figure


def steps(values: Sequence[float], label: str) -> Any:
    """Return a line of values step by step, such as the objective of a descent."""
    figure = new_figure(4.8, 2.4)
    axes = figure.add_subplot()
    axes.plot(range(1, len(values) + 1), values, "o-", color=COLORS[0], linewidth=1.4, markersize=3)
    axes.xaxis.get_major_locator().set_params(integer=True)
    clean(axes, "y", "step", wrapped(label.lower(), 24))
    return figure


def gain_bars(gains: Mapping[str, float], null: Mapping[str, float | None] | None) -> Any:
    """Return bars of information gains; a line stands where chance comes once in twenty, where that is told."""
    marks = {name: level for name, level in (null or {}).items() if level is not None}
    label = "information gain (bits)" + "; a line: chance reaches it 1 time in 20" * bool(marks)
    return named_bars(gains, label, marks)


def named_bars(
    values: Mapping[str, float], label: str, marks: Mapping[str, float] | None = None, most: int = 30
) -> Any:
    """Return bars of named values, the largest first; `marks` are values that a line stands at."""
    ranked = sorted(values.items(), key=lambda item: -item[1])[:most]
    figure = new_figure(4.8, 0.9 + 0.28 * max(len(ranked), 1))
    axes = figure.add_subplot()
    axes.barh(
        [wrapped_name(name, 26) for name, _ in ranked], [value for _, value in ranked], color=COLORS[0], height=0.7
    )
    for bar, (name, _) in enumerate(ranked):
        if marks and name in marks:
            axes.vlines(marks[name], bar - 0.45, bar + 0.45, color=INK, linewidth=1.5)
    axes.invert_yaxis()
    clean(axes, "x", label)
    return figure
