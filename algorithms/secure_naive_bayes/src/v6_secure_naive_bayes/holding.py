"""Who holds which columns, as stations tell one another: whose tables a job is of, and which of them tells the class counts.

All stations of a job say what they hold of the same columns, sealed for the others. Central relays that and can change none of it; so every station knows
that its features are nobody else's, that all who have some are asked together, and that class counts are told once in the job.
"""

from __future__ import annotations

import json

from fedbayes.federation import Broadcast, Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.perimeter.manifest import digest_of

from .messages import TablesRequest

ASKED = "columns asked for"
TOPIC = "columns held"


def columns_held(station: Station, names: list[str]) -> Broadcast:
    """Return which of these columns, the same once in a job, this station holds, for all other stations of the job.

    Raises
    ------
    MessageError
        When it was asked for other columns before.
    """
    text = json.dumps(names).encode()
    if station.once(ASKED, text) != text:
        raise MessageError("this station was asked for other columns of this job before; start the job again")
    held = sorted(set(names) & set(station.columns))
    return station.broadcast(_others(station), json.dumps(held).encode(), _topic(names))


def asked(station: Station) -> list[str]:
    """Return the columns for which all stations of the job were asked; none before that."""
    return list(json.loads(station.memory.read(ASKED) or b"[]"))


def check_alone(station: Station, request: TablesRequest) -> None:
    """Refuse tables of columns that another station has, or without a station that has some, of which the first tells class counts.

    Raises
    ------
    MessageError
        When there is such a column or station, or a letter is missing or of other columns.
    """
    names = asked(station)
    if sorted(request.letters) != _others(station):
        raise MessageError("a station's word of its columns is missing, or one too many; the job stops")
    held = {
        member: set(json.loads(station.open_broadcast(member, letter, _topic(names))))
        for member, letter in request.letters.items()
    }
    elsewhere = set[str]().union(*held.values())
    held[station.organization] = set(names) & set(station.columns)
    owners = [member for member, own in sorted(held.items()) if len(own) > 1]  # a feature beside the label
    if elsewhere & set(request.columns.features) or owners != sorted(station.participants):
        raise MessageError("tables are not of all stations with features, each of which has its own; the job stops")


def _others(station: Station) -> list[int]:
    return [member for member in station.require_members().stations if member != station.organization]


def _topic(names: list[str]) -> str:
    return f"{TOPIC}|{digest_of(names)}"
