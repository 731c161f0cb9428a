"""Figures of scores: comparisons with their spread, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .style import COLORS, INK, MUTED, clean, new_figure, shorten


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
        names = [shorten(candidate, 40) for candidate in candidates] if panel == 0 else [""] * len(candidates)
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
    axes.set_xlabel("predicted probability", fontsize=8, color=INK)
    axes.set_ylabel("observed share", fontsize=8, color=INK)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    clean(axes, "y")
    return figure
