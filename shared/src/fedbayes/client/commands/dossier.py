"""``fedbayes dossier``: what a data-protection officer asks about a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import PAGES, check_output, json_text, print_json, write_texts
from ..kinds import as_written, read_result
from .exits import UsageProblem

ENDINGS = (".html", ".json")


def execute(path: Path, out: Sequence[Path], stated: Mapping[str, str], force: bool = False) -> None:
    """Write the dossier of a result to files; without any, as JSON to stdout.

    Raises
    ------
    UsageProblem
        If a file or an option is wrong; nothing is written then.
    """
    from ..dossier.build import dossier
    from ..dossier.facts import Statements
    from ..dossier.registry import SECTORS

    if stated.get("sector", SECTORS[0]) not in SECTORS:
        raise UsageProblem(f"--sector must be one of: {', '.join(SECTORS)}")
    blank = next((name for name, text in stated.items() if not text.strip()), None)
    if blank is not None:
        raise UsageProblem(f"--{blank} is empty; leave it out, or say something")
    for target in out:
        check_output("--out", target, ENDINGS, replace=force or target.suffix in PAGES)
    result = read_result(path)
    if not result.get("privacy") and not result.get("provenance"):
        raise UsageProblem(
            f"{path} does not tell what was done or what is private; give a result that `fedbayes run` wrote"
        )
    with as_written(path):
        content = dossier(result, Statements(**stated))
        texts = {target: text_of(content, result, target) for target in out}
    if not out:
        print_json(content)
    write_texts(texts)
    for target in out:
        print(f"dossier: {target}")


def write(content: Mapping[str, Any], result: Mapping[str, Any], path: Path, option: str) -> None:
    """Write one file of a dossier; `UsageProblem`, which begins with the `option`, if it cannot be."""
    write_texts({check_output(option, path, ENDINGS): text_of(content, result, path)})


def text_of(content: Mapping[str, Any], result: Mapping[str, Any], path: Path) -> str:
    """Return a dossier in the form that a file's ending says."""
    from ..dossier.page import render
    from ..pages.report import heading_of
    from ..pages.sequence import uri

    if path.suffix == ".json":
        return json_text(content)
    federation = result.get("federation") or {}
    drawn = uri(federation, content["computation"]["function"]) if federation.get("per_round") else ""
    return render(content, heading_of(result), drawn)
