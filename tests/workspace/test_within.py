"""The option `--within`: tests that would begin later are left out and counted; without it all run."""

from pathlib import Path

import pytest

pytest_plugins = ("pytester",)
CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
HOOKS = ("pytest_addoption", "pytest_sessionstart", "pytest_runtest_setup")
TESTS = """
import time

def test_first():
    clock = time.monotonic
    time.monotonic = lambda: clock() + 1000.0

def test_second(): pass
def test_third(): pass
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "passed", "skipped"), [((), 3, 0), (("--within", "5000"), 3, 0), (("--within", "500"), 1, 2)]
)
def test_what_begins_late_is_left_out(pytester: pytest.Pytester, options, passed, skipped) -> None:
    load = f"from importlib.util import module_from_spec, spec_from_file_location\nspec = spec_from_file_location('project', {str(CONFTEST)!r})\n"
    load += "module = module_from_spec(spec)\nspec.loader.exec_module(module)\n"
    pytester.makeconftest(load + "".join(f"{hook} = module.{hook}\n" for hook in HOOKS))
    pytester.makepyfile(test_cases=TESTS)
    result = pytester.runpytest_subprocess("-p", "no:xdist", "-rs", *options)
    result.assert_outcomes(passed=passed, skipped=skipped)
    if skipped:
        result.stdout.fnmatch_lines(["*2*left out: the time of --within is over*"])
