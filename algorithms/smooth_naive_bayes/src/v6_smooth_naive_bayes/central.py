"""What the researcher calls: `fit`, one release of noisy statistics by every station, and `evaluate`."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, central
from fedbayes.federation.errors import MessageError
from fedbayes.federation.horizontal import CountNoise, asked_columns, evaluate_model, preflight, resolve_columns

from .arguments import Evaluate, Fit
from .messages import ReleaseReply, ReleaseRequest, Statistics
from .model import combine, noise_of_means
from .options import check_release
from .queries import Release
from .result import fitted


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit a naive Bayes model from statistics that every station releases under differential privacy.

    Returns
    -------
    dict
        ``model`` is a naive Bayes model that ``evaluate`` takes as it is; ``diagnostics`` tell the scale of the noise left in
        the means of each class, as a part of the features' ranges.

    References
    ----------
    Zafarani, Clifton, Differentially private naive Bayes classifier using smooth sensitivity, 2020, algorithm 1.
    """
    settings, whom = asked.settings, asked.whom
    label, features, domain = asked.label, asked.features, asked.domain
    noise_of_all = CountNoise(
        "local" if settings.noisy else "none",
        settings.epsilon,
        neighbors=settings.neighbors,
        rows=whom.rows,
        id_column=whom.id_column,
    )
    named = asked_columns(label, features, domain, whom)
    before = preflight(named, ["partial_release"], noise_of_all, settings.private, whom)
    parties = federation.open_channel(asked.organizations, before)
    columns = resolve_columns(federation, parties.stations, label, features, domain, unit=whom)
    check_release(columns, settings)
    request = ReleaseRequest(columns, settings)
    replies = federation.round("partial_release", request, parties.stations, ReleaseReply, last=True)
    told = [reply.statistics.value for reply in replies.values()]
    release = Release(columns.schema, columns.label, settings)
    return fitted(federation, _combined(release, told), release, noise_of_means(release, told), columns.unit)


def _combined(release: Release, replies: list[Statistics]) -> NaiveBayes:
    try:
        return combine(release, replies)
    except ValueError as problem:
        raise MessageError(str(problem)) from None


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Score a model on the stations' tables: accuracy, auc, log_loss, calibration, n; exact, or noisy if `epsilon` is given."""
    return evaluate_model(federation, asked, NaiveBayes.from_dict)
