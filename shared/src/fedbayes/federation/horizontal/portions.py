"""One budget that a job spends in several rounds: it is debited once, and each portion of it answers one question."""

from __future__ import annotations

import hashlib

import numpy as np

from ..errors import MessageError
from ..station import Station


def one_budget(station: Station) -> str:
    """Return the name of the debit of everything noisy in the job, random and kept with the marks: who has the marks wiped pays again."""
    from fedbayes.randomness import secret_bytes

    station.keep("budget", token=np.frombuffer(secret_bytes(16), dtype=np.uint8))
    return "fit-" + station.kept("budget")["token"].tobytes().hex()


def one_question(station: Station, name: str, steps: int = 0) -> None:
    """Refuse a second, different question under a name whose portion is spent, and another number of portions.

    Raises
    ------
    MessageError
        If the round is another one than that in which this portion was first asked for.
    """
    place = hashlib.sha256(station.round_name.encode()).digest()
    station.keep(name, place=np.frombuffer(place, dtype=np.uint8))
    repeated = station.kept(name)["place"].tobytes() == place
    if steps:
        station.keep("steps", steps=np.array([steps]))
        repeated = repeated and int(station.kept("steps")["steps"][0]) == steps
    if not repeated:
        raise MessageError("the budget of this step is spent in this job; start the job again")
