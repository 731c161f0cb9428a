"""The arguments of a fit, checked."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.schema import Schema
from fedbayes.dp.heavy_tails import NOISES
from fedbayes.dp.sensitivity import NEIGHBORS
from fedbayes.federation import arguments
from fedbayes.federation.errors import ArgumentError

from .messages import SENSITIVITIES, Settings

SMALLEST_EPSILON = 1e-6
LARGEST_DEGREES = 1e6
SMALLEST_RANGE, LARGEST_RANGE = 1e-60, 1e60  # squares and their noise must be floats too
DEFAULTS = Settings(1.0)


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


def check_ranges(schema: Schema) -> None:
    """Check that the variance of every numeric column and its noise can be computed.

    Raises
    ------
    ArgumentError
        Naming the column and the remedy.
    """
    for name in schema.names:
        low, high = schema[name].bounds or (0.0, 1.0)
        if not SMALLEST_RANGE <= high - low <= LARGEST_RANGE:
            raise ArgumentError(
                f"domain: column {name!r}: bounds must be between {SMALLEST_RANGE:g} and {LARGEST_RANGE:g} apart; "
                "change its unit"
            )


def without_effect(settings: Settings) -> list[str]:
    """Return a warning for every argument that was given but is not used."""
    found = []
    smooth = settings.sensitivity == "smooth"
    if settings.noise != DEFAULTS.noise and not smooth:
        found.append(f"noise has no effect with sensitivity={settings.sensitivity!r}; only 'smooth' uses it")
    if settings.degrees_of_freedom != DEFAULTS.degrees_of_freedom and not (smooth and settings.noise == "student_t"):
        found.append("degrees_of_freedom has no effect without sensitivity='smooth' and noise='student_t'")
    return found
