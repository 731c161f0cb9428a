"""docs/attacks.md and its pages: every row names a test; those that they and docs/threat-model.md name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8").splitlines()
LINES = [
    line for page in sorted((ROOT / "docs" / "attacks").glob("*.md")) for line in page.read_text("utf-8").splitlines()
]
THREATS = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
HEADS = ("| attack |", "| who |")
LEFT = (ROOT / "docs" / "attacks" / "what-still-succeeds.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| ") and not line.startswith(HEADS) and line not in LEFT]
SCRIPTS = """poc1_rogue poc14_direct poc2_pins poc4b poc10_blind poc6_brier poc5_grader poc7_server poc12_bfgs bfgs_cols poc3_guards poc9_eps
poc_delta poc_budget_delta poc11_stage poc8_twist poc13_residue polya honest supp poc_eval_nan poc_eval_nan2 poc_vert poc_vb poc_union poc_hybrid
poc_gauss batches batches2 poc_ledger ddg fuzz fuzz2"""
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_attack_has_what_stops_it_and_a_test():
    assert len(ROWS) >= 200
    for row in ROWS:
        attack, reason, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        assert attack
        assert reason
        assert NAMED.search(tests)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall("\n".join([*FIRST, *LINES, THREATS])))))
def test_a_named_test_exists(file, name):
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M)


def test_every_first_script_has_a_row():
    listed = [
        line.strip("| ").split(" | ") for line in FIRST[FIRST.index("## The first scripts") :] if line[:2] == "| "
    ]
    attacks = {row.strip("|").split(" | ")[0].strip() for row in ROWS}
    scripts = [name for names, *_ in listed[1:] for name in names.split(", ")]
    assert sorted(scripts) == sorted(SCRIPTS.split())
    assert {attack for _, attack, _ in listed[1:]} <= attacks
