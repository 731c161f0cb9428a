"""What faults on real nodes are told with: jobs of every method, debits of each, what happens to nodes, the page."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from methods import CASES, Case
from researcher import OVER, ROOT, Network, docker
from vantage6.algorithm.tools.exceptions import AlgorithmError

from fedbayes.federation.platform import Origin

VICTIM = "hospital-b"
METHODS = tuple(sorted(CASES))
LONGEST = 480.0
"""Seconds after which a job counts as hanging: a round waits 150 s for a silent station and 90 s for a node that is off, and eight jobs share the machine."""
PAGE = ROOT / "docs/faults.md"
Debit = tuple[str, str, str, float, str]


SMALLER: dict[str, dict[str, object]] = {
    "bayesian_ensemble": {"max_parents": 1},
    "discriminative_naive_bayes": {"rounds": 1},
    "vertibayes": {
        "columns": ["smoke", "bronc", "dysp"],
        "order": ["smoke", "bronc", "dysp"],
        "max_parents": 1,
    },
    "verticox": {"features": ["prio"], "tolerance": 0.1, "solver": "bfgs"},
}
"""What makes a method's first case take fewer rounds: eight jobs run at the same time."""


def fault_case(method: str) -> Case:
    """Return the method's first case, smaller."""
    case = CASES[method][0]
    return replace(case, arguments={**case.arguments, **SMALLER.get(method, {})})


@dataclass
class Job:
    """A task that was submitted, where the fault met it, and how it ended."""

    method: str
    task: int
    session: str
    began: float
    met: int | None = None
    status: str = ""
    error: str = ""
    seconds: float = 0.0
    kills: str = ""


@dataclass
class Jobs:
    """Submits jobs, waits for them, counts their debits."""

    network: Network
    suffix: str = ""
    all: list[Job] = field(default_factory=list)

    def submit(self, *methods: str) -> list[Job]:
        """Submit jobs, one after another without waiting."""
        made = [self._submit(method) for method in methods or METHODS]
        self.all += made
        return made

    def _submit(self, method: str) -> Job:
        case, began = fault_case(method), time.monotonic()
        image = self.network.image(method) + self.suffix
        number = self.network.submit(method, case.function, case.arguments, at=case.at, label=case.label, image=image)
        task = self.network.client.request(f"task/{number}")
        organization = self.network.ids[case.at]
        origin = Origin(int(task["job_id"]), number, str(task["image"]), organization, str(task["created_at"]))
        return Job(method, number, origin.session, began)

    def wait_for_round(self, number: int = 2) -> None:
        """Wait until the victim runs a container while some job is in this round; note in which round each job is."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            rounds = {job.task: self.network.subtasks(job.task) for job in self.all}
            at = [listed[number - 1] for listed in rounds.values() if len(listed) >= number]
            if any(self._is_at_victim(task) for task in at) and running_at(VICTIM):
                break
            if all(self.network.status(job.task) in OVER for job in self.all):
                break
            time.sleep(0.05)
        for job in self.all:
            over = self.network.status(job.task) in OVER
            job.met = None if over else len(self.network.subtasks(job.task))

    def _is_at_victim(self, task: int) -> bool:
        own = [run for run in self.network.runs(task) if run["organization"]["id"] == self.network.ids[VICTIM]]
        return any(run["status"] in ("active", "initializing") for run in own)

    def collect(self) -> None:
        """Wait for the ends; a job that is not over in time hangs."""
        waiting = [job for job in self.all if not job.status]
        while waiting:
            for job in waiting:
                job.seconds = time.monotonic() - job.began
                if self._status(job) in OVER or job.seconds > LONGEST:
                    self._end(job)
            waiting = [job for job in waiting if not job.status]
            time.sleep(1.0)

    def _status(self, job: Job) -> str:
        try:
            return self.network.status(job.task)
        except Exception:
            return ""

    def _end(self, job: Job) -> None:
        try:
            self.network.result(job.task, 1.0)
            job.status = "completed"
        except AlgorithmError as refusal:
            job.status, job.error = "error", f"{type(refusal).__name__}: {refusal}"
        except Exception as failure:
            job.status = "HANGS" if "is still" in str(failure) else "NO CAUSE"
            job.error = f"{type(failure).__name__}: {failure}"[-300:]

    def debits(self) -> dict[str, dict[str, list[Debit]]]:
        """Return the debits of each job's session at each station."""
        found: dict[str, dict[str, list[Debit]]] = {job.session: {} for job in self.all}
        for station in self.network.stations:
            for entry in self.network.ledger(station).debits():
                if entry[0] in found:
                    found[entry[0]].setdefault(station, []).append(entry)
        return found


def notes(debits: dict[str, list[Debit]]) -> dict[str, Counter[str]]:
    """Return what was debited how often at each station."""
    return {station: Counter(entry[-1] for entry in entries) for station, entries in debits.items()}


def running_at(organization: str) -> list[str]:
    """Return the algorithm containers that a node runs."""
    name = f"name=vantage6-fedbayes_{organization}-run"
    return docker("ps", "--quiet", "--filter", "label=vantage6-type=algorithm", "--filter", name).split()


def control(*words: str) -> None:
    """Call scripts/network."""
    subprocess.run([str(ROOT / "scripts/network"), *words], check=True, timeout=120)


@contextmanager
def in_the_end(*words: str) -> Iterator[None]:
    """Call scripts/network at the end."""
    try:
        yield
    finally:
        control(*words)


class Killer:
    """Kills the victim's container of every round of every job once, at a moment of its short life that differs."""

    def __init__(self, network: Network) -> None:
        self.killed: dict[int, set[str]] = {}
        self.seen: dict[int, set[str]] = {}
        self._network, self._over = network, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._moment = random.Random(0)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30.0)

    def _watch(self) -> None:
        met: set[str] = set()
        while not self._over.is_set():
            for container in running_at(VICTIM):
                if container not in met:
                    met.add(container)
                    threading.Thread(target=self._strike, args=(container,), daemon=True).start()
            time.sleep(0.05)

    def _strike(self, container: str) -> None:
        try:
            name = docker("inspect", "--format", "{{.Name}}", container)
            run = self._network.client.request(f"run/{name.rsplit('-', 1)[1]}")
            task = self._network.client.request(f"task/{run['task']['id']}")
            title = str(task["name"])
            if not title.startswith("round ") or title == "round close":
                return
            parent = int(task["parent"]["id"])
            self.seen.setdefault(parent, set()).add(title)
            if title in self.killed.setdefault(parent, set()):
                return
            time.sleep(self._moment.choice((0.0, 0.0, 0.4, 0.8)))
            done = subprocess.run(["docker", "kill", container], capture_output=True, check=False)
            if done.returncode == 0:
                self.killed[parent].add(title)
        except (subprocess.CalledProcessError, KeyError, TypeError):
            return


CLOCK_IMAGE = """FROM {image}
COPY --from=fedbayes.invalid/faketime:bookworm /usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 /opt/libfaketime.so.1
ENTRYPOINT ["sh", "-c", "if [ -e /mnt/ledger/clock ]; then export LD_PRELOAD=/opt/libfaketime.so.1 FAKETIME=$(cat /mnt/ledger/clock); fi; exec \"$@\"", "sh"]
CMD ["python", "-m", "fedbayes.container"]
"""


def images_with_a_clock(network: Network, suffix: str) -> None:
    """Make images of all methods whose clock is moved at nodes that have the file `clock` in the ledger's folder."""
    tool = (
        "FROM fedbayes.invalid/debian-python:bookworm\n"
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libfaketime\n"
    )
    texts = {"fedbayes.invalid/faketime:bookworm": tool}
    texts |= {network.image(m) + suffix: CLOCK_IMAGE.format(image=network.image(m)) for m in METHODS}
    for tag, text in texts.items():
        command = ["docker", "build", "--quiet", "-t", tag, "-"]
        environment = {"DOCKER_BUILDKIT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
        subprocess.run(command, input=text, text=True, check=True, timeout=300, capture_output=True, env=environment)


def told(job: Job) -> str:
    """Return how a job ended, in a cell."""
    met = "" if job.met is None else f", met in round {job.met}" if job.met else ", met before round 1"
    return f"{job.status} {job.seconds:.0f} s{met}{job.kills}"


@dataclass
class Page:
    """The table, written again after each fault; errors are numbered below it."""

    rows: dict[str, dict[str, str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def note(self, fault: str, jobs: list[Job], debits: str, works: str) -> None:
        """Add a fault's row and write the page."""
        row = {method: "<br>".join(self._cell(job) for job in jobs if job.method == method) for method in METHODS}
        self.rows[fault] = {**row, "debits": debits, "next": works}
        self.write()

    def _cell(self, job: Job) -> str:
        if not job.error:
            return told(job)
        words = job.error.replace("|", "/").replace("\n", " ")[:400]
        if words not in self.errors:
            self.errors.append(words)
        return f"{told(job)} [{self.errors.index(words) + 1}]"

    def write(self) -> None:
        """Write the page."""
        head = f"""# Faults on real nodes

Written by `FEDBAYES_FAULTS=1 make network-test ARGS="-k faults"` on the dev network: a server and four stock nodes in containers, on one machine.
In each row one small job of every method runs at the same time, and the fault meets all of them; the victim is {VICTIM}.
A job that is not over after {LONGEST:g} s would count as hanging. Times are those of eight jobs at once on a busy machine.
Debits are compared job by job with those of undisturbed jobs: "right" means that no job debited anything twice,
and that every job that completed debited all of it at every station. Jobs that end with an error may have debited less.
"Next" is a job of dp_naive_bayes afterwards; the jobs of the next row ask the same questions once more.

| fault | {" | ".join(METHODS)} | debits | next |
|{"---|" * (len(METHODS) + 3)}
"""
        body = "".join(f"| {fault} | {' | '.join(row.values())} |\n" for fault, row in self.rows.items())
        errors = "".join(f"{number}. {words}\n" for number, words in enumerate(self.errors, 1))
        PAGE.write_text(head + body + (f"\n## The errors\n{errors}" if errors else ""), encoding="utf-8")
