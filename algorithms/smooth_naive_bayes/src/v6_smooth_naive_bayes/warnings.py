"""What a result warns of: arguments that change nothing, and what drowns in noise; from arguments and released statistics alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.features import Gaussian
from fedbayes.typing import Floats

from .combination import DEVIATION_FLOOR
from .messages import Settings
from .queries import Release

DEFAULTS = Settings(1.0)
MUCH_NOISE = 0.1  # of a feature's range
SMALL_NOISE = 0.01  # of the squared range: where variances drown in more than this, not the bounds are to blame
MOST_NAMED = 5  # classes, or features, in one warning
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


def lost_in_noise(model: NaiveBayes, settings: Settings, noise: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a warning of the features whose means drown in noise, one of the classes whose rows do, and one of the features whose spread does.

    Parameters
    ----------
    model : NaiveBayes
        What was fitted.
    settings : Settings
        How it was released.
    noise : dict
        Feature -> {class: noise in its mean as a part of the feature's range}, of `model.noise_of_means`.
    """
    if not settings.noisy:
        return []
    drowned = {
        name: loud for name, parts in noise.items() if (loud := {k: v for k, v in parts.items() if v > MUCH_NOISE})
    }
    texts = [_means(drowned, noise)] if drowned else []
    least_rows = RARE * max(model.class_noise, 0.5)
    rare = [name for name, count in zip(model.classes, model.class_counts, strict=True) if count <= least_rows]
    if rare:
        texts.append(
            f"the rows of {_classes(rare)} do not stand out of the noise, or there are none; "
            "raise epsilon, include more stations, or correct the label's categories"
        )
    return texts + _spreads(model, settings, noise, drowned)


def _means(drowned: Mapping[str, Mapping[str, float]], noise: Mapping[str, Mapping[str, float]]) -> str:
    sizes = [part for parts in drowned.values() for part in parts.values()]
    shares = dict.fromkeys(f"{part:.0%}" for part in (min(sizes), max(sizes)))
    classes = dict.fromkeys(name for parts in drowned.values() for name in parts)
    alike = all(len(parts) == len(classes) for parts in drowned.values())
    where = f"of {_classes(classes)}" if alike else "of some classes (diagnostics.noise_of_means has all)"
    whose = "features" if len(drowned) == len(noise) else listed(drowned)
    return (
        f"the noise in the means of {whose} {where} is about {' to '.join(shares)} of a feature's range: too few rows with a value "
        "for this epsilon; raise it, use fewer features, or take dp_naive_bayes"
    )


def _spreads(
    model: NaiveBayes,
    settings: Settings,
    noise: Mapping[str, Mapping[str, float]],
    drowned: Mapping[str, Mapping[str, float]],
) -> list[str]:
    """Return a warning if noise dominates the features whose means do not drown already, else one of those without a spread."""
    lost = 0.75 if settings.sensitivity == "global" else 1.5  # global sums tell a variance half as noisily as a mean
    scales = {name: np.array([*parts.values()]) for name, parts in noise.items()}
    heavy, others = settings.sensitivity == "smooth", [name for name in noise if name not in drowned]
    loud = [name for name in others if _is_loud(model, name, scales[name], lost, heavy)]
    if loud and len(loud) >= MOST * len(others):
        return [_dominated(loud, len(noise), settings)]
    judged = [name for name in noise if len(drowned.get(name, ())) < len(model.classes)]
    flat = [name for name in judged if _is_flat(model, name, lost * np.minimum(scales[name], SMALL_NOISE))]
    if not flat:
        return []
    return [
        f"the spread of {listed(flat)} does not stand out of the noise in any class; "
        "narrow the bounds, or leave such features out"
    ]


def _dominated(loud: list[str], numeric: int, settings: Settings) -> str:
    helps = [
        f"narrower bounds of {listed(loud)}",
        f"a larger epsilon (now {settings.epsilon:g})",
        "fewer features",
        *(["sensitivity='global'"] if settings.sensitivity == "smooth" else []),
    ]
    return (
        f"the noise dominates: the spread of {len(loud)} of {numeric} numeric features in a class is no larger than it, "
        f"so these features say little; what would help: {', '.join(helps)}, or more rows"
    )


def _classes(names: Collection[str]) -> str:
    """Return classes by name, as `listed` does."""
    return f"class{'es' if len(names) > 1 else ''} {listed(names)}"


def listed(names: Collection[str]) -> str:
    """Return the first names, and how many more there are: one line, whatever their number."""
    first = ", ".join(repr(str(name)) for name in [*names][:MOST_NAMED])
    return f"{first} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else first


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


def _is_flat(model: NaiveBayes, name: str, noise: Floats) -> bool:
    """Return whether no class's variance, in units of the squared range, exceeds this noise or the least that is believed."""
    feature = model.features[name]
    if not isinstance(feature, Gaussian):
        return False
    low, high = feature.bounds
    variances = feature.moments()[1] / (high - low) ** 2
    floor = 1.2 * DEVIATION_FLOOR**2  # deviations within a tenth of the least that is believed
    return all(variance <= max(floor, part) for variance, part in zip(variances, noise, strict=True))
