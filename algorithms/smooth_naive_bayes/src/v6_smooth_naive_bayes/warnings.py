"""What a result warns of: arguments that change nothing, and what drowns in noise; from arguments and released statistics alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.features import Gaussian
from fedbayes.bayes.naive_bayes import NaiveBayes

from .combination import DEVIATION_FLOOR
from .messages import Settings
from .queries import Release

Floats = NDArray[np.float64]
DEFAULTS = Settings(1.0)
MUCH_NOISE = 0.1  # of a feature's range
SMALL_NOISE = 0.01  # of the squared range: where variances drown in more than this, not the bounds are to blame
MOST_NAMED = 5  # classes in one warning
RARE = 2.0  # deviations of the noise in a class count
LOUD = 3.0  # times its noise: a smaller variance may be noise alone; one draw of Student's t in ten is larger, of Cauchy's law one in five
LOUD_LAPLACE = 2.0  # the same of sums under global sensitivity, one draw in seven
LITTLE = 0.5  # standard deviations between the outermost means: two such classes are told apart in six of ten records
MOST = 0.5  # of the numeric features, and of a feature's classes


def without_effect(release: Release) -> list[str]:
    """Return a warning for every argument of numeric features that was given though there is none."""
    settings = release.settings
    if release.numeric or settings.sensitivity == "published":
        return []
    names = ["sensitivity"] + ["noise", "degrees_of_freedom"] * (settings.sensitivity == "smooth")
    given = [name for name in names if getattr(settings, name) != getattr(DEFAULTS, name)]
    return [f"{name} has no effect without a numeric feature" for name in given]


def lost_in_noise(model: NaiveBayes, settings: Settings, noise: dict[str, float]) -> list[str]:
    """Return a warning of the classes whose means drown in noise, one of those whose rows do, and one of the features that do.

    Parameters
    ----------
    model : NaiveBayes
        What was fitted.
    settings : Settings
        How it was released.
    noise : dict
        Class -> noise in its means as a part of a feature's range, of `model.noise_of_means`.
    """
    if not settings.noisy:
        return []
    texts = []
    drowned = {name: part for name, part in noise.items() if part > MUCH_NOISE}
    if drowned:
        parts = dict.fromkeys(f"{part:.0%}" for part in (min(drowned.values()), max(drowned.values())))
        texts.append(
            f"the noise in the means of {_classes(drowned)} is about {' to '.join(parts)} of a feature's range: too few rows "
            "for this epsilon; raise it, use fewer features, or take dp_naive_bayes"
        )
    least_rows = RARE * max(model.class_noise, 0.5)
    rare = [name for name, count in zip(model.classes, model.class_counts, strict=True) if count <= least_rows]
    if rare:
        texts.append(
            f"the rows of {_classes(rare)} do not stand out of the noise, or there are none; "
            "raise epsilon, include more stations, or correct the label's categories"
        )
    lost = 0.75 if settings.sensitivity == "global" else 1.5  # global sums tell a variance half as noisily as a mean
    least = [lost * min(part, SMALL_NOISE) for part in noise.values()]
    flat = [name for name in model.features if noise and _is_flat(model, name, least)]
    scales, heavy = np.array([*noise.values()]), settings.sensitivity == "smooth"
    loud = [name for name in model.features if noise and _is_loud(model, name, scales, lost, heavy)]
    numeric = sum(isinstance(feature, Gaussian) for feature in model.features.values())
    if loud and not drowned and len(loud) >= MOST * numeric:
        texts.append(_dominated(loud, numeric, settings))
    elif flat:
        texts.append(
            f"the spread of {', '.join(map(repr, flat))} does not stand out of the noise in any class; "
            "narrow the bounds, or leave such features out"
        )
    return texts


def _dominated(loud: list[str], numeric: int, settings: Settings) -> str:
    helps = [
        f"narrower bounds of {', '.join(map(repr, loud[:MOST_NAMED]))}",
        f"a larger epsilon (now {settings.epsilon:g})",
        "fewer features",
        *(["sensitivity='global'"] if settings.sensitivity == "smooth" else []),
    ]
    return (
        f"the noise dominates: the spread of {len(loud)} of {numeric} numeric features in a class is no larger than it, "
        f"so these features say little; what would help: {', '.join(helps)}, or more rows"
    )


def _classes(names: Iterable[str]) -> str:
    """Return the first classes by name, and how many more there are: one line, whatever their number."""
    told = [repr(str(name)) for name in names]
    more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    return f"class{'es' if len(told) > 1 else ''} {', '.join(told[:MOST_NAMED])}{more}"


def _is_loud(model: NaiveBayes, name: str, noise: Floats, lost: float, heavy: bool) -> bool:
    """Return whether a feature tells classes hardly apart, and in most of them its variance, in units of the squared range, may be noise alone.

    Where tails are heavy, means that differ by what noise makes of equal ones tell no classes apart: else the heaviest draws, which spoil a model most,
    would pass for a feature that separates them.

    Parameters
    ----------
    model : NaiveBayes
        What was fitted.
    name : str
        The feature.
    noise : ndarray, float64, shape (classes,)
        Scale of the noise in its means, in units of the range.
    lost : float
        That of its variances, as a multiple of it.
    heavy : bool
        Whether its tails are heavy.
    """
    feature = model.features[name]
    if not isinstance(feature, Gaussian):
        return False
    low, high = feature.bounds
    means, variances = feature.moments()[0] / (high - low), feature.moments()[1] / (high - low) ** 2
    drowned = variances <= (LOUD if heavy else LOUD_LAPLACE) * lost * noise
    by_noise = LOUD * float(np.linalg.norm(np.sort(noise)[-2:])) if heavy else 0.0
    apart = LITTLE * np.sqrt(variances.mean()) + by_noise
    return bool(drowned.mean() >= MOST and np.ptp(means) < apart)


def _is_flat(model: NaiveBayes, name: str, noise: list[float]) -> bool:
    """Return whether no class's variance, in units of the squared range, exceeds this noise or the least that is believed."""
    feature = model.features[name]
    if not isinstance(feature, Gaussian):
        return False
    low, high = feature.bounds
    variances = feature.moments()[1] / (high - low) ** 2
    floor = 1.2 * DEVIATION_FLOOR**2
    return all(variance <= max(floor, part) for variance, part in zip(variances, noise, strict=True))
