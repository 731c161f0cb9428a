"""What the researcher calls: `fit` an ensemble of networks, `evaluate` it and `classify` with it."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical import check_alignment
from fedbayes.federation.vertical.roles import check_helper_name, identifying

from . import result
from . import scoring as elections
from .arguments import Classify, Evaluate, Fit
from .ensemble import Ensemble
from .training import train


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Learn one Bayesian network a party, or a group of parties, that vote on the label.

    Returns
    -------
    dict
        The result; ``model.members`` lists name, columns, weight and network of each.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records or organizations take part.
    """
    return result.fitted(federation, asked, train(federation, asked))


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Score an ensemble on records of the stations; only sums over records leave the holders of the label.

    Returns
    -------
    dict
        The result with ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n`` and ``unlabelled``.
    """
    ensemble = Ensemble.read(asked.model)
    check_helper_name(federation, asked.helper)
    if ensemble.split == "horizontal":
        if ensemble.secret:
            raise ArgumentError(
                "model: secret members cannot score rows of other stations; classify public records instead"
            )
        scores = elections.local_scores(federation, ensemble, asked.organizations)
        return result.evaluated(federation, ensemble, scores, asked.scoring, aligned=False)
    identifier = check_alignment(asked.id_column, asked.rows_aligned)
    election = elections.Election(federation, ensemble, identifier, asked.helper, asked.organizations, judged=True)
    election.align()
    return result.evaluated(federation, ensemble, election.tallied(), asked.scoring, aligned=True)


@central
def classify(federation: Federation, asked: Classify) -> dict[str, Any]:
    """Return class probabilities of the stations' records, or of records that the researcher gives; every node that votes must allow predictions.

    Returns
    -------
    dict
        The result; its ``model`` has ``identifiers``, ``states``, ``predicted`` and ``probabilities``, shape (records, states).
    """
    ensemble = Ensemble.read(asked.model)
    check_helper_name(federation, asked.helper)
    federation.resolve(asked.organizations)
    if asked.identify is not None:
        federation.resolve([asked.identify], "identify")
    if asked.records is not None:
        probabilities = elections.outside_predictions(federation, ensemble, asked.records, asked.organizations)
        return result.classified(federation, ensemble, [], probabilities)
    if ensemble.split == "horizontal":
        if ensemble.secret:
            raise ArgumentError("model: secret members cannot vote on rows of other stations; give records")
        answers = elections.local_predictions(federation, ensemble, asked.id_column, asked.organizations)
        places, names, probabilities = answers
        return result.classified(federation, ensemble, names, probabilities, places)
    if asked.id_column is None:
        raise ArgumentError("id_column: name the column that identifies the records at every station, or give records")
    identifier = check_alignment(asked.id_column)
    election = elections.Election(federation, ensemble, identifier, asked.helper, asked.organizations, judged=False)
    election.align()
    names, probabilities = election.predictions(identifying(federation, election.engine.setup, asked.identify))
    return result.classified(federation, ensemble, names, probabilities, joined=True)
