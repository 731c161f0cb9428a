"""What the researcher calls."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation, arguments, central
from fedbayes.federation.errors import ArgumentError

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
) -> dict[str, Any]:
    """Learn one Bayesian network a party, or a group of parties, that vote on the target.

    The README tells what every argument means and what each role learns.
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
) -> dict[str, Any]:
    """Score an ensemble on records of the stations; only sums over records leave the holders of the target."""
    arguments.check_choice("scoring", scoring, SCORINGS)
    ensemble = Ensemble.read(model)
    if ensemble.split == "horizontal":
        if ensemble.secret:
            raise ArgumentError(
                "model: secret members cannot score rows of other stations; classify public records instead"
            )
        found = elections.local_scores(federation, ensemble, organizations)
        return results.evaluated(federation, ensemble, found, scoring, aligned=False)
    identifier = arguments.check_name("id_column", id_column)
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
