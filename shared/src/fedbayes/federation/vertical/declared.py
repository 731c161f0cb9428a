"""Arguments that functions over vertically split records share; see :mod:`fedbayes.federation.declare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...bayes.network.graph import Edges
from ...dp.neighbors import OF_RECORDS
from .. import arguments as checks
from ..declare import PARTIES, TARGET, Arguments, When, argument, unless
from ..errors import ArgumentError
from ..kinds import COLUMN, FLAG, ORGANIZATION, ORGANIZATIONS, Kind, choice, json_value
from .identifiers import check_alignment
from .states import check_bins, check_domain

DOMAIN = json_value('{column: {"categories": [...]} or {"bounds": [low, high]}}', lambda _, value: check_domain(value))
BINS = json_value(
    "published, quantile, width, a number of bins, or {column: rule, number or cut points}",
    lambda _, value: check_bins(value),
)
DOMAIN_WORDS = "Public states; what is not in it is found by its column's owner and revealed. Demanded of every column with an epsilon."
BINS_WORDS = "How numeric columns become states."
DEALER_WORDS = "The organization without data that serves as dealer; the first one without data when left out."
HELPER_WORDS = f'{DEALER_WORDS.removesuffix(".")}, and "none" does without one (three stations or more).'
NEIGHBORS_WORDS = "What is protected of a record: replace_one, which values it has; zero_out, whether it has any, a weaker promise with less noise."
ORDERS = ("columns", "information")
SPLITS = ("vertical", "horizontal", "hybrid")
MOST_EDGES = 10_000  # of a network of a hundred nodes
MOST_RECORDS = 1_000_000  # that travel in one task


def check_edges(name: str, value: Any) -> Edges:
    """Return a list of edges between different columns, as tuples; None is none; `ArgumentError` otherwise."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MOST_EDGES:
        raise ArgumentError(f"{name} must be a list of edges [parent, child]")
    edges = []
    for position, edge in enumerate(value):
        entry = f"{name}[{position}]"
        if not isinstance(edge, list | tuple) or len(edge) != 2:
            raise ArgumentError(f"{entry} must be an edge [parent, child]")
        parent, child = (checks.check_name(entry, end) for end in edge)
        if parent == child:
            raise ArgumentError(f"{entry} leads from a column to itself; remove it")
        edges.append((parent, child))
    return tuple(edges)


def check_records(name: str, value: Any) -> Mapping[str, Sequence[Any]]:
    """Return records by column, ``{column: [values]}``, with as many values in each; `ArgumentError` otherwise."""
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError(f"{name} must be an object {{column: [values]}}")
    for column, values in value.items():
        checks.check_name(f"a column of {name}", column)
        if not isinstance(values, list | tuple) or not 0 < len(values) <= MOST_RECORDS:
            raise ArgumentError(f"{name}: column '{column}' must be a list of 1 to {MOST_RECORDS} values")
    if len({len(values) for values in value.values()}) != 1:
        raise ArgumentError(f"{name} must have the same number of values in every column")
    return value


def structures(names: Sequence[str], default: str, words: str) -> Kind:
    """Return how the edges of a network are found, by name, or the edges; null stands for the default."""
    return _named_or(names, default, words, check_edges)


def orders(default: str, words: str) -> Kind:
    """Return an order of columns, by name, or a list of them; null stands for the default."""
    return _named_or(ORDERS, default, words, lambda name, value: tuple(checks.check_names(name, value)))


def _named_or(names: Sequence[str], default: str, words: str, check: Callable[[str, Any], Any]) -> Kind:
    def named(name: str, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return checks.check_choice(name, default if value is None else value, names)
        return check(name, value)

    return json_value(words, named)


def neighbors(used_when: When | tuple[When, ...]) -> Any:
    """Return the field of the neighbouring relation of matched records."""
    return argument(choice(OF_RECORDS), NEIGHBORS_WORDS, OF_RECORDS[0], used_when=used_when)


EDGES = json_value("a list of edges [parent, child]", check_edges)
RECORDS = json_value("{column: [values]}", check_records)


class Identified(Arguments):
    """By what the stations' records are matched, where a function may do without."""

    id_column: str | None = argument(
        COLUMN,
        "The identifier at every station, by which records are matched; needed unless rows_aligned.",
        None,
        rank=TARGET,
    )
    rows_aligned: bool = argument(
        FLAG,
        "The caller's word, in place of an id_column, that all files hold the same records in the same order.",
        False,
        used_when=unless("id_column"),
        rank=PARTIES,
    )


class Records(Identified):
    """How the stations' records are matched."""

    def check_together(self) -> None:
        """Refuse records that nothing matches."""
        super().check_together()
        _ = self.identifier

    @property
    def identifier(self) -> str:
        """The identifier's column, "" where the files are aligned."""
        return check_alignment(self.id_column, self.rows_aligned)


class Helped(Arguments):
    """Who takes part."""

    helper: int | str | None = argument(ORGANIZATION, HELPER_WORDS, None, rank=PARTIES)
    organizations: list[int | str] | None = argument(
        ORGANIZATIONS, "Stations and helper; the whole collaboration when left out.", None, rank=PARTIES
    )


class Matched(Records, Helped):
    """Of every function over matched records."""


class Dealt(Matched):
    """Of every function over matched records that needs a dealer."""

    helper: int | str | None = argument(ORGANIZATION, DEALER_WORDS, None, rank=PARTIES)


class Split(Identified, Helped):
    """How the records are split, where a function knows several ways; and who takes part."""

    split: str = argument(
        choice(SPLITS),
        "Stations hold columns of the same records, different records (then no id_column is needed), or some of both (records are united; a "
        "column that a station lacks is missing there).",
        "vertical",
    )
    helper: int | str | None = argument(
        ORGANIZATION, HELPER_WORDS, None, used_when=unless("split", "horizontal"), rank=PARTIES
    )
