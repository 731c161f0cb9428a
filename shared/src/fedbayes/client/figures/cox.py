"""Figures of a Cox model: forest plot and survival curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..models.survival import Baseline, baselines_of
from .style import COLORS, INK, MUTED, clean, color_of, dash_of, new_figure, wrapped

LARGEST_DRAWN = 200.0  # logarithm of a ratio: a figure has no room for more

HALF = 0.5  # of survival: below it the whole axis is shown


def forest(model: Mapping[str, Any]) -> Any:
    """Return hazard ratios with their 95 % intervals, on a logarithmic axis."""
    figure = new_figure(5.0, 0.9 + 0.34 * max(len(model["coefficients"]), 1))
    draw_forest(figure.add_subplot(), model)
    return figure


def draw_forest(axes: Any, model: Mapping[str, Any]) -> None:
    """Draw hazard ratios with their 95 % intervals on given axes."""
    entries = model["coefficients"]
    for row, entry in enumerate(entries):
        low, high = _interval(entry)
        axes.plot([low, high], [row, row], color=COLORS[0], linewidth=1.8, solid_capstyle="round")
        axes.plot([_ratio(entry)], [row], marker="s", color=COLORS[0], markersize=5)
        axes.annotate(
            _told(_ratio(entry), low, high),
            xy=(1.01, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7.5,
            color=INK,
        )
    axes.axvline(1.0, color=MUTED, linewidth=0.9, linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks(range(len(entries)), [wrapped(entry.get("feature"), 24) for entry in entries])
    axes.set_ylim(max(len(entries), 1) - 0.5, -0.5)
    _plain_ticks(axes)
    clean(axes, "x", "hazard ratio, 95 % interval (log scale)")


def _told(ratio: float, low: float, high: float) -> str:
    """Return a ratio and its interval, with a third decimal where the second does not tell the ends apart."""
    digits = 2 if high - low >= 0.05 else 3
    return f"{ratio:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _plain_ticks(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    steps = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(base=10.0, subs=steps, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _exponential(value: Any) -> float:
    """Return exp(value), at the edge of what can be drawn where it is farther."""
    return float(np.exp(np.clip(float(value), -LARGEST_DRAWN, LARGEST_DRAWN)))


def _ratio(entry: Mapping[str, Any]) -> float:
    return _exponential(entry["coefficient"])


def _interval(entry: Mapping[str, Any]) -> tuple[float, float]:
    """Return the 95 % interval of the hazard ratio; `lower_95` and `upper_95` belong to the coefficient."""
    if entry.get("lower_95") is None or entry.get("upper_95") is None:
        return _ratio(entry), _ratio(entry)
    return _exponential(entry["lower_95"]), _exponential(entry["upper_95"])


def survival_curves(model: Mapping[str, Any], predictors: Mapping[str, float] | None = None) -> Any:
    """Return survival curves over time.

    Parameters
    ----------
    model : dict
        A Cox model with a baseline.
    predictors : mapping of str to float, optional
        Name of a curve -> linear predictor relative to the baseline's record; the baseline alone by default. A model with strata draws
        its baselines, one a stratum.

    Raises
    ------
    ValueError
        If the model has no baseline.
    """
    baselines = baselines_of(model)
    if not baselines:
        raise ValueError("the model has no baseline hazard")
    if "" in baselines:
        curves = [(name, baselines[""], value) for name, value in (predictors or {"baseline": 0.0}).items()]
    else:
        curves = [(f"{model.get('strata') or 'stratum'} {name}", baseline, 0.0) for name, baseline in baselines.items()]
    figure = new_figure(5.0, 3.2)
    _draw_curves(figure.add_subplot(), curves, str(model.get("time") or "time"))
    return figure


def draw_survival(axes: Any, model: Mapping[str, Any], predictors: Mapping[str, float]) -> None:
    """Draw survival curves of a model without strata on given axes; `predictors` as for `survival_curves`."""
    baseline = baselines_of(model)[""]
    _draw_curves(
        axes, [(name, baseline, value) for name, value in predictors.items()], str(model.get("time") or "time")
    )


def _draw_curves(axes: Any, curves: list[tuple[str, Baseline, float]], time: str) -> None:
    for position, (name, baseline, value) in enumerate(curves):
        times = np.concatenate([[0.0], baseline.times])
        survival = np.exp(-np.concatenate([[0.0], baseline.cumulative]) * np.exp(value))
        color = color_of(position)
        axes.step(
            times,
            survival,
            where="post",
            color=color,
            linestyle=dash_of(position),
            linewidth=1.8,
            label=wrapped(name, 30),
        )
    axes.set_ylim(_floor(curves), 1.02)
    axes.set_xlim(left=0)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=8)
    clean(axes, "y", time, "probability of survival")


def _floor(curves: list[tuple[str, Baseline, float]]) -> float:
    """Return where the axis of survival starts: a tenth below the lowest curve, so that curves near 1 fill the figure; 0 where one falls far."""
    lowest = min(float(np.exp(-baseline.cumulative[-1] * np.exp(value))) for _, baseline, value in curves)
    return max(0.0, np.floor(10.0 * lowest - 0.5) / 10.0) if lowest > HALF else 0.0


def survival_calibration(metrics: Mapping[str, Any]) -> Any:
    """Return observed by predicted survival of groups of records, and the Brier score over time where it is told.

    Parameters
    ----------
    metrics : dict
        ``metrics`` of a result of ``verticox.evaluate``.
    """
    scores = _brier_scores(metrics)
    figure = new_figure(7.2 if scores else 3.8, 3.2)
    _draw_groups(figure.add_subplot(1, 2 if scores else 1, 1), metrics)
    if scores:
        _draw_scores(figure.add_subplot(1, 2, 2), metrics["times"], scores)
    return figure


def survival_panels(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the panels of `survival_calibration`, each a figure of its own, by what it shows."""
    left, scores = new_figure(3.6, 3.2), _brier_scores(metrics)
    _draw_groups(left.add_subplot(), metrics)
    panels = {"Observed survival by predicted survival of groups of records.": left}
    if scores:
        right = new_figure(3.6, 3.2)
        _draw_scores(right.add_subplot(), metrics["times"], scores)
        panels["Brier score over time."] = right
    return panels


def _brier_scores(metrics: Mapping[str, Any]) -> Any:
    return metrics.get("brier_scores") or metrics.get("pooled", {}).get("brier_scores")


def _draw_groups(axes: Any, metrics: Mapping[str, Any]) -> None:
    groups, moment = metrics["calibration"]["groups"], metrics["calibration"]["time"]
    points = [(float(group["predicted"]), float(group["observed"])) for group in groups]
    low = max(min((min(pair) for pair in points), default=0.0) - 0.08, 0.0)
    axes.plot([low, 1], [low, 1], color=MUTED, linewidth=0.9, linestyle="--")
    axes.plot([x for x, _ in points], [y for _, y in points], "o-", color=COLORS[0], linewidth=1.6)
    clean(axes, "y", f"predicted survival at {moment:g}", "observed (Kaplan-Meier)")


def _draw_scores(axes: Any, times: Any, scores: Any) -> None:
    axes.plot(times, scores, "o-", color=COLORS[0], linewidth=1.6, markersize=4)
    axes.set_ylim(0, max(0.26, 1.1 * max(float(score) for score in scores)))
    axes.axhline(0.25, color=MUTED, linewidth=0.9, linestyle="--")
    clean(axes, "y", "time", "Brier score")
