"""What a station of united records announces to the helper itself: its columns, and the roles and rules that central told it.

Under an epsilon a record that two stations hold with the same column may count once only. Which stations share a column the helper therefore learns of
the stations, in the letter that brings their hashes, and not of central; a station opens no column later that it did not announce. Hashes are under keys
that hang on roles and rules: where one station was told others, its records would match nobody's and count beside the same ones of other stations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import MessageError
from ..messages.packing import pack, unpack
from ..perimeter.manifest import digest_of
from ..questions.factor_info import Wanted
from .messages import Setup
from .workspace import Workspace

FACT = "announced columns"


def announcement(workspace: Workspace, columns: Sequence[str], hashes: bytes) -> bytes:
    """Return the letter to the helper: what this station announces, once a job, and its hashes."""
    text = json.dumps([digest_of(workspace.setup), sorted(columns)]).encode()
    if workspace.station.memory.once(FACT, text) != text:
        raise MessageError("this station has announced other columns of this job before; start the job again")
    return pack([text.decode(), hashes])


def read_announcement(setup: Setup, letter: bytes) -> tuple[set[str], bytes]:
    """Return the columns that a station announces in its letter, and its hashes.

    Raises
    ------
    MessageError
        If the letter is malformed, or the station was told other roles or rules than the helper, such as whether answers are private.
    """
    content = unpack(letter)
    if not (isinstance(content, list) and len(content) == 2 and isinstance(content[1], bytes)):
        raise MessageError("a station's hashes are malformed; the job stops")
    try:
        digest, columns = json.loads(content[0])
        names = {str(name) for name in columns}
    except (ValueError, TypeError):
        raise MessageError("a station's hashes are malformed; the job stops") from None
    if digest != digest_of(setup):
        raise MessageError("stations and helper were told different things about how records are united; the job stops")
    return names, content[1]


def check_announced(workspace: Workspace, wanted: Sequence[Wanted]) -> None:
    """Raise `MessageError` where united records are asked, under an epsilon, for a column of this station that it did not announce."""
    if not (workspace.setup.union and workspace.setup.private):
        return
    digest, columns = json.loads(workspace.station.memory.read(FACT) or b"[null, []]")
    asked = {column for want in wanted for column in want.columns} & set(workspace.station.columns)
    if digest != digest_of(workspace.setup) or not asked <= set(columns):
        raise MessageError(
            "a column is asked for that this station did not announce to the helper, or by other rules; start the job again"
        )
