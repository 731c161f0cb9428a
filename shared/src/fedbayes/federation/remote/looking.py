"""`describe`: what the columns of the stations hold, before anything is fitted; a remote function of every image."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from ...bayes.counts import profile
from ...bayes.naive_bayes.counting import DEFAULT_BINS, bins_of
from ...bayes.schema import Column, Schema
from ...typing import Integers
from ..declare import TARGET, argument
from ..decorators import central, partial
from ..errors import ArgumentError, DataProblem, MembersError, MessageError, schema_errors, too_few_with_data
from ..gate import Masked, Public, Share
from ..guards.once import ONE_QUESTION, asked_once
from ..horizontal.answers import preflight
from ..horizontal.counts import MOST_CELLS, rule_of_each, signed
from ..horizontal.declared import BINS, DOMAIN, Budget, Members, Units
from ..horizontal.noise import CountNoise, Query
from ..horizontal.releasing import release
from ..horizontal.units import ROW, Unit
from ..jobs.transport import summed
from ..kinds import COLUMNS
from ..messages.codec import Message
from ..questions.shown import Shown
from ..rounds import Federation
from ..station import Station
from .alone import opened_alone, sealed_alone
from .wording import LOUD, statement, warn

FUNCTION = "partial_describe"
FORMAT = "fedbayes.description/1"


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
    holders : dict of str to list of int
        Column -> the organizations that have it. Each checks its own part, and masks are bound to the request: so a station knows of which column
        the answer tells about it alone, and central reads that only if all others have found that they lack the column.
    """

    domain: dict[str, Any]
    bins: dict[str, Any]
    noise: CountNoise
    unit: Unit = ROW
    holders: dict[str, list[int]] = field(default_factory=dict)

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

    @property
    def homes(self) -> dict[str, int]:
        """Column -> the organization that alone has it and tells of it exactly; none under noise that promises."""
        alone = {} if self.noise.promises else self.holders
        return {name: members[0] for name, members in alone.items() if len(members) == 1}

    def rule(self, column: Column) -> Any:
        """Return the bins of a column; of no meaning for one with categories."""
        return bins_of(self.bins, column.name)


class DescribeReply(Message):
    """A station's counts under masks, what it alone tells (`alone`): sealed, with masked keys; and the smallest count that its node lets be published."""

    vector: Masked
    alone: Share[bytes] | None
    keys: Masked | None
    minimum_count: Public[int]


@partial
def partial_describe(station: Station, request: DescribeRequest) -> DescribeReply:
    """Count the cells of every column that this station has, add noise as asked, and mask; an organization without data adds nothing but noise.

    Notes
    -----
    **Reveals** to central the sum over the stations, of columns that several have; of a column that this station alone has what the result shows,
    noisy as asked, once all have answered. Organizations without data add masks and noise like the others, so that two stations and a helper suffice,
    but for exact sums of columns that several have: as many must have these as the node demands organizations. With data at one alone nothing exact
    leaves it.
    No value of the table is refused, but without noise the borders of such a column are held against those of earlier exact answers.
    **Assumes** that at least two stations do not collude with central and,
    for noise, that the honest fraction of the stations adds its share and keeps it secret.
    """
    station.require_private(request.noise.promises)
    if not request.noise.promises:
        asked_once(station, "description", station.round_name, ONE_QUESTION)
    held = _held(station, request)
    _check_holders(station, request)
    counted, homes = _counted(station, request, held), request.homes
    alone = [name for name in held if homes.get(name) == station.organization]
    shown = _shown(station, request, {name: counted[name] for name in alone})
    sealed, keys = sealed_alone(station, homes, shown)
    zeros = {name: np.zeros(width, dtype=np.int64) for name, width in request.widths.items()}
    summed_counts = {**zeros, **{name: counts for name, counts in counted.items() if name not in alone}}
    queries = [Query(counts, nonnegative=True) for counts in summed_counts.values()]
    several = any(len(members) > 1 for members in request.holders.values())
    content = release(station, queries, request.noise, "description of columns", summed=several)
    return DescribeReply(station.mask(content), sealed, keys, station.public(station.policy.minimum_count))


def _held(station: Station, request: DescribeRequest) -> list[str]:
    """Return the asked columns that this station has; raise `MessageError` if the request says otherwise."""
    present = set(station.columns) if station.has_data else set()
    held = [name for name in request.domain if name in present]
    if held != [name for name in request.domain if station.organization in request.holders.get(name, ())]:
        raise MessageError("the request names other columns of this station than it has; the job stops")
    return held


def _check_holders(station: Station, request: DescribeRequest) -> None:
    """Refuse exact sums over the rows of fewer stations than the node demands, of columns that several have: whoever is one of two knows the other's."""
    least, asked = station.policy.minimum_organizations, set(station.participants)
    if any(len(set(members)) < len(members) or not asked.issuperset(members) for members in request.holders.values()):
        raise MessageError("who has a column is named twice, or is not asked; the job stops")
    few = [name for name, members in request.holders.items() if 1 < len(members) < least]
    if few and not request.noise.promises:
        raise MembersError(f"column '{few[0]}': {too_few_with_data('this node', least)}; or leave it out")


def _shown(station: Station, request: DescribeRequest, counted: dict[str, Integers]) -> dict[str, Shown]:
    """Return what may be shown of columns that this station alone has, after their borders were held against earlier answers."""
    minimum = station.policy.minimum_count
    shown = {
        name: Shown.of(request.schema[name], counts, request.rule(request.schema[name]), minimum)
        for name, counts in counted.items()
    }
    for name, column in shown.items():
        station.history.note_described(name, request.domain, column.cuts)
    return shown


def _counted(station: Station, request: DescribeRequest, held: list[str]) -> dict[str, Integers]:
    """Return the counts of every asked column that the station has."""
    if not held:
        return {}
    table = request.unit.table(station, held, {name: request.domain[name] for name in held})
    columns = {name: request.schema[name] for name in held}
    codes = {name: profile.cell_codes(columns[name], table[name], request.rule(columns[name])) for name in held}
    kept = request.unit.kept(station, table, codes)
    return {
        name: profile.cell_counts(column, codes[name][kept], request.rule(column)) for name, column in columns.items()
    }


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
    request = replace(request, holders={name: parties.holders[name] for name in request.domain})
    for name, members in request.holders.items():
        if not members:
            raise DataProblem(
                f"no station has a column '{name}'; check the name, or leave it out of columns and domain"
            )
    replies = federation.round(FUNCTION, request, parties.members, DescribeReply, last=True)
    widths = request.widths
    total = signed(summed([reply.vector for reply in replies.values()]), sum(widths.values()))
    parts = dict(zip(widths, np.split(total, np.cumsum(list(widths.values()))[:-1]), strict=True))
    minimum = 0 if asked.added.promises else max(reply.minimum_count.value for reply in replies.values())
    shown = opened_alone(request.homes, replies)
    noise = {
        name: asked.added.deviation(len(widths), 1.0, 1.0, size, len(parties.members), nonnegative=True)
        for name, size in widths.items()
    }
    described = {}
    for column in request.schema:
        name, holders = column.name, [federation.name(member) for member in request.holders[column.name]]
        if name not in shown:
            shown[name] = Shown.of(column, parts[name], request.rule(column), minimum, LOUD * noise[name])
        described[name] = {"organizations": holders, **shown[name].entry(column)}
        warn(federation, name, shown[name], noise[name])
    return federation.result(
        model={"format": FORMAT, "columns": described},
        privacy=statement(asked.added, asked.whom, len(widths)),
        diagnostics={"noise": noise} if asked.added.private else {"minimum_count": minimum},
    )
