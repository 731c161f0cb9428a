"""The tables of one station's own features: counted, under guards where noise does not hide whom they tell of, paid for and noisy."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes.counting import column_edges
from fedbayes.dp import promise
from fedbayes.dp.laws import Change, law_of
from fedbayes.federation import Station
from fedbayes.federation.errors import MessageError, ThresholdError, sampling_errors
from fedbayes.federation.guards import announced
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.horizontal import table_queries
from fedbayes.randomness import uniform_bits
from fedbayes.typing import Array, Integers

from . import holding, lasting
from .messages import OF_TABLES, TablesRequest

DRAWN = "drawn tables"


def drawn_tables(station: Station, request: TablesRequest) -> dict[str, Array]:
    """Count, charge and add noise, once in a round: a repeat of it gets the same tables, and no other round of the job these."""
    encoded = request.columns.read(station, request.epsilon > 0)
    tables = [query.values for query in table_queries(request.columns, encoded, request.bins)]
    if not request.promises:
        station.history.entered.note_alone()
        _note_borders(station, request)
        _check_counts(station, tables)
    parts = [tables[0].sum(axis=1)] if request.classes else []
    released = np.concatenate([*parts, *(table.ravel() for table in tables)])
    if request.epsilon > 0:
        count = len(tables) + request.classes
        note = "noisy tables of vertically split records"
        station.charge(count * request.epsilon, note=note, summed=False, relation=OF_TABLES)
        released = _full_noise(released, request.epsilon)
    shapes = np.array([table.shape for table in tables], dtype=np.int64)
    name = f"{DRAWN}|{station.round_name}"
    station.keep(name, released=released, shapes=shapes, made=np.array(lasting.today()))
    return station.kept(name)


def at_most(encoded: dict[str, Any], records: int) -> dict[str, Any]:
    """Return a random subset of at most `records` rows, drawn from the operating system's entropy."""
    rows = len(next(iter(encoded.values())))
    if rows <= records:
        return encoded
    chosen = np.argsort(uniform_bits(rows), kind="stable")[:records]
    return {name: values[chosen] for name, values in encoded.items()}


def check_part(station: Station, request: TablesRequest) -> None:
    """Refuse tables in a second round, and more of the budget for a table than its part of what the job announced for the tables of all stations together.

    They have equal parts, and so have the class counts, which one station tells where tables are kept, the first of those with features. Their number
    follows from the columns for which all stations were asked, and each is of one station (`holding`).
    """
    asked_once(station, "noisy tables", station.round_name)  # of other stations' debits this one knows nothing
    job, names = announced.kept(station.memory), set(holding.asked(station))
    tables = len(names - {request.columns.label}) + (not request.release)
    if (
        job is None
        or not names.issuperset(request.columns.features)
        or request.epsilon * tables > job.shared_epsilon * announced.ROUNDING
        or (request.classes and (request.release or station.organization != min(station.participants)))
    ):
        raise MessageError(
            "epsilon: more would be debited than the job announced for a table, as its part of the budget of all stations; the job stops"
        )


def _check_counts(station: Station, tables: list[Integers]) -> None:
    """Refuse tables without noise, or with so little that it hides nobody, where a count is small."""
    least = station.policy.minimum_count
    if any(((table > 0) & (table < least)).any() for table in tables):
        raise ThresholdError(
            f"the exact tables hold counts below what this node lets out; give an epsilon of at most {promise.MOST_EPSILON:g} for noisy ones, "
            "or fewer bins"
        )


def _note_borders(station: Station, request: TablesRequest) -> None:
    """Note how the tables count this station's columns: the maker of exact answers, or the charge, holds that against earlier ones."""
    schema = request.columns.schema
    for name in (request.columns.label, *request.columns.features):
        categorical = schema[name].is_categorical
        inner = [] if categorical else column_edges(schema, name, request.bins)[1:-1].tolist()
        station.history.note_borders(name, inner)
        station.history.note_bins(name, schema.to_domain(), inner, chosen=True)


def _full_noise(values: Integers, epsilon: float) -> Integers:
    law = law_of(epsilon)
    with sampling_errors():
        return values + law.shares(len(values), law.width(Change(), 1, 1), 1, 1.0)
