"""Waiting for a server or a node's proxy that is started again."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

from ..errors import StationError

READY_SECONDS = 60.0  # a node that has just started runs what was left before its proxy answers
PAUSE_SECONDS = 0.5  # between two attempts
THERE_SECONDS = 3.0  # for a connection to a proxy that has just cut one: its name, once it is gone, is looked up for ten seconds and more
OUTAGE = "Request failed, see node logs"  # what a node's proxy says while the server is out of reach
NO_PROXY = "Connection error"  # what vantage6's client says while the node is


class Patience:
    """Waits for a server that is started again, and gives up at once when this container's node is gone.

    Parameters
    ----------
    host, port : str, int
        The node's proxy; without a host nobody looks whether it is there.

    Attributes
    ----------
    reached : bool
        Whether the node's proxy has answered before.
    gone : bool
        Whether it went away after that.
    """

    def __init__(self, host: str = "", port: int = 0) -> None:
        self.reached = self.gone = False
        self._proxy, self._address = (host, port), ""

    def answer_of(self, request: Callable[[], Any]) -> Any:
        """Return what the server answers.

        Raises
        ------
        StationError
            If it does not answer in `READY_SECONDS`.
        SystemExit
            If the node's proxy has gone away.
        """
        deadline, refused = time.monotonic() + READY_SECONDS, 0
        while not self.gone:
            try:
                answer = request()
            except (OSError, ValueError):
                answer = {"msg": OUTAGE}
            message = answer.get("msg") if isinstance(answer, dict) else None
            if message not in (OUTAGE, NO_PROXY):
                self._note_reached()
                return answer
            refused = refused + 1 if message == NO_PROXY else 0
            self.gone = self.reached and (refused > 1 or (refused == 1 and not self._is_there()))
            if time.monotonic() > deadline:
                raise StationError(
                    "vantage6's server does not answer this node, or refuses what it is asked; try again"
                )
            time.sleep(0.0 if self.gone else PAUSE_SECONDS)
        raise SystemExit("the node is gone; it runs this function again when it is back")

    def _note_reached(self) -> None:
        if not self.reached and self._proxy[0]:
            with contextlib.suppress(OSError):
                self._address = socket.gethostbyname(self._proxy[0])
        self.reached = True

    def _is_there(self) -> bool:
        """Return whether somebody listens where the proxy was."""
        if not self._address:
            return True
        try:
            socket.create_connection((self._address, self._proxy[1]), THERE_SECONDS).close()
        except OSError:
            return False
        return True
