"""The privacy statement of a result."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import results
from fedbayes.federation.horizontal import Columns

from .messages import Settings
from .queries import MISSING_QUERIES, asks_class_counts, missing_names, numeric_names, query_epsilon, table_names

NOT_PRIVATE = (
    'sensitivity="published" reproduces the paper: its bounds are not smooth upper bounds of the local sensitivity, '
    'and its noise is too small for its epsilon; use "smooth" or "global" for a promise'
)


def privacy_statement(columns: Columns, settings: Settings) -> dict[str, Any]:
    """Return who learns what, and the promise in its parts."""
    reveals = {
        "researcher": "the model: noisy tables and moments over all stations",
        "central": "every station's noisy statistics, each under the stated epsilon; not the scales of their noise",
        "stations": "nothing of one another",
    }
    if not settings.noisy:
        return results.not_private(NOT_PRIVATE, reveals)
    return results.privacy(
        True,
        unit=columns.unit.name,
        neighbors=settings.neighbors,
        epsilon=settings.epsilon,
        delta=0.0,
        mechanism=_mechanism(settings),
        composition=_composition(columns, settings),
        sensitivity=_sensitivity(settings) + columns.unit.statement,
        reveals=reveals,
    )


def _mechanism(settings: Settings) -> str:
    if settings.sensitivity == "global":
        return "discrete Laplace on counts, Laplace on sums, at each station"
    tails = "Cauchy" if settings.noise == "cauchy" else f"Student-t with {settings.degrees_of_freedom:g} degrees"
    return f"discrete Laplace on counts, {tails} noise scaled to smooth sensitivity on means and variances, at each station"


def _composition(columns: Columns, settings: Settings) -> str:
    schema, label = columns.schema, columns.label
    tables, numeric = len(table_names(schema, label, settings)), len(numeric_names(schema, label))
    own = ", the class counts" if asks_class_counts(schema, label, settings) else ""
    share = query_epsilon(schema, label, settings)
    lacking = ""
    if missing_names(schema, label, settings):
        lacking = f", and over rows with a value, whose moments cost {MISSING_QUERIES:g} queries, and those without, whose count costs as much"
    twice = "; a replaced row is one that leaves and one that comes" if settings.neighbors == "replace_one" else ""
    if settings.rows > 1:
        twice += f"; {settings.rows} rows of an identifier are as many steps"
    return (
        f"sequential over {tables} tables{own} and {numeric} x 2 moments, epsilon {share:.6g} each under add_remove; "
        f"parallel over classes and stations (disjoint rows){lacking}{twice}"
    )


def _sensitivity(settings: Settings) -> str:
    if settings.sensitivity == "global":
        return "global, under public bounds: counts 1, sums of u in [-1, 1] 1, sums of u^2 - 1/2 1/2"
    return "counts 1; means and variances: smooth sensitivity under add_remove, beta a function of epsilon alone"
