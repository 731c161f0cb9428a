"""Limits of nodes that tests ask predictions of: nodes, embedded ones too, refuse these unless they say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PREDICTING = {"allow_predictions": True}


def predicting(policies: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """Return policies of an embedded federation of which every node lets single records be predicted, but for those that say otherwise."""
    given = {name: dict(limits) for name, limits in (policies or {}).items()}
    return {**given, "*": {**PREDICTING, **given.get("*", {})}}
