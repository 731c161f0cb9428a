"""What the researcher calls."""

from __future__ import annotations

from functools import partial
from typing import Any

from fedbayes.federation import Federation, arguments, central
from fedbayes.federation import results as statements
from fedbayes.federation.vertical import check_alignment
from fedbayes.federation.vertical.states import check_domain

from . import results
from .evaluation import by_counts, chosen_method
from .merging import merged_by_class
from .model import learn
from .options import Options
from .prediction import Model
from .scoring import RecordScores
from .sources import Budget, Question, open_source
from .validation import validate


@central
def fit(
    federation: Federation,
    columns: list[str],
    id_column: str | None = None,
    structure: str | list[list[str]] | None = None,
    label: str | None = None,
    score: str = "k2",
    max_parents: int = 3,
    order: str | list[str] | None = None,
    required_edges: list[list[str]] | None = None,
    forbidden_edges: list[list[str]] | None = None,
    bins: Any = "published",
    domain: dict[str, Any] | None = None,
    missing: str = "em_on_counts",
    synthetic_rows: int = 10_000,
    restarts: int = 3,
    pseudocount: float = 0.5,
    minimum_count: float = 0,
    smallest_probability: float = 0.0,
    epsilon: float | None = None,
    validation: str = "none",
    folds: int = 10,
    public_records: dict[str, list[Any]] | None = None,
    equivalent_sample_size: float = 10.0,
    split: str = "vertical",
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Learn a Bayesian network from records whose columns (or rows) lie at several stations.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    columns : list of str
        The nodes, in declared order.
    id_column : str, optional
        The identifier at every station; not needed for ``split="horizontal"``.
    structure : str or list of [parent, child], optional
        "k2" (default), "hill_climb", "naive" (needs `label`), or the edges.
    label : str, optional
        The node to predict.
    score : {"k2", "bic", "bdeu"}
        Of the search.
    max_parents, required_edges, forbidden_edges
        The search space.
    order : str or list of str, optional
        For K2: "columns" (default), "information", or all columns.
    bins : str, int or dict
        Numeric columns: "published", "quantile", "width", "mdl", a number, or ``{column: rule, number or cut points}``.
    domain : dict, optional
        Public states, ``{column: {"categories": [...]} | {"bounds": [low, high]}}``; what is not in it is found by its owner and revealed.
    missing : {"em_on_counts", "em", "drop", "category"}
        What becomes of missing values.
    synthetic_rows, restarts : int
        Of "em", and rows of synthetic validation.
    pseudocount, minimum_count, smallest_probability : float
        Smoothing of the tables, and what of them is published.
    epsilon : float, optional
        Budget of all tables together; without it they are exact.
    validation : {"none", "scv", "svdg", "public"}
        How the network is validated.
    folds : int
        Of "scv" and "svdg".
    public_records : dict of str to list, optional
        Column -> values, for "public".
    equivalent_sample_size : float
        Of the score "bdeu".
    split : {"vertical", "horizontal", "hybrid"}
        How the records are split.
    helper : int or str, optional
        The organization without data that serves as dealer; "none" does without one (three stations or more); by default the first one without data.
    organizations : list of int or str, optional
        Who takes part; all by default.
    rows_aligned : bool
        In place of `id_column`: all files hold the same records in the same order.

    Returns
    -------
    dict
        The result; its ``model`` has ``nodes``, ``edges`` and ``tables`` (the child on the last axis).

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records or organizations take part.
    """
    options = Options.check(locals())
    cut = options.folds if options.validation == "svdg" else 0
    budget = Budget(options.epsilon, options.batches)
    question = Question(
        options.columns, id_column, check_domain(domain), options.rules, split, budget, helper, cut, rows_aligned
    )
    source = merged_by_class(open_source(federation, question, organizations), options.bins, options.label)
    left = partial(source.rest, kept=options.held_out)
    learned = learn(options, list(source.variables.values()), source, left)
    least = results.least_count(options, source) if source.budget.exact else 0.0
    scores = validate(options, learned, source.by_fold, least)
    return results.fitted(federation, options, learned, source, scores)


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    id_column: str | None = None,
    label: str | None = None,
    method: str | None = None,
    epsilon: float | None = None,
    split: str = "vertical",
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Score a network on records of the stations.

    ``method="counts"`` (the default where the label's Markov blanket allows) asks one table over the blanket and the
    label, and the families; ``"records"`` scores every record in shares and shows the scores to the label's station.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        ``model`` of a result of `fit`.
    id_column, split, helper, organizations, rows_aligned
        As for `fit`.
    label : str, optional
        The node to predict; the model's by default.
    method : {"counts", "records"}, optional
        See above.
    epsilon : float, optional
        Noise in the tables of "counts"; without it the scores are exact.

    Returns
    -------
    dict
        The result with area under the curve, accuracy, confusion, calibration and log-loss; "counts" also log-likelihood, AIC and BIC.
    """
    read = Model.read(model)
    target = read.target(label)
    epsilon = arguments.check_number("epsilon", epsilon, above=0, optional=True)
    if chosen_method(read, target, method, split) == "counts":
        budget = Budget(epsilon)
        question = Question(
            read.network.nodes, id_column, read.domain, read.bins, split, budget, helper, 0, rows_aligned
        )
        source = open_source(federation, question, organizations)
        scores = by_counts(read, target, source)
        return federation.result(scores, results.privacy(budget, source), {"records": source.records})
    identifier = check_alignment(id_column, rows_aligned)
    records = RecordScores(federation, read, target, identifier, helper, organizations, with_label=True)
    scores = records.tallies()
    reveals = {**records.tables.reveals(), **results.TALLIED}
    return federation.result(scores, statements.not_private(results.SUMS, reveals), {"records": records.rows})


@central
def classify(
    federation: Federation,
    model: dict[str, Any],
    id_column: str,
    label: str | None = None,
    identify: int | str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
) -> dict[str, Any]:
    """Return class probabilities of records whose columns lie at several stations; every node must allow predictions.

    Records with missing values are scored approximately: see the README.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        ``model`` of a result of `fit`.
    id_column, helper, organizations
        As for `fit`.
    label : str, optional
        The node to predict; the model's by default.
    identify : int or str, optional
        The station whose identifiers name the records; by default central's own, else the first.

    Returns
    -------
    dict
        The result; its ``model`` has ``identifiers``, ``states``, ``predicted`` and ``probabilities``, shape (records, states).
    """
    read = Model.read(model)
    target = read.target(label)
    identifier = arguments.check_name("id_column", id_column)
    records = RecordScores(federation, read, target, identifier, helper, organizations, with_label=False)
    identifiers, probabilities = records.predictions(records.identifying(identify))
    states = list(read.network.states[target])
    predicted = [states[code] for code in probabilities.argmax(axis=1)]
    content = {"label": target, "states": states, "identifiers": identifiers, "predicted": predicted}
    content["probabilities"] = probabilities.round(6)
    reveals = {**records.tables.reveals(), **results.PREDICTED}
    return federation.result(content, statements.not_private(results.PREDICTIONS, reveals), {"records": records.rows})


@central
def sample(federation: Federation, model: dict[str, Any], rows: int = 1000) -> dict[str, Any]:
    """Return synthetic records drawn from a network; no station is asked.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    model : dict
        ``model`` of a result of `fit`.
    rows : int
        How many, 1 to 1,000,000.

    Returns
    -------
    dict
        The result; its ``model`` has ``records``, column -> states.
    """
    read = Model.read(model)
    rows = arguments.check_number("rows", rows, 1, 1_000_000, integer=True)
    drawn = read.network.decode(read.network.sample(rows))
    return federation.result({"records": drawn}, statements.not_private(results.SYNTHETIC))
