"""What a station tells of the factors that it opened, held against what it was asked: central makes its next requests of it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ..errors import ArgumentError, StationError
from ..gate import Sealed
from ..questions.factor_info import FactorInfo, Wanted, check_sizes, factor_name
from ..rounds import Federation
from .messages import MatchReply, Opened, Setup, SubmitReply
from .opening import COUNTED, SHORT
from .roles import at_two_stations

OTHERWISE = "a station tells of other columns or states than it was asked to open; the job stops"


def check_asked(
    infos: Sequence[FactorInfo],
    member: int,
    stage: int,
    bits: int = 0,
    wanted: Sequence[Wanted] | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Raise `StationError` for factors that a station does not open of its own columns, or that are not those wanted of its `columns`.

    Parameters
    ----------
    infos : sequence of FactorInfo
        What it tells.
    member, stage : int
        Who it is, and the stage of the openings.
    bits : int
        Of their ring; 0 where a method's own partial opens something.
    wanted : sequence of Wanted, optional
        What was asked; left out there too.
    columns : sequence of str
        Those that it has, as it said.
    """
    own = [member]
    plain = all(
        (one.holders, one.contributors, one.stage, one.bits) == (own, own, stage, bits or one.bits)
        and not (one.derived or one.view_of or one.made_of)
        for one in infos
    )
    names = [one.name for one in infos]
    if not plain or len(set(names)) != len(names):
        raise StationError(OTHERWISE)
    if wanted is not None:
        _check_names({one.name: one.columns for one in infos}, member, wanted, columns)


def _check_names(
    columns_of: dict[str, list[str]], member: int, wanted: Sequence[Wanted], columns: Sequence[str]
) -> None:
    may: dict[str, list[str]] = {}
    for want in wanted:
        own = [column for column in want.columns if column in columns]
        if not own:
            continue
        names = list(_names(want, own, member))
        may.update(dict.fromkeys(names, own))
        if not want.optional and columns_of.keys().isdisjoint(names):
            raise StationError(OTHERWISE)
    if any(may.get(name) != of for name, of in columns_of.items()):
        raise StationError(OTHERWISE)


def _names(want: Wanted, own: list[str], member: int) -> Iterator[str]:
    """Yield the names that a factor may have which shows what is wanted, see `opening.Encoder`."""
    for kind in (want.kind, SHORT, COUNTED) if want.kind == "values" else (want.kind,):
        yield factor_name(kind, own, None if kind == "states" else member, () if kind == COUNTED else want.conditions)


def check_parcel(opened: Opened, factors: Container[str]) -> None:
    """Raise `StationError` where a station says that it opened a factor twice, or one that nobody knows."""
    names = opened.names.value
    if len(set(names)) != len(names) or not all(name in factors for name in names):
        raise StationError(OTHERWISE)


def hashes_for(reply: SubmitReply, matcher: int) -> Sealed:
    """Return a station's hashes for who matches them; `StationError` where there are none."""
    if matcher not in reply.hashes:
        raise StationError("a station's hashes for who matches records are missing; the job stops")
    return reply.hashes[matcher]


def rows_of(reply: MatchReply) -> int:
    """Return how many records are matched; `StationError` where there cannot be so many."""
    try:
        check_sizes(reply.rows.value, [])
    except ValueError:
        raise StationError("who matches records tells an absurd number of them; the job stops") from None
    return reply.rows.value


def described_twice(
    federation: Federation, setup: Setup, info: FactorInfo, holders: Sequence[int]
) -> ArgumentError | StationError:
    """Return the refusal of a column in which two stations found other states."""
    if not setup.union:
        return at_two_stations(federation, info.columns[0], holders)
    shared = ", ".join(f"'{column[:60]}'" for column in info.columns)
    return StationError(f"two stations found other states in {shared}; give its categories or bounds in the domain")
