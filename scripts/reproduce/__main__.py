"""Run what the papers ran: numbers as JSON, figures, and pages of both.

make reproduce, or, with the PYTHONPATH of the Makefile: python -m reproduce [PAPER ...] [--quick] [--pages]
    without names all papers; into docs/reproduction
    --quick   few repetitions of small parts, into out/reproduction
    --pages   words, pages and figures again, with the numbers of the JSON files; nothing is run
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from . import core, figures, pages


def write(content: dict[str, Any], folder: Path) -> None:
    """Write the JSON file, the page and the figures of a paper."""
    core.save(content, folder)
    (folder / f"{content['name']}.md").write_text(pages.page(content), encoding="utf-8")
    for item in content["items"]:
        if item["plot"]:
            figures.draw(item, folder / f"{content['name']}-{item['id']}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m reproduce", description="The papers' tables and figures, and ours."
    )
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(core.PAPERS)}; all without names")
    parser.add_argument("--quick", action="store_true", help="few repetitions, into out/reproduction")
    parser.add_argument("--pages", action="store_true", help="only pages and figures, of the JSON files that there are")
    asked = parser.parse_args()
    if unknown := set(asked.papers) - set(core.PAPERS):
        parser.error(f"unknown paper {', '.join(sorted(unknown))}; there are {', '.join(core.PAPERS)}")
    folder = core.QUICK if asked.quick else core.DOCS
    for name in asked.papers or core.PAPERS:
        if asked.pages:
            content = core.told(core.load(folder, name))
        else:
            run = importlib.import_module(f"{__package__}.papers.{name}").reproduce
            content = run(asked.quick).as_dict(asked.quick)
        write(content, folder)
        seconds = sum(item["seconds"] for item in content["items"])
        print(f"{name}: {len(content['items'])} tables and figures, {seconds:.0f} s, {folder}", flush=True)
    there = [core.load(folder, name) for name in core.PAPERS if (folder / f"{name}.json").exists()]
    (folder / "index.md").write_text(pages.index(there), encoding="utf-8")


if __name__ == "__main__":
    main()
