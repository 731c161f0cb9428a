"""`describe`: what the columns of the stations hold, before anything is fitted; a remote function of every image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..bayes import profile
from ..bayes.counting import DEFAULT_BINS, bins_of
from ..bayes.schema import Column, Schema
from .codec import Message
from .declare import COLUMNS, TARGET, argument
from .decorators import central, partial
from .errors import ArgumentError, DataProblem, MessageError, ThresholdError
from .gate import Masked, Public
from .horizontal.answers import preflight
from .horizontal.columns import schema_errors
from .horizontal.counts import MOST_CELLS, rule_of_each, signed
from .horizontal.declared import BINS, DOMAIN, Budget, Members, Units
from .horizontal.noise import CountNoise, Query
from .horizontal.releasing import release
from .horizontal.units import ROW, Unit
from .results import not_private
from .rounds import Federation
from .station import Station
from .transport import summed
from .vertical.suppression import suppress

FUNCTION = "partial_describe"
FORMAT = "fedbayes.description/1"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the quantiles that describe a number
NEARLY_ALL = 0.9
"""From this share of cells that are not understood on, a column is warned of."""
LOUD = 5
"""Deviations of noise above which a noisy count is taken for more than noise."""


@dataclass(frozen=True, kw_only=True)
class Describe(Budget, Units, Members):
    """Of `describe`."""

    rounds_usually: ClassVar[int] = 2

    columns: list[str] | None = argument(
        COLUMNS, "Columns to look at; every column of the domain when left out.", None, rank=TARGET
    )
    domain: dict[str, Any] | None = argument(DOMAIN, "Public domains of the columns.", None, rank=TARGET)
    bins: int | dict[str, Any] = argument(
        BINS, "Bins in which numbers are counted; quantiles are as fine as they.", DEFAULT_BINS
    )

    def check_together(self) -> None:
        """Refuse columns without a domain, and bins that do not fit."""
        super().check_together()
        _ = self.request

    @property
    def request(self) -> DescribeRequest:
        """What every station is asked."""
        if self.domain is None:
            of = f" of {', '.join(self.columns)}"[:200] if self.columns is not None else ""
            raise ArgumentError(
                f"domain{of} is needed: "
                'give {"column": {"categories": [...]} or {"bounds": [low, high]}, ...}, or a dictionary that has the columns; '
                "`fedbayes domain draft FILE` proposes one"
            )
        with schema_errors(ArgumentError):
            whole = Schema.from_domain(self.domain)
            schema = whole.select(self.columns) if self.columns is not None else whole
            names = [name for name in schema.names if name != self.whom.id_column or self.columns is not None]
            if not names:
                raise ArgumentError("columns must name at least one column")
            if self.whom.id_column in names:
                raise ArgumentError("id_column must not be among the columns; leave it out of them")
            schema = schema.select(names)
            numeric = [column.name for column in schema if not column.is_categorical]
            bins = rule_of_each(numeric, self.bins, "bins", "numeric column here")
            if sum(profile.width(column, bins_of(bins, column.name)) for column in schema) > MOST_CELLS:
                raise ArgumentError(f"bins and categories make more than {MOST_CELLS} cells; give fewer")
            return DescribeRequest(schema.to_domain(), bins, self.added, self.whom)


@dataclass(frozen=True, slots=True)
class DescribeRequest(Message):
    """Ask what columns hold.

    Parameters
    ----------
    domain : dict
        Public domains of the columns, in the order of the answer.
    bins : dict
        Numeric column -> number of bins or list of edges.
    noise : CountNoise
    unit : Unit
        Whom the promise is for.
    """

    domain: dict[str, Any]
    bins: dict[str, Any]
    noise: CountNoise
    unit: Unit = ROW

    def __post_init__(self) -> None:
        self.noise.check_unit(self.unit)
        if self.noise.placement == "local":
            raise ValueError("columns are described by sums over the stations, never by those of one")
        if self.unit.id_column in self.domain:
            raise ValueError("id_column must not be among the columns")
        if sum(self.widths.values()) > MOST_CELLS:
            raise ValueError("the columns have too many cells")

    @property
    def schema(self) -> Schema:
        """The columns' domains."""
        return Schema.from_domain(self.domain)

    @property
    def widths(self) -> dict[str, int]:
        """Column -> number of its cells, in order."""
        return {column.name: profile.width(column, self.rule(column)) for column in self.schema}

    def rule(self, column: Column) -> Any:
        """Return the bins of a column; of no meaning for one with categories."""
        return bins_of(self.bins, column.name)


@dataclass(frozen=True, slots=True)
class DescribeReply(Message):
    """A station's counts under masks, the columns that it has, and the smallest count that its node lets be published."""

    vector: Masked
    held: Public[list[str]]
    minimum_count: Public[int]


@partial
def partial_describe(station: Station, request: DescribeRequest) -> DescribeReply:
    """Count the cells of every column that this station has, add noise as asked, and mask; an organization without data adds nothing but noise.

    Notes
    -----
    **Reveals** to central the sum over the stations, of a column that one station alone has its counts, noisy as asked; and which of the
    columns this station has. Organizations without data add masks and noise like the others, so that two stations and a helper suffice;
    with data at one alone nothing exact leaves it, as in all vertical methods.
    No value of the table is refused. **Assumes** that at least two stations do not collude with central and,
    for noise, that the honest fraction of the stations adds its share and keeps it secret.
    """
    station.require_private(request.noise.promises)
    if not request.noise.promises and station.manifest is not None and len(station.manifest.stations) < 2:
        raise ThresholdError(
            "one organization alone holds data, whose exact counts nothing would cover; include another, or give an epsilon"
        )
    present = set(station.columns) if station.has_data else set()
    held = [name for name in request.domain if name in present]
    queries = [
        Query(counts if counts is not None else np.zeros(request.widths[name], dtype=np.int64), nonnegative=True)
        for name, counts in _counted(station, request, held).items()
    ]
    content = release(station, queries, request.noise, "description of columns")
    return DescribeReply(station.mask(content), station.public(held), station.public(station.policy.minimum_count))


def _counted(station: Station, request: DescribeRequest, held: list[str]) -> dict[str, NDArray[np.int64] | None]:
    """Return every asked column's counts, None where the station lacks it."""
    counted: dict[str, NDArray[np.int64] | None] = dict.fromkeys(request.domain)
    if not held:
        return counted
    table = request.unit.table(station, held, {name: request.domain[name] for name in held})
    columns = {name: request.schema[name] for name in held}
    codes = {name: profile.cell_codes(columns[name], table[name], request.rule(columns[name])) for name in held}
    kept = request.unit.kept(station, table, codes)
    for name, column in columns.items():
        counted[name] = profile.cell_counts(column, codes[name][kept], request.rule(column))
    return counted


@central
def describe(federation: Federation, asked: Describe) -> dict[str, Any]:
    """Summarize columns over all stations: records, missing values, values outside the domain, categories, quantiles. Two rounds.

    Without `epsilon` the counts are exact: small ones are hidden, neighbouring bins are united until each holds enough.

    Returns
    -------
    dict
        ``model``: ``columns``, column -> ``organizations`` that have it, ``records``, ``missing``, ``outside``, and ``categories``
        (``values``, ``counts``) or ``bins`` (``edges``, ``counts``) and ``quantiles`` (level -> value); None where a count is hidden.
    """
    request = asked.request
    before = preflight(list(request.domain), (FUNCTION,), asked.added, asked.added.promises, asked.whom)
    parties = federation.open_channel(asked.organizations, replace(before, everywhere=False))
    replies = federation.round(FUNCTION, request, parties.members, DescribeReply, last=True)
    widths = request.widths
    total = signed(summed([reply.vector for reply in replies.values()]), sum(widths.values()))
    parts = dict(zip(widths, np.split(total, np.cumsum(list(widths.values()))[:-1]), strict=True))
    holders = {name: [m for m, reply in replies.items() if name in reply.held.value] for name in widths}
    for name, members in holders.items():
        if not members:
            raise DataProblem(
                f"no station has a column '{name}'; check the name, or leave it out of columns and domain"
            )
    if any(not set(reply.held.value) <= set(widths) for reply in replies.values()):
        raise MessageError("a station tells of columns that were not asked for; use one version everywhere")
    minimum = 0 if asked.added.promises else max(reply.minimum_count.value for reply in replies.values())
    described = {}
    for column in request.schema:
        entry = _told(column, parts[column.name], request.rule(column), minimum)
        described[column.name] = {"organizations": [federation.name(m) for m in holders[column.name]], **entry}
    noise = {
        name: asked.added.deviation(len(widths), 1.0, 1.0, size, len(parties.members), nonnegative=True)
        for name, size in widths.items()
    }
    for name, counts in parts.items():
        _warn(federation, name, counts, noise[name])
    return federation.result(
        model={"format": FORMAT, "columns": described},
        privacy=_statement(asked, len(widths)),
        diagnostics={"noise": noise} if asked.added.private else {"minimum_count": minimum},
    )


def _told(column: Column, counts: NDArray[np.int64], bins: Any, minimum: int) -> dict[str, Any]:
    """Return what may be shown of a column's counts."""
    values, beside = counts[: -profile.BESIDE], counts[-profile.BESIDE :]
    edges = None
    if not column.is_categorical:
        edges = column.edges(bins)
        if minimum > 1:
            values, edges = profile.merged(values, edges, minimum)
    shown = np.concatenate([values, beside])
    hidden = np.zeros(len(shown), dtype=np.bool_)
    # What is empty beside the values is shown as empty, and hides nothing else.
    kept = np.concatenate([np.arange(len(values)), len(values) + np.flatnonzero(beside)])
    hidden[kept] = suppress(shown[kept], minimum)
    cells = [None if secret else int(count) for count, secret in zip(shown, hidden, strict=True)]
    entry: dict[str, Any] = {"records": int(counts.sum()), "outside": cells[-2], "missing": cells[-1]}
    cells = cells[: len(values)]
    if edges is None:
        return {**entry, "categories": {"values": list(column.categories or ()), "counts": cells}}
    # Quantiles follow from what is shown alone: what the shown counts leave of all records is spread over the hidden bins.
    secret = hidden[: len(values)]
    rest = (int(counts.sum()) - int(shown[~hidden].sum())) / max(int(secret.sum()), 1)
    quantiles = None if secret.all() else profile.quantiles(np.where(secret, rest, values), edges, LEVELS)
    by_level = None if quantiles is None else dict(zip(map(str, LEVELS), quantiles, strict=True))
    return {**entry, "bins": {"edges": edges.tolist(), "counts": cells}, "quantiles": by_level}


def _warn(federation: Federation, name: str, counts: NDArray[np.int64], noise: float) -> None:
    """Warn of a column of which nearly nothing is understood, as far as its counts are more than noise."""
    total, outside, missing = (float(part) for part in (counts.sum(), counts[-2], counts[-1]))
    spread = LOUD * noise * np.sqrt(len(counts))
    if total <= spread:
        federation.warn(
            f"column '{name}': the noise is larger than all counts together; give a larger epsilon or fewer columns"
        )
    elif outside - LOUD * noise > NEARLY_ALL * (total - missing):
        federation.warn(
            f"column '{name}': nearly all its values are outside its domain; correct the domain or the column's name"
        )
    elif missing - LOUD * noise > NEARLY_ALL * total:
        federation.warn(f"column '{name}' is nearly empty")


def _statement(asked: Describe, columns: int) -> dict[str, Any]:
    noise = asked.added
    reveals = {
        "researcher": "the counts of every column over the stations, and who has which column",
        "central": "the same before small counts are hidden; of a column that one station alone has, that station's counts",
        "stations": "which columns are asked for",
        "helper": "which columns are asked for",
    }
    if not noise.private:
        return not_private("the counts are exact; give epsilon for noisy ones", reveals)
    return noise.statement(
        asked.whom,
        composition=f"{columns} queries, one a column; an even split of the budget",
        sensitivity="1 count a column; a row is one of a station's table, so whoever has rows of the same column at several stations has as many",
        reveals=reveals,
    )
