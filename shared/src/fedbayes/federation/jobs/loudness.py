"""Whether noise dominates an answer, told by what was released anyway: one rule for naive Bayes models, one for tables of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from ...bayes.schema import NEARLY_ALL
from ...dp.laws import usual_deviation
from ...typing import Array

FORMAT = "fedbayes.naive_bayes/"
MOST = 0.5  # of the features: fewer loud ones leave a model that still says something
DELTA = 1e-6  # of the suggestion: below one in a million rows
BETTER = 0.9  # of today's deviation: a smaller gain is not worth a delta
LARGER = "is larger than the mean count"
WITH_DELTA = ("dp_naive_bayes", "secure_naive_bayes")
WITH_MOMENTS = ("dp_naive_bayes",)
LOUD_CELLS = 0.5  # of the mean count of a cell
SURE = 2.0  # standard deviations of the noise in a mean that may be chance: a few tables in a hundred exceed them


def loud_cells(tables: Sequence[Array], noise: float, typical: Callable[[Iterable[float]], float] = median) -> str:
    """Return in words that noise is a large part of a cell's count; nothing where it is not.

    Parameters
    ----------
    tables : sequence of array
        Noisy counts of records, as they were released: not cut at 0, which would make noise look like records.
    noise : float
        Standard deviation of the noise in every cell, in records.
    typical : callable
        What of the tables' mean counts decides: their median or their minimum.

    Notes
    -----
    The mean of a table without a record is noise, and of two cells often larger than that of one: what it exceeds `SURE` of its deviations by is sure.
    """
    means = [float(np.mean(table)) for table in tables]
    sure = typical(mean - SURE * noise / math.sqrt(table.size) for mean, table in zip(means, tables, strict=True))
    if noise <= LOUD_CELLS * sure:
        return ""
    return (
        f"the noise dominates: its standard deviation ({noise:.3g}) is more than half of what is sure of the mean count "
        f"of a cell ({max(typical(means), 0.0):.3g} by this answer)"
    )


def noise_warnings(
    algorithm: str, model: Any, privacy: Mapping[str, Any] | None, said: Sequence[str] = ()
) -> list[str]:
    """Return a warning, and what would help, where the noise of most features is larger than their mean count.

    Parameters
    ----------
    algorithm : str
        Its Python package, for what its functions take.
    model : object
        A result's `model` as plain JSON; what is no naive Bayes model is left alone.
    privacy : mapping or None
        The result's statement.
    said : sequence of str
        Warnings of the method itself: one that says it already is enough.
    """
    epsilon = (privacy or {}).get("epsilon")
    if any(LARGER in text for text in said):
        return []
    if not isinstance(model, Mapping) or not str(model.get("format", "")).startswith(FORMAT) or not epsilon:
        return []
    levels = {name: level for name, feature in model["features"].items() if (level := _loudness(model, feature))}
    loud = {name: level for name, level in levels.items() if level[0] > level[1]}
    if not loud or len(loud) < MOST * len(levels):
        return []
    noise, typical = (median(level[index] for level in loud.values()) for index in (0, 1))
    name = algorithm.removeprefix("v6_")
    advice = _advice(name, model, float(epsilon), (privacy or {}).get("delta"), noise / max(typical, 1e-9))
    return [
        f"the noise dominates: its standard deviation ({noise:.3g}) {LARGER} ({max(typical, 0.0):.3g}) in the cells of "
        f"{len(loud)} of {len(levels)} features, so the model says little; what would help: {', '.join(advice)}, or more rows"
    ]


def _loudness(model: Mapping[str, Any], feature: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return (deviation of the noise, mean count) of a cell of a table, or of a class for moments; None where there is no noise."""
    noise = float(feature.get("noise") or 0.0)
    if noise <= 0:
        return None
    if "counts" in feature:
        cells = [float(count) for row in feature["counts"] for count in row]
        missing = sum(map(float, feature.get("missing") or []))
        if missing >= NEARLY_ALL * (missing + sum(cells)) > 0:
            return None  # no epsilon helps a column without values, and another warning tells of it
        return noise, sum(cells) / max(len(cells), 1)
    counts = [float(count) for count in model["class_counts"]]
    return noise, sum(counts) / max(len(counts), 1)


def _advice(name: str, model: Mapping[str, Any], epsilon: float, delta: float | None, ratio: float) -> list[str]:
    features = model["features"].values()
    helps = [f"epsilon {_round_up(epsilon * min(ratio, 1e3)):g} (now {epsilon:g})"]
    bins = [len(feature["counts"][0]) for feature in features if feature.get("kind") == "histogram"]
    if bins and max(bins) > 2:
        helps.append(f"fewer bins (now {max(bins)})")
        if name in WITH_MOMENTS:
            helps.append('statistics="gaussian"')
    if len(features) > 1:
        helps.append(f"fewer features (now {len(features)})")
    if name in WITH_DELTA and not delta:
        queries = len(features) + 1
        pure, gaussian = (usual_deviation(epsilon, allowed, queries) for allowed in (0.0, DELTA))
        if gaussian < BETTER * pure:
            helps.append(f"delta={DELTA:g} (Gaussian noise: {1 - gaussian / pure:.0%} less)")
    return helps


def _round_up(value: float) -> float:
    """Return the number with one digit that is at least as large."""
    step = 10.0 ** math.floor(math.log10(value))
    return math.ceil(round(value / step, 6)) * step
