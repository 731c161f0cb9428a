"""What the stations said to a task: a table on the terminal, and an error if one refuses."""

from __future__ import annotations

from collections.abc import Mapping


def print_stations(stations: Mapping[str, str | None]) -> None:
    """Print one line an organization: whether it would take part, and what it refuses."""
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("organization", "takes part", "refuses"):
        table.add_column(name, overflow="fold")
    for name, refusal in stations.items():
        table.add_row(name, "yes" if refusal is None else "no", refusal or "")
    Console(markup=False, highlight=False).print(table)


def raise_refusals(stations: Mapping[str, str | None]) -> None:
    """Raise the error that a run of the task would end with.

    Raises
    ------
    PolicyError
        Naming the organizations that refuse.
    """
    from ..federation.errors import PolicyError

    refusing = [name for name, refusal in stations.items() if refusal is not None]
    if refusing:
        raise PolicyError(f"{', '.join(refusing)} would refuse this task; nothing was spent")
