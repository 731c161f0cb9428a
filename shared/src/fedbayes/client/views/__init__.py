"""HTML of a result's model, by its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import html
from ..formats import is_plain, number
from ..kinds import (
    COUNTS,
    COX,
    DESCRIPTION,
    ENSEMBLE,
    GAIN,
    NAIVE_BAYES,
    NETWORK,
    PREDICTIONS,
    SAMPLE,
    SCORES,
    WEIGHTED,
    kind_of,
)


def view(model: Any) -> list[str]:
    """Return pieces of HTML that show a model; tables where the kind is not known or the model is malformed."""
    if model is None:
        return []
    from . import answers, counts, cox, description, naive_bayes, network

    writers: dict[str, Callable[[Any], list[str]]] = {
        NAIVE_BAYES: naive_bayes.pieces,
        NETWORK: network.pieces,
        ENSEMBLE: network.ensemble_pieces,
        COX: cox.pieces,
        COUNTS: counts.pieces,
        WEIGHTED: answers.weighted_pieces,
        PREDICTIONS: lambda model: answers.prediction_pieces({"model": model}),
        SAMPLE: answers.sample_pieces,
        GAIN: answers.gain_pieces,
        DESCRIPTION: description.pieces,
        SCORES: lambda model: [],
    }
    try:
        return writers.get(kind_of(model), generic)(model)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        note = html.paragraph(f"This model could not be drawn ({type(problem).__name__}); its content is below.")
        return [note, *generic(model)]


def generic(model: Any) -> list[str]:
    """Return a model of no known kind as tables."""
    from .plain import entry, mapping

    if not isinstance(model, Mapping):
        return [html.paragraph(number(model))] if is_plain(model) else entry("model", model)
    return mapping(model)
