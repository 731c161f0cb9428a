"""What tables may cost: an epsilon in parts, one a batch of tables."""

from __future__ import annotations

from collections.abc import Sequence

from fedbayes.dp import promise
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.guards.installments import Installment


class Budget:
    """How many batches of tables may be asked, and an epsilon in parts, one a batch.

    Parameters
    ----------
    epsilon : float or None
        All of it; None where tables are exact.
    batches : int or None
        Most batches that can be asked; None where nobody knows (exact tables only).
    delta : float
        Of Gaussian noise, of which batches have parts of the square of mu; 0: Laplace noise, of which they have parts of epsilon.
    weights : sequence of float, optional
        Of the batches; equal ones if left out.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        batches: int | None = 1,
        delta: float = 0.0,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.epsilon, self.batches, self.delta, self._taken = epsilon, batches, delta, 0
        self._weights = list(weights or [1.0] * (batches or 0))

    @property
    def exact(self) -> bool:
        """Whether tables have no noise."""
        return self.epsilon is None

    @property
    def covered(self) -> bool:
        """Whether the noise stands in for the guards of exact tables."""
        return promise.covers(self.epsilon, self.delta)

    def take(self, parts: int = 1) -> Installment | None:
        """Return what the next batch, which has so many parts, may spend."""
        first, self._taken = self._taken, self._taken + parts
        if self.epsilon is None or self.batches is None:
            return None
        if self._taken > self.batches:
            raise ArgumentError("epsilon: more tables are asked than it was divided over; the job stops")
        if self.delta:
            return Installment(self.epsilon, self.delta, self._weights, list(range(first, self._taken)))
        return Installment(self.epsilon * parts / self.batches)

    def rest(self, kept: int) -> int:
        """Return the parts that are left but for those that are kept for later; 0 where tables are exact."""
        return 0 if self.epsilon is None or self.batches is None else self.batches - self._taken - kept

    @property
    def spent_epsilon(self) -> float:
        """What the batches that were asked cost together; of Gaussian noise all is debited with the first."""
        part = float(self._taken > 0) if self.delta else self._taken / (self.batches or 1)
        return (self.epsilon or 0.0) * part

    @property
    def spent(self) -> bool:
        """Whether no batch can follow."""
        return self.batches is not None and self._taken >= self.batches
