"""What share holders reveal to central in a round, read by what it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbayes.federation.errors import adding_up
from fedbayes.typing import Floats

from ..cox.entering import numbers


@dataclass(frozen=True, slots=True)
class Revealed:
    """Sums of shares as real numbers, by name.

    Parameters
    ----------
    sums : mapping of str to ndarray of float
        As the share holders named them.
    """

    sums: Mapping[str, Floats]

    def vector(self, name: str, length: int) -> Floats:
        """Return so many numbers in a row; `StationError` where there are others, as in the two below."""
        return numbers(self._of(name).ravel(), (length,), _step(name))

    def number(self, name: str) -> float:
        """Return one number."""
        return float(self.vector(name, 1)[0])

    def square(self, name: str, width: int) -> Floats:
        """Return a matrix, (width, width)."""
        return numbers(self._of(name), (width, width), _step(name))

    def _of(self, name: str) -> Floats:
        with adding_up(_step(name)):
            return self.sums[name]


def _step(name: str) -> str:
    """Return what is revealed, without the point that it is of."""
    return name.partition("|")[0]
