"""A station as the fit of one fold sees it: keys, seals and kept arrays are those of this fold alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Station


class FoldStation(Station):
    """A station whose names all belong to one fold.

    Parameters
    ----------
    station : Station
        The station in this round.
    fold : int
        Number of the fold.

    Notes
    -----
    The session that every key and seal is bound to has the fold's number in it, so no mask of one fold is that of another.
    """

    def __init__(self, station: Station, fold: int) -> None:
        folder = station.folder
        self.__dict__.update(station.__dict__)
        self._station, self._fold = station, fold
        self.session = f"{station.session}|fold {fold}"
        self.__dict__["folder"] = folder
        self.__dict__["channel"] = station.channel.part(f"fold {fold}")

    def keep(self, name: str, **arrays: np.ndarray[Any, Any]) -> None:
        """Keep arrays of this fold."""
        self._station.keep(f"fold {self._fold}|{name}", **arrays)

    def kept(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return arrays of this fold."""
        return self._station.kept(f"fold {self._fold}|{name}")
