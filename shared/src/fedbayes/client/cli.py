"""Entry of the command ``fedbayes``: nothing is imported here before interruptions are under control (see `interrupts`)."""

from __future__ import annotations

from collections.abc import Sequence

from .interrupts import supervised


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors become one line on stderr."""
    from .commands import invoke as run

    return run(arguments)


def main() -> None:
    """Entry point of the command; SIGTERM and a closed terminal stop it as Ctrl-C does."""
    raise SystemExit(supervised(invoke))
