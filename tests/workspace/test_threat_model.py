"""docs/threat-model.md: every party and every two of them, following and deviating, has a cell that names tests, which exist."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
PARTIES = ["researcher", "server", "central", "helper", "station"]
EVERY = (
    {frozenset([party]) for party in PARTIES}
    | {frozenset(pair) for pair in combinations(PARTIES, 2)}
    | {"two stations"}
)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading."""
    below = TEXT.split(f"### {heading}\n")[1].split("\n#")[0]
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


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(TEXT))))
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M)
