"""The marker `few(count)`: representatives of a test's cases stay in `make test`, and every case is in it or in `make audit`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = f"""
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("conftest_of_the_project", {str(ROOT / "tests" / "conftest.py")!r})
module = module_from_spec(spec)
spec.loader.exec_module(module)
pytest_collection_modifyitems = module.pytest_collection_modifyitems
"""
TESTS = """
import pytest

@pytest.mark.few(3)
@pytest.mark.parametrize("inner", range(4))
@pytest.mark.parametrize("outer", range(5))
def test_kept(inner, outer): pass

@pytest.mark.few(30)
@pytest.mark.parametrize("case", range(6))
def test_short(case): pass

@pytest.mark.few(2)
@pytest.mark.audit
@pytest.mark.parametrize("case", range(6))
def test_audit(case): pass

@pytest.mark.parametrize("case", range(6))
def test_plain(case): pass

class TestOther:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("case", range(4))
    def test_kept(self, case): pass
"""

Select = Callable[[str], list[str]]


@pytest.fixture
def select(pytester: pytest.Pytester) -> Select:
    """Return ``select(marks)``: the cases that pytest would run."""
    marks = re.findall(r'^    "((?:network|audit|few|benchmark).*)",$', (ROOT / "pyproject.toml").read_text(), re.M)
    pytester.makeini("[pytest]\naddopts = --strict-markers\nmarkers =\n" + "".join(f"    {mark}\n" for mark in marks))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_cases=TESTS)

    def collected(marks: str) -> list[str]:
        lines = pytester.runpytest_inprocess("--collect-only", "-q", "-m", marks).outlines
        return [line.partition("::")[2] for line in lines if line.startswith("test_cases.py::")]

    return collected


def marks_of(target: str) -> str:
    """Return the marks with which the Makefile calls pytest."""
    text = (ROOT / "Makefile").read_text()
    if target == "audit":
        assert "-m audit" in text[text.index("\naudit:") :].split("\n\n")[0]
        return "audit"
    return re.findall(r"^MARKS := (.*)$", text, re.M)[0]


def of(cases: list[str], test: str) -> list[str]:
    return [case for case in cases if case.partition("[")[0] == test]


def test_few_cases_stay_and_the_others_are_audits(select: Select) -> None:
    usual, audit = select(marks_of("test")), select(marks_of("audit"))
    counts = {
        name: (len(of(usual, name)), len(of(audit, name)))
        for name in ("test_kept", "test_short", "test_audit", "test_plain", "TestOther::test_kept")
    }
    assert counts == {
        "test_kept": (3, 17),
        "test_short": (6, 0),
        "test_audit": (0, 6),
        "test_plain": (6, 0),
        "TestOther::test_kept": (1, 3),
    }


def test_every_case_runs_once(select: Select) -> None:
    usual, audit = select(marks_of("test")), select(marks_of("audit"))
    assert not set(usual) & set(audit)
    assert sorted(usual + audit) == sorted(select("not network"))


def test_what_is_kept_is_spread_over_both_parameters(select: Select) -> None:
    kept = [re.findall(r"\d+", case.partition("[")[2]) for case in of(select(marks_of("test")), "test_kept")]
    assert len({outer for outer, _ in kept}) == 3
    assert len({inner for _, inner in kept}) > 1
