"""Names of a table's columns: none may stand twice, and what nobody sees in one is found."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from ...bayes.values.encoding import composed
from ..errors import DataProblem


def check_distinct(names: Sequence[str]) -> None:
    """Raise `DataProblem` naming a column of which the table has two: pandas renames the second one, and no limit of the node names that."""
    names = [composed(name) for name in names]
    repeated = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if repeated is not None:
        raise DataProblem(
            f"column '{repeated[:60]}' is twice in this station's table; ask the node administrator to rename one"
        )


def differs_unseen(name: str, names: Iterable[str]) -> bool:
    """Return whether a table has a column that differs from this name only by blanks, capitals or how accents are written."""
    return _seen(name) in map(_seen, names)


def _seen(name: str) -> str:
    """Return a name without blanks, capitals and marks that nobody sees, its accents taken off."""
    if name.isascii() and name.isprintable():
        return name.casefold().replace(" ", "")
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(one for one in plain if not one.isspace() and unicodedata.category(one) not in ("Cc", "Cf", "Mn"))
