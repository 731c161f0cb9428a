"""What a container says of the sub-tasks that it makes, beside the message: which database they are about, and whose token it has.

The server takes both as they come: a container names databases of its own for every sub-task, and every node of a collaboration gets a token of any task.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import LABEL, InProcess
from one_process import OneProcess

from fedbayes.federation.errors import MessageError, PolicyError, StationError
from fedbayes.federation.guards import arrival
from fedbayes.federation.node import platform
from fedbayes.federation.node.platform import Origin, Run

DOMAIN = {"y": {"categories": ["n", "p"]}, "f": {"categories": ["a", "b", "c"]}}
EXACT = {"label": "y", "domain": DOMAIN, "features": ["f"], "noise": "none"}
ROWS = {"function": "filter_range", "parameters": {"column": "x", "min_": 10}}


def table(seed: int) -> pd.DataFrame:
    draw, rows = np.random.default_rng(seed), 60
    return pd.DataFrame(
        {"y": draw.choice(["n", "p"], rows), "f": draw.choice(list("abc"), rows), "x": draw.integers(0, 90, rows)}
    )


def counts(one: pd.DataFrame) -> Any:
    return np.array([[((one.y == y) & (one.f == f)).sum() for f in "abc"] for y in "np"])


# -- databases ---------------------------------------------------------------------------------------------------------------


def parties(folder: Path) -> dict[str, dict[str, Path]]:
    """Return three stations, each with a database beside the one that the researcher names, which everybody knows."""
    files: dict[str, dict[str, Path]] = {}
    for place, name in enumerate("abc"):
        files[name] = {"default": folder / f"{name}.csv", "pilot": folder / f"{name}-pilot.csv", "vault": folder / name}
        files[name]["vault"].mkdir()
        table(place).to_csv(files[name]["default"], index=False)
        table(10 + place).to_csv(files[name]["pilot"], index=False)
    return files


@contextmanager
def said_otherwise(members: tuple[int, ...], functions: tuple[str, ...], said: Mapping[str, str]) -> Iterator[None]:
    """Have central say something else of the database in its sub-tasks to some members; no function: in all of them."""
    honest = InProcess.create

    def create(self: InProcess, content: Any, *rest: Any) -> Any:
        before = dict(self._policies)
        if not functions or content["method"] in functions:
            for member in members:
                self.limit(member, said)
        try:
            return honest(self, content, *rest)
        finally:
            self._policies = before

    with mock.patch.object(InProcess, "create", create):
        yield


def taken(folder: Path, members: tuple[int, ...], functions: tuple[str, ...], said: Mapping[str, str]) -> Any:
    """Return what an exact fit counts, of whose stations central tells some of another database."""
    limits = {"ledger": "vault", "allow_differences": False, "minimum_organizations": 3}
    with OneProcess(parties(folder), [], {"*": limits}, "a") as running, said_otherwise(members, functions, said):
        return np.array(running.run("dp_naive_bayes", "fit", EXACT)["model"]["features"]["f"]["counts"])


PILOT = {"USER_REQUESTED_DATABASE_LABELS": "pilot"}


@pytest.mark.parametrize("functions", [(), ("partial_statistics",), ("partial_open_channel",)], ids=str)
@pytest.mark.parametrize("members", [(1, 3), (2,), (1, 2, 3)], ids=str)
def test_all_stations_are_asked_for_one_database(
    members: tuple[int, ...], functions: tuple[str, ...], tmp_path: Path
) -> None:
    if functions == ("partial_open_channel",):  # no table is read in it
        assert (taken(tmp_path, members, functions, PILOT) == sum(counts(table(place)) for place in range(3))).all()
        return
    with pytest.raises(MessageError, match="another database than the job"):
        taken(tmp_path, members, functions, PILOT)


@pytest.mark.parametrize(
    "said",
    [
        {"DEFAULT_PREPROCESSING": json.dumps([ROWS])},
        {"DEFAULT_PREPROCESSING": "[]"},
        {"DEFAULT_QUERY": "SELECT * FROM patients"},
        {"DEFAULT_SHEET_NAME": "2"},
        {"USER_REQUESTED_DATABASE_LABELS": "Default"},
        {"USER_REQUESTED_DATABASE_LABELS": ",pilot,default"},
        {"USER_REQUESTED_DATABASE_LABELS": ""},
    ],
    ids=str,
)
def test_nor_is_one_asked_for_other_rows(said: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(MessageError, match=r"another database than the job|another part than it has"):
        taken(tmp_path, (2,), ("partial_statistics",), said)


def test_control_where_nobody_looks_one_stations_table_is_told(tmp_path: Path) -> None:
    """Nodes remember their answers, and demand three organizations: two of them answered with tables that are known."""
    with mock.patch.object(arrival, "node_databases", SimpleNamespace(asked=lambda: {"label": LABEL})):
        told = taken(tmp_path, (1, 3), ("partial_statistics",), PILOT)
    assert (told - counts(table(10)) - counts(table(12)) == counts(table(1))).all()


# -- tokens ------------------------------------------------------------------------------------------------------------------


def run_by(organization: int, runs: Any) -> Any:
    """Return what a fit tells whose central another node runs than the first, which the researcher asked; `runs`: what the server tells of who was."""
    files = {name: table(place).to_csv(index=False) for place, name in enumerate("abc")}
    with InProcess("v6_dp_naive_bayes", files, {}, "a") as running:
        number = running._task(None, 1)
        running.tasks[number]["runs"] = runs
        with (
            mock.patch.object(platform, "algorithm_client", running._client),
            mock.patch.object(platform, "ask", running._ask),
            contextlib.redirect_stdout(io.StringIO()),
            running._container(number, organization),
        ):
            return running.module.fit(**EXACT)["model"]["features"]["f"]["counts"]


def asked(*organizations: Any) -> list[dict[str, Any]]:
    return [{"organization": {"id": one}} for one in organizations]


WRONG = [asked(1), asked(1, 3), asked("2"), asked(None), [], None, "/api/run?task_id=1", [{}], [{"organization": None}]]


@pytest.mark.parametrize("runs", WRONG, ids=str)
def test_no_node_is_central_of_a_task_that_others_were_asked(runs: Any) -> None:
    with pytest.raises(StationError, match="no answer from a, b, c"):
        run_by(2, runs)


@pytest.mark.parametrize("runs", [asked(2), asked(1, 2)], ids=str)
def test_control_who_was_asked_is(runs: Any) -> None:
    assert (run_by(2, runs) == sum(counts(table(place)) for place in range(3))).all()


# -- odd answers -------------------------------------------------------------------------------------------------------------

ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "7",
    [],
    {},
    [1],
    {"id": None},
    {"id": [1]},
    10**30,
    "9" * 5000,
]
SUB_TASK = {"id": 9, "job_id": 5, "parent": {"id": 6}, "image": "image", "init_org": {"id": 3}}
PARENT = {"id": 6, "job_id": 5, "parent": None, "image": "image", "created_at": "then", "runs": asked(3)}
ORIGIN = Origin(5, 6, "image", 3, "then")


def told_of(sub_task: Any, parent: Any) -> Origin:
    answers = {"task/9": sub_task, "task/6": parent}
    with mock.patch.object(platform, "ask", lambda endpoint: answers.get(endpoint.partition("?")[0])):
        return platform.confirmed(platform.sub_task_origin(Run(2, 9, Path(), False)))


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:20])
def test_odd_answers_of_the_platform_are_no_origin(odd: Any) -> None:
    assert told_of(SUB_TASK, PARENT) == ORIGIN
    told: list[tuple[Any, Any]] = [(odd, PARENT), (SUB_TASK, odd)]
    told += [({**SUB_TASK, field: odd}, PARENT) for field in SUB_TASK]
    told += [(SUB_TASK, {**PARENT, field: odd}) for field in PARENT if field != "created_at"]
    for sub_task, parent in told:
        if sub_task == SUB_TASK and not odd and parent == {**PARENT, "parent": odd}:
            continue  # as of a task of the researcher's
        with pytest.raises(PolicyError, match="answers only the central function"):
            told_of(sub_task, parent)
