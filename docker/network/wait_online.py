"""Waits until every node of the dev network is online.

usage: wait_online.py STATE SECONDS
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

PAUSE = 0.5


def statuses(made: dict[str, Any]) -> dict[str, str]:
    """Return node -> status, as the researcher sees them."""
    from vantage6.client import UserClient

    client = UserClient(made["url"], made["port"], made["api_path"], log_level="error")
    client.authenticate(made["user"], made["password"])
    client.setup_encryption(made["private_key"] if made["encrypted"] else None)
    return {node["name"]: str(node["status"]) for node in client.node.list(per_page=100)["data"]}


def main(state: Path, seconds: float) -> int:
    """Return 0 as soon as all nodes are online, 1 when the time is over."""
    made = json.loads((state / "network.json").read_text(encoding="utf-8"))
    deadline = time.monotonic() + seconds
    seen: object = None
    while time.monotonic() < deadline:
        try:
            seen = found = statuses(made)
            if len(found) == len(made["organizations"]) and set(found.values()) == {"online"}:
                return 0
        except Exception as error:  # the server may not be up yet; whatever it was is told at the end
            seen = f"{type(error).__name__}: {error}"[:300]
        time.sleep(PAUSE)
    print(f"not every node came online in {seconds:g} s: {seen}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
