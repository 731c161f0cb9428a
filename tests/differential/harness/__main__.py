"""`python -m harness`: many random cases a function, or one case again; the work behind `make differential`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import unittest
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from .cases import Case, Interrupted, run
from .registry import FUNCTIONS, check

CASES = Path(__file__).resolve().parents[1] / "cases"
LEAST = 25
SHRINK_SECONDS = 40.0


class Search:
    """Random cases of one function until one differs, which is shrunk and kept in a file.

    Attributes
    ----------
    ran, short, known : int
        Cases that were judged or interrupted; whose earlier steps were refused; whose difference was expected.
    found : str or None
        The smallest difference so far, with its file.
    """

    def __init__(self, method: str, function: str, number: int, folder: Path, ignore: str = "") -> None:
        self.ran = self.short = self.known = 0
        self.found: str | None = None
        self._strategy = FUNCTIONS[method, function][0]
        self._number, self._ignore = number, ignore
        self._path = folder / f"{method}-{function}-{number}.json"
        self._began = self._failed = time.monotonic()

    def run(self, cases: int, seconds: float = float("inf"), least: int = LEAST) -> str | None:
        """Judge cases until there are as many, or the seconds are over and there are at least `least`; return what was found."""

        @seed(self._number)
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
        )
        @given(self._strategy())
        def ask(case: Case) -> None:
            now = time.monotonic()
            over = (
                now > self._failed + SHRINK_SECONDS if self.found else now > self._began + seconds and self.ran >= least
            )
            if over:
                raise unittest.SkipTest("time is over")
            self._judge(case)

        try:
            ask()
        except unittest.SkipTest:
            pass
        except Exception as problem:
            self.found = self.found or f"{type(problem).__name__}: {problem}"
        return self.found

    def _judge(self, case: Case) -> None:
        self.ran += 1
        try:
            check(case, run(case))
        except Interrupted:
            self.short += 1
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"[:1000]
            if self._ignore and re.search(self._ignore, text):
                self.known += 1
                return
            if self.found is None:
                self._failed = time.monotonic()
            case.save(self._path, note=text)
            self.found = f"{self._path}\n    {text}"
            raise


def again(path: Path) -> None:
    """Run one case."""
    case = Case.load(path)
    check(case, run(case))


def main() -> int:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    parser.add_argument("--cases", type=int, default=25, help="a function")
    parser.add_argument("--within", type=float, help="seconds for all functions together: as many cases as fit")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--case", type=Path, help="a file of one case, to run it again")
    parser.add_argument("--only", default="", help="a part of method.function")
    parser.add_argument("--folder", type=Path, default=CASES, help="where a case that differs is kept")
    parser.add_argument("--ignore", default="", help="a pattern of differences that are known and counted only")
    options = parser.parse_args()
    if options.case:
        again(options.case)
        print("no difference")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in FUNCTIONS if options.only in ".".join(entry)]
    cases = options.cases if options.within is None else 10**6
    print(f"seed {options.seed}", flush=True)
    wrong, began = 0, time.monotonic()
    for place, (method, function) in enumerate(chosen):
        started = time.monotonic()
        left = float("inf") if options.within is None else (began + options.within - started) / (len(chosen) - place)
        search = Search(method, function, options.seed, options.folder, options.ignore)
        found = search.run(cases, left)
        wrong += found is not None
        told = f"{search.ran} cases, {search.short} of them refused early" + f", {search.known} known" * bool(
            search.known
        )
        print(f"{method}.{function}: {told}, {time.monotonic() - started:.0f} s: {found or 'ok'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
