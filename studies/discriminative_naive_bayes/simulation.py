"""Research simulation: the training of `fit` with all clients in one process, and plain sums in place of masked ones. It protects nothing.

What clients compute is the code of the partials, and what is done with their sums is the code of `fit`; only messages, masks and guards are
left out, so that studies with many clients, folds and seeds take minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.typing import Floats, Integers, Words
from v6_discriminative_naive_bayes import arguments as asked
from v6_discriminative_naive_bayes.learning import Fit
from v6_discriminative_naive_bayes.likelihood import Evidence
from v6_discriminative_naive_bayes.messages import Shape, StepRequest
from v6_discriminative_naive_bayes.model import Codes, count
from v6_discriminative_naive_bayes.partial import exact, move, prepare
from v6_discriminative_naive_bayes.training import Training

Rows = tuple[Codes, Integers]


class Clients:
    """Clients of one process, in place of a federation; for one fit.

    Parameters
    ----------
    shape : Shape
    rows : sequence of (codes (n, m) of int32, labels (n,) of int64)
        Of every client.

    Attributes
    ----------
    asked : list of ndarray
        Weights of every step (of its first point), in order.
    warnings : list of str
    """

    def __init__(self, shape: Shape, rows: Sequence[Rows]) -> None:
        self.layout = shape.layout
        self.rows = rows
        self.asked: list[Floats] = []
        self.warnings: list[str] = []
        self._prepared: list[Evidence] = []

    def warn(self, text: str) -> None:
        """Keep a warning."""
        self.warnings.append(text)

    def secure_sum(
        self,
        function: str,
        request: Any,
        organizations: Sequence[int],
        reply_type: Any,
        *,
        field: str,
        last: bool = False,
    ) -> Words:
        """Return the plain sum of the clients' vectors.

        Raises
        ------
        ValueError
            For noise and for evaluations, which studies do on their own.
        """
        if getattr(request, "noise", None) is None or request.noise.private:
            raise ValueError("the simulation has no noise and no evaluation")
        if isinstance(request, StepRequest):
            return self._step(request)
        counts = [count(self.layout, codes, labels) for codes, labels in self.rows]
        return np.asarray(np.sum(counts, axis=0)).astype(np.uint64)

    def evidence(self, request: StepRequest) -> list[Evidence]:
        """Return every client's rows under its tables, made once for all steps."""
        if not self._prepared:
            self._prepared = [prepare(request, codes, labels) for codes, labels in self.rows]
        return self._prepared

    def _step(self, request: StepRequest) -> Words:
        self.asked.append(np.array(request.weights[0]))
        total = np.zeros(1 + len(request.weights) * (1 + self.layout.parameters), dtype=np.int64)
        for (_, labels), evidence in zip(self.rows, self.evidence(request), strict=True):
            total += exact(request, move(request, evidence, labels), len(labels))
        return total.astype(np.uint64)


def simulated(shape: Shape, rows: Sequence[Rows], **arguments: Any) -> tuple[Clients, Fit]:
    """Return the clients and the fit of their rows, with the arguments of `fit` that say how weights are learned."""
    chosen = asked.Fit.read(
        "fit", {**arguments, "label": shape.columns.label, "prior": shape.prior, "tables": shape.tables}
    )
    clients = Clients(shape, rows)
    training = Training(clients, range(len(rows)), shape, chosen.settings)
    training.count_tables()
    return clients, training.learn()
