"""docs/threat-model.md: every party and every two of them, following and deviating, has a cell that names tests (see `test_attacks_page`)."""

from __future__ import annotations

from itertools import combinations

import pytest
from test_attacks_page import NAMED, THREATS

PARTIES = ["researcher", "server", "central", "helper", "station"]
EVERY = (
    {frozenset([party]) for party in PARTIES}
    | {frozenset(pair) for pair in combinations(PARTIES, 2)}
    | {"two stations"}
)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading."""
    below = THREATS.split(f"### {heading}\n")[1].split("\n#")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in below.splitlines() if line.startswith("| ")
    ][1:]


@pytest.mark.parametrize("heading", ["Who follows the protocol", "Who deviates"])
def test_every_party_and_every_two_of_them_have_a_cell_with_tests(heading: str) -> None:
    found = [
        name if name == "two stations" else frozenset(party for party in PARTIES if party in name)
        for name, *_ in rows(heading)
    ]
    assert len(found) == len(EVERY)
    assert set(found) == EVERY
    for _, what, tests in rows(heading):
        assert what
        assert NAMED.search(tests)
