"""A central that asks others, or otherwise, in exact tasks over whole records: no sum comes to light to which fewer stations add than a node demands.

Rounds, who is asked and parts of requests are drawn. In the place where numbers are masked it is noted which stations add any; a sum comes to light where all
participants of its masks have answered the same. What is not masked, and sums of other records of as many stations, this does not see.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders
from test_plans_mutated import built, changed

from fedbayes.federation.gate import Exact
from fedbayes.federation.remote import looking
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station

SEED, CHANGES = (int(os.environ.get(f"BY_ROWS_{name}", default)) for name, default in (("SEED", 1), ("CHANGES", 12)))
"""The first of the drawn changes, and how many of each task; by environment variables for longer runs."""
DEMANDED = 3
"""Organizations, by default."""
STATIONS, BESIDE = (1, 2, 3), (4, 5, 6, 7)
"""Those with all columns, and the others: two with another column, two without data."""
DOMAIN = {"y": {"categories": ["n", "p"]}, "x": {"categories": ["a", "b"]}, "time": {"bounds": [0, 60]}, "e": {"categories": [0, 1]}}  # fmt: skip
LABELLED = {"label": "y", "features": ["x"], "domain": {name: DOMAIN[name] for name in ("y", "x")}}
COX = {"time": "time", "event": "e", "features": ["x"], "times": [15.0, 30.0, 45.0, 60.0], "split": "horizontal"}
NETWORK = {"columns": ["y", "x"], "domain": LABELLED["domain"], "split": "horizontal", "structure": "k2"}
TASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "describe": ("dp_naive_bayes", "describe", {"domain": {"x": DOMAIN["x"]}}),
    "counts": ("dp_naive_bayes", "fit", LABELLED | {"noise": "none"}),
    "weights": ("discriminative_naive_bayes", "fit", LABELLED),
    "network": ("vertibayes", "fit", NETWORK),
    "cox": ("verticox", "fit", COX | {"domain": DOMAIN}),
}
"""Name -> method, function and arguments."""


def hospitals(folder: Path, method: str) -> OneProcess:
    """Return three stations with the same columns, two that lack most of them, and two organizations without data."""
    draw, rows = np.random.default_rng(11), 60
    parties = {}
    for name in "abcde" if method == "describe" else "abc":
        whole = pd.DataFrame(
            {
                "y": draw.choice(["n", "p"], rows),
                "x": draw.choice(["a", "b"], rows),
                "time": draw.integers(1, 60, rows),
                "e": draw.integers(0, 2, rows),
            }
        )
        parties[name] = whole[["y"]] if name in "de" else whole
    limits = {name: {"ledger": "vault"} for name in parties}
    return OneProcess(with_folders(parties, folder), ["f", "g", "h", "i"][: 7 - len(parties)], limits, aggregator="b")


class Watched:
    """Which stations add anything to which sums, and which of these come to light."""

    def __init__(self) -> None:
        self.added: dict[tuple[Any, ...], dict[int, bool]] = defaultdict(dict)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        honest = Station.mask

        def mask(station: Station, content: Any, topic: str = "", common: Any = None) -> Any:
            made = honest(station, content, topic, common)
            if isinstance(content, Exact):
                asked = station.question_digest if common is None else repr(common)
                place = (station.round_name, topic, asked, station.participants)
                self.added[place][station.organization] = bool(np.any(content.value))
            return made

        with mock.patch.object(Station, "mask", mask):
            yield

    def told(self) -> list[tuple[str, list[int]]]:
        """Return the rounds in which a sum to which few stations add comes to light, and these stations."""
        found = []
        for (name, _, _, participants), added in self.added.items():
            adding = [member for member, some in added.items() if some]
            if set(added) == set(participants) and 0 < len(adding) < DEMANDED:
                found.append((name, adding))
        return found


class Other:
    """A central that does one round otherwise: asks others, or another question of all of them, or both."""

    def __init__(self, random: np.random.Generator, number: int) -> None:
        self.random, self.number, self.seen = random, number, 0

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        honest = Federation._ask

        def ask(federation: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
            if not function.endswith(("_open_channel", "_close")):
                self.seen += 1
                if self.seen == self.number:
                    request, organizations = self.changed(request, tuple(organizations))
            return honest(federation, function, request, organizations, *rest)

        with mock.patch.object(Federation, "_ask", ask):
            yield

    def changed(self, request: Any, members: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Return another request and others who are asked."""
        request = next(iter(request.values())) if isinstance(request, dict) else request
        if self.random.random() < 0.8:
            everybody = (*STATIONS, *BESIDE)
            size = int(self.random.integers(DEMANDED, len(everybody) + 1))
            members = tuple(sorted(self.random.choice(everybody, size, replace=False).tolist()))
        if self.random.random() < 0.6:
            with contextlib.suppress(Exception):  # its class refuses it
                request = self.other(request)
        return request, members

    def other(self, request: Any) -> Any:
        """Return a request with one of its parts changed; who has a column, if it says so, is often anybody, or somebody several times."""
        if any(one.name == "holders" for one in fields(request)) and self.random.random() < 0.7:
            anybody = self.random.integers(1, 9, int(self.random.integers(1, 5))).tolist()
            return replace(request, holders={name: anybody for name in request.holders})
        ways = [change for _, change in changed(request)]
        return built(request, ways[int(self.random.integers(len(ways)))])


def few_added(name: str, seed: int, folder: Path) -> list[tuple[str, list[int]]]:
    """Run a task by a central that does one round otherwise; return what comes to light of few stations."""
    method, function, arguments = TASKS[name]
    random, watched = np.random.default_rng(seed), Watched()
    other = Other(random, int(random.integers(1, 4)))
    with hospitals(folder, name) as running, watched.installed(), other.installed(), contextlib.suppress(Exception):
        running.run(
            method, function, arguments
        )  # mostly refused, and what the arithmetic of a task makes of such sums is no matter here
    return watched.told()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.audit
@pytest.mark.parametrize("name", TASKS)
def test_no_sum_of_few_stations_comes_to_light(name: str, tmp_path: Path) -> None:
    for seed in range(SEED, SEED + CHANGES * (5 if name == "describe" else 1)):
        assert not few_added(name, seed, tmp_path / str(seed)), f"BY_ROWS_SEED={seed}"


@pytest.mark.parametrize("name", TASKS)
def test_control_of_the_measure_an_honest_task_sums_over_all(name: str, tmp_path: Path) -> None:
    method, function, arguments = TASKS[name]
    watched = Watched()
    with hospitals(tmp_path, name) as running, watched.installed():
        running.run(method, function, arguments)
    assert watched.added
    assert not watched.told()


def test_control_without_a_guard_it_is_found(tmp_path: Path) -> None:
    with mock.patch.object(looking, "_check_holders"):
        assert any(few_added("describe", seed, tmp_path / str(seed)) for seed in range(100))
