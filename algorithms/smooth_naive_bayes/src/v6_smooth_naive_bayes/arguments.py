"""The arguments of the central functions."""

from __future__ import annotations

from typing import ClassVar

from fedbayes.dp.heavy_tails import NOISES
from fedbayes.dp.neighbors import NEIGHBORS
from fedbayes.federation.declare import TARGET, argument, unless, when
from fedbayes.federation.horizontal import Members, PlacedScores, Scoring, Target, Units
from fedbayes.federation.kinds import EPSILON, ONCE_PUBLISHED, choice, number
from fedbayes.federation.signatures import Store

from .messages import SENSITIVITIES, Settings

LARGEST_DEGREES = 1000.0  # of freedom: beyond it Student's law is normal

EVIDENCE = (
    ("statement and ledger agree, for every combination of arguments", "tests/privacy/test_statements.py"),
    (
        "lower bounds of the loss by sampling, over worst-case neighbours, with controls",
        "tests/privacy/test_sampled.py",
    ),
    ("what one unit changes in every query, for any model, bounds and values", "tests/privacy/test_sensitivity.py"),
)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Smooth naive Bayes",
    "Naive Bayes for horizontally partitioned tables from statistics that every station releases under pure differential privacy, with noise "
    "scaled to smooth sensitivity (Zafarani and Clifton 2020, corrected).",
    "horizontal",
)


class Fit(Target, Units, Members):
    """Of `fit`."""

    rounds_usually: ClassVar[int] = 2

    epsilon: float = argument(
        EPSILON,
        "Budget of every row, all queries together; at least 1e-6 a query. Above 20 no result is called private.",
        rank=TARGET,
    )
    sensitivity: str = argument(
        choice(SENSITIVITIES, ONCE_PUBLISHED),
        "Smooth; global (sums under public bounds, Laplace); or as published, for reproducing the paper: not private, and says so.",
        "smooth",
    )
    noise: str = argument(
        choice(NOISES),
        "Noise of means and variances; Student's t has lighter tails and is usually the better choice.",
        "cauchy",
        used_when=when("sensitivity", "smooth"),
    )
    degrees_of_freedom: float = argument(
        number(low=1.0, high=LARGEST_DEGREES),
        "Of Student's t.",
        3.0,
        used_when=(when("noise", "student_t"), when("sensitivity", "smooth")),
    )
    neighbors: str = argument(
        choice(NEIGHBORS),
        "The neighbouring relation: one row more or less, or the content of one row, charged as a row that leaves and one that comes.",
        "add_remove",
        used_when=unless("sensitivity", "published"),
        why="it keeps no promise for either",
    )

    @property
    def settings(self) -> Settings:
        """How the statistics are released."""
        return Settings(
            self.epsilon, self.sensitivity, self.noise, self.degrees_of_freedom, self.neighbors, self.whom.rows
        )


class Evaluate(Scoring, PlacedScores, Units):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 2
