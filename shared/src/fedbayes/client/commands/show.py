"""``fedbayes show`` and ``fedbayes algorithms``: what there is, on the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..exits import UsageProblem
from ..inputs.csv_text import csv_of
from ..inputs.files import PAGES, check_output, print_json, write_text
from ..kinds import as_written, read_result
from ..labels import frame_of
from ..view import view_of

EVERYWHERE = (
    "Every central function takes dictionary too, the study's data dictionary; on the command line --dictionary FILE."
)
EXPORTS = (".csv", ".bif", ".xdsl")
FILE_WIDTH = 100  # columns where nobody says how wide: a file, a pipe


def list_algorithms(as_json: bool, name: str | None = None) -> None:
    """Print the installed algorithms with their functions and arguments; of one that is named, their whole documentation.

    Raises
    ------
    UsageProblem
        If no algorithm of that name is installed.
    """
    from rich.console import Console

    from ..running.catalogue import algorithm_named, installed

    algorithms = installed() if name is None else [algorithm_named(name)]
    if as_json:
        print_json([algorithm.to_dict() for algorithm in algorithms])
        return
    console = Console()
    if name is not None:
        console.print(EVERYWHERE, markup=False, highlight=False, soft_wrap=True)
    if not algorithms:
        console.print("no algorithm is installed: install a package whose name starts with v6_")
    for algorithm in algorithms:
        console.print(f"[bold]{algorithm.name}[/bold]  ", end="")
        console.print(algorithm.problem or algorithm.summary, markup=False, highlight=False)
        for function in algorithm.functions:
            call = f"  {function.name}({', '.join(function.arguments)})"
            console.print(call, markup=False, highlight=False, soft_wrap=True)
            for line in (function.summary if name is None else function.documentation).splitlines():
                console.print(f"      {line}".rstrip(), style="dim", markup=False, highlight=False, soft_wrap=True)


def show_result(path: Path, report: Path | None, export: Path | None, force: bool = False) -> None:
    """Print a result; write its report and its network if asked.

    Raises
    ------
    UsageProblem
        If a file is wrong or is there already, or a network is asked of a result without one.
    """
    from rich.console import Console

    from ..text.terminal import print_result

    if report is not None:
        check_output("--report", report, PAGES)
    if export is not None:
        check_output("--export", export, EXPORTS, replace=force)
    result = read_result(path)
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = FILE_WIDTH
    with as_written(path):
        exported = _exported(result, export) if export is not None else ""
        print_result(console, result)
        page = _page(result) if report is not None else ""
    if report is not None:
        write_text(report, page)
        print(f"report: {report}")
    if export is not None:
        write_text(export, exported)
        print(f"{'table' if export.suffix == '.csv' else 'network'}: {export}")


def _page(result: dict[str, Any]) -> str:
    from ..pages.report import render
    from ..text.heading import heading_of

    return render(result, heading_of(result))


def _exported(result: dict[str, Any], path: Path) -> str:
    if path.suffix == ".csv":
        frame = frame_of(result)
        return csv_of(frame, frame.index.name is not None)
    model: Any = result.get("model")
    if "to_bif" not in view_of(model).conversions:
        raise UsageProblem("--export: the result holds no Bayesian network; FILE.csv takes any answer as a table")
    from ...bayes.exchange.bif import to_bif
    from ...bayes.exchange.xdsl import to_xdsl
    from ...bayes.network import BayesianNetwork

    writers = {".bif": to_bif, ".xdsl": to_xdsl}
    return writers[path.suffix](BayesianNetwork.from_dict(model))
