"""Names of a table's columns: none may stand twice."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import DataProblem


def check_distinct(names: Sequence[str]) -> None:
    """Raise `DataProblem` naming a column of which the table has two: pandas renames the second one, and no limit of the node names that."""
    repeated = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if repeated is not None:
        raise DataProblem(
            f"column '{repeated[:60]}' is twice in this station's table; ask the node administrator to rename one"
        )
