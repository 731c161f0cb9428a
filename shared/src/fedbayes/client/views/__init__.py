"""HTML of a result's model, by its kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .. import html
from ..formats import is_plain, plain_items, title
from ..kinds import COUNTS, COX, ENSEMBLE, NAIVE_BAYES, NETWORK, kind_of

LONGEST_JSON = 100_000


def view(model: Any) -> list[str]:
    """Return pieces of HTML that show a model; JSON where the kind is not known or the model is malformed."""
    if model is None:
        return []
    from . import counts, cox, naive_bayes, network

    writers: dict[str, Callable[[Any], list[str]]] = {
        NAIVE_BAYES: naive_bayes.pieces,
        NETWORK: network.pieces,
        ENSEMBLE: network.ensemble_pieces,
        COX: cox.pieces,
        COUNTS: counts.pieces,
    }
    try:
        return writers.get(kind_of(model), generic)(model)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        note = html.paragraph(f"This model could not be drawn ({type(problem).__name__}); its content is below.")
        return [note, *generic(model)]


def generic(model: Any) -> list[str]:
    """Return a model as a table of its plain fields and JSON of the others."""
    if not isinstance(model, Mapping):
        return [html.code(json.dumps(model, indent=1, ensure_ascii=False)[:LONGEST_JSON])]
    rows = list(plain_items(model).items())
    pieces = [html.table("", ("Name", "Value"), rows)] if rows else []
    for name, value in model.items():
        if not is_plain(value):
            pieces.append(
                html.fold(title(str(name)), html.code(json.dumps(value, indent=1, ensure_ascii=False)[:LONGEST_JSON]))
            )
    return pieces
