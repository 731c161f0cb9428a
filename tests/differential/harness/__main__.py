"""`python -m harness`: many random cases a function, or one case again; the work behind `make differential`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from .cases import Case, Interrupted, run
from .registry import ALIKE, FUNCTIONS, check

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


@dataclass
class Plan:
    """What every worker knows; `waiting` counts the functions that nobody has begun yet."""

    options: Any
    began: float
    workers: int
    waiting: Any

    def seconds(self) -> float:
        """Return how long the next function may take: its part of what is left of the whole time, on all workers."""
        with self.waiting.get_lock():
            rest = max(1, self.waiting.value)
            self.waiting.value -= 1
        if self.options.within is None:
            return float("inf")
        return (self.began + self.options.within - time.monotonic()) * min(self.workers, rest) / rest


def search(entry: tuple[str, str]) -> bool:
    """Judge the cases of one function and tell; return whether one differs."""
    (method, function), options, started = entry, PLAN.options, time.monotonic()
    one = Search(method, function, options.seed, options.folder, options.ignore)
    cases = -(-options.cases // 3) if entry in ALIKE else options.cases
    found = one.run(cases, PLAN.seconds(), options.least)
    told = f"{one.ran} cases, {one.short} of them refused early" + f", {one.known} known" * bool(one.known)
    print(f"{method}.{function}: {told}, {time.monotonic() - started:.0f} s: {found or 'ok'}", flush=True)
    return found is not None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    parser.add_argument("--cases", type=int, default=25, help="a function; at most, if there is a time")
    parser.add_argument(
        "--within", type=float, help="seconds for all functions together, but never fewer cases than --least"
    )
    parser.add_argument("--least", type=int, default=LEAST, help="cases a function, however long they take")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--case", type=Path, help="a file of one case, to run it again")
    parser.add_argument("--only", default="", help="a part of method.function")
    parser.add_argument("--folder", type=Path, default=CASES, help="where a case that differs is kept")
    parser.add_argument("--ignore", default="", help="a pattern of differences that are known and counted only")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="functions at a time")
    return parser.parse_args()


def main() -> int:
    global PLAN  # forked workers have it, too
    options = arguments()
    if options.case:
        again(options.case)
        print("no difference")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in FUNCTIONS if options.only in ".".join(entry)]
    if not chosen:
        print(f"error: --only {options.only}: no method.function has this in its name", file=sys.stderr)
        return 2
    print(f"seed {options.seed}", flush=True)
    fork = multiprocessing.get_context("fork")
    PLAN = Plan(options, time.monotonic(), options.jobs, fork.Value("i", len(chosen)))
    if options.jobs == 1:
        return 1 if sum(map(search, chosen)) else 0
    with fork.Pool(options.jobs) as pool:
        return 1 if sum(pool.imap_unordered(search, chosen)) else 0


PLAN: Plan

if __name__ == "__main__":
    sys.exit(main())
