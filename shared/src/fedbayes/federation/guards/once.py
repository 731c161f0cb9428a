"""What may be asked once in a job, whatever the round: a plan, a part of a budget, a question about single records.

Masks follow from the names of what they hide, and a part of a budget pays for one answer: two contents under one name would show their difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..perimeter.manifest import digest_of

if TYPE_CHECKING:
    from ..station import Station

ONE_QUESTION = "an exact fit asks one question, and a step of it once; start the job again"
TWICE = "a step of the protocol was asked for twice with other contents; start the job again"


def is_first(station: Station, name: str, content: Any) -> bool:
    """Keep what a name stands for in this job, or this fold of it, and return whether it is that: the first to keep it wins."""
    digest = digest_of(content).encode()
    return station.once(f"once|{name}", digest) == digest


def asked_once(station: Station, name: str, content: Any, refusal: str = TWICE) -> None:
    """Refuse another content under a name than the job's first.

    Parameters
    ----------
    station : Station
        Who answers.
    name : str
        Of what is asked.
    content : object of plain JSON or messages
        What is asked, or the round in which it is.
    refusal : str
        What to say.

    Raises
    ------
    MessageError
        When something else was asked under the name before.
    """
    if not is_first(station, name, content):
        raise MessageError(refusal)
