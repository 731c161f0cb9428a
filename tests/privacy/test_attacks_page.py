"""docs/attacks.md: the tests that it names exist, and every row names one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [line for line in (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8").splitlines() if "::" in line]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_attack_has_what_stops_it_and_a_test():
    assert len(ROWS) >= 24
    for row in ROWS:
        attack, reason, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        assert attack
        assert reason
        assert NAMED.search(tests)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall("\n".join(ROWS)))))
def test_a_named_test_exists(file, name):
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M)
