"""What the researcher calls: `fit` and `evaluate`."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import check_bins, evaluate_model, resolve_columns, schema_errors

from .classifier import loader
from .messages import Shape
from .settings import PERSONAL_ITERATIONS, check_evaluation, check_settings, statement, without_effect
from .training import Training


@central
def fit(
    federation: Federation,
    label: str,
    features: list[str] | None = None,
    domain: dict[str, Any] | None = None,
    rounds: int = 17,
    local_iterations: int = 5,
    prior: str = "log",
    tables: str = "secure_sum",
    optimizer: str = "secure_gradient",
    weights: str = "value",
    regularization: float = 0.0,
    aggregation: str = "mean",
    epsilon: float | None = None,
    personalize: bool = False,
    structure: str = "naive",
    bins: int | dict[str, Any] = 10,
    continuous: str = "binned",
    delta: float = 1e-6,
    neighbors: str = "add_remove",
    honest_fraction: float = 0.8,
    clip: float = 1.0,
    tolerance: float = 1e-6,
    outside: str = "clip",
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Fit a weighted naive Bayes model; one round a step after the channel and the tables.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Torrijos et al. 2024, algorithm 1.
    """
    chosen = check_settings(locals())
    parties = federation.open_channel(organizations)
    columns = resolve_columns(federation, parties.stations, label, features, domain, outside)
    with schema_errors(ArgumentError):
        shape = Shape(columns, check_bins(columns, bins), structure, weights, prior, tables, continuous)
    for warning in without_effect(chosen, shape, bins, delta):
        federation.warn(warning)
    training = Training(federation, parties.stations, shape, chosen)
    training.count_tables()
    learned = training.learn()
    diagnostics = training.diagnostics(learned)
    if personalize:
        diagnostics["personalized"] = training.personalized(learned)
    return federation.result(
        model=training.model(learned).to_dict(),
        privacy=statement(chosen, shape),
        diagnostics=diagnostics,
    )


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    label: str | None = None,
    personalize: bool = False,
    epsilon: float | None = None,
    delta: float = 0.0,
    neighbors: str = "add_remove",
    honest_fraction: float | None = None,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Return accuracy, auc, log_loss, calibration and n over all stations; with `personalize` also after local improvement.

    Where stations keep their own tables, and for the personalised scores, every station scores each fifth of its rows by
    tables and weights improved on its other rows. No noise can protect such scores, so `epsilon` is refused for them.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    for warning in check_evaluation(personalize, epsilon, delta, neighbors, honest_fraction):
        federation.warn(warning)
    load = loader(epsilon is not None)
    common = (label, epsilon, delta, None, neighbors, honest_fraction, organizations)
    result = evaluate_model(federation, model, load, *common)
    if not personalize:
        return result
    again = evaluate_model(federation, {**model, "personal_iterations": PERSONAL_ITERATIONS}, load, *common)
    scores = {name: again[name] for name in ("accuracy", "auc", "log_loss", "n")}
    return {**again, **{name: result[name] for name in (*scores, "calibration")}, "personalized": scores}
