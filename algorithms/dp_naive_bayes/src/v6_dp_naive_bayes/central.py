"""What the researcher calls: fit (Algorithms 1 and 2), update (Algorithm 3), evaluate."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, central
from fedbayes.federation.horizontal import (
    HONEST_FRACTION,
    asked_columns,
    check_bins,
    check_noise,
    check_unit,
    evaluate_model,
    load_model,
    noise_without_effect,
    resolve_columns,
)

from .aggregate import AGGREGATIONS, collect_sum
from .arguments import (
    before_fit,
    check_combination,
    check_pseudocount,
    outside_promise,
    unused_arguments,
    updating_plan,
)
from .model import Plan, add
from .reporting import fit_result, update_result


@central
def fit(
    federation: Federation,
    label: str,
    epsilon: float | None = None,
    features: list[str] | None = None,
    domain: dict[str, Any] | None = None,
    delta: float = 0.0,
    statistics: str = "histogram",
    noise: str = "distributed",
    sensitivity: str = "bounds",
    neighbors: str = "add_remove",
    bins: int | dict[str, Any] = 20,
    honest_fraction: float = HONEST_FRACTION,
    aggregation: str = "sum",
    pseudocount: float = 1.0,
    outside: str = "clip",
    organizations: list[int | str] | None = None,
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
) -> dict[str, Any]:
    """Fit a naive Bayes classifier over all stations' rows under one privacy budget.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    label : str
        Categorical column to predict.
    epsilon, delta : float
        Privacy budget of the whole fit, for every row.
    features : list of str, optional
        Every other column of the domain by default.
    domain : dict, optional
        ``{column: {"categories": [...]} | {"bounds": [low, high]}}``, public; by default the stations' own schema.
    statistics : {"histogram", "gaussian"}
        Tables for every feature, or sums and sums of squares for the numeric ones (the paper's).
    noise : {"distributed", "local", "none"}
        One noise term inside the secure sum, a whole one at each station, or none (not private).
    sensitivity : {"bounds", "local_as_published"}
        Public bounds, or the paper's data-dependent scale (not private; for reproduction).
    neighbors : {"add_remove", "replace_one"}
        The neighbouring relation.
    bins : int or dict
        Bins of numeric features, or ``{feature: number or edges}``.
    honest_fraction : float
        Part of the stations whose shares of distributed noise must suffice.
    aggregation : {"sum", "median", "trimmed_mean", "krum", "bulyan", "gossip"}
        How stations' answers become one model; all but ``sum`` demand local noise.
    pseudocount : float
        Smoothing of tables, beside what the noise asks for.
    outside : {"clip", "refuse"}
        What to do with values outside the domain.
    organizations : list, optional
        Stations and helpers by id or name; the whole collaboration by default.
    unit, id_column, max_rows_per_identifier
        {"row", "identifier"}: whom the promise is for; with identifiers their column, and how many rows of each a station uses at most.

    Returns
    -------
    dict
        ``model``, ``privacy``, ``federation``, ``diagnostics``, ``warnings``, ``versions``.
    """
    whom = check_unit(unit, id_column, max_rows_per_identifier)
    added = check_noise(noise, epsilon, delta, neighbors, honest_fraction, whom)
    check_combination(added, statistics, sensitivity, aggregation)
    smoothing = check_pseudocount(pseudocount)
    asked = asked_columns(label, features, domain, whom)
    parties = federation.open_channel(organizations, before_fit(asked, added, whom, sensitivity, outside, aggregation))
    columns = resolve_columns(federation, parties.stations, label, features, domain, outside, whom)
    plan = Plan(columns, check_bins(columns, bins), statistics, sensitivity, added, smoothing)
    for text in (
        *noise_without_effect(added, epsilon, delta, neighbors, honest_fraction),
        *unused_arguments(plan, bins),
        *outside_promise(plan),
    ):
        federation.warn(text)
    model = AGGREGATIONS[aggregation](federation, parties.stations, plan, aggregation)
    return fit_result(federation, model, plan, parties.stations, aggregation)


@central
def update(
    federation: Federation,
    model: dict[str, Any],
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: str = "distributed",
    neighbors: str = "add_remove",
    honest_fraction: float = HONEST_FRACTION,
    outside: str = "clip",
    organizations: list[int | str] | None = None,
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
) -> dict[str, Any]:
    """Add further stations' rows to a model (Algorithm 3); the order of updates does not matter.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        A result's ``model``, made by ``aggregation="sum"`` or ``"gossip"``.
    epsilon, delta, noise, neighbors, honest_fraction, outside
        As in :func:`fit`, for the rows that are added now.
    organizations : list, optional
        The stations that join. One station alone can join under local noise.
    unit, id_column, max_rows_per_identifier
        As in :func:`fit`.

    Returns
    -------
    dict
        As :func:`fit`.
    """
    whom = check_unit(unit, id_column, max_rows_per_identifier)
    added = check_noise(noise, epsilon, delta, neighbors, honest_fraction, whom)
    before = load_model(NaiveBayes.from_dict, model)
    plan = updating_plan(before, added, outside, whom)
    for text in (
        *noise_without_effect(added, epsilon, delta, neighbors, honest_fraction),
        *outside_promise(plan),
    ):
        federation.warn(text)
    joining = set(federation.resolve(organizations))
    channel = None if noise == "local" else organizations
    asked = [*plan.columns.features, plan.columns.label]
    first = before_fit(asked, added, whom, "bounds", outside, "sum")
    parties = federation.open_channel(channel, None if noise == "local" else first)
    stations = tuple(member for member in parties.stations if member in joining)
    joined = collect_sum(federation, stations, plan, "sum")
    return update_result(federation, before, add(before, joined), plan, stations)


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    label: str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: str | None = None,
    neighbors: str = "add_remove",
    honest_fraction: float = HONEST_FRACTION,
    organizations: list[int | str] | None = None,
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
) -> dict[str, Any]:
    """Score a model on the stations' tables: ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        A result's ``model``.
    label : str, optional
        Column of the true classes; the model's by default.
    epsilon, delta, noise, neighbors, honest_fraction
        As in :func:`fit`; without ``epsilon`` the scores are exact and not private.
    organizations : list, optional
        Whose tables; the whole collaboration by default.
    unit, id_column, max_rows_per_identifier
        As in :func:`fit`.
    """
    return evaluate_model(
        federation,
        model,
        NaiveBayes.from_dict,
        label,
        epsilon,
        delta,
        noise,
        neighbors,
        honest_fraction,
        organizations,
        unit=unit,
        id_column=id_column,
        max_rows_per_identifier=max_rows_per_identifier,
    )
