"""What the researcher calls."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, arguments, central
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical import check_alignment

from . import results
from . import scoring as elections
from .ensemble import Ensemble
from .options import Options
from .training import train

SCORINGS = ("labelled", "as_published")


@central
def fit(
    federation: Federation,
    target: str,
    id_column: str | None = None,
    features: list[str] | None = None,
    split: str = "vertical",
    structure: str | list[list[str]] = "k2",
    max_parents: int = 2,
    score: str = "k2",
    order: str | list[str] = "information",
    bins: Any = "published",
    domain: dict[str, Any] | None = None,
    missing: str = "drop",
    pseudocount: float = 0.5,
    minimum_count: float = 0,
    members: Any = "party",
    hybrid: str = "local",
    vote: str = "log_pool",
    weights: str = "uniform",
    bound: float = 0.01,
    folds: int = 5,
    secret: bool = False,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Learn one Bayesian network a party, or a group of parties, that vote on the target.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    target : str
        The column that is predicted.
    id_column : str, optional
        The identifier at every station; not needed for ``split="horizontal"``.
    features : list of str, optional
        Columns that members may use; all by default.
    split : {"vertical", "horizontal", "hybrid"}
        How the records are split.
    structure : str or list of [parent, child]
        "k2", "naive", "augmented", or edges within members.
    max_parents, score, order
        Of the search: largest number of parents, "k2", "bic" or "bdeu", and "information", "columns" or every feature once.
    bins, domain
        How values become states; what is not in `domain` is found by the column's owner and revealed.
    missing : {"drop", "category"}
        What becomes of missing values.
    pseudocount, minimum_count : float
        Smoothing of the tables, and from how many records on a parent configuration is published.
    members : str, list or dict
        "party", or groups of organizations.
    hybrid : {"local", "shared"}
        Whose records a party of a hybrid split learns from.
    vote : {"log_pool", "mean", "majority"}
        How posteriors are combined.
    weights : {"uniform", "rows", "score", "dynamic"}
        What a member's vote weighs; "score": how well it does on records that it has not learned from.
    bound : float
        Share of the uniform distribution in every vote, 0 to 0.5.
    folds : int
        Of the cross-validation behind ``weights="score"`` of vertical members.
    secret : bool
        Whether members that a station learns alone stay there.
    helper : int or str, optional
        The organization without data that serves as dealer; "none" does without one (three stations or more); by default the first one without data.
    organizations : list of int or str, optional
        Who takes part; all by default.
    rows_aligned : bool
        In place of `id_column`: all files hold the same records in the same order.

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
    options = Options.check(locals())
    trained = train(federation, options, helper, organizations)
    return results.fitted(federation, options, trained)


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    id_column: str | None = None,
    scoring: str = "labelled",
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Score an ensemble on records of the stations; only sums over records leave the holders of the target.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        ``model`` of a result of `fit`.
    id_column, helper, organizations, rows_aligned
        As for `fit`.
    scoring : {"labelled", "as_published"}
        Which of the two areas under the curve is ``auc``; both are in ``auc_by_scoring``.

    Returns
    -------
    dict
        The result with ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n`` and ``unlabelled``.
    """
    arguments.check_choice("scoring", scoring, SCORINGS)
    ensemble = Ensemble.read(model)
    if ensemble.split == "horizontal":
        if ensemble.secret:
            raise ArgumentError(
                "model: secret members cannot score rows of other stations; classify public records instead"
            )
        found = elections.local_scores(federation, ensemble, organizations)
        return results.evaluated(federation, ensemble, found, scoring, aligned=False)
    identifier = check_alignment(id_column, rows_aligned)
    election = elections.Election(federation, ensemble, identifier, helper, organizations)
    election.align()
    return results.evaluated(federation, ensemble, election.tallied(), scoring, aligned=True)


@central
def classify(
    federation: Federation,
    model: dict[str, Any],
    id_column: str | None = None,
    records: dict[str, list[Any]] | None = None,
    identify: int | str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Return class probabilities of the stations' records, or of records that the researcher gives.

    Every node that votes must allow predictions.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        ``model`` of a result of `fit`.
    id_column, helper, organizations
        As for `fit`.
    records : dict of str to list, optional
        Records by column that the researcher gives; the stations see them.
    identify : int or str, optional
        The station whose identifiers name the records.

    Returns
    -------
    dict
        The result; its ``model`` has ``identifiers``, ``states``, ``predicted`` and ``probabilities``, shape (records, states).
    """
    ensemble = Ensemble.read(model)
    if records is not None:
        given = check_records(records)
        probabilities = elections.outside_predictions(federation, ensemble, given, organizations)
        return results.classified(federation, ensemble, [], probabilities)
    identifier = arguments.check_name("id_column", id_column, optional=ensemble.split == "horizontal")
    if ensemble.split == "horizontal":
        if ensemble.secret:
            raise ArgumentError("model: secret members cannot vote on rows of other stations; give records")
        places, names, probabilities = elections.local_predictions(federation, ensemble, identifier, organizations)
        return results.classified(federation, ensemble, names, probabilities, places)
    election = elections.Election(federation, ensemble, identifier, helper, organizations)
    election.align()
    at = election.identifying(identify)
    names, probabilities = election.predictions(at)
    return results.classified(federation, ensemble, names, probabilities)


def check_records(records: Any) -> dict[str, list[Any]]:
    """Return records given by column, checked; `ArgumentError` otherwise."""
    given: dict[str, list[Any]] = arguments.check_mapping("records", records)
    lengths = {len(column) if isinstance(column, list | tuple) else -1 for column in given.values()}
    if not given or len(lengths) != 1 or not 0 < next(iter(lengths)) <= 1_000_000:
        raise ArgumentError("records must be an object {column: [values]} with columns of one length")
    return given
