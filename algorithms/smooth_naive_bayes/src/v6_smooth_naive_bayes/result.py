"""What the researcher gets: the model, how much noise is in it, and what is promised to whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.unknown import loud_warnings, missing_shares
from fedbayes.federation import Federation, results
from fedbayes.federation.horizontal import Unit

from .messages import Settings
from .queries import MISSING_QUERIES, Release
from .warnings import lost_in_noise, without_effect

NOT_PRIVATE = (
    'sensitivity="published" reproduces the paper: its bounds are not smooth upper bounds of the local sensitivity, '
    'and its noise is too small for its epsilon; use "smooth" or "global" for a promise'
)

NO_GUARANTEE = "with noise that is no guarantee"


def fitted(
    federation: Federation,
    model: NaiveBayes,
    release: Release,
    noise_left: Mapping[str, Mapping[str, float]],
    unit: Unit,
) -> dict[str, Any]:
    """Return the result of `fit`; `noise_left` is that of `model.noise_of_means`."""
    settings = release.settings
    for text in (*without_effect(release), *lost_in_noise(model, settings, noise_left)):
        federation.warn(text)
    counted = {*release.tables, *release.missing}
    result = federation.result(
        model=model.to_dict(),
        privacy=privacy(release, unit),
        diagnostics={
            "epsilon_of_one_query": release.query_epsilon if settings.noisy else None,
            "noise_of_means": noise_left,
            "missing_share": {name: share for name, share in missing_shares(model).items() if name in counted},
        },
    )
    return {**result, "warnings": [*loud_warnings(model), *result["warnings"]]}


def privacy(release: Release, unit: Unit) -> dict[str, Any]:
    """Return who learns what, and the promise in its parts."""
    settings = release.settings
    promised = "noisy, each under the stated epsilon" if settings.noisy else NO_GUARANTEE
    reveals = {
        "researcher": f"the model: tables and moments over all stations, {promised}",
        "central": f"every station's statistics, {promised}; not its scales, which depend on the data",
        "stations": "nothing of one another",
    }
    if not settings.noisy:
        return results.not_private(NOT_PRIVATE, reveals)
    return results.privacy(
        True,
        unit=unit.name,
        neighbors=settings.neighbors,
        epsilon=settings.epsilon,
        delta=0.0,
        mechanism=_mechanism(settings),
        composition=_composition(release),
        sensitivity=_sensitivity(settings) + unit.statement,
        reveals=reveals,
    )


def _mechanism(settings: Settings) -> str:
    if settings.sensitivity == "global":
        return "discrete Laplace on counts, Laplace on sums, at each station"
    tails = "Cauchy" if settings.noise == "cauchy" else f"Student-t with {settings.degrees_of_freedom:g} degrees"
    return f"discrete Laplace on counts, {tails} noise scaled to smooth sensitivity on means and variances, at each station"


def _composition(release: Release) -> str:
    settings = release.settings
    own = ", the class counts" if release.asks_class_counts else ""
    lacking = ""
    if release.missing:
        lacking = f", and over rows with a value, whose moments cost {MISSING_QUERIES:g} queries, and those without, whose count costs as much"
    twice = "; a replaced row is one that leaves and one that comes" if settings.neighbors == "replace_one" else ""
    if settings.rows > 1:
        twice += f"; {settings.rows} rows of an identifier are as many steps"
    return (
        f"sequential over {len(release.tables)} tables{own} and {len(release.numeric)} x 2 moments, epsilon {release.query_epsilon:.6g} each under add_remove; "
        f"parallel over classes and stations (disjoint rows){lacking}{twice}"
    )


def _sensitivity(settings: Settings) -> str:
    if settings.sensitivity == "global":
        return "global, under public bounds: counts 1, sums of u in [-1, 1] 1, sums of u^2 - 1/2 1/2"
    return "counts 1; means and variances: smooth sensitivity under add_remove, beta a function of epsilon alone"
