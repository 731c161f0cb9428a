"""Pooled answers about rows at several stations (horizontal): counts, moments, naive Bayes, scores; and their strategies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import wild
from .cases import Case, Difference, close, same
from .records import Refusals, equal, number
from .tables import horizontal, population, stacked
from .told import check_calibration

HUGE_EPSILON = 1e12
LABEL = "the label"


@st.composite
def classified(
    draw: Any,
    kinds: tuple[str, ...] = ("category", "number"),
    stations: tuple[int, int] = (1, 6),
    people: tuple[int, int] = (12, 120),
    outside: bool = True,
    fixed: dict[str, Any] | None = None,
    crowd: bool = False,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Draw labelled people with a public domain; return (people, placement, domain).

    With `outside`, some values lie outside the domain: a number beyond its bounds, or a category that is not listed.
    """
    from .tables import STATES, categories, with_gaps

    people_drawn = draw(population(fewest=1, most=5, people=people, kinds=kinds, crowd=crowd))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = draw(st.sampled_from([entry for entry in STATES if len(entry) > 1]))
    cells = categories(states, people_drawn["people"], random, draw(st.sampled_from([1.0, 0.3, 0.03])))
    if draw(st.booleans()):  # the first column tells of the label
        first = next(iter(people_drawn["columns"].values()))
        ranks = {cell: rank for rank, cell in enumerate(sorted({cell for cell in first if cell is not None}))}
        cells = [
            cell if other is None or random.random() < 0.3 else states[ranks[other] * len(states) // max(len(ranks), 1)]
            for cell, other in zip(cells, first, strict=True)
        ]
    people_drawn["columns"][LABEL] = with_gaps(cells, draw(st.sampled_from([0.0, 0.0, 0.1])), random)
    people_drawn["kinds"][LABEL] = "category"
    people_drawn["states"][LABEL] = states
    domain = domains(draw, people_drawn, outside)
    place = draw(horizontal(people_drawn, stations, fixed, sort_by=LABEL))
    return people_drawn, place, domain


def domains(draw: Any, people: dict[str, Any], outside: bool) -> dict[str, Any]:
    """Draw the public domains of people's columns; with `outside` some values lie outside."""
    domain: dict[str, Any] = {}
    for name, column in people["columns"].items():
        if people["kinds"][name] == "category":
            listed = people["states"][name] or sorted({cell for cell in column if cell})
            listed = list(draw(st.permutations(listed)))
            if outside and len(listed) > 2 and draw(st.integers(0, 4)) == 4:
                listed = listed[1:]
            domain[name] = {"categories": listed}
        else:
            domain[name] = {"bounds": draw(_bounds([float(cell) for cell in column if cell is not None], outside))}
    return domain


@st.composite
def _bounds(draw: Any, values: list[float], outside: bool) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    width = max(high - low or 1.0, wild.NARROWEST * max(abs(low), abs(high)))
    if outside and draw(st.integers(0, 4)) == 4:
        return [low + 0.2 * width, high + 0.3 * width]
    return [low - 0.1 * width, high + draw(st.sampled_from([0.1, 3.0])) * width]


def who(draw: Any, place: dict[str, Any]) -> dict[str, Any]:
    """Draw `organizations`, now and then."""
    names = [entry["name"] for entry in place["organizations"]]
    if draw(st.integers(0, 5)) < 5 or len(names) < 2:
        return {}
    return {"organizations": draw(st.lists(st.sampled_from(names), min_size=2, max_size=len(names), unique=True))}


def limits(case: Case, masked: bool, label: str | None = None) -> Refusals:
    """Return why limits of the nodes demand a refusal; `masked`: the answer is a secure sum."""
    stations, found = case.stations(), []
    needed = case.limit("minimum_organizations", 3)
    if len(case.members()) < needed or (masked and len(stations) < max(2, needed)):
        found.append(("ThresholdError", "a node demands more organizations"))
    if not stations:
        found.append(("StationError", "nobody has data"))
    rows = [len(next(iter(columns.values()))) for columns in stations.values()]
    if min(rows, default=0) < case.limit("minimum_rows", 10):
        found.append(("ThresholdError", "a table has fewer rows than a node demands"))
    return found


def score_refusals(case: Case) -> Refusals:
    """Return why scores of a model over the stations' rows must be refused."""
    refuse = limits(case, True)
    domain = case.steps[0][1]["domain"]
    if not refuse and not any(code >= 0 for code in encoded(case.used(), domain, [LABEL])[LABEL]):
        refuse.append(("DataProblem", "no row has a known label"))
    return refuse


def code(cell: str | None, categories: Sequence[Any]) -> int:
    """Return a cell's place among categories, -1 where it is missing or unknown."""
    return next((place for place, entry in enumerate(categories) if cell is not None and equal(entry, cell)), -1)


def encoded(case_tables: dict[str, Any], domain: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the pooled columns as codes (-1 missing) or numbers (NaN missing, clipped to the bounds)."""
    pooled = stacked(case_tables, list(names))
    found: dict[str, Any] = {}
    for name in names:
        if "categories" in domain[name]:
            found[name] = np.array([code(cell, domain[name]["categories"]) for cell in pooled[name]], dtype=int)
        else:
            values = [number(cell) for cell in pooled[name]]
            numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
            found[name] = np.clip(numbers, *domain[name]["bounds"])
    return found


def lies_outside(case_tables: dict[str, Any], domain: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the columns that hold a value outside the domain."""
    found = []
    for name in names:
        cells = [cell for cell in stacked(case_tables, [name])[name] if cell is not None]
        if "categories" in domain[name]:
            wrong = any(code(cell, domain[name]["categories"]) < 0 for cell in cells)
        else:
            low, high = domain[name]["bounds"]
            wrong = any(not low <= (number(cell) or 0.0) <= high for cell in cells)
        if wrong:
            found.append(name)
    return found


def edges_of(bounds: Sequence[float], bins: Any) -> Any:
    """Return bin edges: equal widths in fifteen digits where these tell them apart, equal steps of the logarithm, or the inner ones given."""
    if isinstance(bins, int):
        edges = np.linspace(bounds[0], bounds[1], bins + 1)
        short = np.array([edges[0], *(float(f"{edge:.15g}") for edge in edges[1:-1]), edges[-1]])
        return short if (np.diff(short) > 0).all() else edges
    if isinstance(bins, dict):
        unit = bins.get("unit", 1.0)
        return bounds[0] + unit * (np.geomspace(1.0, 1.0 + (bounds[1] - bounds[0]) / unit, bins["log"] + 1) - 1.0)
    return np.array([bounds[0], *(edge for edge in bins if bounds[0] < edge < bounds[1]), bounds[1]])


def table_of(labels: Any, values: Any, classes: int, entry: dict[str, Any], bins: Any) -> tuple[Any, int]:
    """Return (counts by class and value, missing in the last column; how many rows lie on an edge, within rounding)."""
    borderline = 0
    if "categories" in entry:
        width, codes = len(entry["categories"]), values
    else:
        edges = edges_of(entry["bounds"], bins)
        width = len(edges) - 1
        codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, width - 1)
        codes = np.where(np.isnan(values), -1, codes)
        span = edges[-1] - edges[0]
        borderline = int(sum(np.nanmin(np.abs(edges[1:-1] - value), initial=np.inf) < 1e-9 * span for value in values))
    table = np.zeros((classes, width + 1))
    for label, place in zip(labels, codes, strict=True):
        if label >= 0:
            table[label, place] += 1
    return table, borderline


def compare_table(what: str, found: Any, wanted: Any, borderline: int, tolerance: float = 1e-6) -> None:
    """Compare counts; rows on an edge may fall to either side."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    if found.shape != wanted.shape or np.abs(found - wanted).sum() > 2 * borderline + tolerance * max(1, wanted.size):
        raise Difference(f"{what}: {found.tolist()!r:.300} instead of {wanted.tolist()!r:.300}")


def compare_model(
    model: dict[str, Any],
    tables: dict[str, Any],
    label: str,
    features: Sequence[str],
    domain: dict[str, Any],
    bins: Any = 20,
    slack: float = 1e-6,
    published: bool = False,
) -> None:
    """Hold a naive Bayes model of counts and moments against the pooled ones; `slack`: what a cell may differ by; `published`: sums of raw values."""
    data = encoded(tables, domain, [*features, label])
    classes = len(domain[label]["categories"])
    labels = data[label]
    same("label", model["label"], label)
    same("features", list(model["features"]), list(features))
    compare_table(
        "class counts", model["class_counts"], [(labels == place).sum() for place in range(classes)], 0, slack
    )
    for name in features:
        feature, entry = model["features"][name], domain[name]
        if feature["kind"] == "gaussian":
            _compare_moments(name, feature, data[name], labels, classes, entry["bounds"], published)
            continue
        own = bins.get(name, 20) if isinstance(bins, dict) else bins
        table, borderline = table_of(labels, data[name], classes, entry, own)
        if feature["kind"] == "histogram":
            close(f"edges of {name!r}", feature["edges"], edges_of(entry["bounds"], own).tolist(), 1e-12)
        compare_table(f"counts of {name!r}", feature["counts"], table[:, :-1], borderline, slack)
        compare_table(f"missing of {name!r}", feature["missing"], table[:, -1], 0, slack)
    same("columns of the domain", set(model["domain"]), {*features, label})


def _compare_moments(
    name: str, feature: Any, values: Any, labels: Any, classes: int, bounds: Sequence[float], published: bool
) -> None:
    half = (bounds[1] - bounds[0]) / 2
    unit = (values - (bounds[0] + bounds[1]) / 2) / half
    reach = max(map(abs, bounds)) / half if published else 0.0  # 1e-6 of a row, in units of the bounds
    for place in range(classes):
        own = unit[(labels == place) & ~np.isnan(unit)]
        margin = 1.6 * len(own) / 2**16 + 1e-6 + 2e-5 * reach**2
        close(f"rows of {name!r}, class {place}", feature["count"][place], len(own), 1e-9, 1e-4)
        close(f"sum of {name!r}, class {place}", feature["total"][place], float(own.sum()), 1e-9, margin)
        squares = float((own**2 - 0.5).sum())
        close(f"squares of {name!r}, class {place}", feature["squares"][place], squares, 1e-9, margin)


# -- prediction and scores -----------------------------------------------------------------------------------------------


def log_posterior(model: dict[str, Any], data: dict[str, Any]) -> Any:
    """Return log P(class | row) of a naive Bayes model's JSON, as the pages of the methods define it without noise."""
    counts = np.maximum(np.array(model["class_counts"], dtype=float), max(0.5, model["class_noise"]))
    rows = len(next(iter(data.values())))
    joint = np.tile(np.log(counts / counts.sum()), (rows, 1))
    for name, feature in model["features"].items():
        values = data[name]
        if feature["kind"] == "gaussian":
            joint += _gaussian(feature, np.asarray(values, dtype=float))
            continue
        cells = np.maximum(np.array(feature["counts"], dtype=float), 0.0) + feature["pseudocount"]
        sums = cells.sum(axis=1, keepdims=True)
        logs = np.log(np.where(sums > 0, cells / np.where(sums > 0, sums, 1.0), 1.0 / cells.shape[1]))
        if feature["kind"] == "histogram":
            edges = np.array(feature["edges"])
            places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
            values = np.where(np.isnan(values), -1, places)
        joint += np.where(np.asarray(values)[:, None] >= 0, logs.T[np.asarray(values)], 0.0)
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def on_an_edge(model: dict[str, Any], data: dict[str, Any]) -> bool:
    """Whether rounding decides: a value lies on an edge of a histogram, or a class has no variance."""
    for name, feature in model["features"].items():
        if feature["kind"] == "gaussian" and _degenerate(feature):
            return True
        if feature["kind"] == "histogram":
            edges = np.array(feature["edges"])
            values = data[name][~np.isnan(data[name])]
            if len(values) and np.abs(values[:, None] - edges[None, 1:-1]).min(initial=np.inf) < 1e-9 * (
                edges[-1] - edges[0]
            ):
                return True
    return False


def _degenerate(feature: dict[str, Any]) -> bool:
    """Whether a class has next to no variance, so that rounding decides on its density."""
    count = np.array(feature["count"])
    there = count > 0.5
    first, second = (np.array(feature[key])[there] / count[there] for key in ("total", "squares"))
    return bool((second + 0.5 - first**2 < 1e-7).any())


def _gaussian(feature: dict[str, Any], values: Any) -> Any:
    low, high = feature["bounds"]
    middle, half = (low + high) / 2, (high - low) / 2
    count, total, squares = (np.array(feature[key], dtype=float) for key in ("count", "total", "squares"))
    everything = max(count.sum(), 1.0)
    mean_of_all = total.sum() / everything
    second_of_all = max(squares.sum() / everything + 0.5, mean_of_all**2)
    there = count > 0
    mean = np.where(there, total / np.where(there, count, 1), mean_of_all)
    second = np.where(there, squares / np.where(there, count, 1) + 0.5, second_of_all)
    # With noise, however small, no deviation is below a 200th of the range (the methods' pages).
    floor = 1e-4 if feature.get("noise", 0.0) > 0 else 1e-9 * max(second_of_all - mean_of_all**2, 1e-12)
    variance = np.maximum(second - mean**2, floor) * half**2
    centre = middle + half * mean
    density = -0.5 * (np.log(2 * np.pi * variance) + (values[:, None] - centre) ** 2 / variance)
    return np.where(np.isnan(density), 0.0, density)


MOST_DRAWN = 15.0
"""Deviations: what is added to a score is further off once in a thousand million."""


def check_confusion(result: dict[str, Any], minimum: int) -> None:
    """Hold an exact accuracy against the confusion table that is told beside it, where that is whole."""
    table = np.array((result.get("diagnostics") or {}).get("confusion") or [], dtype=float)
    if table.size and not np.isnan(table).any() and table.sum(axis=0).min() >= minimum:
        close("accuracy beside the confusion", result["accuracy"], float(np.trace(table) / table.sum()), 1e-9, 1e-9)


def compare_scores(
    result: dict[str, Any],
    logs: Any,
    truth: Any,
    near: float = 1e-6,
    auc_margin: float = 0.0,
    bins: int = 512,
    off: float = 0.0,
    loss_margin: float = 1e-8,
    minimum: int = 0,
) -> None:
    """Hold `accuracy`, `auc`, `log_loss`, `calibration` and `n` against those of pooled predictions of known labels.

    The curve is from so many `bins`; `off` is what rounding may change in log-odds, `loss_margin` what it may change in the loss where scores are on shares.
    Exact scores over whole records are told to about one record's part where nodes have a `minimum` count above 1 (`bayes.evaluation.coarse`).
    """
    known = truth >= 0
    logs, truth = logs[known], truth[known]
    rows = len(truth)
    same("n", result["n"], rows)
    ordered = np.sort(logs, axis=1)
    ties = int((ordered[:, -1] - ordered[:, -2] < near + off).sum())
    minimum = minimum if minimum > 1 else 0
    predicted = logs.argmax(axis=1)
    sizes = np.bincount(predicted, minlength=logs.shape[1])
    if sizes.max() >= minimum:
        predicted = np.where(sizes[predicted] < minimum, sizes.argmax(), predicted)
    right = predicted == truth
    if minimum and ties:
        return  # a tie may decide which class few records are predicted of
    close("accuracy", result["accuracy"], float(right.mean()), 1e-9, ties / rows + 1e-9)
    if (result.get("privacy") or {}).get("epsilon") is not None:
        return  # scores with noise have coarser bins and a loss that is cut
    check_confusion(result, minimum)
    losses = np.clip(-logs[np.arange(rows), truth], 0.0, 30.0)
    if minimum:
        noted = result["diagnostics"]
        least = np.sort(-logs, axis=0)[-minimum] if rows >= minimum else (-logs).min(axis=0)
        cut = np.minimum(losses, np.clip(least, 0.0, 30.0)[truth])
        part, wide = 0.5 * max(1.0, float(cut.max())), 0.03 * 512 / bins
        loss_margin += (
            MOST_DRAWN * part / rows + wide * float((losses - cut).mean() + cut.max() / rows) + noted["log_loss_error"]
        )
        losses = cut
        if not part / (2.2 + 3 * wide) < noted["log_loss_error"] * rows < (2.2 + 3 * wide) * part:
            raise Difference(f"log_loss_error: {noted['log_loss_error']} where a record adds up to {2 * part / rows}")
        auc_margin += 2 * MOST_DRAWN * noted.get("auc_error", 0.0)
    close("log_loss", result["log_loss"], float(losses.mean()), 1e-8, loss_margin + off)
    if rows < 2 * minimum:
        return
    wanted, doubt = weighted_area(logs, truth, bins, off, minimum)
    if wanted is None:
        if result["auc"] is not None:
            raise Difference(f"auc: {result['auc']} where there is one class")
    else:
        close("auc", result["auc"], wanted, 1e-9, doubt + 1e-9 + auc_margin)
    if not minimum and bins == 512 and not off:
        check_calibration(result["calibration"], logs, truth)
    if result["calibration"] is not None:
        told = result["calibration"]["rows"]
        if None not in told:
            same("rows of the calibration", sum(told), rows)
    for curve in result["roc"]:
        check_curve(curve["false_positive_rate"], curve["true_positive_rate"])


def check_curve(false: Any, true: Any) -> None:
    """Hold a curve of true against false positive rate against what any such curve is."""
    points = list(zip(false, true, strict=True))
    if points and (points[0] != (0.0, 0.0) or points[-1] != (1.0, 1.0) or bool((np.diff(points, axis=0) < 0).any())):
        raise Difference(f"no curve from (0, 0) to (1, 1): {points}")


def weighted_area(
    logs: Any, truth: Any, bins: int = 512, off: float = 0.0, minimum: int = 0
) -> tuple[float | None, float]:
    """Return the area under the curve, one against the rest, weighted by class size, and what binning scores may change.

    At either end of a curve fewer than `minimum` records are ties of the next.
    """
    classes = [1] if logs.shape[1] == 2 else list(range(logs.shape[1]))
    total = area = doubt = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.log(-np.expm1(np.minimum(logs, -1e-300)))
        odds = np.arcsinh(np.nan_to_num(logs - others, nan=0.0, posinf=1e9, neginf=-1e9))
    if minimum:
        ordered = np.sort(odds, axis=0)
        odds = np.clip(odds, ordered[minimum - 1], ordered[-minimum])
    for place in classes:
        yes, no = odds[truth == place, place], odds[truth != place, place]
        if not len(yes) or not len(no):
            continue
        gaps = yes[:, None] - no[None, :]
        far = 6.0 - 15.36 / bins
        unsure = np.abs(gaps) < 12.0 / bins * 1.001 + 2 * off
        unsure |= (np.abs(yes)[:, None] > far) & (np.abs(no)[None, :] > far)
        share = ((gaps > 1e-12).sum() + 0.5 * (np.abs(gaps) <= 1e-12).sum()) / gaps.size
        area, total = area + share * len(yes), total + len(yes)
        doubt += len(yes) * (1.0 if off else 0.5) * unsure.mean()
    return (None, 0.0) if total == 0 else (float(area / total), float(doubt / total))


def finite(value: float) -> bool:
    """Whether a number is neither NaN nor infinite."""
    return math.isfinite(value)
