"""Members from records that lie in one place: what a station learns alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbayes.bayes.counts.tables import PooledTables
from fedbayes.bayes.network.variable import Variable
from fedbayes.federation.errors import ArgumentError
from fedbayes.typing import Integers

from .ensemble import Member
from .model import Learning, Part, learn_parts

Codes = dict[str, Integers]


def oracle_of(variables: Mapping[str, Variable], codes: Codes) -> PooledTables:
    """Return a table oracle over codes; "missing" is the last state where a variable says so."""
    return PooledTables(codes, {name: len(variables[name].states) + variables[name].missing for name in codes})


def learned_alone(
    learning: Learning, label: str, own: Sequence[str], variables: Mapping[str, Variable], codes: Codes
) -> Part:
    """Return the network over a station's columns, from its own rows."""
    return learn_parts(learning, label, [own], variables, oracle_of(variables, codes))[0]


def member_of(
    name: str,
    label: str,
    stations: Mapping[int, tuple[str, ...]],
    part: Part,
    variables: Mapping[str, Variable],
    minimum: float = 0.0,
) -> Member:
    """Return the member of a party or a group from what was learned over its columns.

    Parameters
    ----------
    name : str
        The party or the group.
    label : str
        What is predicted.
    stations : mapping of int to tuple of str
        Organization -> its columns.
    part : Part
        The network and its counts.
    variables : mapping of str to Variable
        At least the columns and the label.
    minimum : float
        Parent configurations with fewer records are published as the margin.
    """
    network = part.network.publish(part.counts, minimum)
    seen = zip(variables[label].states, part.classes, strict=True)
    classes = tuple(state for state, count in seen if count > 0)
    cuts = {c: v.cuts for c, v in variables.items() if v.cuts is not None and c in network.states}
    return Member(name, dict(stations), network, cuts, classes, 1.0, part.rows)


def check_classes(members: Sequence[Member]) -> tuple[str, ...]:
    """Return all classes of the members.

    Raises
    ------
    ArgumentError
        There is no member, or no class that all of them have seen, or fewer than two classes in all.
    """
    if not members:
        raise ArgumentError("a vote needs at least one member; features must hold columns of at least one station")
    common = set(members[0].classes).intersection(*(member.classes for member in members))
    classes = list(dict.fromkeys(name for member in members for name in member.classes))
    if not common:
        raise ArgumentError(
            "members have not a single class in common; check that label means the same at all stations, or choose other members"
        )
    if len(classes) < 2:
        raise ArgumentError("label has fewer than two classes; nothing can be predicted")
    return tuple(sorted(classes))
