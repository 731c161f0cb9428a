"""A member that fails in each round of a job, for every method: nobody's debit is lost or doubled, nothing of the job stays, and the next one works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from test_left_behind import dying, left
from views_cases import COUNTED, COX, DISCRIMINATIVE_FIT, JOINED, LABELLED, SMOOTH_FIT, Question, question_files

from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import AlgorithmError, DataProblem
from fedbayes.federation.guards import refusing
from fedbayes.federation.node.policy import LEDGER_FILE
from fedbayes.federation.perimeter import envelope
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station

STATES = {name: {"categories": ["0", "1"]} for name in "xzw"} | {"y": {"categories": ["n", "p"]}}
NETWORK = {"columns": ["x", "z", "w", "y"], "domain": STATES, "epsilon": 1.0, **JOINED}
OUTCOME = {**COX, "features": ["v", "w"], "domain": {"v": {"bounds": [-2, 2]}, "w": STATES["w"]}}
LABEL_OF_ALL = {"label": "y", "domain": STATES, "split": "vertical", "epsilon": 1.0}
AGES = {"time": "time", "event": "event", "features": ["age"], "domain": {"age": {"bounds": [0, 1]}}}
ASKED = [
    Question("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0}, "horizontal"),
    SMOOTH_FIT,
    replace(DISCRIMINATIVE_FIT, arguments={**DISCRIMINATIVE_FIT.arguments, "epsilon": 1.0}),
    Question("secure_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "modulus_bits": 2048}, "horizontal"),
    Question("secure_naive_bayes", "fit", LABEL_OF_ALL, "labelled"),
    Question("scalar_product", "count", {**COUNTED, "epsilon": 1.0}),
    Question(
        "scalar_product",
        "contingency",
        {"columns": ["x", "z", "w"], "domain": STATES, "epsilon": 1.0, "helper": "none", **JOINED},
    ),
    Question("vertibayes", "fit", {**NETWORK, "structure": [["z", "x"], ["x", "y"]]}),
    Question("bayesian_ensemble", "fit", {"label": "y", "features": ["x", "z", "w"], **JOINED}),
    Question("verticox", "fit", {**OUTCOME, "times": [0.5, 1.0, 2.0], "epsilon": 1.0}, central="c"),
    Question(
        "verticox", "fit", {**AGES, "split": "horizontal", "times": [3.0, 6.0, 12.0], "epsilon": 1.0}, "survivors"
    ),
]
"""A task of every method that debits something, and of both splits of those that have two."""
NEAR = next(one for one in ASKED if one.method == "verticox")
"""A task in which the station beside central is asked otherwise than the others, so that its replies stay there."""
QUICK = ("dp_naive_bayes", "smooth_naive_bayes")
CASES = [pytest.param(one, id=one.name, marks=() if one.method in QUICK else pytest.mark.audit) for one in ASKED]
Debits = dict[int, Counter[tuple[Any, ...]]]
Fails = Callable[[Station], None]
Asked = tuple[str, int]
"""A round's name and who is asked in it."""
EVERY = {
    "scalar_product": 4,
    "secure_naive_bayes": 2,
    "discriminative_naive_bayes": 3,
    "vertibayes": 8,
    "bayesian_ensemble": 5,
    "verticox": 26,
}
"""Of how many places of a method's task, or rounds, one is tried, as its jobs are long; by hand all were of six tasks."""


@dataclass
class Job:
    """A question asked again and again of the same nodes, each with a ledger."""

    question: Question
    folder: Path
    asked: list[Asked] = field(default_factory=list)
    """Every round of a job in which all follow the protocol, by who is asked."""

    def __post_init__(self) -> None:
        files = question_files(self.question, False)
        limits = {name: {**self.question.limits, "ledger": "vault"} for name in files}
        self.running = InProcess(f"v6_{self.question.method}", files, limits, self.question.central)
        for number, name in self.running.names.items():
            (self.folder / name).mkdir()
            self.running.hand_over(number, self.folder / name, "folder", "vault")

    def ask(self) -> Any:
        return self.running.run(self.question.function, dict(self.question.arguments))

    def debits(self) -> Debits:
        """Return all debits of each node, without when and in which job they were made."""
        spent = {}
        for number, name in self.running.names.items():
            file = self.folder / name / LEDGER_FILE
            entries = Ledger(file).entries() if file.exists() else []
            spent[number] = Counter((one.epsilon, one.delta, one.queries, one.note) for one in entries)
        return spent

    def since(self, before: Debits) -> Debits:
        return {number: now - before[number] for number, now in self.debits().items()}

    @contextmanager
    def where(self, at: Asked, fails: Fails, first: bool) -> Iterator[None]:
        """Call `fails` where a station is asked, as the `first` thing it does in that round or the last one, after its debits."""
        name = "asked" if first else "answered"
        honest = getattr(refusing, name)

        def met(station: Station, *rest: Any) -> None:
            if (station.round_name, station.organization) == at:
                fails(station)
            honest(station, *rest)

        with mock.patch.object(refusing, name, met), mock.patch.object(InProcess, "create", dying(InProcess.create)):
            yield


def refuses(_: Station) -> None:
    raise DataProblem("no")


def dies(_: Station) -> None:
    raise KeyboardInterrupt


def once(fails: Fails) -> Fails:
    met: list[int] = []

    def failing(station: Station) -> None:
        if not met:
            met.append(1)
            fails(station)

    return failing


@contextmanager
def followed(question: Question, folder: Path) -> Iterator[tuple[Job, Debits]]:
    """Yield a question's job and what it debits at each node if all follow the protocol."""
    job = Job(question, folder)
    with job.running:
        noted = refusing.asked

        def met(station: Station, *rest: Any) -> None:
            job.asked.append((station.round_name, station.organization))
            noted(station, *rest)

        with mock.patch.object(refusing, "asked", met):
            job.ask()
        job.asked = [one for one in job.asked if not one[0].startswith("close")]
        due = job.debits()
        assert any(due.values())
        yield job, due


def spread(job: Job) -> list[Asked]:
    """Return where a member is asked: everywhere, or at places all over the task, the last one among them."""
    return job.asked[:: -EVERY.get(job.question.method, 1)]


def check_failed(job: Job, due: Debits, at: Asked, fails: Fails, first: bool) -> None:
    """Ask a job in which a member fails for good: it ends by an error of the project, with no debit that is not due, and leaves nothing."""
    before = job.debits()
    with job.where(at, fails, first), pytest.raises(AlgorithmError) as ended:
        job.ask()
    assert "unexpected" not in str(ended.value), at
    assert all(spent <= due[number] for number, spent in job.since(before).items()), at
    assert left(job.running) == [], at


def check_completed(job: Job, due: Debits, at: Asked) -> None:
    """Ask a job in which a container ends after its debit, and is asked again: it completes, and debits what is due once."""
    before = job.debits()
    with job.where(at, once(dies), False):
        job.ask()
    assert job.since(before) == due, at
    assert left(job.running) == [], at


@pytest.mark.few(1)
@pytest.mark.parametrize("question", CASES)
def test_a_member_that_fails_in_a_round_costs_the_others_no_more_than_that_job(
    question: Question, tmp_path: Path
) -> None:
    with followed(question, tmp_path) as (job, due):
        for at in spread(job):
            check_failed(job, due, at, refuses, first=True)
            check_failed(job, due, at, dies, first=False)
            check_completed(job, due, at)


@pytest.mark.parametrize("question", CASES)
def test_a_central_that_ends_after_a_round_and_is_run_again_costs_nobody_more(
    question: Question, tmp_path: Path
) -> None:
    with followed(question, tmp_path) as (job, due):
        for at in dict.fromkeys(int(name.partition(":")[0]) for name, _ in spread(job)):
            before = job.debits()
            with ended_after(job, at):
                job.ask()
            assert job.since(before) == due, at
            assert left(job.running) == [], at


@contextmanager
def ended_after(job: Job, rounds: int) -> Iterator[None]:
    """Have central's container killed after so many rounds of the next job, and the platform run that task again."""
    ask, task = Federation._ask, InProcess._task
    numbers: list[int] = []

    def asked(self: Federation, *rest: Any) -> Any:
        answers = ask(self, *rest)
        if self.rounds == rounds and len(numbers) == 1:
            raise KeyboardInterrupt
        return answers

    def same(self: InProcess, parent: int | None, initiator: int) -> int:
        if parent is None:
            numbers.append(numbers[0] if numbers else task(self, parent, initiator))
            return numbers[-1]
        return task(self, parent, initiator)

    with (
        mock.patch.object(Federation, "_ask", asked),
        mock.patch.object(InProcess, "_task", same),
    ):
        with mock.patch.object(Federation, "close"), suppress(KeyboardInterrupt):
            job.ask()
        yield


def test_a_central_that_is_run_again_finds_the_long_replies_of_its_own_station(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """These lie in the job's folder at its node, which the last round wipes; nothing else of the job stays."""
    monkeypatch.setattr(envelope, "LEAST_FILED", 1)
    with followed(NEAR, tmp_path) as (job, due):
        before = job.debits()
        with ended_after(job, max(int(name.partition(":")[0]) for name, _ in job.asked)):
            job.ask()
        assert job.since(before) == due
        assert left(job.running) == []


def test_control_requests_that_are_sealed_anew_lose_what_the_job_has_cost(tmp_path: Path) -> None:
    """Of a central that is run again after the last round stations know no request, and have no key any more to read it."""
    seal = envelope.seal

    def anew(key: bytes, payload: bytes, associated: bytes, _: Any = None) -> bytes:
        return seal(key, payload, associated)

    with (
        followed(ASKED[0], tmp_path) as (job, _),
        mock.patch.object(envelope, "seal", anew),
        ended_after(job, 2),
        pytest.raises(AlgorithmError, match="no answer"),
    ):
        job.ask()
