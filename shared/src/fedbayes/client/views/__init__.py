"""HTML of a result's model, as its view has it."""

from __future__ import annotations

from typing import Any

from .. import html
from ..view import view_of
from .plain import generic


def view(model: Any) -> list[str]:
    """Return pieces of HTML that show a model; tables where the kind is not known or the model is malformed."""
    if model is None:
        return []
    try:
        pieces: list[str] = view_of(model).part("html")(model)
        return pieces
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        note = html.paragraph(f"This model could not be drawn ({type(problem).__name__}); its content is below.")
        return [note, *generic(model)]
