"""A second file beside a ledger that says how many debits it has had: one that was deleted, or put back from an older copy, is found out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class Witness:
    """The largest number of debits that a ledger was seen with.

    It is written after a debit is on disk, so a kill between the two leaves a number too small, which refuses nothing. Whoever rolls back both files,
    such as a whole folder, is not found out.

    Parameters
    ----------
    ledger : Path
        The ledger's file; the witness has its name with the ending ``.debits``.
    """

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_suffix(".debits")

    def seen(self) -> int:
        """Return the number; 0 if there is no file yet. `ValueError` if it holds none."""
        return int(self.path.read_text(encoding="ascii")) if self.path.exists() else 0

    def note(self, debits: int) -> None:
        """Write a number on disk, with rights for the owner only; a later one that another task wrote meanwhile stays."""
        if debits <= self.seen():
            return
        handle, draft = tempfile.mkstemp(prefix=f".{self.path.name}-", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{debits}\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise
