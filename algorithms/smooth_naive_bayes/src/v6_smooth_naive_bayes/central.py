"""What the researcher calls."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.unknown import loud_warnings, missing_shares
from fedbayes.federation import Federation, central
from fedbayes.federation.errors import MessageError
from fedbayes.federation.horizontal import (
    CountNoise,
    asked_columns,
    check_unit,
    evaluate_model,
    preflight,
    resolve_columns,
)

from .messages import ReleaseReply, ReleaseRequest, Statistics
from .model import combine, noise_of_means
from .options import check_release, check_settings
from .queries import missing_names, query_epsilon, table_names
from .statement import privacy_statement
from .warnings import lost_in_noise, without_effect


@central
def fit(
    federation: Federation,
    label: str,
    epsilon: float,
    features: list[str] | None = None,
    domain: dict[str, Any] | None = None,
    sensitivity: str = "smooth",
    noise: str = "cauchy",
    degrees_of_freedom: float = 3.0,
    neighbors: str = "add_remove",
    organizations: list[int | str] | None = None,
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
) -> dict[str, Any]:
    """Fit a naive Bayes model from statistics that every station releases under differential privacy.

    Parameters
    ----------
    federation : Federation
        The federation.
    label : str
        The class column.
    epsilon : float
        Budget of every row.
    features : list of str, optional
        Columns to use; all of the domain but the label by default.
    domain : dict, optional
        Public domains of label and features; the stations' schema files by default.
    sensitivity : str
        ``smooth``; ``global`` (sums under public bounds); ``as_published`` (for reproducing the paper; not private).
    noise : str
        ``cauchy`` or ``student_t``; for ``smooth``.
    degrees_of_freedom : float
        Of Student's t, at least 1.
    neighbors : str
        ``add_remove`` or ``replace_one``.
    organizations : list, optional
        Whose tables; all of the collaboration by default.
    unit, id_column, max_rows_per_identifier
        {"row", "identifier"}: whom the promise is for; with identifiers their column, and how many rows of each a station uses at most.

    Returns
    -------
    dict
        ``model`` is a naive Bayes model that ``evaluate`` takes as it is; ``diagnostics`` tell the scale of the noise left in
        the means of each class, as a part of the features' ranges.

    References
    ----------
    Zafarani, Clifton, Differentially private naive Bayes classifier using smooth sensitivity, 2020, algorithm 1.
    """
    whom = check_unit(unit, id_column, max_rows_per_identifier)
    settings = check_settings(epsilon, sensitivity, noise, degrees_of_freedom, neighbors, whom.rows)
    noise_of_all = CountNoise("local" if settings.noisy else "none", settings.epsilon, rows=whom.rows)
    asked = asked_columns(label, features, domain, whom)
    before = preflight(asked, ["partial_release"], noise_of_all, settings.private, whom)
    parties = federation.open_channel(organizations, before)
    columns = resolve_columns(federation, parties.stations, label, features, domain, unit=whom)
    check_release(columns, settings)
    request = ReleaseRequest(columns, settings)
    replies = federation.round("partial_release", request, parties.stations, ReleaseReply, last=True)
    told = [reply.statistics.value for reply in replies.values()]
    model = _combined(request, told)
    noise_left = noise_of_means(columns.schema, columns.label, settings, told)
    for text in (*without_effect(columns, settings), *lost_in_noise(model, settings, noise_left)):
        federation.warn(text)
    share = query_epsilon(columns.schema, columns.label, settings)
    told_of = {
        name for names in (table_names, missing_names) for name in names(columns.schema, columns.label, settings)
    }
    shares = {name: part for name, part in missing_shares(model).items() if name in told_of}
    diagnostics = {"epsilon_of_one_query": share, "noise_of_means": noise_left, "missing_share": shares}
    result = federation.result(
        model=model.to_dict(), privacy=privacy_statement(columns, settings), diagnostics=diagnostics
    )
    result["warnings"] = [*loud_warnings(model), *result["warnings"]]
    return result


def _combined(request: ReleaseRequest, replies: list[Statistics]) -> NaiveBayes:
    columns = request.columns
    try:
        return combine(columns.schema, columns.label, request.settings, replies)
    except ValueError as problem:
        raise MessageError(str(problem)) from None


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    label: str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: str | None = None,
    neighbors: str = "add_remove",
    honest_fraction: float | None = None,
    organizations: list[int | str] | None = None,
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
) -> dict[str, Any]:
    """Score a model on the stations' tables: accuracy, auc, log_loss, calibration, n; exact, or noisy if `epsilon` is given.

    Parameters
    ----------
    federation : Federation
        The federation.
    model : dict
        The ``model`` of a result of ``fit``.
    label : str, optional
        Column of the true classes; the model's by default.
    epsilon, delta, noise, neighbors, honest_fraction
        Budget and placement of the noise in the scores (``distributed``, ``local`` or ``none``).
    organizations : list, optional
        Whose tables; all of the collaboration by default.
    unit, id_column, max_rows_per_identifier
        As in `fit`.
    """
    load = NaiveBayes.from_dict
    return evaluate_model(
        federation,
        model,
        load,
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
