"""Central's side of learning: which member is over which columns, who counts, what the members weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from fedbayes.bayes.tables import Counts
from fedbayes.federation import Federation, Parties, Preflight
from fedbayes.federation.errors import ArgumentError, DataProblem
from fedbayes.federation.vertical import PARTIALS, SecureTables, open_parties

from .ensemble import Ensemble, Member, check_classes
from .members import member_of, variable_of
from .messages import ColumnsReply, ColumnsRequest, MemberReply, MemberRequest
from .model import Part, Variable, learn_parts
from .options import Options, groups_of
from .testing import by_folds, by_other_rows, fold_column
from .votes import scaled

MOST_CELLS = 2**22
MOST_PAIRS = 500


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


def train(federation: Federation, options: Options, helper: Any, organizations: list[int | str] | None) -> Trained:
    """Return the ensemble that the options ask for."""
    if options.split == "horizontal":
        parties = federation.open_channel(organizations, _preflight(options))
        own = local_members(federation, options, parties.stations, options.features, last=options.weights != "score")
        trained = _finished(options, own, Trained(_empty(options), {}))
        if options.weights == "score":
            trained.ensemble = by_other_rows(federation, trained.ensemble, parties.stations)
        return trained
    parties = open_parties(federation, organizations, helper, _preflight(options))
    if options.split == "vertical" and options.features is not None:
        return _vertical(federation, options, parties, None, helper)
    columns = columns_of(federation, options, parties)
    if options.split == "hybrid" and options.hybrid == "local":
        return _hybrid_local(federation, options, parties, columns, helper)
    return _vertical(federation, options, parties, columns, helper)


def _preflight(options: Options) -> Preflight:
    """Return what the stations check before anything is asked of their tables."""
    features = options.features or ()
    identifier = [options.id_column] if options.id_column else []
    if options.split == "horizontal":
        functions = ["partial_member", *(["partial_tested"] if options.weights == "score" else [])]
        return Preflight((options.target, *features), functions=tuple(functions), queries=1 + len(features))
    functions = [*PARTIALS, *(["partial_predicted"] if options.weights == "score" else [])]
    return Preflight((options.target, *features, *identifier), functions=tuple(functions), queries=1 + len(features))


def _vertical(
    federation: Federation,
    options: Options,
    parties: Parties,
    columns: Mapping[int, Sequence[str]] | None,
    helper: Any,
) -> Trained:
    trained = _finished(options, *secure_members(federation, options, parties, columns, helper))
    if options.weights == "score" and trained.tables is not None:
        trained.ensemble = by_folds(federation, trained.ensemble, trained.tables, trained.parts, options)
    return trained


def _empty(options: Options) -> Ensemble:
    return Ensemble(options.target, (), (), options.vote, options.weights, options.split, options.bound)


def _finished(options: Options, members: Sequence[Member], trained: Trained) -> Trained:
    """Return the ensemble with its classes and weights."""
    classes = check_classes(members)
    plain = [float(member.rows) if options.weights == "rows" else 1.0 for member in members]
    weighed = tuple(replace(m, weight=w) for m, w in zip(members, scaled(plain), strict=True))
    trained.ensemble = Ensemble(
        options.target, classes, weighed, options.vote, options.weights, options.split, options.bound
    )
    return trained


def columns_of(federation: Federation, options: Options, parties: Parties) -> dict[int, list[str]]:
    """Return each station's columns of the task, the target included. One round.

    Raises
    ------
    ArgumentError
        The target or a feature is at no station.
    """
    wanted = None if options.features is None else [*options.features, options.target]
    replies = federation.round("partial_columns", ColumnsRequest(wanted), parties.stations, ColumnsReply)
    found = {member: [c for c in reply.columns.value if c != options.id_column] for member, reply in replies.items()}
    held = {column for columns in found.values() for column in columns}
    for name in [options.target, *(options.features or ())]:
        if name not in held:
            what = "target" if name == options.target else "features"
            raise ArgumentError(f"{what}: column '{name}' is at no station that takes part, or may not be used there")
    return found


def local_members(
    federation: Federation,
    options: Options,
    stations: Sequence[int],
    columns: Sequence[str] | Mapping[int, Any] | None,
    last: bool = False,
) -> list[Member]:
    """Return members that stations learn from their own rows. One round (two where no columns are named)."""
    if columns is None:
        asked = federation.round("partial_columns", ColumnsRequest(None), stations, ColumnsReply)
        columns = {member: reply.columns.value for member, reply in asked.items()}
    requests = {}
    for member in stations:
        own = columns[member] if isinstance(columns, Mapping) else columns
        own = [column for column in own if column not in (options.id_column, options.target)]
        requests[member] = MemberRequest(
            options.target,
            own,
            options.domain,
            options.bins,
            options.learning_json,
            options.minimum_count,
            options.secret,
        )
    replies = federation.round("partial_member", requests, stations, MemberReply, last=last)
    try:
        return [
            replace(Member.from_json(reply.member.value), name=federation.name(at)) for at, reply in replies.items()
        ]
    except (KeyError, TypeError, ValueError):
        raise DataProblem("a station's member is malformed; use one version of the algorithm everywhere") from None


def secure_members(
    federation: Federation,
    options: Options,
    parties: Parties,
    columns: Mapping[int, Sequence[str]] | None,
    helper: Any,
    voters: Sequence[int] | None = None,
) -> tuple[list[Member], Trained]:
    """Return members whose counts come from the product engine: two rounds to align, then the search."""
    groups = groups_of(federation, options.members, parties.stations)
    if voters is not None:
        groups = {name: group for name, group in groups.items() if set(group) <= set(voters)}
    asked = list(options.features or ()) if columns is None else _all(options, groups, columns)
    if not asked:
        raise ArgumentError("a vote needs at least one member; features must hold columns of at least one station")
    tables = _open_tables(federation, options, parties, asked, helper)
    owned = _owned(tables, asked) if columns is None else columns
    chosen = {name: {at: _own(options, owned.get(at, ())) for at in group} for name, group in groups.items()}
    chosen = {name: {at: own for at, own in places.items() if own} for name, places in chosen.items()}
    chosen = {name: places for name, places in chosen.items() if places}
    if not chosen:
        raise ArgumentError("a vote needs at least one member; members must name organizations that hold features")
    variables = {name: variable_of(states) for name, states in tables.columns.items()}
    together = [tuple(dict.fromkeys(c for own in places.values() for c in own)) for places in chosen.values()]
    _check_edges(options, together)
    united = options.split == "hybrid"
    parts = learn_parts(options.learning, options.target, together, variables, Bounded(tables, variables), united)
    minimum = max(options.minimum_count, float(tables.minimum_count))
    trained = Trained(_empty(options), tables.reveals(), tables.rows, parts[0].batches, minimum, tables)
    trained.parts = parts
    entries = zip(chosen.items(), parts, strict=True)
    members = [member_of(name, options.target, at, part, variables, minimum) for (name, at), part in entries]
    return members, trained


def _open_tables(
    federation: Federation, options: Options, parties: Parties, asked: Sequence[str], helper: Any
) -> SecureTables:
    """Align the records and open the target, the features and, for weights by held-out score, the folds."""
    by_score = options.weights == "score"
    fold = {fold_column(options.folds): {"categories": list(range(options.folds))}} if by_score else {}
    return SecureTables.open(
        federation,
        parties,
        id_column=options.id_column or "",
        columns=[options.target, *asked, *fold],
        domain={**options.domain, **fold},
        bins=options.bins,
        missing_state=True,
        helper=helper,
        records="union" if options.split == "hybrid" else "intersection",
        small_groups=_pairs(options, asked),
    )


def _pairs(options: Options, asked: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of columns to open at once where they are small, so that the second step of the search needs no round of openings."""
    learning = options.learning
    if options.split != "vertical" or learning.max_parents < 2 or learning.structure not in ("k2", "augmented"):
        return []
    pairs = list(combinations(asked, 2))
    return pairs if len(pairs) <= MOST_PAIRS else []


def _all(options: Options, groups: Mapping[str, Sequence[int]], columns: Mapping[int, Sequence[str]]) -> list[str]:
    """Return the columns that any of the groups has."""
    return list(dict.fromkeys(c for group in groups.values() for at in group for c in _own(options, columns[at])))


def _owned(tables: SecureTables, asked: Sequence[str]) -> dict[int, list[str]]:
    """Return the columns of each station, as the tables found them."""
    found: dict[int, list[str]] = {}
    for column in asked:
        for at in tables.columns[column].owners:
            found.setdefault(at, []).append(column)
    return found


def _own(options: Options, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if column not in (options.id_column, options.target))


def _check_edges(options: Options, together: Sequence[Sequence[str]]) -> None:
    edges = options.learning.structure
    if isinstance(edges, str):
        return
    for parent, child in edges:
        if not any({parent, child} <= {options.target, *own} for own in together):
            raise ArgumentError(f"structure: the edge {parent} -> {child} joins columns of different members; drop it")


class Bounded:
    """Secure tables as an oracle that refuses tables with too many cells before anything runs."""

    def __init__(self, tables: SecureTables, variables: Mapping[str, Variable]) -> None:
        self._tables, self._variables = tables, variables

    def __call__(self, asked: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns: one batch."""
        for columns in asked:
            cells = 1.0
            for column in columns:
                cells *= len(self._variables[column].states) + 1
            if cells > MOST_CELLS:
                raise ArgumentError(
                    f"a table over {', '.join(columns)} would have too many cells; give coarser bins or lower max_parents"
                )
        return self._tables.tables(list(asked))


def _hybrid_local(
    federation: Federation, options: Options, parties: Parties, columns: dict[int, list[str]], helper: Any
) -> Trained:
    """Stations that have the target learn alone; the others by products, over the columns that only they have."""
    if options.members != "party":
        raise ArgumentError('members: groups need hybrid="shared"; with hybrid="local" every party is a member')
    having = [at for at in parties.stations if options.target in columns[at] and _own(options, columns[at])]
    lacking = [at for at in parties.stations if options.target not in columns[at]]
    members = local_members(federation, options, having, columns) if having else []
    trained = Trained(_empty(options), {})
    only = {at: [c for c in columns[at] if sum(c in other for other in columns.values()) == 1] for at in lacking}
    if any(only.values()):
        if options.secret:
            names = ", ".join(federation.name(at) for at in lacking)
            raise ArgumentError(f"secret members need the target at the station; it is not at: {names}; leave them out")
        far, trained = secure_members(federation, options, parties, {**columns, **only}, helper, lacking)
        members = [*members, *far]
    return _finished(options, members, trained)
