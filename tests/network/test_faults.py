"""Faults on real nodes, each while a horizontal and a vertical job run: nothing hangs, no debit is lost or doubled, the next task works.

The run writes its table to docs/faults.md. It takes longer than the other tests of the network: ``FEDBAYES_FAULTS=1 make network-test ARGS="-k faults"``.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from methods import CASES, Case
from researcher import OVER, ROOT, Network, docker
from vantage6.algorithm.tools.exceptions import AlgorithmError

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif("FEDBAYES_FAULTS" not in os.environ, reason="on demand: FEDBAYES_FAULTS=1"),
]

VICTIM = "hospital-b"
METHODS = {"horizontal": "dp_naive_bayes", "vertical": "scalar_product"}
LONGEST = 240.0
"""Seconds after which a job counts as hanging."""
CUT_SECONDS = 60.0
PAGE = ROOT / "docs/faults.md"
ROWS: list[tuple[str, ...]] = []
Debit = tuple[str, str, str, float, str]


@dataclass
class Job:
    """A task that was submitted, and how it ended."""

    kind: str
    task: int
    began: float
    status: str = ""
    error: str = ""
    seconds: float = 0.0


@dataclass
class Faults:
    """Submits jobs, applies a fault, collects ends and debits."""

    network: Network
    before: dict[str, list[Debit]] = field(default_factory=dict)

    def case(self, kind: str) -> Case:
        return CASES[METHODS[kind]][0]

    def note_ledgers(self) -> None:
        self.before = {name: self.network.ledger(name).debits() for name in self.network.stations}

    def submit(self, *kinds: str) -> list[Job]:
        """Submit jobs, one after another without waiting."""
        jobs = []
        for kind in kinds:
            case = self.case(kind)
            task = self.network.submit(METHODS[kind], case.function, case.arguments, at=case.at, label=case.label)
            jobs.append(Job(kind, task, time.monotonic()))
        return jobs

    def wait_for_round(self, job: Job, number: int = 2) -> None:
        """Wait until the victim runs a container of this round of the job, or the job is over."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline and self.network.status(job.task) not in OVER:
            rounds = self.network.subtasks(job.task)
            if len(rounds) >= number:
                runs = self.network.runs(rounds[number - 1])
                own = [run for run in runs if int(run["organization"]["id"]) == self.network.ids[VICTIM]]
                if any(run["status"] in ("active", "initializing") for run in own) and running_at(VICTIM):
                    return
            time.sleep(0.05)

    def collect(self, jobs: list[Job]) -> None:
        """Wait for the ends; a job that is not over in time hangs."""
        for job in jobs:
            try:
                self.network.result(job.task, max(1.0, LONGEST - (time.monotonic() - job.began)))
                job.status = "completed"
            except AlgorithmError as refusal:
                job.status, job.error = "ended with an error", f"{type(refusal).__name__}: {refusal}"
            except Exception as failure:
                hangs = "is still" in str(failure)
                job.status = "HANGS" if hangs else "ended without a cause"
                job.error = f"{type(failure).__name__}: {failure}"[-300:]
            job.seconds = time.monotonic() - job.began

    def debits(self) -> dict[str, list[Debit]]:
        """Return what was debited since `note_ledgers`, by station."""
        return {
            name: [entry for entry in self.network.ledger(name).debits() if entry not in earlier]
            for name, earlier in self.before.items()
        }


def running_at(organization: str) -> list[str]:
    name = f"name=vantage6-fedbayes_{organization}-run"
    return docker("ps", "--quiet", "--filter", "label=vantage6-type=algorithm", "--filter", name).split()


def control(*words: str) -> None:
    subprocess.run([str(ROOT / "scripts/network"), *words], check=True, timeout=120)


@contextmanager
def in_the_end(*words: str) -> Iterator[None]:
    try:
        yield
    finally:
        control(*words)


def container_killed(faults: Faults, stack: ExitStack) -> list[Job]:
    jobs = faults.submit("horizontal", "vertical")
    for job in jobs:
        faults.wait_for_round(job)
        for container in running_at(VICTIM):
            subprocess.run(["docker", "kill", container], capture_output=True, check=False)
    return jobs


def node_restarted(faults: Faults, stack: ExitStack) -> list[Job]:
    jobs = faults.submit("horizontal", "vertical")
    faults.wait_for_round(jobs[0])
    control("kill-node", VICTIM)
    control("start-node", VICTIM)
    faults.network.wait_online(VICTIM)
    return jobs


def server_restarted(faults: Faults, stack: ExitStack) -> list[Job]:
    jobs = faults.submit("horizontal", "vertical")
    faults.wait_for_round(jobs[0])
    control("restart-server")
    wait_for_server(faults.network)
    return jobs


def cable_cut(faults: Faults, stack: ExitStack) -> list[Job]:
    jobs = faults.submit("horizontal", "vertical")
    faults.wait_for_round(jobs[0])
    control("cut-cable", VICTIM)
    stack.enter_context(in_the_end("plug-in", VICTIM))
    time.sleep(CUT_SECONDS)
    return jobs


def disk_full(faults: Faults, stack: ExitStack) -> list[Job]:
    """The job's temporary volume at the victim is there already, with room for nothing."""
    seen = [task["job_id"] for task in faults.network.client.request("task", params={"per_page": 100})["data"]]
    for number in (1, 2):
        name = f"{faults.network.container(VICTIM)}-{max(seen) + number}-tmpvol"
        options = [part for text in ("type=tmpfs", "device=tmpfs", "o=size=4k") for part in ("--opt", text)]
        docker("volume", "create", *options, name)
    return faults.submit("horizontal", "vertical")


def ledger_read_only(faults: Faults, stack: ExitStack) -> list[Job]:
    folder = Path(faults.network.made["ledgers"][VICTIM])
    kept = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    stack.callback(lambda: [path.chmod(mode) for path, mode in kept.items() if path.exists()])
    for path in kept:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return faults.submit("horizontal", "vertical")


def at_once(faults: Faults, stack: ExitStack) -> list[Job]:
    return faults.submit("horizontal", "vertical", "horizontal", "vertical")


def twice(faults: Faults, stack: ExitStack) -> list[Job]:
    first = faults.submit("horizontal", "vertical")
    faults.collect(first)
    return [*first, *faults.submit("horizontal", "vertical")]


MUST_COMPLETE, MUST_END = "completed", "ended with an error"
FAULTS: dict[str, tuple[Callable[[Faults, ExitStack], list[Job]], tuple[str, ...]]] = {
    "nothing": (lambda faults, _: faults.submit("horizontal", "vertical"), (MUST_COMPLETE,)),
    "two jobs of each at once": (at_once, (MUST_COMPLETE,)),
    "the same jobs twice": (twice, (MUST_COMPLETE,)),
    "ledger read-only": (ledger_read_only, (MUST_END,)),
    "temporary folder full": (disk_full, (MUST_END,)),
    "station's container killed in a round": (container_killed, (MUST_END,)),
    "node killed and started again in a round": (node_restarted, (MUST_COMPLETE, MUST_END)),
    "server restarted in a round": (server_restarted, (MUST_COMPLETE, MUST_END)),
    f"network cut for {CUT_SECONDS:g} s in a round": (cable_cut, (MUST_COMPLETE, MUST_END)),
}
USUAL: dict[str, Counter[str]] = {}


def wait_for_server(network: Network) -> None:
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline:
        try:
            if not network.offline():
                return
        except Exception:
            pass
        time.sleep(0.5)
    pytest.fail("the server or a node is not back in time")


def assert_debits(jobs: list[Job], found: dict[str, list[Debit]]) -> str:
    """No question is debited twice in a job, and a job that completed is debited everywhere as undisturbed ones are."""
    completed = sum(job.status == "completed" for job in jobs)
    for name, debits in found.items():
        assert max(Counter(entry[:3] for entry in debits).values(), default=0) <= 1, name
        notes = Counter(note for *_, note in debits)
        for note, count in notes.items():
            assert count <= USUAL[name][note] * len(jobs) / 2, f"{name}: {note} is debited too often"
        if completed == len(jobs):
            assert notes == Counter({note: count * len(jobs) // 2 for note, count in USUAL[name].items()}), name
    return ", ".join(f"{name} {len(debits)}" for name, debits in found.items())


@pytest.fixture(scope="module")
def usual(network: Network) -> None:
    """Learn what undisturbed jobs debit."""
    faults = Faults(network)
    faults.note_ledgers()
    faults.collect(faults.submit("horizontal", "vertical"))
    USUAL.update({name: Counter(note for *_, note in debits) for name, debits in faults.debits().items()})


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault(fault: str, network: Network) -> None:
    apply, allowed = FAULTS[fault]
    faults = Faults(network)
    faults.note_ledgers()
    with ExitStack() as stack:
        jobs = apply(faults, stack)
        if "cut" in fault:
            stack.close()
        faults.collect([job for job in jobs if not job.status])
    wait_for_server(network)
    found = faults.debits()
    told = assert_debits(jobs, found)
    after = faults.submit("horizontal", "vertical") if fault not in ("nothing", "the same jobs twice") else []
    faults.collect(after)
    works = "yes" if all(job.status == "completed" for job in after) else "NO"
    for kind in METHODS:
        own = [job for job in jobs if job.kind == kind]
        ends = "; ".join(f"{job.status} after {job.seconds:.0f} s{_cause(job)}" for job in own)
        ROWS.append((fault, f"{METHODS[kind]} ({kind})", ends, told, works if after else "-"))
    _write_page()
    assert works == "yes", [job.error for job in after]
    for job in jobs:
        assert job.status in allowed, f"{job.kind}: {job.status} {job.error}"


def _cause(job: Job) -> str:
    return f" ({job.error[:160]})".replace("|", "/").replace("\n", " ") if job.error else ""


def _write_page() -> None:
    """Write the table; rows of faults that did not run now stay as they were."""
    own = {row[0] for row in ROWS}
    old = (
        [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
        if PAGE.exists()
        else []
    )
    told = [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in old[1:]]
    rows = [row for row in told if row[0] not in own] + ROWS
    order = list(FAULTS)
    rows.sort(key=lambda row: order.index(row[0]) if row[0] in order else len(order))
    lines = (
        "# Faults on real nodes",
        "",
        'Written by `FEDBAYES_FAULTS=1 make network-test ARGS="-k faults"` on the dev network: a server and four stock nodes in containers.',
        f"The victim is {VICTIM}. A job that is not over after {LONGEST:g} s would count as hanging. Debits are those of both methods' jobs;",
        "none is doubled within a job, and a job that completed is debited as an undisturbed one.",
        "",
        "| fault | method | how the jobs ended | debits | next task works |",
        "|---|---|---|---|---|",
    )
    head = "\n".join(lines) + "\n"
    PAGE.write_text(head + "".join(f"| {' | '.join(row)} |\n" for row in rows), encoding="utf-8")
