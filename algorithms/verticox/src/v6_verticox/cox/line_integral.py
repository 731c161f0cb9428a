"""The log partial likelihood gained on the way from zero to the solution, from slopes and curvatures alone.

Central never sees a likelihood. Near the end the slope along the straight line from zero is opened at a few interior points, in the same
rounds as a Newton step: two to six, as the effects need. With slope and curvature at both ends n of them integrate every polynomial slope of degree
2 n + 3 exactly.

References
----------
Davis, Rabinowitz, Methods of Numerical Integration, 1984, section 2.7 (rules with derivatives at the ends).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedbayes.typing import Floats

ROOTS = {  # of the Jacobi polynomials with weight (1 - x^2)^2, positive ones: scipy.special.roots_jacobi(n, 2, 2), which no image needs to import
    2: (0.3779644730092272,),
    3: (0.0, 0.5773502691896257),
    4: (0.25056280708573153, 0.6947465906068657),
    6: (0.18867742249078595, 0.5406046373873588, 0.8198459954634869),
}
FEW, SOME, MOST_NODES, HEAVY_NODES = 0.4, 1.0, 4, 6
"""Deviations of the predictor up to which two and three nodes give the gain to 1e-8; tests compare. With heavy tails the slope is no short polynomial."""
FURTHEST = 0.2  # of the step before: the last one is squared by Newton's method, and a change is not carried further than a fifth of where it was seen


def fractions(nodes: int) -> tuple[float, ...]:
    """Return the interior points of the rule with so many nodes, ascending in (0, 1)."""
    return tuple(sorted({(1.0 + sign * root) / 2.0 for root in ROOTS[nodes] for sign in (-1.0, 1.0)}))


def nodes_for(spread: float, heavy: bool) -> int:
    """Return how many nodes give the gain to about 1e-8 of it.

    Parameters
    ----------
    spread : float
        Standard deviation of the linear predictor at the end over the records at risk.
    heavy : bool
        Whether a feature has a heavy tail: the slope is no short polynomial then.
    """
    if heavy:
        return HEAVY_NODES
    return MOST_NODES if spread > SOME else 3 if spread > FEW else 2


@dataclass(frozen=True, slots=True)
class Ends:
    """Slopes and curvatures (second derivatives) at 0 and 1."""

    slopes: tuple[float, float]
    curvatures: tuple[float, float]


def integrate(ends: Ends, inner: Floats, skipped: int | None = None) -> float:
    """Return the integral of a slope over [0, 1].

    Parameters
    ----------
    ends : Ends
        What is known at 0 and 1.
    inner : ndarray of float, (nodes,)
        Slopes at `fractions(nodes)`.
    skipped : int, optional
        Leave out the curvature at this end: a rule of one degree less, for an estimate of the error.
    """
    known = [*ends.slopes, *inner, *(value for end, value in enumerate(ends.curvatures) if end != skipped)]
    powers = np.arange(len(known))
    places = np.array([0.0, 1.0, *fractions(len(inner))])
    slopes = places[None, :] ** powers[:, None]
    bends = [powers * (float(end) ** np.maximum(powers - 1, 0)) for end in (0, 1) if end != skipped]
    moments = np.column_stack([slopes, *bends])
    weights = np.linalg.solve(moments, 1.0 / (powers + 1.0))
    return float(weights @ np.array(known))


@dataclass(slots=True)
class Path:
    """What was evaluated, in order; `gain` integrates along it."""

    points: list[Floats] = field(default_factory=list)
    gradients: list[Floats] = field(default_factory=list)
    informations: list[Floats] = field(default_factory=list)
    straight: int = 0
    slopes: Floats = field(default_factory=lambda: np.zeros(0))
    slack: float = 0.0

    def add(self, point: Floats, gradient: Floats, information: Floats) -> None:
        """Append one evaluation."""
        self.points.append(point)
        self.gradients.append(gradient)
        self.informations.append(information)

    def go_straight(self, slopes: Floats, slack: float) -> None:
        """Note the slopes at `fractions` of the line from zero to the last point, in its direction; `slack`: their own error."""
        self.straight, self.slopes, self.slack = len(self.points) - 1, slopes, slack

    def information_after(self, move: Floats) -> Floats:
        """Return the information matrix after a last step, short beside the one before: as it changed along that one.

        Without it standard errors would be those before the last step, which heavy tails change.
        """
        if len(self.points) < 2:
            return self.informations[-1]
        before, here = self.informations[-2:]
        taken = self.points[-1] - self.points[-2]
        share = float(move @ here @ taken) / max(float(taken @ here @ taken), 1e-300)
        return np.asarray(here + min(max(share, -FURTHEST), FURTHEST) * (here - before))

    def gain(self) -> tuple[float, float]:
        """Return the log partial likelihood at the last point less that at the first, and an estimate of the error (on the large side).

        The line from zero by `integrate`, later steps (all steps, where there is no such line) by the trapezoidal rule with end
        correction: an error of the fifth order in their length.
        """
        total, error = 0.0, 0.0
        if self.straight:
            ends = self._ends(0, self.straight)
            total = integrate(ends, self.slopes)
            error = self.slack + max(abs(integrate(ends, self.slopes, skipped) - total) for skipped in (0, 1))
        for index in range(self.straight + 1, len(self.points)):
            ends = self._ends(index - 1, index)
            bend = (ends.curvatures[0] - ends.curvatures[1]) / 12.0
            total += sum(ends.slopes) / 2.0 + bend
            error += abs(bend)
        return total, error

    def _ends(self, first: int, last: int) -> Ends:
        """Return slopes and curvatures along the line between two points."""
        move = self.points[last] - self.points[first]
        slopes = [float(self.gradients[index] @ move) for index in (first, last)]
        bends = [-float(move @ self.informations[index] @ move) for index in (first, last)]
        return Ends((slopes[0], slopes[1]), (bends[0], bends[1]))
