"""``fedbayes dossier``: what a data-protection officer asks about a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..dossier.written import ENDINGS, text_of
from ..exits import UsageProblem
from ..inputs.files import PAGES, check_output, print_json, write_texts
from ..kinds import as_written, read_result


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
