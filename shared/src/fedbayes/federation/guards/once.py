"""What may be asked once in a job, whatever the round: a plan, a part of a budget, a question about single records.

Masks follow from the names of what they hide, and a part of a budget pays for one answer: two contents under one name would show their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..perimeter.manifest import digest_of

if TYPE_CHECKING:
    from ..station import Station

ONE_QUESTION = "an exact fit asks one question, and a step of it once; start the job again"
TWICE = "a step of the protocol was asked for twice with other contents; start the job again"
OTHER_SETUP = "this station was told other roles or rules of this job before; start the job again"
OPENED = "columns of this job have been opened in another round before; start the job again"
"""Masks follow from what they hide and its stage: two openings under one mask, of other bins or of a file that has changed, could be subtracted."""


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


def opened_once(station: Station, stage: int, names: Sequence[str]) -> None:
    """Refuse an opening under masks that hide something else: of a stage that another round opened, or of two contents under one name.

    Parameters
    ----------
    station : Station
        Who opens.
    stage : int
        Of the openings; masks follow from it and the name.
    names : sequence of str
        Of all that this station opens in it.

    Raises
    ------
    MessageError
        Where there is one.
    """
    asked_once(station, f"stage {stage}", station.round_name, OPENED)
    if len(set(names)) != len(names):
        raise MessageError("two openings of a stage have one name, and so one mask; the job stops")
