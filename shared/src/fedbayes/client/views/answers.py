"""Answers that are no model, in a report: predictions, synthetic records, information gain; and weighted naive Bayes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .. import html
from ..answer_tables import hazards, predictions, sample
from ..figures import gain_bars, named_bars, survival_curves
from ..figures.style import to_svg
from ..formats import number, title
from ..models.survival import baselines_of
from ..models.weighted import effects
from ..text.model import fitting, spread

MOST_ROWS = 20  # of a preview


def _numeric(frame: Any) -> tuple[int, ...]:
    return tuple(position for position, kind in enumerate(frame.dtypes) if kind.kind in "fiu")


def _preview(whole: Any, caption: str) -> str:
    frame = fitting(whole)
    rows = [
        [f"{value:.3f}" if isinstance(value, float) and abs(value) < 1e4 else number(value) for value in row]
        for row in frame.head(MOST_ROWS).values.tolist()
    ]
    numeric = _numeric(frame)
    heading = caption if len(frame) <= MOST_ROWS else f"{caption}; the first {MOST_ROWS} of {len(frame):,}"
    if len(whole.columns) > len(frame.columns):
        heading += f"; {len(frame.columns)} of {len(whole.columns)} columns"
    return html.table(heading, [str(name) for name in frame.columns], rows, numeric)


def prediction_pieces(result: Mapping[str, Any]) -> list[str]:
    """Return how often each class was predicted, and the first records; of a Cox model the first records."""
    frame = predictions(result)
    pieces = []
    if "prediction" in frame:
        counted = Counter(str(value) for value in frame["prediction"])
        rows = [(name, f"{count:,}", f"{count / len(frame):.1%}") for name, count in counted.most_common()]
        pieces.append(html.table("How often each class is predicted", ("Class", "Records", "Share"), rows, (1, 2)))
    named = frame.rename(columns={name: _header(str(name)) for name in frame.columns})
    return [*pieces, _preview(named, "Predictions"), html.paragraph(EXPORT)]


def _header(name: str) -> str:
    """Return the name of a column of predictions in words: ``S(365)`` is the survival at a time."""
    if name.startswith("S("):
        return f"Survival at {name[2:-1]}"
    return name if name.startswith("P(") else title(name)


EXPORT = "All of them as a table: fedbayes show RESULT.json --export FILE.csv"


def hazard_pieces(result: Mapping[str, Any]) -> list[str]:
    """Return the survival of a record at the mean, as a picture and at a few times, of a result that tells a baseline hazard beside a model; else nothing."""
    if not baselines_of(result):
        return []
    picture = html.picture(to_svg(survival_curves(result)), "Survival over time of a record at the mean.")
    frame = hazards(result)
    shown = frame.iloc[spread(len(frame), MOST_ROWS)]
    rows = [
        [*map(number, others), f"{hazard:.4f}", f"{survival:.4f}"]
        for *others, hazard, survival in shown.values.tolist()
    ]
    caption = (
        "Baseline hazard" if len(shown) == len(frame) else f"Baseline hazard at {len(shown)} of {len(frame):,} times"
    )
    table = html.table(caption, [title(str(name)) for name in frame.columns], rows, _numeric(frame))
    return [picture, table, html.paragraph(EXPORT)]


def predicted_pieces(model: Mapping[str, Any]) -> list[str]:
    """Return predictions that stand in a model's place."""
    return prediction_pieces({"model": model})


def sample_pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the first synthetic records."""
    return [_preview(sample({"model": model}), "Synthetic records"), html.paragraph(EXPORT)]


def gain_pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the information of every column about the target, as bars and as a table."""
    gain = {str(name): float(value) for name, value in model["information_gain"].items() if value is not None}
    ranked = sorted(gain.items(), key=lambda item: -item[1])
    values = ", ".join(f"{name} {value:.3g}" for name, value in ranked)
    about = f"Information about '{model.get('label')}' in bits"
    return [
        html.picture(to_svg(gain_bars(gain, model.get("null_level"))), f"{about}: {values}.", f"{about}."),
        html.table(
            about,
            ("Column", "Bits", "Chance reaches (1 in 20)"),
            [(name, *_bits(model, name)) for name, _ in ranked],
            (1, 2),
        ),
    ]


def _bits(model: Mapping[str, Any], name: str) -> tuple[str, str]:
    null = (model.get("null_level") or {}).get(name)
    return f"{float(model['information_gain'][name]):.4f}", "–" if null is None else f"{float(null):.4f}"


def weighted_pieces(model: Mapping[str, Any]) -> list[str]:
    """Return what a weighted naive Bayes model is made of."""
    domain, label, weights = model["domain"], str(model["label"]), [float(value) for value in model["weights"]]
    classes = ", ".join(str(name) for name in domain[label].get("categories", []))
    rows = [
        ("Label", label),
        ("Classes", classes),
        ("Features", ", ".join(name for name in domain if name != label)),
        ("Structure", str(model["structure"])),
        ("Tables", str(model["tables_at"]).replace("_", " ")),
        ("Weights", f"{len(weights)}, from {number(min(weights))} to {number(max(weights))}; 1 is plain naive Bayes"),
    ]
    return [html.table("", ("Part", "Value"), rows), *_effects(model)]


def _effects(model: Mapping[str, Any]) -> list[str]:
    """Return how much each feature moves the odds, where the model has a table of values."""
    strongest = dict(list(effects(model).items())[:MOST_ROWS])
    if not strongest:
        return []
    about = "How much each feature moves the odds of a class: the standard deviation of its part in their logarithm"
    values = ", ".join(f"{name} {value:.2f}" for name, value in strongest.items())
    return [
        html.picture(
            to_svg(named_bars(strongest, "standard deviation (log odds)")), f"{about}: {values}.", f"{about}."
        ),
        html.paragraph(TABLE),
    ]


TABLE = "The table of every value: fedbayes show RESULT.json --export FILE.csv"
