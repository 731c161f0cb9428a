"""What an embedded federation records: every message of a run, sealed as it travelled and opened with the keys in the parties' folders.

For tests and reviewers, who ask what each role receives: the keys are read from the jobs' folders on this machine, which no party of a real federation could.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...mpc.relay import KeyPair
from ..errors import MessageError
from ..messages.codec import decode, encode
from ..messages.packing import pack
from ..node.memory import AGGREGATOR_FILES, FOLDER, left_name
from ..node.secrets import KEY_FILE
from ..perimeter.envelope import Request, open_body, open_reply, question, whole


class Views:
    """The keys of one run's parties, and the entries that they open."""

    def __init__(self) -> None:
        self._stations: dict[int, KeyPair] = {}
        self._central: KeyPair | None = None
        self._folders: dict[int, Path] = {}

    def note_keys(self, folder: Path, organization: int) -> None:
        """Read the keys that lie in a party's folder of the job now; later they are wiped."""
        self._folders[organization] = folder
        for path in folder.glob(f"{FOLDER}*/{KEY_FILE}"):
            self._stations[organization] = KeyPair.from_bytes(path.read_bytes())
        for path in folder.glob(f"{FOLDER}*/{AGGREGATOR_FILES[0]}"):
            self._central = KeyPair.from_bytes(path.read_bytes())

    def left(self, digest: bytes) -> bytes:
        """Return what central and the station beside it left for one another in the job's folder instead of sending it."""
        for folder in self._folders.values():
            for path in folder.glob(f"{FOLDER}*/*{left_name(digest)}"):
                return path.read_bytes()
        raise MessageError("a message is missing in the job's folder")

    def opened(self, organization: int, message: Any, payload: Any) -> dict[str, Any]:
        """Return ``body``, the message of a request, and ``reply``, the content of its answer, as JSON; None where it cannot be opened."""
        body = reply = None
        try:
            request: Request = whole(decode(Request, message), self)
            if request.body is not None or organization in self._stations:
                body = request.body or open_body(request, organization, self._stations[organization])
            if body is not None and self._central is not None:
                _, content, _ = open_reply(request, question(request, pack(body)), payload, self._central, self)
                reply = content.get("reply", content)
        except MessageError:
            pass
        return {"body": encode(body), "reply": encode(reply)}
