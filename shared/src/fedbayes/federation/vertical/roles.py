"""Who plays which part in private products, checked before anything is sent; and what each learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dp.promise import covers
from ...mpc.replicated import COMPUTING
from .. import arguments
from ..errors import ArgumentError, PlacementError, ThresholdError
from ..perimeter.opening import Parties, Preflight
from ..rounds import Federation
from .accounting import REPLACE_ONE
from .messages import Setup
from .states import check_bins, check_domain

NO_HELPER = "none"
RECORDS = ("intersection", "union")


def choose_helper(federation: Federation, parties: Parties, helper: int | str | None) -> int:
    """Return the organization that serves as commodity server, 0 for none.

    Parameters
    ----------
    federation : Federation
        The job.
    parties : Parties
        Who takes part.
    helper : int, str or None
        An organization by id or name; None takes the first one without data, "none" does without (three stations or more).

    Raises
    ------
    PlacementError
        If it holds data of the task or runs central, as its masks together with what either sees are the data.
    ArgumentError
        If it does not take part, or nobody without data does.
    """
    if helper == NO_HELPER:
        if len(parties.stations) < COMPUTING:
            raise ThresholdError("helper: none needs three or more organizations with data; include more, or a helper")
        return 0
    if helper is None:
        free = [member for member in parties.helpers if member != federation.organization]
        if free:
            return free[0]
        if parties.helpers:
            raise PlacementError(
                "the only organization without data runs central; start the task at another organization, or include one more without data"
            )
        raise ArgumentError("helper: no organization without data takes part; include one")
    chosen = federation.resolve([helper], "helper")[0]
    if chosen in parties.stations:
        raise PlacementError(
            f"helper: {federation.name(chosen)} holds data of this task; choose an organization without"
        )
    if chosen == federation.organization:
        raise PlacementError(f"helper: {federation.name(chosen)} runs central; start the task at another organization")
    if chosen not in parties.helpers:
        raise ArgumentError(f"helper: {federation.name(chosen)} does not take part; add it to organizations")
    return chosen


def at_two_stations(federation: Federation, column: str, holders: Sequence[int]) -> ArgumentError:
    """Return the refusal of a column that several stations hold of the same records."""
    names = ", ".join(federation.name(member) for member in holders)
    return ArgumentError(
        f"column '{column}' is at two stations ({names}); rename it at one, or unite the records; "
        f"where stations hold different people, see which methods take a horizontal split"
    )


def check_helper_name(federation: Federation, helper: int | str | None) -> None:
    """Refuse a helper that is no organization, also where none is needed: `ArgumentError`."""
    if helper not in (None, NO_HELPER):
        federation.resolve([helper], "helper")


def identifying(federation: Federation, setup: Setup, organization: int | str | None) -> int:
    """Return the station whose identifiers name the records: the one asked for, or central's own, or the first.

    Raises
    ------
    ArgumentError
        If the one asked for holds no data of the task.
    """
    if organization is not None:
        chosen = federation.resolve([organization], "identify")[0]
        if chosen not in setup.stations:
            raise ArgumentError("identify must be an organization that holds data of this task")
        return chosen
    return federation.organization if federation.organization in setup.stations else setup.stations[0]


def open_parties(
    federation: Federation,
    organizations: list[int | str] | None = None,
    helper: int | str | None = None,
    preflight: Preflight | None = None,
) -> Parties:
    """Open the channel among the organizations asked for; a helper that is named is asked too, listed or not. One round."""
    if organizations is not None and helper not in (None, NO_HELPER):
        listed = federation.resolve(organizations)
        chosen = federation.resolve([helper], "helper")[0]
        return federation.open_channel(sorted({*listed, chosen}), preflight)
    return federation.open_channel(organizations, preflight)


def setup_of(
    federation: Federation,
    parties: Parties,
    id_column: str,
    helper: int | str | None = None,
    records: str = "intersection",
    domain: dict[str, Any] | None = None,
    bins: Any = "quantile",
    missing_state: bool = False,
    epsilon: float | None = None,
    delta: float | None = 0.0,
    guarded: bool = True,
    neighbors: str = REPLACE_ONE,
    unhidden: bool = False,
) -> Setup:
    """Return the roles of a job, checked.

    Parameters
    ----------
    federation, parties : Federation, Parties
        The job, after `open_channel`.
    id_column : str
        What `check_alignment` returned: "" where the files are aligned.
    helper : int or str, optional
        The commodity server.
    records : {"intersection", "union"}
        Records that all stations have, or that any station has.
    domain : dict, optional
        Public domains; what is not in it is found by the owner and revealed.
    bins : object
        Rule or cut points for numeric columns, see `states.check_bins`.
    missing_state : bool
        Whether "missing" is the last state of every column.
    epsilon, delta : float or None
        Budget of the noisy answers; without epsilon exact ones will be asked. With one, states must be public, "missing" is one of them, and, where
        the noise may be called private (`dp.promise.covers`), nothing is refused because of data, whom conditions and cut points single out too.
    guarded : bool
        Whether exact answers will be asked, so that conditions and cut points need enough records on either side. Where neither exact nor noisy ones
        are, columns serve scores of records only.
    neighbors : {"replace_one", "zero_out"}
        What the noise of private answers is promised for (`dp.neighbors.OF_RECORDS`).
    unhidden : bool
        Whether small cells of the tables are told, as in a network.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        When fewer than two organizations hold data, or of united records fewer than one of them demands organizations.
    """
    arguments.check_choice("records", records, RECORDS)
    if len(parties.stations) < 2:
        raise ThresholdError("private products need two or more organizations with data; include more of them")
    chosen, union = choose_helper(federation, parties, helper), records == "union"
    rules, states = check_bins(bins), check_domain(domain)
    if union and not chosen:
        raise ArgumentError("records: a union needs a helper; name an organization without data")
    if union and not id_column:
        raise ArgumentError("rows_aligned: united records are matched by an identifier; name the id_column")
    private, promised = epsilon is not None, covers(epsilon, delta)
    if union and not promised:
        federation.nodes.check_with_data(parties.stations)
    return Setup(
        chosen,
        list(parties.stations),
        id_column,
        union,
        states,
        rules,
        missing_state or union or private,
        private,
        guarded and not private,
        promised,
        neighbors,
        unhidden,
    )


def reveals_of(setup: Setup, states: str = "") -> dict[str, str]:
    """Return the statement of what each role of the private products learns."""
    if not setup.helper:
        return {
            "central": f"the tables asked for, the number of records, the number of rows of each station and which columns it holds{states}",
            "stations": "the number of rows of each station; the first one of each of its own records, also of those that are not common to all, "
            "which others have it; each other one which of its own records the first has, and which others have these; of values uniform shares only",
            "assumption": "no two of the first three stations collude: two of them could rebuild all data; and the second and the third, which "
            "match identifiers, collude with no other: together they could test guessed identifiers",
        }
    members = "how many of its own records take part" if setup.union else "which of its own records are common to all"
    if setup.union and setup.private:  # such a row is left out, so that a record is counted once
        members = "which of its own records an earlier station that holds the same column has too"
    holds = " and which columns it holds" if setup.union else ""
    return {
        "central": f"the tables asked for, the number of records, the number of rows of each station and which columns it holds{states}",
        "stations": f"{members}, and the number of rows of each station; of values uniform numbers only",
        "helper": f"the number of rows of each station{holds}, of common records, and the list of tables; nothing that depends on a value",
        "assumption": "the helper colludes neither with a station nor with the organization that runs central: it and either could rebuild the data",
    }
