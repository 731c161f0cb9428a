"""Models as rows of text, for the terminal; each kind's view (`model_views`) names its function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formats import counted, number, plain_items
from ..models.networks import networks_of
from ..view import view_of_result
from . import description
from .counts import cells_of, read_counts
from .cox import coefficient_rows

IN_WORDS = {"linear_predictor": "linear predictor", "partial_hazard": "partial hazard"}
PREVIEW, LEADING = 6, 3
"""Records of a table; its columns that are shown before some of the others."""


def spread(count: int, most: int = PREVIEW) -> list[int]:
    """Return at most so many places of `count`, from the first to the last."""
    return sorted({round(k * (count - 1) / (most - 1)) for k in range(most)}) if count else []


def fitting(frame: Any) -> Any:
    """Return a table with the first columns and some of the others, from the first to the last, as many as a screen holds."""
    others = len(frame.columns) - LEADING
    return frame.iloc[:, [*range(LEADING), *(LEADING + index for index in spread(others))]] if others > 0 else frame


def naive_bayes(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the label, the rows of every class and the kinds of the features, of a Gaussian one with its mean and deviation in every class."""
    classes = model["domain"][model["label"]].get("categories", [])
    counts = [f"{name}: {number(float(count))}" for name, count in zip(classes, model["class_counts"], strict=False)]
    moments = moments_of(model)
    features = [(name, f"{feature.get('kind')}{moments.get(name, '')}") for name, feature in model["features"].items()]
    return [("label", str(model["label"])), ("rows by class", "; ".join(counts)), *features]


def moments_of(model: Mapping[str, Any]) -> dict[str, str]:
    """Return, for every Gaussian feature of naive Bayes, its mean and standard deviation in each class, as it is put behind the word."""
    if all(feature.get("kind") != "gaussian" for feature in model["features"].values()):
        return {}
    from ...bayes.naive_bayes import NaiveBayes
    from ...bayes.naive_bayes.features import Gaussian

    classifier = NaiveBayes.from_dict(model)
    told = {}
    for name, feature in classifier.features.items():
        if isinstance(feature, Gaussian):
            each = zip(classifier.classes, *feature.moments(), strict=True)
            told[name] = ", mean (deviation): " + "; ".join(
                f"{one} {number(float(mean))} ({number(float(variance) ** 0.5)})" for one, mean, variance in each
            )
    return told


def weighted(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what a weighted naive Bayes model is made of."""
    domain, label, weights = model["domain"], str(model["label"]), model["weights"]
    return [
        ("label", label),
        ("classes", ", ".join(str(name) for name in domain[label].get("categories", []))),
        ("features", ", ".join(name for name in domain if name != label)),
        ("structure", str(model["structure"])),
        ("tables", str(model["tables_at"])),
        ("weights", f"{len(weights)}, {number(float(min(weights)))} to {number(float(max(weights)))}"),
    ]


def network(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the size of a network and the parents of every node."""
    rows: list[tuple[str, ...]] = [("nodes, edges", f"{len(model['nodes'])}, {len(model['edges'])}")]
    for node, table in model["tables"].items():
        parents = ", ".join(table.get("parents", [])) or "–"
        rows.append((str(node), f"parents: {parents}"))
    return rows


def ensemble(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return how many members there are, and the size of those that are told."""
    networks = networks_of(model)
    rows: list[tuple[str, ...]] = [("members", str(len(model["members"])))]
    return rows + [
        (name, f"{counted(len(network['nodes']), 'node')}, {counted(len(network['edges']), 'edge')}")
        for name, network in networks.items()
    ]


def cox(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the table that a survival analyst expects."""
    return [
        ("feature", "coef", "se", "HR", "95 % CI", "z", "p"),
        *coefficient_rows(model["coefficients"]),
    ]


def counts(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for every cell."""
    return [(*(name for name, _ in read_counts(model)[0]), "count"), *cells_of(model)]


def table(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the first rows of predictions or synthetic records, as the frame has them."""
    whole = view_of_result(result).part("frame")(result)
    frame = fitting(whole)
    rows = [tuple(number(v, 3) for v in row) for row in frame.head(PREVIEW).values.tolist()]
    more = [(f"... {len(frame) - PREVIEW:,} more", *[""] * (len(frame.columns) - 1))] if len(frame) > PREVIEW else []
    left_out = len(whole.columns) - len(frame.columns)
    others = (f"... {left_out} more",) if left_out else ()
    names = (IN_WORDS.get(str(name), str(name)) for name in frame.columns)
    return [(*names, *others), *rows, *more]


def records(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the first rows of predictions or synthetic records that stand in a model's place."""
    return table({"model": model})


def columns(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what is known of every column of a described table."""
    return [description.HEADING, *description.rows(model)]


def gains(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the information of every column about the label, beside what a column without any relation reaches."""
    null = model.get("null_level") or {}
    rows = [(str(name), number(bits), number(null.get(name))) for name, bits in model["information_gain"].items()]
    return [("column", f"bits about {model.get('label')}", "chance reaches (1 in 20)"), *rows]


def plain(model: Any) -> list[tuple[str, ...]]:
    """Return the plain fields of any model."""
    return list(plain_items(model).items()) if isinstance(model, Mapping) else []
