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
from pathlib import Path

from methods import CASES, Case
from researcher import OVER, ROOT, Ledger, Network, docker
from vantage6.algorithm.tools.exceptions import AlgorithmError

from fedbayes.federation.embedded import EmbeddedFederation

VICTIM = "hospital-b"
METHODS = tuple(sorted(CASES))
LONGEST = 480.0
"""Seconds after which one of eight jobs counts as hanging: a round waits 150 s for a silent station and 120 s for a node that is off, and the jobs share
the machine; more jobs have more time, in proportion."""
PAGE = ROOT / "docs/faults.md"
Debit = tuple[str, str, str, float, str]
Usual = dict[str, "Counter[tuple[str, str, float]]"]


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
    before: dict[str, list[Debit]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note what is debited already."""
        self.before = {station: self.network.ledger(station).debits() for station in self.network.stations}

    def submit(self, *methods: str) -> list[Job]:
        """Submit jobs, one after another without waiting."""
        made = [self._submit(method) for method in methods or METHODS]
        self.all += made
        return made

    def _submit(self, method: str) -> Job:
        case, began = fault_case(method), time.monotonic()
        image = self.network.image(method) + self.suffix
        number = self.network.submit(method, case.function, case.arguments, at=case.at, label=case.label, image=image)
        return Job(method, number, began)

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
        longest = LONGEST * max(1.0, len(self.all) / len(METHODS))
        waiting = [job for job in self.all if not job.status]
        while waiting:
            for job in waiting:
                job.seconds = time.monotonic() - job.began
                if self._status(job) in OVER or job.seconds > longest:
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

    def debits(self) -> dict[str, list[Debit]]:
        """Return what was debited since these jobs were planned, by station."""
        return {
            station: [entry for entry in self.network.ledger(station).debits() if entry not in self.before[station]]
            for station in self.network.stations
        }

    def wrong_debits(self, usual: dict[str, Usual]) -> list[str]:
        """Return what was debited twice in a job, too often in all, or less than completed jobs debit."""
        wrong = []
        for station, entries in self.debits().items():
            counted = Counter((name, note, epsilon) for _, name, _, epsilon, note in entries)
            most = sum((usual[job.method][station] for job in self.all), Counter())
            least = sum((usual[job.method][station] for job in self.all if job.status == "completed"), Counter())
            wrong += [f"{station}: {key} is debited too often" for key in counted if counted[key] > most[key]]
            wrong += [f"{station}: {key} lacks a debit" for key in least if counted[key] < least[key]]
            once = max((Counter(entry[:2] for entry in entries)).values(), default=0)
            largest = max(max(own[station].values(), default=0) for own in usual.values())
            wrong += [f"{station}: a job debited a round twice"] * (once > largest)
        return wrong


def usual_debits(network: Network, folder: Path) -> dict[str, Usual]:
    """Return what one undisturbed job of each method debits at each station, from the embedded federation: station -> (round, note, epsilon) -> how often."""
    found: dict[str, Usual] = {}
    limits = network.made["policy"]
    bare = {name: value for name, value in limits.items() if "LEDGER" not in name and "BUDGET" not in name}
    for method in METHODS:
        case, parties = fault_case(method), network.tables(fault_case(method).label)
        ledgers = {station: folder / method / station for station in parties}
        for station, ledger in ledgers.items():
            ledger.mkdir(parents=True)
            parties[station] = {**parties[station], "ledger": ledger}
        policies = {**dict.fromkeys(parties, limits), network.helper: bare}
        with EmbeddedFederation(parties=parties, helpers=[network.helper], policies=policies) as federation:
            federation.run(method, case.function, case.arguments, organization=case.at)
        found[method] = {
            station: Counter(
                (name, note, epsilon)
                for _, name, _, epsilon, note in Ledger(ledger / "fedbayes-ledger.sqlite3").debits()
            )
            for station, ledger in ledgers.items()
        }
    return found


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
            # It stands still while the server is asked whose it is: a short one would be over by then.
            docker("pause", container)
            try:
                told = self._round_of(container)
            finally:
                docker("unpause", container)
            if told is None:
                return
            parent, title = told
            self.seen.setdefault(parent, set()).add(title)
            if title in self.killed.setdefault(parent, set()):
                return
            time.sleep(self._moment.choice((0.0, 0.0, 0.4, 0.8)))
            done = subprocess.run(["docker", "kill", container], capture_output=True, check=False)
            if done.returncode == 0:
                self.killed[parent].add(title)
        except (subprocess.CalledProcessError, KeyError, TypeError):
            return

    def _round_of(self, container: str) -> tuple[int, str] | None:
        """Return task and title of the round that a container answers; None where it is central or closes."""
        name = docker("inspect", "--format", "{{.Name}}", container)
        run = self._network.client.request(f"run/{name.rsplit('-', 1)[1]}")
        task = self._network.client.request(f"task/{run['task']['id']}")
        title = str(task["name"])
        if not title.startswith("round ") or title == "round close":
            return None
        return int(task["parent"]["id"]), title


CLOCK_STARTER = (
    "import os, sys; clock = '/mnt/ledger/clock'; moved = os.path.exists(clock); "
    "moved and os.environ.update(LD_PRELOAD='/opt/libfaketime.so.1', FAKETIME=open(clock).read().strip()); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
CLOCK_IMAGE = r"""FROM {image}
COPY --from=fedbayes.invalid/faketime:bookworm /usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 /opt/libfaketime.so.1
ENTRYPOINT ["python", "-c", "{starter}"]
CMD ["python", "-m", "fedbayes.container"]
"""


def images_with_a_clock(network: Network, suffix: str) -> None:
    """Make images of all methods whose clock is moved at nodes that have the file `clock` in the ledger's folder."""
    tool = (
        "FROM fedbayes.invalid/debian-python:bookworm\n"
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libfaketime\n"
    )
    texts = {"fedbayes.invalid/faketime:bookworm": tool}
    texts |= {
        network.image(m) + suffix: CLOCK_IMAGE.format(image=network.image(m), starter=CLOCK_STARTER) for m in METHODS
    }
    for tag, text in texts.items():
        command = ["docker", "build", "--quiet", "-t", tag, "-"]
        environment = {"DOCKER_BUILDKIT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
        subprocess.run(command, input=text, text=True, check=True, timeout=300, capture_output=True, env=environment)


def told(job: Job) -> str:
    """Return how a job ended, in a cell."""
    met = "" if job.met is None else f", met in round {job.met}" if job.met else ", met before round 1"
    words = f": {job.error[:300]}".replace("|", "/").replace("\n", " ") if job.error else ""
    return f"{job.status} {job.seconds:.0f} s{met}{job.kills}{words}"


HEAD = f"""# Faults on real nodes

Written by `FEDBAYES_FAULTS=1 make network-test ARGS="-k faults"` on the dev network: a server and four stock nodes in containers, on one machine.
In each row one small job of every method runs at the same time, and the fault meets all of them; the victim is {VICTIM}.
A job that is not over after {LONGEST:g} s would count as hanging ({2 * LONGEST:g} s where there are two of each).
Times are those of eight jobs at once on a busy machine.
Debits are compared with those of the same jobs in the embedded federation: "right" means that no job debited anything twice at any station,
and that every job that completed debited all of it at every station. Jobs that end with an error may have debited less.
"Next" is a job of dp_naive_bayes afterwards; the jobs of every row ask the same questions as those of the row before, on the same stations.
Every job ends with the words of an error or with its result; none had neither.

"""
NOTES = "\n## Notes\n"  # written by hand; a run leaves them as they are
COLUMNS = ("fault", *METHODS, "debits", "next")


def read_rows(text: str) -> dict[str, list[str]]:
    """Return a page's rows, fault -> cells, with the errors below the table put back into their cells."""
    lines = text.splitlines()
    errors = {f"[{number}]": words for number, words in (line.split(". ", 1) for line in lines if line[:1].isdigit())}
    rows = {}
    for line in lines:
        if line.startswith("| "):
            name, *cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            for mark, words in errors.items():
                cells = [cell.replace(f" {mark}", f": {words}") for cell in cells]
            rows[name] = cells
    return rows


def page_of(rows: dict[str, list[str]], order: list[str]) -> str:
    """Return the page's text; errors are numbered and told below the table."""
    errors: list[str] = []

    def numbered(cell: str) -> str:
        end, found, words = cell.partition(": ")
        if not found or cell.startswith("hospital"):
            return cell
        if words not in errors:
            errors.append(words)
        return f"{end} [{errors.index(words) + 1}]"

    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for name in order:
        cells = rows.get(name, ["not run"] * (len(COLUMNS) - 1))
        lines.append(f"| {name} | {' | '.join('<br>'.join(map(numbered, cell.split('<br>'))) for cell in cells)} |")
    told_below = [f"{number}. {words}" for number, words in enumerate(errors, 1)]
    return HEAD + "\n".join([*lines, "", *told_below]).rstrip("\n") + "\n"


def write_row(fault: str, order: list[str], jobs: list[Job], debits: str, works: str) -> None:
    """Put a fault's row into the page; rows of faults that did not run now stay as they were."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows, (_, mark, notes) = read_rows(text), text.partition(NOTES)
    rows = {name: cells for name, cells in rows.items() if len(cells) == len(COLUMNS) - 1}
    cells = ["<br>".join(told(job) for job in jobs if job.method == method) for method in METHODS]
    rows[fault] = [*cells, debits, works]
    PAGE.write_text(page_of(rows, order) + mark + notes, encoding="utf-8")
