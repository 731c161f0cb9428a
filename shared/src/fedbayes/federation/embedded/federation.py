"""`EmbeddedFederation`: organizations, their files and limits, and `run`."""

from __future__ import annotations

import base64
import importlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..installed import module_name
from . import container
from .given import check_policies, names_of, task_of
from .parties import Tables, limits_of
from .processes import processes
from .remedies import RunFailed, failure_of
from .server import Server, from_text, to_text
from .tasks import RunState, TaskState
from .views import Views

SETTLE_SECONDS = 10.0  # for the last replies of a job that is over
CLOSING = "partial_close"
METHOD = re.compile(rb'{"method": "(\w+)"')  # how the JSON of an input begins, which may be long


class EmbeddedFederation:
    """Organizations with their data on this machine; every container is a process of its own.

    Parameters
    ----------
    parties : mapping of str to mapping
        Organization -> {database label: file (csv, parquet, excel), folder or `pandas.DataFrame`}. A bare path or frame means ``{"default": path}``.
        A frame is written as CSV into a temporary file, its index too if that has a name.
    helpers : sequence of str
        Organizations without data.
    policies : mapping, optional
        Organization (``"*"``: all) -> {limit: value}; limits by their name in `Policy` or by their environment variable. What is not
        stated is as at a node that states nothing: single records may not be predicted, say.
    aggregator : str, optional
        The organization that runs central functions; the first party by default.
    database : str
        Label of the database that tasks ask for.
    latency : float
        Seconds that every sub-task waits before it starts, as a platform's round would.
    record : bool
        Whether to keep every message of the last run in `transcript`: ``organization``, ``function``, ``input`` and ``result`` as they
        travelled, and ``body`` and ``reply``, what the station and central read of them. The closing sub-task, which carries nothing, is left out.
    tamper, tamper_request : callable, optional
        ``tamper(organization, function, payload) -> payload`` changes a reply on its way, or a request, as an active server could; for tests.

    Notes
    -----
    It lives until `close`, or as a context manager. Every `run` is one job with temporary folders of its own. Until then every party remembers its exact
    answers, as a node with a folder database does, and refuses what with earlier ones tells of few; the limit ``allow_differences`` lifts that.
    """

    def __init__(
        self,
        parties: Mapping[str, Any],
        helpers: Sequence[str] = (),
        policies: Mapping[str, Mapping[str, Any]] | None = None,
        aggregator: str | None = None,
        database: str = "default",
        latency: float = 0.0,
        record: bool = False,
        tamper: Callable[[str, str, Any], Any] | None = None,
        tamper_request: Callable[[str, str, Any], Any] | None = None,
    ) -> None:
        names = names_of(parties, helpers)
        check_policies(policies or {})
        self._folder = tempfile.TemporaryDirectory(prefix="fedbayes-embedded-")
        self._tables = {name: Tables(name, files, Path(self._folder.name)) for name, files in parties.items()}
        self._ids = {name: position + 1 for position, name in enumerate(names)}
        self.names = {number: name for name, number in self._ids.items()}
        self._aggregator = aggregator or names[0]
        if self._aggregator not in self._ids:
            raise ArgumentError("aggregator must be one of the parties or helpers")
        self._limits = limits_of(policies or {}, names)
        self._database, self._latency, self._record, self._tamper = database, latency, record, tamper
        self._tamper_request = tamper_request
        self.transcript: list[dict[str, Any]] = []
        self._views = Views()
        self._module = ""
        self._numbers: dict[int, int] = {}
        self._again: set[int] = set()
        self._progress: Callable[[dict[str, Any]], None] | None = None
        self._server = Server(self.names, self._launch, lambda: self._module)
        self._host = processes()
        self._closed = False

    def __repr__(self) -> str:
        """Return who takes part, and whether it still runs tasks."""
        helpers = [name for name in self._ids if name not in self._tables]
        parts = [f"parties: {', '.join(self._tables)}", *([f"helpers: {', '.join(helpers)}"] if helpers else [])]
        return f"EmbeddedFederation({'; '.join([*parts, *(['closed'] if self._closed else [])])})"

    def __enter__(self) -> EmbeddedFederation:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Kill what runs and remove the temporary folders; a second call does nothing."""
        self._closed = True
        self.kill()
        self._server.close()
        self._folder.cleanup()

    # -- running ---------------------------------------------------------------------------------------------------------

    def fit(self, algorithm: str, **arguments: Any) -> Any:
        """Run an algorithm's ``fit`` with named arguments and return its `Result`; `run` without the detour over a mapping."""
        return self.run(algorithm, "fit", arguments)

    def run(
        self,
        algorithm: str,
        function: str,
        arguments: Mapping[str, Any] | None = None,
        organization: str | None = None,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        timeout: float = 3600.0,
    ) -> Any:
        """Run a remote function as one task and return its result, a `client.result.Result`: the dict, with ``summary()``, ``plot()`` and so on.

        Parameters
        ----------
        algorithm : str
            Name of an algorithm (``dp_naive_bayes``) or of its Python package.
        function : str
            Remote function.
        arguments : mapping, optional
            Its arguments; they travel as JSON.
        organization : str, optional
            Where it runs; the aggregator by default.
        on_progress : callable, optional
            Gets ``{"event", "task", "name", "function", "organization", "status"}`` for every container that starts or ends.
        timeout : float
            Seconds after which everything is killed.

        Raises
        ------
        AlgorithmError
            What the function raised, by its class; `RunFailed` if the log does not tell.
        ArgumentError
            If the algorithm is not installed or the organization is not here.
        """
        asked = task_of(algorithm, function, arguments)
        if self._closed:
            raise ArgumentError("this federation is closed; run tasks inside its with block, or make another one")
        self._module = module_name(algorithm)
        self._progress = on_progress
        self.transcript = []
        self._views = Views()
        aggregator = organization or self._aggregator
        if aggregator not in self._ids:
            raise ArgumentError("organization must be one of the parties or helpers")
        content = {"method": function, "kwargs": asked}
        text = to_text(content)
        task = self._server.create({self._ids[aggregator]: text}, function, [{"label": self._database}], None)
        deadline = time.monotonic() + timeout
        try:
            while self._server.wait(task, 0.5) == "active":
                if time.monotonic() > deadline:
                    raise RunFailed("the task did not end in time; everything of it was stopped")
        except BaseException:
            self.kill()
            raise
        self._server.settle(task.job, SETTLE_SECONDS)
        return self._result(task.runs[0], algorithm, function)

    @staticmethod
    def _result(run: RunState, algorithm: str, function: str) -> Any:
        if run.status == "completed" and run.result is not None:
            result = from_text(run.result)
            # What people do with a result is the client's, which the federation does not know.
            return (
                importlib.import_module("fedbayes.client.result").Result(result) if isinstance(result, dict) else result
            )
        raise failure_of(run.log, algorithm, function)

    def kill(self, organization: str | None = None) -> int:
        """Kill the running containers (of one organization), as a node's death would; return how many there were."""
        killed = 0
        for task in list(self._server.tasks.values()):
            for run in task.runs:
                if run.id in self._numbers and organization in (None, self.names[run.organization]):
                    self._host.kill(self._numbers[run.id])
                    killed += 1
        return killed

    def restart(self, organization: str) -> int:
        """Kill the running containers of an organization and run them again, as a node that restarts does."""
        running = [
            run
            for task in list(self._server.tasks.values())
            for run in task.runs
            if run.id in self._numbers and self.names[run.organization] == organization
        ]
        for run in running:
            self._again.add(run.id)
            self._host.kill(self._numbers[run.id])
        return len(running)

    def _launch(self, run: RunState, task: TaskState) -> None:
        if self._latency and task.parent:
            time.sleep(self._latency)
        folder = Path(self._folder.name) / f"run-{run.id}"
        folder.mkdir()
        environment = self._environment(run, task, folder)
        run.status = "active"
        self._tell("start", run)
        self._start(run, folder, environment)

    def _start(self, run: RunState, folder: Path, environment: dict[str, str]) -> None:
        def ended(code: int) -> None:
            if run.id in self._again:
                self._again.discard(run.id)
                self._start(run, folder, environment)
            else:
                self._ended(run, folder, code)

        log = str(folder / "log")
        self._numbers[run.id] = self._host.start(self._module, environment, str(folder), log, ended)

    def _environment(self, run: RunState, task: TaskState, folder: Path) -> dict[str, str]:
        name, own = self.names[run.organization], Path(self._folder.name)
        self._leave_input(run, task, folder / "input")
        token = container.token_of(run, task, self._module)
        self._server.tokens[token] = run
        (folder / "token").write_text(token)
        job_folder, record = own / f"job-{task.job}" / name, own / "fedbayes-records" / name
        job_folder.mkdir(parents=True, exist_ok=True)
        record.mkdir(parents=True, exist_ok=True)
        self._note_keys(run, task.job)
        tables = self._tables[name].environment(self._database) if name in self._tables else {}
        places = container.places_of(folder, job_folder, record, self._server.port, task)
        return container.environment_of(self._module, {**places, **self._limits[name], **tables})

    def _leave_input(self, run: RunState, task: TaskState, path: Path) -> None:
        """Write a run's input to its folder, where it lies from now on."""
        content = base64.b64decode(run.input)
        path.write_bytes(content)
        named = METHOD.match(content)
        run.method = named[1].decode() if named else str(json.loads(content).get("method", ""))
        if self._tamper_request is not None and task.parent:
            asked = json.loads(content)
            name, message = self.names[run.organization], asked["kwargs"]["message"]
            asked["kwargs"]["message"] = self._tamper_request(name, run.method, message)
            path.write_text(json.dumps(asked), encoding="utf-8")
        run.input = ""

    def _ended(self, run: RunState, folder: Path, code: int) -> None:
        output, log = folder / "output", folder / "log"
        text = log.read_text(errors="replace") if log.exists() else ""
        self._numbers.pop(run.id, None)
        answered = code == 0 and output.exists()
        if answered and (self._tamper is not None or self._record):
            self._look_at(run, folder / "input", output)
        (folder / "input").unlink(missing_ok=True)
        self._server.finish(run, "completed" if answered else "crashed", output if answered else None, text)
        self._tell("end", run)

    def _look_at(self, run: RunState, asked: Path, output: Path) -> None:
        """Change a run's answer, or record it, as this federation was asked to."""
        payload, name = json.loads(output.read_bytes()), self.names[run.organization]
        if self._tamper is not None:
            payload = self._tamper(name, run.method, payload)
            output.write_text(json.dumps(payload), encoding="utf-8")
        if self._record and run.method != CLOSING:
            content = json.loads(asked.read_bytes())
            self._note_keys(run, self._server.tasks[run.task].job)
            opened = self._views.opened(run.organization, content.get("kwargs", {}).get("message"), payload)
            entry = {"organization": name, "function": run.method, "input": content, "result": payload}
            self.transcript.append({**entry, **opened})

    def _note_keys(self, run: RunState, job: int) -> None:
        if self._record:
            for number, name in self.names.items():
                if number == run.organization or name == self._aggregator:
                    self._views.note_keys(Path(self._folder.name) / f"job-{job}" / name, number)

    def _tell(self, event: str, run: RunState) -> None:
        if self._progress is not None:
            self._progress(
                {
                    "event": event,
                    "task": run.task,
                    "name": self._server.tasks[run.task].name,
                    "function": run.method,
                    "organization": self.names[run.organization],
                    "status": run.status,
                }
            )
