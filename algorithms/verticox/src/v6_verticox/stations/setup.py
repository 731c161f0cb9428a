"""What a station does before any arithmetic: the rows in the common order, columns checked, centred and scaled, the outcome described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.formulae.formula import as_numbers
from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.formulae.terms import Spline, Term, Terms
from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.vertical.messages import Delivery, Parcel
from fedbayes.federation.vertical.workspace import Workspace
from fedbayes.typing import Booleans, Floats

from ..cox.outcome import weights
from ..cox.proportional import trend
from ..cox.tails import reach
from ..messages.setup import Described, PrepareReply, PrepareRequest, Question
from ..shares.complete import rounded_up, spread_out, without_gaps
from .clusters import check_weighed, prepare_scores
from .columns import Design, Survival, design, survival
from .formula import design_of_terms
from .guards import check_strata, check_ties, check_trend
from .holder import note_told
from .near_duplicates import check_cuts, check_rewritten
from .outcome import describe
from .products import Part, keep, parts_across, sides
from .truncation import checked_entries, doubled, truncated

ANSWER = "verticox: sums over the records of a fit"
QUESTION = "question of the fit"
"""Name under which a station keeps what the job's fits are about."""
OF_TIME = ("identity", "log")
"""Functions in which one event can be far from all others; a rank is not."""
SHARP = 2
"""Degree of splines whose knots count as kinks. Of degree 3 the part of a record between two knots, a fourth difference of fits, drowns in what moves for all
others (1 beside 20 to 250, of 200 records)."""
LARGEST_WEIGHT = 2.0**6
"""Beside it, and its reciprocal, 14 of the 20 bits that the ring has for values are left for risks."""


@partial
def partial_prepare(station: Station, request: PrepareRequest) -> PrepareReply:
    """Put the rows in the common order; check, centre and scale the columns; keep them for the job.

    **Reveals** to central: which features (of a formula: columns and terms) are here and their categories, each scale as a power of two,
    of heavy tails how far they reach (`tails.reach`, two coarse moments a column), and from the outcome holder what `outcome.describe` says;
    of a column of clusters how many there are.
    **Assumes** nothing beyond what the matching of the records did.
    """
    question = request.question
    asked_once(station, QUESTION, question)
    asked = asked_of(station, question)
    station.require_private(False, asked.every is not None and asked.every.has_formula)
    if len(asked.outcome) == 1:
        raise MessageError("one column of the outcome is at this station without the other; the job stops")
    identifier = identifier_of(question, set(station.columns))
    if not asked.named and not asked.outcome and not asked.grouping:
        if identifier:  # whose records are linked is in the masks of sums that this station takes part in
            rows_in_order(station, question, request.rows, request.order, 0)
        return PrepareReply(None)
    _note_points(station, asked.columns, asked.every)
    frame = station.data(columns=list(dict.fromkeys([*identifier, *asked.outcome, *asked.columns])))
    frame = frame.iloc[rows_in_order(station, question, request.rows, request.order, len(frame))]
    limit = max(station.policy.minimum_count, 1)
    present = _present(station, question, frame, [*asked.outcome, *asked.beside, *asked.features])
    check_cuts(station.dictionary, [*asked.features, *asked.beside], asked.every)
    _check_bounds(station, frame, asked.every)
    own, parts = checked_columns(station, asked, frame[present], limit)
    clusters = prepare_scores(station, question, frame, asked.grouping, len(asked.outcome) == 2)
    single = _kept(station, own, present, question.copies)
    keep(station, parts, question.copies)
    has_outcome = len(asked.outcome) == 2
    described = _outcome(station, question, frame, asked.beside, limit, present) if has_outcome else None
    scales = [float(scale) for scale in own.scales]
    levels = {name: list(own_levels) for name, own_levels in own.levels.items()}
    known = [] if asked.terms is None else asked.named
    rest = (own.references, rounded_up(present), known, levels, [part.side for part in parts], clusters)
    described_columns = Described(own.columns, scales, len(frame), described, reach(single), *rest)
    return PrepareReply(station.exact(described_columns, ANSWER, summed=False))


@dataclass(frozen=True)
class Asked:
    """What a question asks of one station's table.

    Attributes
    ----------
    named : list of str
        Columns that the question names as features, or in its formula.
    features : list of str
        Those that the station's own terms and its parts of products are made of.
    terms, every : Terms or None
        The formula's own terms, and these with its parts of products; None without a formula.
    across : dict of str to Term
        Its parts of products with other organizations' columns.
    outcome, beside, grouping : list of str
        Columns of the outcome; of strata, weights and entry; of clusters.
    """

    named: list[str]
    features: list[str]
    terms: Terms | None
    across: dict[str, Term]
    every: Terms | None
    outcome: list[str]
    beside: list[str]
    grouping: list[str]

    @property
    def columns(self) -> list[str]:
        """All but those of the outcome."""
        return [*self.beside, *self.features, *self.grouping]


def asked_of(station: Station, question: Question) -> Asked:
    """Return what a question asks of this station's table."""
    here = set(station.columns)
    terms, across, every = _terms(question, here)
    outcome = [name for name in (question.time, question.event) if name in here]
    roles = (question.strata, question.weights, question.entry)
    beside = [name for name in roles if name in here and name is not None and len(outcome) == 2]
    names = read_terms(question.formula).columns if question.formula else question.features
    named = [name for name in names if name in here]
    features = named if every is None else every.columns
    grouping = [name for name in (question.cluster,) if name is not None and name in here]
    return Asked(named, features, terms, across, every, outcome, beside, grouping)


def checked_columns(station: Station, asked: Asked, frame: Any, limit: int) -> tuple[Design, list[Part]]:
    """Return the design columns of some records and the parts of products, if none sets few of them apart.

    Raises
    ------
    DataProblem
        Naming the column or the term.
    """
    own = _design(station, frame, asked.features, asked.terms, limit)
    parts = sides(frame, asked.across, limit)
    check_rewritten(station.dictionary, frame, [*asked.features, *asked.beside], limit)
    return own, parts


def _note_points(station: Station, columns: list[str], terms: Terms | None) -> None:
    """Note for the answer where numbers are cut, and where splines have kinks: by three fits with these beside one record its part follows.

    Raises
    ------
    ThresholdError
        If nothing is remembered, and there are such points that the task chose but for a spline's bounds (`_check_bounds`).
    """
    for name in sorted(set(columns).intersection(station.cut)):
        station.history.note_bins(name, None, (), chosen=True)
    for column, spline in _splines(terms):
        low, *knots, high = spline.edges if spline.degree <= SHARP else (spline.edges[0], spline.edges[-1])
        station.history.check_remembers(borders=bool(knots))
        station.history.note_bins(column, None, (low, *knots, high), chosen=False)


def _check_bounds(station: Station, frame: Any, terms: Terms | None) -> None:
    """Raise `ThresholdError` if nothing is remembered, and a spline's bound has a record beyond it, for whom it is a kink."""
    for column, spline in _splines(terms):
        values = as_numbers(frame[column])
        station.history.check_remembers(borders=bool(np.any((values < spline.edges[0]) | (values > spline.edges[-1]))))


def _splines(terms: Terms | None) -> list[tuple[str, Spline]]:
    """Return the splines of terms, whose bounds are told, with the column that each is of."""
    pairs = [] if terms is None else [(factor.columns[0], factor.spline) for factor in terms.factors.values()]
    return [(name, spline) for name, spline in pairs if spline is not None and None not in (spline.low, spline.high)]


def identifier_of(question: Question, here: set[str]) -> list[str]:
    """Return the column of identifiers, none where rows are in one order; `DataProblem` where it is not here."""
    if question.id_column is not None and question.id_column not in here:
        raise DataProblem(f"identifier column '{question.id_column}' is not in this station's table; check its name")
    return [] if question.id_column is None else [question.id_column]


def _terms(question: Question, here: set[str]) -> tuple[Terms | None, dict[str, Term], Terms | None]:
    """Return the formula's terms of columns that are here, the parts here of those that have others elsewhere, and both as terms; None without one."""
    if not question.formula:
        return None, {}, None
    whole = read_terms(question.formula)
    own, across = whole.among(here), parts_across(whole, here)
    return own, across, Terms((*own.terms, *across.values()))


def _kept(station: Station, own: Design, present: Booleans, copies: int) -> Floats:
    """Keep the design columns of all rows, a record's as often as it has rows; return those of the records."""
    single = spread_out(own.values, present)
    labels = np.array([label for names in own.columns.values() for label in names], dtype=str)
    design_rows = doubled(single, copies)
    station.keep(
        "design", values=design_rows, means=own.means, scales=own.scales, labels=labels, copies=np.array(copies)
    )
    station.keep("presence", present=doubled(present, copies), paired=own.paired)
    return single


def _design(station: Station, frame: Any, features: list[str], terms: Terms | None, limit: int) -> Design:
    """Return the design columns of the features, or of a formula's terms."""
    if terms is not None:
        return design_of_terms(frame, terms, limit)
    entries = {} if station.dictionary is None else station.dictionary.columns
    return design(frame, features, limit, {name: canonical_text(entry.reference) for name, entry in entries.items()})


def _present(station: Station, question: Question, frame: Any, columns: list[str]) -> Booleans:
    """Return which rows take part as far as this station knows: all, or with missing="complete" those without a gap."""
    if question.missing != "complete":
        return np.ones(len(frame), dtype=np.bool_)
    present = without_gaps(frame, columns)
    if present.sum() < max(station.policy.minimum_rows, 1):
        raise ThresholdError("fewer records without a gap than this node demands; leave out columns with many gaps")
    return present


def _survival(question: Question, frame: Any, others: list[str], limit: int, present: Booleans) -> Survival:
    """Return the outcome of all records, as far as it may be asked about; where a record is not present, any."""
    for role, name in (("strata", question.strata), ("weights", question.weights), ("entry", question.entry)):
        if name and name not in others:
            raise DataProblem(f"{role} column '{name}' is not in the table with the outcome; check its name")
    outcome = survival(frame[present], question.time, question.event, question.strata, limit)
    everybody = Survival(
        spread_out(outcome.time, present, outcome.time.min()),
        spread_out(outcome.event, present),
        spread_out(outcome.stratum, present),
        outcome.strata_names,
        _weights(question, frame, limit) if question.weights else None,
    )
    if question.strata:
        check_strata(len(everybody.strata_names), int(np.sum(~without_gaps(frame, [question.strata]))), limit)
    if question.ties == "efron" and question.missing != "complete":
        check_ties(everybody, limit)
    return everybody


def _weights(question: Question, frame: Any, limit: int) -> Floats:
    """Return case weights, checked also with the clusters, if these are here."""
    found = weights(frame, question.weights or "", limit, LARGEST_WEIGHT, question.robust)
    if question.cluster is not None and question.cluster in frame:
        check_weighed(frame[question.cluster], question.cluster, found, limit)
    return found


def _outcome(station: Station, question: Question, frame: Any, others: list[str], limit: int, present: Booleans) -> Any:
    """Check and keep the outcome; return its description for central."""
    complete = question.missing == "complete"
    station.history.entered.note_time(question.time)
    station.history.entered.note_weights(question.weights)
    outcome = _survival(question, frame, others, limit, present)
    when = trend(outcome.time, outcome.event, question.time_transform)
    if question.time_transform in OF_TIME and not complete:
        check_trend(when, outcome.event, limit)
    if question.entry:
        outcome = truncated(outcome, checked_entries(frame, question.entry, outcome, limit))
        when = np.concatenate([when, np.zeros_like(when)])
    station.keep(
        "outcome",
        time=outcome.time,
        event=outcome.event,
        stratum=outcome.stratum,
        trend=when,
        limit=np.array(limit if question.ties == "efron" or complete or question.robust else 0),
        names=np.array(outcome.strata_names, dtype=str),
        column=np.array(question.time),
        ties=np.array(question.ties),
        weights=np.ones(len(outcome.time)) if outcome.weights is None else outcome.weights,
    )
    described = describe(outcome, limit, question.ties, complete, question.flat)
    note_told(station, question, described)
    station.keep("edges", rows=np.array(described.edge_rows, dtype=np.int64))
    return described


def rows_in_order(station: Station, question: Question, rows: int, order: list[Parcel], own_rows: int) -> np.ndarray:
    """Return this station's rows in the common order, (records,).

    Raises
    ------
    ThresholdError
        When fewer records are common than this node demands.
    """
    if question.id_column is None:
        station.check_aligned()
        station.history.note_linked(np.arange(own_rows), own_rows, "")
        return np.arange(own_rows)
    workspace = Workspace(station, question.matching)
    workspace.receive(Delivery(question.matching, rows, [], order, None, [], []))
    if rows < station.policy.minimum_rows:
        raise ThresholdError("fewer records are common to all stations than this node demands")
    places: np.ndarray = workspace.common_order(own_rows)
    return places
