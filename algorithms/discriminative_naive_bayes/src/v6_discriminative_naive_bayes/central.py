"""What the researcher calls: `fit` and `evaluate`."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import (
    HONEST_FRACTION,
    asked_columns,
    check_bins,
    evaluate_model,
    resolve_columns,
    schema_errors,
)

from .classifier import loader
from .messages import Shape
from .settings import PERSONAL_ITERATIONS, before_fit, check_evaluation, check_settings, statement, without_effect
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
    honest_fraction: float = HONEST_FRACTION,
    clip: float = 1.0,
    tolerance: float = 1e-6,
    outside: str = "clip",
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Fit a weighted naive Bayes model; one round a step after the channel and the tables.

    Parameters
    ----------
    federation : Federation
        The job.
    label : str
        Column of the classes.
    features : list of str, optional
        Columns to learn from; every other column of the domain when left out.
    domain : dict, optional
        Public domains, ``{column: {"categories": [...]} or {"bounds": [low, high]}}``, the label's included; the nodes' schema files when left out.
    rounds : int
        Most steps of the optimiser, one round each.
    local_iterations : int
        Iterations of L-BFGS at a station in a step of ``fedavg``.
    prior : {"log", "as_published"}
        How the prior enters the score.
    tables : {"secure_sum", "local", "dp"}
        One table over all stations, one at each, or one with noise.
    optimizer : {"secure_gradient", "fedavg"}
        Loss and gradient by secure sum with L-BFGS at central, or averaged improvements of the stations.
    weights : {"value", "attribute"}
        One weight for each value and class, or for each attribute.
    regularization : float
        Strength of the pull of the weights to 1, a multiple of the mean log-loss.
    aggregation : {"mean", "by_rows"}
        How ``fedavg`` averages.
    epsilon, delta : float
        Budget of the whole fit; with ``tables="dp"``, or with ``tables="local"`` and ``fedavg``.
    personalize : bool
        Whether to report the accuracy after one more local improvement as well.
    structure : {"naive", "a1de"}
        Naive Bayes, or averaged one-dependence estimators.
    bins : int or dict
        Bins of numeric features: a number, or ``{column: number or edges}``.
    continuous : {"binned", "gaussian"}
        How numeric features enter.
    neighbors : {"add_remove", "replace_one"}
        What one neighbouring step changes.
    honest_fraction : float
        Part of the stations whose noise alone must suffice.
    clip : float
        Largest L2 norm of the contribution of a row, or of a station, with noise.
    tolerance : float
        Relative change of the objective at which the optimiser stops.
    outside : {"clip", "refuse"}
        What becomes of values outside their bounds.
    unit : {"row", "identifier"}
        Whom the promise is for: a row, or everybody who has an identifier.
    id_column : str, optional
        Column of identifiers, with ``unit="identifier"``.
    max_rows_per_identifier : int
        Most rows of one identifier that a station uses.
    organizations : list of int or str, optional
        Stations, by id or name; all when left out.

    Returns
    -------
    dict
        ``model``, ``privacy``, ``diagnostics`` (the objective reached), ``warnings`` (``MaxIterationsReached`` where the steps ran out).

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Torrijos et al. 2024, algorithm 1.
    """
    chosen = check_settings(locals())
    asked = asked_columns(label, features, domain, chosen.unit)
    parties = federation.open_channel(organizations, before_fit(chosen, asked, personalize))
    columns = resolve_columns(federation, parties.stations, label, features, domain, outside, chosen.unit)
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
    return federation.result(training.model(learned).to_dict(), statement(chosen, shape), diagnostics)


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
    unit: str = "row",
    id_column: str | None = None,
    max_rows_per_identifier: int = 1,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Return accuracy, auc, log_loss, calibration and n over all stations; with `personalize` also after local improvement.

    Where stations keep their own tables, and for the personalised scores, every station scores each fifth of its rows by
    tables and weights improved on its other rows. No noise can protect such scores, so `epsilon` is refused for them.

    Parameters
    ----------
    federation : Federation
        The job.
    model : dict
        `model` of a result of `fit`.
    label : str, optional
        Column of the true classes; the model's when left out.
    personalize : bool
        Whether to score after one more local improvement as well.
    epsilon, delta : float
        Budget of noisy scores; exact ones without epsilon. A delta above 0 gives Gaussian noise.
    neighbors : {"add_remove", "replace_one"}
        What one neighbouring step changes.
    honest_fraction : float, optional
        Part of the stations whose noise alone must suffice.
    unit : {"row", "identifier"}
        Whom the promise is for: a row, or everybody who has an identifier.
    id_column : str, optional
        Column of identifiers, with ``unit="identifier"``.
    max_rows_per_identifier : int
        Most rows of one identifier that a station uses.
    organizations : list of int or str, optional
        Stations, by id or name; all when left out.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``; ``personalized``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    check_evaluation(personalize, epsilon)
    load = loader(epsilon is not None)
    common = (label, epsilon, delta, None, neighbors, honest_fraction, organizations, "partial_evaluate")
    whom = (unit, id_column, max_rows_per_identifier)
    result = evaluate_model(federation, model, load, *common, *whom)
    if not personalize:
        return result
    again = evaluate_model(federation, {**model, "personal_iterations": PERSONAL_ITERATIONS}, load, *common, *whom)
    scores = {name: again[name] for name in ("accuracy", "auc", "log_loss", "n")}
    return {**again, **{name: result[name] for name in (*scores, "calibration")}, "personalized": scores}
