"""Arguments that functions over vertically split records share; see :mod:`fedbayes.federation.declare`."""

from __future__ import annotations

from dataclasses import dataclass

from ..declare import (
    COLUMN,
    FLAG,
    ORGANIZATION,
    ORGANIZATIONS,
    PARTIES,
    TARGET,
    Arguments,
    argument,
    json_value,
    unless,
)
from .identifiers import check_alignment
from .states import check_bins, check_domain

DOMAIN = json_value('{column: {"categories": [...]} or {"bounds": [low, high]}}', lambda _, value: check_domain(value))
BINS = json_value(
    "published, quantile, width, a number of bins, or {column: rule, number or cut points}",
    lambda _, value: check_bins(value),
)
DOMAIN_WORDS = "Public states; what is not in it is found by its column's owner and revealed. Demanded of every column with an epsilon."
BINS_WORDS = "How numeric columns become states."
HELPER_WORDS = (
    'The organization without data that serves as dealer; the first one without data when left out, and "none" does without one (three '
    "stations or more)."
)


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Helped(Arguments):
    """Who takes part."""

    helper: int | str | None = argument(ORGANIZATION, HELPER_WORDS, None, rank=PARTIES)
    organizations: list[int | str] | None = argument(
        ORGANIZATIONS, "Stations and helper; the whole collaboration when left out.", None, rank=PARTIES
    )


@dataclass(frozen=True, kw_only=True)
class Matched(Records, Helped):
    """Of every function over matched records."""
