"""Exact answers under several smallest counts: of one table two hide other cells, and what one hides may follow from what the other one shows."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from ..errors import ThresholdError
from .record import Record, Remembered

OTHER_MINIMUM = (
    "organizations: this station has answered exactly about one of these columns in a job of nodes with another FEDBAYES_MINIMUM_COUNT, and what is hidden "
    "there might follow from what would be shown here; name the organizations of that job, give an epsilon, or ask the node administrator about "
    "FEDBAYES_ALLOW_DIFFERENCES"
)


class Minima(Record):
    """Under which smallest count, the largest of a job's nodes, a node has told each column exactly."""

    table: ClassVar[str] = "minima"

    def check(self, columns: Collection[str], minimum: int) -> None:
        """Remember that columns are told under a smallest count.

        Raises
        ------
        ThresholdError
            If one of them was told under another.
        StationError
            If the file cannot be read or written.
        """

        def remember(remembered: Remembered) -> bool:
            if any(set(remembered.of(name)) - {str(minimum)} for name in columns):
                return False
            for name in columns:
                remembered.add(name, str(minimum))
            return True

        if not self._admits(lambda earlier: all(earlier.of(name) == [str(minimum)] for name in columns), remember):
            raise ThresholdError(OTHER_MINIMUM)
