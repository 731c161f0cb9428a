"""A result on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .count_text import axes_of, cells_of
from .cox_text import coefficient_cells, facts_of, score_lines
from .formats import is_plain, number, plain_items, promise, size, title
from .kinds import (
    COUNTS,
    COX,
    ENSEMBLE,
    NAIVE_BAYES,
    NETWORK,
    OTHER,
    PREDICTIONS,
    WEIGHTED,
    extras_of,
    kind_of,
    networks_of,
)

MOST_LINES = 40


def print_result(console: Any, result: Mapping[str, Any]) -> None:
    """Print privacy, cost, warnings, scores and a summary of the model."""
    console.print(promise(result.get("privacy")), highlight=False, markup=False, style="bold")
    federation = result.get("federation") or {}
    if federation:
        organizations = ", ".join(str(name) for name in federation.get("organizations", []))
        cost = (
            f"{federation.get('rounds')} rounds, {size(federation.get('bytes'))}, {number(federation.get('seconds'))} s"
        )
        console.print(f"{cost}; organizations: {organizations}", highlight=False, markup=False)
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
    sections = [(named, model_lines(model)), *_nested(result), ("Diagnostics", _diagnostics(result))]
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
    for row in rows[:MOST_LINES]:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    if len(rows) > MOST_LINES:
        console.print(f"... and {len(rows) - MOST_LINES} more")


def model_lines(model: Any) -> list[tuple[str, ...]]:
    """Return rows of text that summarise a model, by its kind; its plain fields where it is malformed or of no known kind."""
    writers: dict[str, Callable[[Any], list[tuple[str, ...]]]] = {
        NAIVE_BAYES: _naive_bayes,
        WEIGHTED: _weighted,
        NETWORK: _network,
        ENSEMBLE: _ensemble,
        COX: _cox,
        COUNTS: _counts,
        PREDICTIONS: _predictions,
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
    rows: list[tuple[str, ...]] = [("feature", "coef", "se", "hazard ratio", "95 % interval", "z", "p")]
    return rows + [coefficient_cells(entry) for entry in model["coefficients"]]


def _counts(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(*(name for name, _ in axes_of(model)), "count"), *cells_of(model)]


def _predictions(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    heading = ("record", "predicted", *(f"P({state})" for state in model["states"]))
    names = model.get("identifiers") or range(1, len(model["predicted"]) + 1)
    rows = zip(names, model["predicted"], model["probabilities"], strict=False)
    return [heading, *((str(name), str(best), *(number(p, 3) for p in shares)) for name, best, shares in rows)]
