"""A job whose last round fails at one station: nobody asks that one again, and its keys, facts and kept arrays must not stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from one_process import OneProcess
from party_kit import with_folders
from test_first_scripts import FIT, labelled
from test_pins_by_number import called
from test_variants import EACH
from views_cases import Question, arguments_of, question_files

from fedbayes.federation.errors import AlgorithmError, DataProblem
from fedbayes.federation.guards import arrival, refusing
from fedbayes.federation.node import secrets
from fedbayes.federation.node.memory import AGGREGATOR_FILES, Memory
from fedbayes.federation.node.platform import Origin, Run
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.station import Station

ASKING = [question for question in EACH if question.function != "sample"]
LEFT = ("private_key", "kept-", "fact-", "aggregator-")
Create = Callable[..., dict[str, Any]]


def left(running: InProcess) -> list[str]:
    return [path.name for path in Path(running._folder.name).glob("job-*/*/fedbayes-*/*") if path.name.startswith(LEFT)]


def federation(question: Question) -> InProcess:
    files = question_files(question, False)
    return InProcess(f"v6_{question.method}", files, {name: dict(question.limits) for name in files}, question.central)


@cache
def last_round(name: str) -> tuple[str, int]:
    """Return the function of a question's last round, and the organization that is asked last in it; the end of the job is none."""
    question, asked = next(one for one in ASKING if one.name == name), list[tuple[str, int]]()
    with federation(question) as running:
        create = running.create

        def noting(content: Any, organizations: list[int], *rest: Any) -> Any:
            if content["method"] != "partial_close":
                asked.append((content["method"], organizations[-1]))
            return create(content, organizations, *rest)

        with mock.patch.object(running, "create", noting):
            running.run(question.function, arguments_of(question))
        assert left(running) == []
    return asked[-1]


def failed(question: Question, fails: Callable[[Any], None]) -> list[str]:
    """Return what is left of a job after `fails` was called where one station answers the last round."""
    function, member = last_round(question.name)
    honest = refusing.answered

    def answered(station: Station) -> None:
        if station.last and station.function == function and station.organization == member:
            fails(station)
        honest(station)

    with federation(question) as running, mock.patch.object(refusing, "answered", answered):
        with suppress(AlgorithmError):
            running.run(question.function, arguments_of(question))
        return left(running)


def refuses(_: Station) -> None:
    raise DataProblem("no")


def crashes(_: Station) -> None:
    raise KeyboardInterrupt


@pytest.mark.few(5)
@pytest.mark.parametrize("question", ASKING, ids=lambda question: question.name)
def test_nothing_stays_where_a_station_refuses_the_last_round(question: Question) -> None:
    assert failed(question, refuses) == []


@pytest.mark.few(9)
@pytest.mark.parametrize("question", ASKING, ids=lambda question: question.name)
def test_nor_where_its_container_ends_whenever_it_is_asked(question: Question) -> None:
    with mock.patch.object(InProcess, "create", dying(InProcess.create)):
        assert failed(question, crashes) == []


def dying(create: Create) -> Create:
    """Have a container that is killed be a run without a result, as the server tells it."""

    def created(self: InProcess, content: Any, organizations: list[int], parent: int, initiator: int) -> dict[str, Any]:
        answer = getattr(self.module, content["method"])

        def killed(**given: Any) -> Any:
            try:
                return answer(**given)
            except KeyboardInterrupt:
                raise RuntimeError from None

        with mock.patch.object(self.module, content["method"], killed):
            return create(self, content, organizations, parent, initiator)

    return created


@pytest.mark.few(5)
@pytest.mark.parametrize("question", ASKING, ids=lambda question: question.name)
def test_nor_where_its_container_ends_between_the_reply_and_the_wiping(question: Question) -> None:
    """Asked again it has the reply on record, and would not come to the wiping."""
    wipe, died = Memory.wipe, list[int]()

    def wiping(memory: Memory) -> None:
        if not died and (function, member) == running_as[-1]:
            died.append(1)
            raise KeyboardInterrupt
        wipe(memory)

    function, member = last_round(question.name)
    running_as = [("", 0)]
    with (
        mock.patch.object(Memory, "wipe", wiping),
        mock.patch.object(InProcess, "create", dying(InProcess.create)),
    ):
        assert failed(question, lambda station: running_as.append((station.function, station.organization))) == []
    assert died or not ends_by_itself(question)


def ends_by_itself(question: Question) -> bool:
    """Return whether the last round of a fit is known in advance, so that stations wipe what they have of themselves."""
    told = (question.method, question.function)
    return told not in (
        ("discriminative_naive_bayes", "fit"),
        ("bayesian_ensemble", "fit"),
        ("verticox", "predict"),
    )


def test_control_unwiped_keys_and_arrays_stay() -> None:
    question = next(one for one in ASKING if (one.method, one.function) == ("scalar_product", "count"))
    wipe = Memory.wipe

    def wiping(memory: Memory) -> None:
        if memory.read("refused") is None:
            wipe(memory)

    def marked(station: Station) -> None:
        station.once("refused", b"yes")
        refuses(station)

    with mock.patch.object(Memory, "wipe", wiping):
        assert {name.partition("-")[0] for name in failed(question, marked)} == {"private_key", "kept", "fact"}


IN_ONE_ROUND, IN_SEVERAL = (
    ("dp_naive_bayes", {**FIT, "noise": "none"}),
    ("discriminative_naive_bayes", {**FIT, "rounds": 2}),
)


def refused_by_stations(task: tuple[str, dict[str, Any]], folder: Path) -> set[str]:
    """Return what is left where two stations know the key of the third by another name than the server now has for it, which they see in the manifest."""
    parties, kept = with_folders(labelled(), folder), set[str]()

    def leaving(self: InProcess, *_: Any) -> None:
        kept.update(name.partition("-")[0] for name in left(self))
        self._folder.cleanup()

    with OneProcess(parties, policies={"*": {"ledger": "vault"}}, aggregator="c") as running:
        running.run(task[0], "fit", task[1])
        refused = pytest.raises(AlgorithmError, match="renamed shows the lasting key of another organization")
        with mock.patch.object(InProcess, "__exit__", leaving), called({3: "renamed"}), refused:
            running.run(task[0], "fit", task[1])
    return kept


@pytest.mark.parametrize("task", [IN_ONE_ROUND, IN_SEVERAL], ids=lambda task: task[0])
def test_nothing_stays_where_a_station_refuses_the_manifest(task: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """In the last round, of which nobody is told the end, or before: the end of the job is sealed as of that manifest."""
    assert refused_by_stations(task, tmp_path) == set()


def test_control_refused_before_the_round_begins_keys_stay(tmp_path: Path) -> None:
    with mock.patch.object(arrival, "is_centrals", return_value=False):
        assert refused_by_stations(IN_ONE_ROUND, tmp_path) == {"private_key", "fact"}


def test_control_where_the_end_of_a_job_is_held_against_the_manifest_keys_stay(tmp_path: Path) -> None:
    with mock.patch.object(arrival, "END", ""), mock.patch.object(arrival, "is_centrals", return_value=False):
        assert refused_by_stations(IN_SEVERAL, tmp_path) == {"private_key", "fact"}


def drafted(folder: Path) -> Memory:
    """Return the memory of a job whose container, of a station and of central, is killed each time that a file has got its name, before its draft is gone."""
    memory = Memory(Run(1, 1, folder, True), Origin(1, 1, "image", 1, "now"))
    with mock.patch.object(secrets.os, "unlink"):
        memory.keys()
        memory.once("fact", b"told")
        memory.keep("rows")
        for name in AGGREGATOR_FILES:
            secrets.own_keys(memory.path, name)
    return memory


def kinds(memory: Memory) -> list[str]:
    return sorted(path.name.split("-")[0] for path in memory.path.iterdir() if path.name.startswith(LEFT))


def test_nothing_stays_of_what_a_killed_container_was_writing(tmp_path: Path) -> None:
    memory = drafted(tmp_path)
    memory.wipe()
    assert kinds(memory) == ["aggregator"] * 4
    memory.wipe_aggregator()
    assert kinds(memory) == []


def test_nor_of_what_central_left_for_a_station_that_had_ended_the_job(tmp_path: Path) -> None:
    """As when its node runs it again."""
    memory = Memory(Run(1, 1, tmp_path, True), Origin(1, 1, "image", 1, "now"))
    memory.wipe()
    memory.leave(b"a long request")
    assert kinds(memory) == ["fact"]
    memory.wipe_aggregator()
    assert kinds(memory) == []


def test_control_a_draft_is_the_key_of_the_job(tmp_path: Path) -> None:
    memory = drafted(tmp_path)
    assert kinds(memory) == sorted(["aggregator"] * 4 + ["fact", "kept", "private_key"] * 2)
    held = {path.read_bytes() for path in memory.path.glob("private_key*")}
    assert held == {memory.keys().private_bytes}


def test_a_list_of_functions_without_the_end_of_a_job_keeps_no_keys() -> None:
    policy = Policy.from_environment({"FEDBAYES_ALLOWED_FUNCTIONS": "fit,partial_open_channel"})
    policy.check_function("partial_close")
