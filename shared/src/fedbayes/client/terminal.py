"""A result on the terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from . import description
from .count_text import axes_of, cells_of
from .cox_text import coefficient_rows, facts_of, score_lines
from .formats import cost, is_plain, number, plain_items, promise, title
from .kinds import (
    COUNTS,
    COX,
    DESCRIPTION,
    ENSEMBLE,
    NAIVE_BAYES,
    NETWORK,
    OTHER,
    PREDICTIONS,
    SAMPLE,
    SCORES,
    WEIGHTED,
    extras_of,
    kind_of,
    networks_of,
)
from .scores import confusion_of, per_class
from .survival import baselines_of

MOST_LINES = 40
PREVIEW = 6
NUMBER = re.compile(r"|–|\.\.\. .*|< ?[0-9.]+|[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?( to [-+0-9.,e]+)?")


def print_result(console: Any, result: Mapping[str, Any]) -> None:
    """Print privacy, cost, warnings, scores and a summary of the model."""
    console.print(promise(result.get("privacy")), highlight=False, markup=False, style="bold")
    federation = result.get("federation") or {}
    if federation:
        console.print(cost(federation), highlight=False, markup=False)
    for warning in result.get("warnings") or []:
        console.print(f"warning: {warning}", highlight=False, markup=False, style="yellow")
    scores = score_lines(result.get("metrics"))
    plain = {name: value for name, value in extras_of(result).items() if is_plain(value)}
    lines = scores or [(title(name), number(value)) for name, value in plain.items()]
    model = result.get("model")
    for name, text in [*lines, *(facts_of(model) if isinstance(model, Mapping) and kind_of(model) == COX else [])]:
        console.print(f"{name}: {text}", highlight=False, markup=False)
    kind = kind_of(model)
    named = "Model" if kind == OTHER else f"Model: {kind}"
    sections = [
        (named, model_lines(model)),
        ("Baseline", _baseline(model)),
        ("Classes", _classes(result)),
        *([("Predictions", _table(result))] if isinstance(result.get("predictions"), Mapping) else _nested(result)),
        ("Diagnostics", _diagnostics(result)),
    ]
    for heading, rows in sections:
        if rows:
            _print_rows(console, heading, rows)


def _nested(result: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the answers that are mappings, such as a node's settings, under their own headings."""
    return [
        (title(name), [(key, number(entry)) for key, entry in value.items() if is_plain(entry)])
        for name, value in extras_of(result).items()
        if isinstance(value, Mapping) and not (name == "metrics" and score_lines(value))
    ]


def _diagnostics(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [*plain_items(result.get("diagnostics") or {}).items()]


def _print_rows(console: Any, heading: str, rows: list[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=heading, show_header=False, title_justify="left")
    body = rows[1:] if len(rows) > 1 and len(rows[0]) > 1 else rows
    for place in range(max(len(row) for row in rows)):
        figures = all(_is_number(row[place]) for row in body if place < len(row))
        table.add_column(justify="right" if figures else "left", overflow="fold")
    for row in rows[:MOST_LINES]:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    if len(rows) > MOST_LINES:
        console.print(f"... and {len(rows) - MOST_LINES} more")


def _is_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text))


def model_lines(model: Any) -> list[tuple[str, ...]]:
    """Return rows of text that summarise a model, by its kind; its plain fields where it is malformed or of no known kind."""
    writers: dict[str, Callable[[Any], list[tuple[str, ...]]]] = {
        NAIVE_BAYES: _naive_bayes,
        WEIGHTED: _weighted,
        NETWORK: _network,
        ENSEMBLE: _ensemble,
        COX: _cox,
        COUNTS: _counts,
        PREDICTIONS: lambda model: _table({"model": model}),
        SAMPLE: lambda model: _table({"model": model}),
        DESCRIPTION: lambda model: [description.HEADING, *description.rows(model)],
        SCORES: lambda model: list(plain_items(model).items()),
    }
    try:
        if kind_of(model) in writers:
            return writers[kind_of(model)](model)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        return [("malformed", type(problem).__name__), *plain_items(model).items()]
    return list(plain_items(model).items()) if isinstance(model, Mapping) else []


def _naive_bayes(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    classes = model["domain"][model["label"]].get("categories", [])
    counts = [f"{name}: {number(float(count))}" for name, count in zip(classes, model["class_counts"], strict=False)]
    features = [(name, str(feature.get("kind"))) for name, feature in model["features"].items()]
    return [("label", str(model["label"])), ("rows by class", "; ".join(counts)), *features]


def _weighted(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    domain, label, weights = model["domain"], str(model["label"]), model["weights"]
    return [
        ("label", label),
        ("classes", ", ".join(str(name) for name in domain[label].get("categories", []))),
        ("features", ", ".join(name for name in domain if name != label)),
        ("structure", str(model["structure"])),
        ("tables", str(model["tables_at"])),
        ("weights", f"{len(weights)}, {number(float(min(weights)))} to {number(float(max(weights)))}"),
    ]


def _network(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("nodes, edges", f"{len(model['nodes'])}, {len(model['edges'])}")]
    for node, table in model["tables"].items():
        parents = ", ".join(table.get("parents", [])) or "–"
        rows.append((str(node), f"parents: {parents}"))
    return rows


def _ensemble(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    networks = networks_of(model)
    rows: list[tuple[str, ...]] = [("members", str(len(model["members"])))]
    return rows + [
        (name, f"{len(network['nodes'])} nodes, {len(network['edges'])} edges") for name, network in networks.items()
    ]


def _cox(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the table that a survival analyst expects."""
    return [
        ("feature", "coef", "se", "hazard ratio", "95 % interval", "z", "p"),
        *coefficient_rows(model["coefficients"]),
    ]


def _baseline(model: Any) -> list[tuple[str, ...]]:
    """Return survival at the mean at a few times of every baseline, from the first event to the last."""
    rows: list[tuple[str, ...]] = []
    for name, baseline in (baselines_of(model) if isinstance(model, Mapping) else {}).items():
        places = sorted({round(k * (len(baseline.times) - 1) / (PREVIEW - 1)) for k in range(PREVIEW)})
        rows += [
            (*((name,) if name else ()), f"{baseline.times[k]:g}", f"{math.exp(-baseline.cumulative[k]):.3f}")
            for k in places
        ]
    heading = ("time", "survival at the mean")
    return [heading if len(rows[0]) == 2 else ("stratum", *heading), *rows] if rows else []


def _table(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the first rows of predictions or synthetic records, as the frame has them."""
    from .answers import to_frame

    frame = to_frame(result)
    rows = [tuple(number(v, 3) for v in row) for row in frame.head(PREVIEW).values.tolist()]
    more = [(f"... {len(frame) - PREVIEW:,} more", *[""] * (len(frame.columns) - 1))] if len(frame) > PREVIEW else []
    return [tuple(str(name) for name in frame.columns), *rows, *more]


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) and abs(value) < 1e4 else number(value)


def _classes(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return sensitivity, specificity, predictive values and F1 of every class."""
    confusion = confusion_of(result)
    if confusion is None:
        return []
    rows = [tuple(_cell(v) for v in row) for row in per_class(*confusion)]
    return [("class", "records", "sens.", "spec.", "PPV", "NPV", "F1"), *rows]


def _counts(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(*(name for name, _ in axes_of(model)), "count"), *cells_of(model)]
