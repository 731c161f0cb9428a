"""The rounds before any arithmetic: placement of roles, record alignment, columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.formulae.terms import Terms
from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError, PlacementError, ThresholdError, adding_up
from fedbayes.federation.vertical import check_equal_rows

from ..arguments import Fit, checked_terms
from ..cox.inference import CLUSTERS_PER_COLUMN
from ..cox.tails import Tails
from ..messages.products import Product
from ..messages.setup import Described, Outcome, Plan, PrepareReply, PrepareRequest, Question
from ..shares.agreed import most_points
from ..shares.complete import expected
from ..shares.layout import Layout
from .joining import aligned, check_outcome, check_somewhere, joined
from .products import Planned, check_products, planned

DESCRIPTIONS = "what the stations tell of their columns"
"""The step, as errors name it."""
RECORDS_PER_COLUMN = 5  # fewer would let the sums that are opened, p + p(p+1)/2 a step, determine the columns


@dataclass(frozen=True)
class Prepared:
    """Matched, shapes and what central knows of the columns.

    Parameters
    ----------
    plan : Plan
    names : list of str
        Design columns in the order of `plan.holders`.
    written : list of str
        The same in the order of the features, as the researcher wrote them.
    scales : list of float
    outcome : Outcome
    question : Question
    tails : Tails
        How far each design column's tails reach.
    references : dict of str to str
        Text feature -> the category that is left out.
    formula : dict
        With a formula ``formula`` (its text, with all bounds and references), ``terms`` (term -> design columns), ``levels`` (factor -> categories).
    """

    plan: Plan
    names: list[str]
    written: list[str]
    scales: list[float]
    outcome: Outcome
    question: Question
    tails: Tails
    references: dict[str, str]
    formula: dict[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.plan.records // self.question.copies

    @property
    def most_steps(self) -> int:
        """Most steps of a solver, far beyond the about five that fits take: `max_rounds` ends first what does not converge."""
        return most_points(self.plan)


GROUPING = ("partial_group",)
SHOWING = frozenset(["partial_split", "partial_predict", "partial_admm"])
"""In these rounds somebody is shown numbers of single records: who judges held-out ones, or the outcome holder of the solvers that sum predictors."""
FITTING = ("partial_prepare", "partial_enter", "partial_permute", "partial_stage", "partial_finish")


def prepare(
    federation: Federation, organizations: Any, options: Fit, functions: Sequence[str] = (), queries: int = 1
) -> Prepared:
    """Open the channel, align the records and learn which station has which columns.

    Parameters
    ----------
    federation : Federation
        The job.
    organizations : list or None
        As the researcher named them.
    options : Fit
        What is asked.
    functions : sequence of str
        Remote functions beyond those of a private fit.
    queries : int
        Questions that the job debits in all.
    """
    terms = completed_terms(federation, options)
    cases = [options.strata, options.weights, options.entry, options.cluster]
    columns = [options.time, options.event, *cases, *options.columns]
    called = [*FITTING, *functions, *(GROUPING if options.grouped else ())]
    shown, derived = not SHOWING.isdisjoint(functions), terms.derived_from if terms is not None else []
    whom = organizations, options.helper
    parties, helper = joined(federation, *whom, columns, options.id_column, called, queries, shown, derived)
    roles = {name: [getattr(options, name)] for name in ("time", "event", "strata", "weights", "entry", "cluster")}
    design = "features" if terms is None else "formula"
    check_somewhere(federation, parties, {**roles, design: options.columns})
    beside = {name: getattr(options, name) for name in ("strata", "weights", "entry")}
    check_outcome(federation, parties, options.time, options.event, beside)
    question = Question(
        options.time,
        options.event,
        list(options.features or []) if terms is None else terms.names,
        options.strata,
        list(parties.stations),
        helper,
        options.id_column,
        options.ties,
        options.time_transform if options.checked else None,
        options.missing,
        "" if terms is None else terms.text,
        options.weights,
        options.entry,
        options.sandwich,
        options.cluster,
    )
    rows, orders = aligned(federation, question)
    requests = {member: PrepareRequest(question, rows, own) for member, own in orders.items()}
    replies = federation.round("partial_prepare", requests, parties.stations, PrepareReply)
    described = {member: reply.described.value for member, reply in replies.items() if reply.described is not None}
    with adding_up(DESCRIPTIONS):
        return _planned(federation, question, described, options.solver)


def completed_terms(federation: Federation, options: Fit) -> Terms | None:
    """Return the formula's terms with the bounds and references that the data dictionary tells; None without a formula."""
    if options.formula is None:
        return None
    return checked_terms("formula", options.formula, (federation.dictionary or {}).get("columns", {}))


def _planned(federation: Federation, question: Question, replies: dict[int, Described], solver: str) -> Prepared:
    [(owner, outcome)] = [(member, reply.outcome) for member, reply in replies.items() if reply.outcome is not None]
    _check_features(federation, question, replies)
    taking = [member for member, reply in replies.items() if reply.columns or reply.sides or reply.clusters]
    holders = [member for member in taking if member != owner] + [owner]
    if len(holders) < 2:
        raise PlacementError("all features are where the outcome is; use an ordinary Cox model at that station")
    check_equal_rows(replies[member].rows for member in holders)
    _check_clusters(federation, question, replies)
    crossed = planned(federation, question, replies, holders)
    check_products(question, crossed.products, solver)
    plan = _plan(question, replies, holders, replies[owner].rows, outcome, crossed.products)
    _check_enough(question, plan, replies[owner].rows)
    labels_of = _labels_of(question, [replies[member] for member in holders], crossed)
    written_of = labels_of | crossed.written
    written = [label for feature in question.features for label in written_of[feature]]
    scales = [scale for member in holders for scale in replies[member].scales] + crossed.scales
    tails = Tails.of([ends for member in holders for ends in replies[member].reach] + crossed.reach)
    known_references = {feature: name for member in holders for feature, name in replies[member].references.items()}
    references = {feature: known_references[feature] for feature in question.features if feature in known_references}
    return Prepared(
        plan,
        [label for labels in labels_of.values() for label in labels],
        written,
        scales,
        outcome,
        question,
        tails,
        references,
        _formula(question, [replies[m] for m in holders], written_of, crossed),
    )


def _check_enough(question: Question, plan: Plan, records: int) -> None:
    """Refuse few records, or few clusters, for so many design columns."""
    features = Layout(plan).features
    if records < RECORDS_PER_COLUMN * features:
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    if plan.clusters and plan.clusters[1] < CLUSTERS_PER_COLUMN * features:
        raise ThresholdError(
            f"cluster column '{question.cluster}' has too few clusters for that many design columns; use smaller clusters, or fewer features"
        )


def _labels_of(question: Question, replies: Sequence[Described], products: Planned) -> dict[str, list[str]]:
    """Return the design columns of every feature, or term, in the order of the share holders."""
    labels_of = {name: labels for reply in replies for name, labels in reply.columns.items()} | products.labels
    every = [label for labels in labels_of.values() for label in labels]
    if len(set(every)) < len(every):
        argument = "formula" if question.formula else "features"
        raise ArgumentError(f"{argument}: two design columns have one name; rename a column")
    return labels_of


def _formula(
    question: Question, replies: Sequence[Described], labels_of: Mapping[str, list[str]], products: Planned
) -> dict[str, Any]:
    """Return what a model keeps of its formula."""
    if not question.formula:
        return {}
    levels = {name: values for reply in replies for name, values in reply.levels.items()} | products.levels
    terms = {name: labels_of[name] for name in question.features}
    return {"formula": question.formula, "terms": terms, "levels": levels}


def _plan(
    question: Question,
    replies: dict[int, Described],
    holders: list[int],
    rows: int,
    outcome: Outcome,
    products: list[Product],
) -> Plan:
    complete = expected([replies[member].present for member in holders]) if question.missing == "complete" else 0.0
    if complete and question.ties == "efron" and (outcome.ties or outcome.band):
        raise ArgumentError(
            "ties='efron' needs to know how many tied events are complete, which nobody does with missing='complete'; use ties='breslow'"
        )
    clusters = [[member, reply.clusters] for member, reply in replies.items() if reply.clusters]
    return Plan(
        holders,
        [len(replies[member].scales) for member in holders],
        question.helper,
        sum(outcome.strata),
        outcome.strata,
        rows * question.copies,
        outcome.ties,
        outcome.band,
        outcome.single,
        complete,
        question.weights is not None or question.entry is not None,
        products,
        question.flat,
        clusters[0] if clusters else [],
        question.copies,
    )


def _check_clusters(federation: Federation, question: Question, replies: dict[int, Described]) -> None:
    """Refuse a column of clusters that is at two stations."""
    if question.cluster is None:
        return
    at = [federation.name(member) for member, reply in replies.items() if reply.clusters]
    if len(at) > 1:
        raise ArgumentError(
            f"cluster: '{question.cluster}' is at two stations ({' and '.join(at[:2])}); rename one of the columns"
        )


def _check_features(federation: Federation, question: Question, replies: dict[int, Described]) -> None:
    if question.formula:
        _check_terms(federation, question, replies)
    made = {side.term for reply in replies.values() for side in reply.sides}
    for feature in (name for name in question.features if name not in made):
        owners = [member for member, reply in replies.items() if feature in reply.columns]
        if len(owners) > 1:
            names = " and ".join(federation.name(member) for member in owners)
            raise ArgumentError(f"features: '{feature}' is at two stations ({names}); rename one of the columns")


def _check_terms(federation: Federation, question: Question, replies: dict[int, Described]) -> None:
    """Refuse a formula with a column that is at two stations, or an expression whose columns are at several."""
    terms = read_terms(question.formula)
    at = {name: [member for member, reply in replies.items() if name in reply.columns_here] for name in terms.columns}
    for name, owners in at.items():
        if len(owners) > 1:
            raise ArgumentError(f"formula: two stations have the column '{name}'; check the stations' columns")
    for factor in terms.factors.values():
        homes = {at[name][0]: name for name in factor.columns}
        if len(homes) > 1:
            where = " and ".join(f"'{name}' at {federation.name(member)}" for member, name in sorted(homes.items()))
            raise ArgumentError(
                f"formula: '{factor.name}' is of columns at different organizations ({where}); an expression takes those of one: "
                "bring both columns to one of them, or leave the term out"
            )
