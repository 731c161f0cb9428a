"""How a computation over columns of the same records begins: who takes part, and which records are common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedbayes.federation import Federation, Parties, Preflight
from fedbayes.federation.errors import ArgumentError, PlacementError, ThresholdError
from fedbayes.federation.horizontal import CountNoise
from fedbayes.federation.vertical import MATCHED, choose_helper, open_parties
from fedbayes.federation.vertical.as_asked import hashes_for, rows_of
from fedbayes.federation.vertical.columns import nearest_listed
from fedbayes.federation.vertical.messages import MatchReply, MatchRequest, Parcel, SubmitReply, SubmitRequest

from ..messages.setup import Question

EXACT = CountNoise()
ALIGNMENT_BITS = 64  # of an identifier's hash: two of a million records meet with probability 3e-8
OTHER_PEOPLE = "where they hold different people, fit with split='horizontal'"


def joined(
    federation: Federation,
    organizations: Any,
    helper: int | str | None,
    columns: Sequence[str | None],
    id_column: str | None,
    functions: Sequence[str],
    queries: int = 1,
    single_records: bool = False,
    derived_from: Sequence[str] = (),
    noise: CountNoise = EXACT,
    helped: bool = True,
) -> tuple[Parties, int]:
    """Open the channel and choose the helper; every station says at once, before anything is spent, whether it refuses. A helper that is named is asked too.

    Parameters
    ----------
    federation : Federation
        The job.
    organizations, helper
        As the researcher named them.
    columns : sequence of str or None
        Columns beside that of the identifiers; None is left out.
    id_column : str or None
        None: the stations' rows are in the same order.
    functions : sequence of str
        What will be asked, beside the rounds in which records are matched.
    queries : int
        Questions that will be debited.
    single_records : bool
        Whether numbers of single records are shown to somebody.
    derived_from : sequence of str
        Columns that the formula's arithmetic takes.
    noise : CountNoise
        Of a private answer, whose budget is debited in the place of questions.
    helped : bool
        Whether a helper is needed where none is named; else it is 0.
    """
    if helper == "none":
        raise ArgumentError(
            "helper: vertical Cox regression needs one; name an organization without data, or leave it out"
        )
    named = [name for name in (*columns, id_column) if name]
    asked = Preflight(
        columns=tuple(dict.fromkeys(named)),
        linked_by=id_column or "",
        functions=(*MATCHED, *functions),
        queries=0 if noise.private else queries,
        single_records=single_records,
        derived_from=tuple(derived_from),
        epsilon=noise.epsilon,
        delta=noise.delta,
        private=noise.promises,
        relation=noise.relation if noise.private else None,
        honest_fraction=noise.honest_fraction if noise.private else 0.0,
    )
    parties = open_parties(federation, organizations, helper, asked)
    if len(parties.stations) > 1 and all(parties.holders[name] == list(parties.stations) for name in named):
        raise ArgumentError(f"split: every organization has all columns; {OTHER_PEOPLE}")
    chosen = choose_helper(federation, parties, helper) if helped or helper is not None else 0
    if len(parties.stations) < 2:
        raise PlacementError("vertical Cox regression needs two or more organizations with data; add one")
    return parties, chosen


def check_somewhere(federation: Federation, parties: Parties, named: Mapping[str, Sequence[str | None]]) -> None:
    """Refuse a column that no station has, before anything is spent; `named` are columns by the argument that names them.

    Raises
    ------
    ArgumentError
        Naming both, and a station that has a column written nearly so.
    """
    for argument, names in named.items():
        for name in names:
            if name and not parties.holders[name]:
                near = [federation.name(member) for member in parties.alike[name]]
                written = f" (one at {near[0]} differs only by blanks, capitals or accents)" if near else ""
                hint = written or nearest_listed(federation, name)
                raise ArgumentError(f"{argument}: no station has the column '{name[:60]}'; check its name{hint}")


def check_outcome(
    federation: Federation, parties: Parties, time: str, event: str, beside: Mapping[str, str | None], of: str = ""
) -> None:
    """Refuse an outcome that is not whole at exactly one station, or a part of which others have too, before anything is spent.

    Parameters
    ----------
    federation : Federation
        The job.
    parties : Parties
        Who holds which column.
    time, event : str
        Columns, which some station has.
    beside : mapping
        Argument -> the column that must be there too.
    of : str
        What an error begins with, as ``model: `` where a model names the columns.

    Raises
    ------
    ArgumentError
        Naming the arguments, the columns, and the stations that have them.
    """

    def at(column: str) -> str:
        return f"'{column[:60]}' is at {' and '.join(federation.name(member) for member in parties.holders[column])}"

    owners = [member for member in parties.holders[time] if member in parties.holders[event]]
    if not owners:
        raise ArgumentError(f"{of}time and event: {at(time)}, {at(event)}; both must be at one station")
    if len(owners) > 1:
        names = " and ".join(federation.name(member) for member in owners)
        raise ArgumentError(
            f"{of}time and event: the outcome is at two stations ({names}); leave one of them out, or {OTHER_PEOPLE}"
        )
    for outcome in (time, event):
        if parties.holders[outcome] != owners:
            home = federation.name(owners[0])
            raise ArgumentError(
                f"{of}time and event: {at(outcome)}, and the outcome is whole at {home} alone; name columns that one station has, or leave the other one out"
            )
    for argument, column in beside.items():
        if column and owners[0] not in parties.holders[column]:
            home = federation.name(owners[0])
            raise ArgumentError(f"{of}{argument}: {at(column)}, and must be at {home}, where the outcome is")


def aligned(federation: Federation, question: Question) -> tuple[int, dict[int, list[Parcel]]]:
    """Return the number of common records and every station's sealed orders; 0 and none without an identifier column."""
    if question.id_column is None:
        return 0, {member: [] for member in question.stations}
    setup = question.matching
    submitted = federation.round(
        "partial_submit", SubmitRequest(setup, [], ALIGNMENT_BITS), question.stations, SubmitReply
    )
    hashes = {member: hashes_for(reply, question.helper) for member, reply in submitted.items()}
    matched = federation.round("partial_match", MatchRequest(setup, hashes, [], []), [question.helper], MatchReply)
    reply = matched[question.helper]
    rows = rows_of(reply)
    least = max(answer.minimum_rows.value for answer in submitted.values())
    if rows < least:
        raise ThresholdError("fewer records are common to all stations than a node demands")
    orders = reply.parcels(question.helper)
    return rows, {member: [one for one in orders if one.stage == member] for member in question.stations}
