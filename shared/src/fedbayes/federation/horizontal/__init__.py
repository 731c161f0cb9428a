"""What the methods for horizontally partitioned tables share: columns, noise, tables by secure sum, evaluation.

A central function of a horizontal method::

    noise = check_noise("distributed", epsilon, delta, neighbors, honest_fraction)         # or "local", "none"
    before = preflight([label, *features], ["partial_counts"], noise, noise.promises, ROW)
    parties = federation.open_channel(organizations, before)                               # round 1
    columns = resolve_columns(federation, parties.stations, label, features, domain)       # a round if domain is None
    bins = check_bins(columns, 20)                              # {numeric feature: bins or edges}
    summed = sum_answers(federation, "partial_counts", CountsRequest(...), parties.stations, noise)  # the method's own round
    tables = split_tables(columns, bins, signed(summed, cells(columns, bins)))
    spread = noise.deviation(len(columns.features), 1.0, 1.0, cells, len(parties.stations))
    model = model_from_tables(columns, tables, bins, spread)    # a fedbayes.bayes NaiveBayes

and in the algorithm's ``partial.py`` / ``__init__.py``, remotely callable under exactly these names::

    from fedbayes.federation.horizontal import partial_schema

    @partial
    def partial_counts(station: Station, request: CountsRequest) -> SumReply:
        parts = request.columns.parts(station, request.noise.private)
        queries = added(table_queries(request.columns, part, request.bins) for part in parts)
        return answer(station, release(station, queries, request.noise, "tables of counts"), request.noise)

    @partial
    def partial_evaluate(station: Station, request: EvaluateRequest) -> SumReply:
        return tally_station(station, request, NaiveBayes.from_dict)

    @central
    def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:    # class Evaluate(Scoring, PlacedScores, Units)
        return evaluate_model(federation, asked, NaiveBayes.from_dict)

- :class:`Columns` (a message; put it into your requests): ``label``, ``features``, ``domain``, ``schema``,
  ``classes``, ``read(station) -> {column: codes or floats}`` with all guards, ``parts(station)`` the same in parts of rows, where it is added up over them.
- :class:`CountNoise` (a message) with ``private``, ``placement``, ``epsilon``, ``delta``, ``neighbors``,
  ``honest(stations)``, ``deviation(...)``, ``rows``; :func:`release` charges the ledger, adds this station's noise to a list
  of :class:`Query` (integer arrays with what one row changes) and returns one int64 vector that may leave, as
  Released (Exact without noise). :func:`answer` masks it, or tells it with local noise.
- :func:`check_unit` -> :class:`Unit` (a message): whom the promise is for; give it to :func:`resolve_columns` and
  :func:`check_noise`, and let requests with both call ``noise.check_unit(columns.unit)``.
- :func:`table_queries`, :func:`split_tables`, :func:`cells`: the tables of all features as queries and back.
- :func:`pay_part`: a budget that several rounds share, debited once, with one question for every part of it.
- :class:`SumReply` is the reply of every sum here, :func:`sum_answers` the round, :class:`SecureSums` what a fit of several needs;
  :func:`signed` lifts the sum, and :func:`whole_sums` is both where no noise is local.
- :mod:`.declared` has the arguments that several methods take, as classes to inherit from.
- :func:`evaluate_model` returns the whole result: accuracy, auc, log_loss, calibration, n.
"""

from ..guards.installments import one_budget
from .answers import SecureSums, SumReply, answer, preflight, sum_answers, whole_sums
from .columns import Columns, SchemaReply, asked_columns, partial_schema, resolve_columns
from .counts import cells, check_bins, class_counts_from_margins, model_from_tables, signed, split_tables, table_queries
from .declared import Binned, Budget, Members, Placed, PlacedScores, Scoring, Target, Units
from .evaluation import evaluate_model, evaluate_variants, load_model
from .noise import CountNoise, Query, check_noise
from .releasing import added, pay_part, release
from .tallying import EvaluateRequest, Form, tally_station
from .units import ROW, Unit, check_unit

__all__ = [
    "ROW",
    "Binned",
    "Budget",
    "Columns",
    "CountNoise",
    "EvaluateRequest",
    "Form",
    "Members",
    "Placed",
    "PlacedScores",
    "Query",
    "SchemaReply",
    "Scoring",
    "SecureSums",
    "SumReply",
    "Target",
    "Unit",
    "Units",
    "added",
    "answer",
    "asked_columns",
    "cells",
    "check_bins",
    "check_noise",
    "check_unit",
    "class_counts_from_margins",
    "evaluate_model",
    "evaluate_variants",
    "load_model",
    "model_from_tables",
    "one_budget",
    "partial_schema",
    "pay_part",
    "preflight",
    "release",
    "resolve_columns",
    "signed",
    "split_tables",
    "sum_answers",
    "table_queries",
    "tally_station",
    "whole_sums",
]
