"""The arguments of a fit, checked."""

from __future__ import annotations

from typing import Any

from fedbayes.dp.heavy_tails import NOISES
from fedbayes.dp.sensitivity import NEIGHBORS
from fedbayes.federation import arguments

from .messages import SENSITIVITIES, Settings

SMALLEST_EPSILON = 1e-6
LARGEST_DEGREES = 1e6


def check_settings(epsilon: Any, sensitivity: Any, noise: Any, degrees_of_freedom: Any, neighbors: Any) -> Settings:
    """Return the settings of a release.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    return Settings(
        epsilon=arguments.check_number("epsilon", epsilon, low=SMALLEST_EPSILON),
        sensitivity=arguments.check_choice("sensitivity", sensitivity, SENSITIVITIES),
        noise=arguments.check_choice("noise", noise, NOISES),
        degrees_of_freedom=arguments.check_number(
            "degrees_of_freedom", degrees_of_freedom, low=1.0, high=LARGEST_DEGREES
        ),
        neighbors=arguments.check_choice("neighbors", neighbors, NEIGHBORS),
    )
