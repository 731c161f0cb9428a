"""A dossier as a file: a page, or JSON as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..inputs.files import check_output, json_text, write_texts

ENDINGS = (".html", ".json")


def write(content: Mapping[str, Any], result: Mapping[str, Any], path: Path, option: str) -> None:
    """Write one file of a dossier; `UsageProblem`, which begins with the `option`, if it cannot be."""
    write_texts({check_output(option, path, ENDINGS): text_of(content, result, path)})


def text_of(content: Mapping[str, Any], result: Mapping[str, Any], path: Path) -> str:
    """Return a dossier in the form that a file's ending says."""
    from ..pages.sequence import uri
    from ..text.heading import heading_of
    from .page import render

    if path.suffix == ".json":
        return json_text(content)
    federation = result.get("federation") or {}
    drawn = uri(federation, content["computation"]["function"]) if federation.get("per_round") else ""
    return render(content, heading_of(result), drawn)
