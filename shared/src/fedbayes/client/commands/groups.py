"""The commands in groups, ``fedbayes node ...`` and ``fedbayes domain ...``; the others are in `app`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .shared import AsJson, File, Overwrite, Pair, Texts, option

node = typer.Typer(
    help="For a node's administrator: check a configuration, manage known peers and counted refusals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
domain = typer.Typer(
    help="The data dictionary of a study: draft one, check files against it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@node.command()
def peers(
    folder: Annotated[Path, typer.Argument(help="The node's folder database (with the ledger).")],
    accept: Annotated[
        Pair, option("NAME FINGERPRINT: know the organization by this key from now on.", "--accept")
    ] = None,
    forget: Annotated[Texts, option("NAME: forget the organization's key. Repeatable.", "--forget")] = None,
    as_json: AsJson = False,
) -> None:
    """List the organizations whose lasting keys this node knows; accept a new key, or forget one."""
    from . import node as command_node

    command_node.peers(folder, accept, forget or [], as_json)


@node.command()
def refusals(
    folder: Annotated[Path, typer.Argument(help="The node's folder database (with the ledger).")],
    forget: Annotated[Texts, option("COLUMN: forget what was refused of it. Repeatable.", "--forget")] = None,
    as_json: AsJson = False,
) -> None:
    """List how many different questions about each column were refused because of its values (maximum_refusals), or forget those of a column."""
    from . import node as command_node

    command_node.refusals(folder, forget or [], as_json)


@node.command("check")
def check_node(
    config: Annotated[Path, typer.Argument(help="The configuration of a vantage6 4.15 node, a YAML file.")],
    as_json: AsJson = False,
) -> None:
    """Check a node's configuration: what vantage6 ignores, what stops every task, what is unsafe, and what its limits mean."""
    from . import node as command_node

    command_node.check(config, as_json)


@domain.command("draft")
def draft_dictionary(
    data: Annotated[list[Path], typer.Argument(help="Tables of the study: csv, parquet or xlsx, one a station.")],
    out: Annotated[File, option("YAML or JSON file to write; - for stdout, as by default.", "--out")] = None,
    force: Overwrite = False,
) -> None:
    """Propose a data dictionary from files; entries that come from data are marked (looked_at)."""
    from . import domain as command_domain

    command_domain.draft(data, out, force)


@domain.command("check")
def check_dictionary(
    dictionary: Annotated[Path, typer.Argument(help="The study's data dictionary, YAML or JSON.")],
    data: Annotated[list[Path], typer.Argument(help="Tables of the study: csv, parquet or xlsx.")],
    as_json: AsJson = False,
) -> None:
    """Check files against a data dictionary: counts of what does not fit, one line a column, with the remedy."""
    from . import domain as command_domain

    command_domain.check(dictionary, data, as_json)
