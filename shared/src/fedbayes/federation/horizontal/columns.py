"""Which columns a task is about: label, features and their public domains, from the arguments or from the stations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from fedbayes.bayes.schema import Schema, SchemaError

from ..decorators import partial
from ..errors import ArgumentError, DataProblem, PolicyError, schema_errors
from ..gate import Public
from ..messages.codec import Message
from ..replies import Empty
from ..rounds import Federation
from ..station import Station
from .units import ROW, Unit

REFUSALS = "outside='refuse' is not covered by epsilon: whether a station refuses reveals if a value is outside the domain; give outside='clip'"
HOW_TO_GIVE = (
    'give domain={"column": {"categories": [...]} or {"bounds": [low, high]}, ...} including the label, '
    'a dictionary (--dictionary FILE, or dictionary="FILE"), '
    "or have each node's administrator set FEDBAYES_SCHEMA to a file of it in the ledger's folder"
)


class Columns(Message):
    """The columns of a task and their public domains; part of the requests of every horizontal method.

    Parameters
    ----------
    label : str
    features : list of str
    domain : dict
        Of exactly the label and the features.
    outside : str
        ``clip`` or ``refuse`` (see :meth:`fedbayes.bayes.schema.Column.encode`).
    unit : Unit
        Whom a promise is for: its column of identifiers is read too, and bounds the rows that are used.
    """

    label: str
    features: list[str]
    domain: dict[str, Any]
    outside: str = "clip"
    unit: Unit = ROW

    def __post_init__(self) -> None:
        if self.outside not in ("clip", "refuse"):
            raise ValueError('outside must be "clip" or "refuse"')
        if sorted(self.domain) != sorted([*self.features, self.label]):
            raise ValueError("domain must hold exactly the label and the features, each once")
        if self.unit.id_column in (*self.features, self.label):
            raise ValueError("id_column must be neither a feature nor the label")
        label = self.schema[self.label]
        if not label.is_categorical or label.cardinality < 2:
            raise SchemaError(
                f"label {self.label!r} must have at least two categories in the domain; a dictionary cuts numbers into some (cut)"
            )

    @cached_property
    def schema(self) -> Schema:
        """The features' domains in their order, then the label's."""
        return Schema.from_domain({name: self.domain[name] for name in [*self.features, self.label]})

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.domain[self.label]["categories"])

    @property
    def beyond_promise(self) -> str | None:
        """Why an answer about these columns is not private whatever noise it carries, or None."""
        return REFUSALS if self.outside == "refuse" else None

    def read(self, station: Station, private: bool = True) -> dict[str, Any]:
        """Return the station's columns, encoded: int32 codes (-1 missing) or float64 (NaN missing), (n,) each.

        Parameters
        ----------
        station : Station
            With its table.
        private : bool
            Whether the answer is to be private. Then no value is refused: what is not understood, in whatever column, is missing, and
            the tables' cells for missing values tell. Else text in a column of numbers is refused, and so is a column of which
            nearly nothing is in the domain.

        Raises
        ------
        DataProblem, PolicyError, ThresholdError
            Naming the column; PolicyError also for ``refuse`` at a node of private answers only, since a refusal tells about the data.
        MessageError
            If values may be refused in a job that announced private answers only.
        """
        if self.outside == "refuse" and not station.policy.allow_non_private:
            raise PolicyError(
                "outside='refuse' reveals whether a value is outside the domain, which this node does not allow; give 'clip'"
            )
        if not private or self.beyond_promise is not None:
            station.require_private(False)
        table = self.unit.table(station, [*self.features, self.label], self.domain)
        with schema_errors(DataProblem):
            if not private:
                self.schema.refuse_unknown(table)
            encoded = self.schema.encode(
                table, "refuse" if self.outside == "refuse" else ("absorb" if private else "clip")
            )
        kept = self.unit.kept(station, table, encoded)
        return {name: column[kept] for name, column in encoded.items()}

    def parts(self, station: Station, private: bool = True, rows: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the station's columns as `read` gives them, where it can be in parts of rows, to be added up: of so many if that is more than usual.

        Where a value may be refused, or rows belong together, all come as one.
        """
        if not private or self.outside == "refuse" or self.unit.id_column is not None:
            yield self.read(station, private)
            return
        with schema_errors(DataProblem):
            for table in station.parts([*self.features, self.label], self.domain, rows):
                yield self.schema.encode(table, "absorb")


class SchemaReply(Message):
    """The public domains of a station's columns; None if it has no schema file."""

    domain: Public[dict[str, Any] | None]


@partial
def partial_schema(station: Station, request: Empty) -> SchemaReply:
    """Return the node's schema file: public knowledge that never comes from its data.

    **Reveals** the schema file to central. **Assumes** that the administrator wrote nothing into it that comes from the data.
    """
    return SchemaReply(station.from_administrator())


def asked_columns(label: str, features: list[str] | None, domain: dict[str, Any] | None, unit: Unit = ROW) -> list[str]:
    """Return the columns that a task names, as far as its arguments tell before the stations' schema files are read; `ArgumentError` as `resolve_columns`."""
    if domain is not None:
        features = _columns(label, features, domain, "clip", unit).features
    return [label, *(name for name in features or [] if name != label)]


def resolve_columns(
    federation: Federation,
    stations: Sequence[int],
    label: str,
    features: list[str] | None,
    domain: dict[str, Any] | None,
    outside: str = "clip",
    unit: Unit = ROW,
) -> Columns:
    """Return the checked columns of a task; asks the stations' schema files (one round) if ``domain`` is None.

    Parameters
    ----------
    federation : Federation
        With an open channel.
    stations : sequence of int
        Whose schema files count.
    label, features, domain, outside : str, list of str, dict, str
        The task's arguments; ``features=None`` means every column of the domain but the label (and the identifiers).
    unit : Unit
        Of :func:`check_unit`.

    Raises
    ------
    ArgumentError
        If the domain is malformed or lacks a column, label, features and identifiers overlap, or schema files do not agree.
    """
    if domain is None:
        domain = _agreed_domain(federation, stations, features, label)
    return _columns(label, features, domain, outside, unit)


def _columns(target: str, wanted: list[str] | None, domain: dict[str, Any], outside: str, unit: Unit) -> Columns:
    with schema_errors(ArgumentError):
        schema = Schema.from_domain(domain)
        names = wanted if wanted is not None else [n for n in schema.names if n not in (target, unit.id_column)]
        if unit.id_column in (*names, target):
            raise ArgumentError("id_column must be neither a feature nor the label; leave it out of features")
        if target in names:
            raise ArgumentError(f"features must not hold the label '{target}'; leave it out")
        if not names:
            raise ArgumentError("features must hold at least one column besides the label")
        return Columns(target, names, schema.select([*names, target]).to_domain(), outside, unit)


def _agreed_domain(
    federation: Federation, stations: Sequence[int], wanted: list[str] | None, label: str
) -> dict[str, Any]:
    replies = federation.round("partial_schema", Empty(), stations, SchemaReply)
    for member, reply in replies.items():
        if reply.domain.value is None:
            raise ArgumentError(f"domain is needed: {federation.name(member)} has no schema file; {HOW_TO_GIVE}")
    domains = {member: reply.domain.value or {} for member, reply in replies.items()}
    first = next(iter(domains.values()))
    for name in [*wanted, label] if wanted is not None else list(first):
        for member, own in domains.items():
            if own.get(name) != first.get(name) or name not in own:
                raise ArgumentError(
                    f"column '{name[:100]}' has another or no domain in the schema file of "
                    f"{federation.name(member)}; {HOW_TO_GIVE}"
                )
    return first
