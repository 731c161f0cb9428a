"""A result on the terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ..formats import (
    HIDDEN,
    WORDS,
    cost,
    digits_of,
    is_plain,
    is_range,
    number,
    plain_items,
    promise,
    ranged,
    title,
    word,
)
from ..kinds import GAIN, OTHER, extras_of
from ..labels import legible
from ..models.survival import baselines_of
from ..scores import HIDDEN_CLASSES, about_accuracy, confusion_of, is_told, per_class
from ..view import View, view_of
from .cox_scores import score_lines, score_sections
from .heading import heading_of
from .model import spread, table

MOST_LINES = 40  # of a section on one screen
NUMBER = re.compile(r"|–|\.\.\. .*|< ?[0-9.]+|[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?( to [-+0-9.,e]+)?")


def print_result(console: Any, result: Mapping[str, Any]) -> None:
    """Print what was done, privacy, cost, warnings, scores and a summary of the model, with the labels of the study's dictionary."""
    result = legible(result)
    if result.get("provenance"):
        console.print(heading_of(result), highlight=False, markup=False, style="bold")
    console.print(promise(result.get("privacy")), highlight=False, markup=False)
    federation = result.get("federation") or {}
    if federation:
        console.print(cost(federation), highlight=False, markup=False)
    for warning in result.get("warnings") or []:
        console.print(f"warning: {warning}", highlight=False, markup=False, style="yellow")
    scores = score_lines(result.get("metrics"))
    model = result.get("model")
    view = view_of(model)
    shown = model if isinstance(model, Mapping) and view.text == View.text else {}
    plain = {name: value for name, value in extras_of(result).items() if is_plain(value) and value is not None}
    lines = scores or [(title(name), number(value)) for name, value in plain.items() if shown.get(name) != value]
    for name, text in [*lines, *(view.part("facts")(model) if view.facts else [])]:
        console.print(f"{name}: {text}", highlight=False, markup=False)
    if remark := about_accuracy(result):
        console.print(remark, highlight=False, markup=False)
    named = "Model" if view.kind == OTHER else f"Model: {view.kind}"
    sections = [
        (named, model_lines(model)),
        *score_sections(result.get("metrics")),
        ("Baseline", _baseline(model) or _baseline(result)),
        ("Classes", _classes(result)),
        *([("Predictions", table(result))] if isinstance(result.get("predictions"), Mapping) else _nested(result)),
        *_judged(result),
        ("Diagnostics", _diagnostics(result)),
    ]
    for heading, rows in sections:
        if rows:
            _print_rows(console, heading, rows)


def _nested(result: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the answers that are mappings, such as a node's settings, under their own headings."""
    model = result.get("model")
    gain = model if isinstance(model, Mapping) and view_of(model).kind == GAIN else {}
    return [
        (title(name), _entries(value, answer=name))
        for name, value in extras_of(result).items()
        if isinstance(value, Mapping)
        and not (name == "metrics" and score_lines(value))
        and name != "baseline"
        and gain.get(name) != value
    ]


def _judged(result: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return what a fit tells of how well it fits and predicts: its validation, its likelihood and criteria."""
    model = result.get("model")
    sources = (result.get("diagnostics") or {}, model if isinstance(model, Mapping) else {})
    return [
        (title(name), _entries(source[name], digits_of(name)))
        for source in sources
        for name in ("validation", "criteria")
        if isinstance(source.get(name), Mapping)
    ]


def _entries(value: Mapping[str, Any], digits: int = 4, answer: str = "") -> list[tuple[str, ...]]:
    """Return the entries of an answer; of our own fields those that say something."""
    return [
        (word(str(key), answer), ranged(entry, digits))
        for key, entry in value.items()
        if (is_plain(entry) or is_range(entry)) and key not in HIDDEN and (entry is not None or key not in WORDS)
    ]


def _diagnostics(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [*plain_items(result.get("diagnostics") or {}).items()]


def _print_rows(console: Any, heading: str, rows: list[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=heading, show_header=False, title_justify="left")
    body = rows[1:] if len(rows) > 1 and len(rows[0]) > 1 else rows
    for column in range(max(len(row) for row in rows)):
        figures = all(_is_number(row[column]) for row in body if column < len(row))
        table.add_column(justify="right" if figures else "left", overflow="fold")
    for row in rows[:MOST_LINES]:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    if len(rows) > MOST_LINES:
        console.print(
            f"... and {len(rows) - MOST_LINES} more; --export FILE.csv writes the answer as a table", highlight=False
        )


def _is_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text))


def model_lines(model: Any) -> list[tuple[str, ...]]:
    """Return rows of text that summarise a model, as its view does; its plain fields where it is malformed or of no known kind."""
    try:
        rows: list[tuple[str, ...]] = view_of(model).part("text")(model)
        return rows
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        return [("malformed", type(problem).__name__), *plain_items(model).items()]


def _baseline(model: Any) -> list[tuple[str, ...]]:
    """Return survival at the mean at a few times of every baseline, from the first event to the last."""
    rows: list[tuple[str, ...]] = []
    for name, baseline in (baselines_of(model) if isinstance(model, Mapping) else {}).items():
        rows_shown = spread(len(baseline.times))
        rows += [
            (*((name,) if name else ()), f"{baseline.times[k]:g}", f"{math.exp(-baseline.cumulative[k]):.3f}")
            for k in rows_shown
        ]
    heading = ("time", "survival at the mean")
    return [heading if len(rows[0]) == 2 else ("stratum", *heading), *rows] if rows else []


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) and abs(value) < 1e4 else number(value)


def _classes(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return sensitivity, specificity, predictive values and F1 of every class."""
    confusion = confusion_of(result)
    if confusion is None:
        return []
    by_class = per_class(*confusion)
    if not is_told(by_class):
        return [(HIDDEN_CLASSES,)]
    rows = [tuple(_cell(v) for v in row) for row in by_class]
    return [("class", "records", "sens.", "spec.", "PPV", "NPV", "F1"), *rows]
