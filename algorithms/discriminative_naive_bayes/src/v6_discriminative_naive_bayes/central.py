"""What the researcher calls: `fit` and `evaluate`."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ArgumentError, schema_errors
from fedbayes.federation.horizontal import asked_columns, evaluate_model, evaluate_variants, resolve_columns

from .arguments import Evaluate, Fit, without_effect
from .classifier import loader
from .messages import PERSONAL_ITERATIONS, Shape
from .result import fitted
from .settings import before_fit
from .training import Training


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit a weighted naive Bayes model; one round a step after the channel and the tables.

    Returns
    -------
    dict
        ``model``, ``privacy``, ``diagnostics`` (the objective reached), ``warnings`` (also where the steps ran out).

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.

    References
    ----------
    Torrijos et al. 2024, algorithm 1.
    """
    chosen = asked.settings
    named = asked_columns(asked.label, asked.features, asked.domain, asked.whom)
    parties = federation.open_channel(asked.organizations, before_fit(chosen, named, asked.personalize))
    columns = resolve_columns(
        federation, parties.stations, asked.label, asked.features, asked.domain, asked.outside, asked.whom
    )
    bins = asked.cut(columns)
    with schema_errors(ArgumentError):
        shape = Shape(
            columns, bins, asked.structure, asked.weights, asked.prior, asked.kind_of_tables, asked.continuous
        )
    for warning in without_effect(asked, shape):
        federation.warn(warning)
    training = Training(federation, parties.stations, shape, chosen)
    training.count_tables()
    learned = training.learn()
    personalized = training.personalized(learned) if asked.personalize else None
    left = asked.left_to_the_plan(bins, training.settings.cut)
    return fitted(federation, training, learned, left, personalized)


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Return accuracy, auc, log_loss, calibration and n over all stations; with `personalize` also after local improvement.

    Where stations keep their own tables, and for the personalised scores, every station scores each fifth of its rows by
    tables and weights improved on its other rows. No noise can protect such scores, so `epsilon` is refused for them.

    Returns
    -------
    dict
        ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``; ``personalized`` has those after improvement, without ``calibration``.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    load = loader(asked.epsilon is not None)
    if not asked.personalize:
        return evaluate_model(federation, asked, load)
    further = {**asked.model, "personal_iterations": PERSONAL_ITERATIONS}
    result, again = evaluate_variants(federation, asked, load, [asked.model, further])
    errors = {"log_loss_error", "auc_error"} & set(again["diagnostics"])
    personalized = {name: again[name] for name in ("accuracy", "auc", "log_loss", "n")}
    personalized |= {name: again["diagnostics"][name] for name in sorted(errors)}
    own = {name: result[name] for name in ("accuracy", "auc", "log_loss", "calibration", "roc", "n", "diagnostics")}
    return {**again, **own, "personalized": personalized}
