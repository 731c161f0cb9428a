"""Central's side of learning: which member is over which columns, who counts, what the members weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from fedbayes.federation import Federation, Parties, Preflight
from fedbayes.federation.errors import ArgumentError, DataProblem
from fedbayes.federation.gate import Sealed
from fedbayes.federation.vertical import PARTIALS, SecureTables, open_parties, setup_of
from fedbayes.federation.vertical.columns import at_no_station
from fedbayes.federation.vertical.opening import fold_domain
from fedbayes.federation.vertical.roles import check_helper_name
from fedbayes.federation.vertical.states import check_cells
from fedbayes.typing import Counts

from .arguments import Fit
from .ensemble import Ensemble, Member
from .groups import groups_of
from .members import check_classes, member_of
from .messages import ColumnsReply, ColumnsRequest, MemberReply, MemberRequest
from .model import Part, learn_parts
from .testing import by_folds, by_other_rows
from .votes import scaled

MOST_PAIRS = 500
"""Of columns that are opened before the search asks: those of 32 columns; of more most would never be asked for."""

MOST_NAMED = 5
"""Features that a warning names."""


@dataclass
class Trained:
    """What learning gives, and what was told to whom on the way."""

    ensemble: Ensemble
    reveals: dict[str, str]
    records: int | None = None
    batches: int = 0
    minimum_count: float = 0.0
    tables: SecureTables | None = None
    parts: list[Part] = field(default_factory=list)


def train(federation: Federation, asked: Fit) -> Trained:
    """Return the ensemble that is asked for."""
    if asked.split == "horizontal":
        check_helper_name(federation, asked.helper)
        parties = federation.open_channel(asked.organizations, _preflight(asked))
        own, seals = local_members(federation, asked, parties.stations, asked.features, last=asked.weights != "score")
        _warn_of_lacking(federation, asked, own)
        trained = _finished(asked, own, Trained(_empty(asked), {}))
        if asked.weights == "score":
            trained.ensemble = by_other_rows(federation, trained.ensemble, seals, parties.stations)
        return trained
    parties = open_parties(federation, asked.organizations, asked.helper, _preflight(asked))
    if asked.split == "vertical" and asked.features is not None:
        return _vertical(federation, asked, parties, None)
    columns = columns_of(federation, asked, parties)
    if asked.split == "hybrid" and asked.hybrid == "local":
        return _hybrid_local(federation, asked, parties, columns)
    return _vertical(federation, asked, parties, columns)


def _preflight(asked: Fit) -> Preflight:
    """Return what the stations check before anything is asked of their tables."""
    features = asked.features or ()
    identifier = [asked.identifier] if asked.identifier else []
    named = asked.features is not None and asked.split != "hybrid"
    functions = [] if named else ["partial_columns"]
    if asked.split == "horizontal":
        functions += ["partial_member", *(["partial_tested"] if asked.weights == "score" else [])]
        return Preflight((asked.label, *features), functions=tuple(functions), queries=1 + len(features))
    if asked.split == "hybrid" and asked.hybrid == "local":
        functions.append("partial_member")
    functions += [*PARTIALS, *(["partial_predicted"] if asked.weights == "score" else [])]
    return Preflight(
        (asked.label, *features, *identifier), asked.identifier, functions=tuple(functions), queries=1 + len(features)
    )


def _vertical(
    federation: Federation,
    asked: Fit,
    parties: Parties,
    columns: Mapping[int, Sequence[str]] | None,
) -> Trained:
    trained = _finished(asked, *secure_members(federation, asked, parties, columns))
    if asked.weights == "score" and trained.tables is not None:
        trained.ensemble = by_folds(federation, trained.ensemble, trained.tables, trained.parts, asked)
    return trained


def _empty(asked: Fit) -> Ensemble:
    return Ensemble(asked.label, (), (), asked.vote, asked.weights, asked.split, asked.bound)


def _finished(asked: Fit, members: Sequence[Member], trained: Trained) -> Trained:
    """Return the ensemble with its classes and weights."""
    classes = check_classes(members)
    plain = [float(member.rows) if asked.weights == "rows" else 1.0 for member in members]
    weighed = tuple(replace(m, weight=w) for m, w in zip(members, scaled(plain), strict=True))
    trained.ensemble = Ensemble(asked.label, classes, weighed, asked.vote, asked.weights, asked.split, asked.bound)
    return trained


def columns_of(federation: Federation, asked: Fit, parties: Parties) -> dict[int, list[str]]:
    """Return each station's columns of the task, the label included. One round.

    Raises
    ------
    ArgumentError
        The label or a feature is at no station.
    """
    named = None if asked.features is None else [*asked.features, asked.label]
    replies = federation.round("partial_columns", ColumnsRequest(named), parties.stations, ColumnsReply)
    per_member = {
        member: [c for c in reply.columns.value if c != asked.identifier] for member, reply in replies.items()
    }
    held = {column for columns in per_member.values() for column in columns}
    for name in [asked.label, *(asked.features or ())]:
        if name not in held:
            argument = "label" if name == asked.label else "features"
            raise ArgumentError(f"{argument}: {at_no_station(federation, name)}")
    return per_member


def local_members(
    federation: Federation,
    asked: Fit,
    stations: Sequence[int],
    columns: Sequence[str] | Mapping[int, Any] | None,
    last: bool = False,
) -> tuple[list[Member], dict[int, list[Sealed]]]:
    """Return members that stations learn from their own rows, and what each sealed of its own for the others. One round (two where no columns are named)."""
    if columns is None:
        held = federation.round("partial_columns", ColumnsRequest(None), stations, ColumnsReply)
        columns = {member: reply.columns.value for member, reply in held.items()}
    requests = {}
    for member in stations:
        own = columns[member] if isinstance(columns, Mapping) else columns
        own = [column for column in own if column not in (asked.identifier, asked.label)]
        requests[member] = MemberRequest(
            asked.label,
            own,
            asked.states,
            asked.bins,
            asked.learning_json,
            asked.minimum_count,
            asked.secret,
        )
    replies = federation.round("partial_member", requests, stations, MemberReply, last=last)
    try:
        learned = {at: Member.from_json(reply.member.value) for at, reply in replies.items()}
    except (KeyError, TypeError, ValueError):
        raise DataProblem("a station's member is malformed; use one version of the algorithm everywhere") from None
    named = [replace(member, name=federation.name(at)) for at, member in learned.items()]
    return named, {at: reply.seals for at, reply in replies.items()}


def _warn_of_lacking(federation: Federation, asked: Fit, members: Sequence[Member]) -> None:
    """Warn of features that no station has, and of members whose station lacks one that is named, or that others have."""
    held = dict.fromkeys(column for member in members for column in member.columns)
    nowhere = [name for name in asked.features or () if name not in held]
    if nowhere:
        federation.warn(f"features: no station has {_quoted(nowhere)}, so no member uses it; check how it is written")
    for member in members:
        lacking = [name for name in asked.features or held if name in held and name not in member.columns]
        if lacking:
            federation.warn(f"features: {member.name} lacks {_quoted(lacking)}, so its member votes without")


def _quoted(names: Sequence[str]) -> str:
    """Return names for a sentence: the first few, and how many more."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(f"'{name[:60]}'" for name in names[:MOST_NAMED]) + more


def secure_members(
    federation: Federation,
    asked: Fit,
    parties: Parties,
    columns: Mapping[int, Sequence[str]] | None,
    voters: Sequence[int] | None = None,
) -> tuple[list[Member], Trained]:
    """Return members whose counts come from the product engine: two rounds to align, then the search."""
    groups = groups_of(federation, asked.members, parties.stations)
    if voters is not None:
        groups = {name: group for name, group in groups.items() if set(group) <= set(voters)}
    names = list(asked.features or ()) if columns is None else _all(asked, groups, columns)
    if not names:
        raise ArgumentError("a vote needs at least one member; features must hold columns of at least one station")
    tables = _open_tables(federation, asked, parties, names)
    owned = _owned(tables, names) if columns is None else columns
    chosen = {name: {at: _own(asked, owned.get(at, ())) for at in group} for name, group in groups.items()}
    chosen = {name: {at: own for at, own in places.items() if own} for name, places in chosen.items()}
    chosen = {name: places for name, places in chosen.items() if places}
    if not chosen:
        raise ArgumentError("a vote needs at least one member; members must name organizations that hold features")
    variables = {name: states.variable() for name, states in tables.columns.items()}
    together = [tuple(dict.fromkeys(c for own in places.values() for c in own)) for places in chosen.values()]
    _check_edges(asked, together)

    def count(questions: Sequence[tuple[str, ...]]) -> list[Counts]:
        check_cells(questions, variables)
        return tables.tables(list(questions))

    united = asked.split == "hybrid"
    parts = learn_parts(asked.learning, asked.label, together, variables, count, united)
    minimum = max(asked.minimum_count, float(tables.minimum_count))
    trained = Trained(_empty(asked), tables.reveals(), tables.rows, parts[0].batches, minimum, tables)
    trained.parts = parts
    entries = zip(chosen.items(), parts, strict=True)
    members = [member_of(name, asked.label, at, part, variables, minimum) for (name, at), part in entries]
    return members, trained


def _open_tables(federation: Federation, asked: Fit, parties: Parties, wanted: Sequence[str]) -> SecureTables:
    """Align the records and open the label, the features and, for weights by held-out score, the folds."""
    fold = fold_domain(asked.folds if asked.weights == "score" else 0)
    setup = setup_of(
        federation,
        parties,
        asked.identifier,
        asked.helper,
        records="union" if asked.split == "hybrid" else "intersection",
        domain={**asked.states, **fold},
        bins=asked.bins,
        missing_state=True,
        unhidden=True,
    )
    columns = [asked.label, *wanted, *fold]
    return SecureTables.open(federation, setup, columns, small_groups=_pairs(asked, wanted))


def _pairs(asked: Fit, wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of columns to open at once where they are small, so that the second step of the search needs no round of openings."""
    learning = asked.learning
    if asked.split != "vertical" or learning.max_parents < 2 or learning.structure not in ("k2", "augmented"):
        return []
    pairs = list(combinations(wanted, 2))
    return pairs if len(pairs) <= MOST_PAIRS else []


def _all(asked: Fit, groups: Mapping[str, Sequence[int]], columns: Mapping[int, Sequence[str]]) -> list[str]:
    """Return the columns that any of the groups has."""
    return list(dict.fromkeys(c for group in groups.values() for at in group for c in _own(asked, columns[at])))


def _owned(tables: SecureTables, wanted: Sequence[str]) -> dict[int, list[str]]:
    """Return the columns of each station, as the tables found them."""
    owned: dict[int, list[str]] = {}
    for column in wanted:
        for at in tables.columns[column].owners:
            owned.setdefault(at, []).append(column)
    return owned


def _own(asked: Fit, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if column not in (asked.identifier, asked.label))


def _check_edges(asked: Fit, together: Sequence[Sequence[str]]) -> None:
    edges = asked.learning.structure
    if isinstance(edges, str):
        return
    for parent, child in edges:
        if not any({parent, child} <= {asked.label, *own} for own in together):
            raise ArgumentError(f"structure: the edge {parent} -> {child} joins columns of different members; drop it")


def _hybrid_local(federation: Federation, asked: Fit, parties: Parties, columns: dict[int, list[str]]) -> Trained:
    """Stations that have the label learn alone; the others by products, over the columns that only they have."""
    if asked.members != "party":
        raise ArgumentError('members: groups need hybrid="shared"; with hybrid="local" every party is a member')
    having = [at for at in parties.stations if asked.label in columns[at] and _own(asked, columns[at])]
    lacking = [at for at in parties.stations if asked.label not in columns[at]]
    members = local_members(federation, asked, having, columns)[0] if having else []
    trained = Trained(_empty(asked), {})
    only = {at: [c for c in columns[at] if sum(c in other for other in columns.values()) == 1] for at in lacking}
    if any(only.values()):
        if asked.secret:
            names = ", ".join(federation.name(at) for at in lacking)
            raise ArgumentError(f"secret members need the label at the station; it is not at: {names}; leave them out")
        far, trained = secure_members(federation, asked, parties, {**columns, **only}, lacking)
        members = [*members, *far]
    return _finished(asked, members, trained)
