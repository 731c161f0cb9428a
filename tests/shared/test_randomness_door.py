"""One door to randomness: no other deployed module touches secrets, the system's entropy or numpy.random, or can reach the research sampler."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOOR = ROOT / "shared/src/fedbayes/randomness.py"
SOURCES = [path for folder in ("shared/src", "algorithms") for path in (ROOT / folder).rglob("*.py") if path != DOOR]
FORBIDDEN = re.compile(
    r"^\s*(import secrets|from secrets|import random\b|from random )|os\.urandom|np\.random|numpy\.random", re.MULTILINE
)
CLIENT = ROOT / "shared/src/fedbayes/client"
RESEARCH = {CLIENT / name for name in ("demo.py", "plans/expected.py", "plans/made_up.py", "plans/rehearsal.py")}
"""Of the researcher's machine: made-up tables of the demonstration, made-up records of a plan. Stations do not import the client (`make lint`)."""


def test_only_the_door_touches_entropy():
    assert len(SOURCES) > 20
    offenders = [path.relative_to(ROOT).as_posix() for path in SOURCES if FORBIDDEN.search(path.read_text("utf-8"))]
    assert offenders == []


def test_no_deployed_module_reaches_the_research_sampler():
    users = [path for path in SOURCES if "ResearchSampler" in path.read_text("utf-8") and path not in RESEARCH]
    assert [path.relative_to(ROOT).as_posix() for path in users] == []
