"""``fedbayes run``: in the embedded federation or on a server, result and report written at the end, all or nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import files, options
from .catalogue import check_function
from .exits import UsageProblem
from .kinds import read_result
from .local import Job, LocalPlace
from .progress import Progress
from .tables import read_table

REMOTE_ONLY = ("collaboration", "organization", "image", "username", "mfa_code", "key")
LOCAL_ONLY = ("party", "helper", "policy", "aggregator", "latency")


@dataclass(frozen=True)
class Options:
    """The options of the command, as they were given."""

    algorithm: str
    function: str
    out: Path | None
    arg: list[str] | None
    args: Path | None
    model: Path | None
    report: Path | None
    party: list[str] | None
    helper: list[str] | None
    policy: list[str] | None
    aggregator: str | None
    latency: float
    server: str | None
    collaboration: int | None
    organization: str | None
    image: str | None
    database: str
    username: str | None
    mfa_code: str | None
    key: Path | None
    timeout: float
    quiet: bool

    def check(self) -> None:
        """Raise `UsageProblem` where options do not fit one another."""
        if self.server is None and not self.party:
            raise UsageProblem("give either --party NAME=FILE (embedded) or --server URL --collaboration ID")
        wrong = LOCAL_ONLY if self.server is not None else REMOTE_ONLY
        given = [
            name for name in wrong if getattr(self, name) and not (name == "username" and self._from_environment())
        ]
        if given:
            where = "an embedded run (--party)" if self.server is not None else "a run on a server (--server)"
            raise UsageProblem(f"--{given[0].replace('_', '-')} belongs to {where}; leave it out")
        if self.server is not None and self.collaboration is None:
            raise UsageProblem("--server needs --collaboration ID")
        if self.server is not None and self.image is None:
            raise UsageProblem("--server needs --image, the algorithm's image as the nodes know it")
        if self.key is not None and not self.key.is_file():
            raise UsageProblem(f"--key: the file {self.key} does not exist; check the path")
        if self.report is not None and self.out is not None and self.report.absolute() == self.out.absolute():
            raise UsageProblem("--out and --report must be different files")

    def _from_environment(self) -> bool:
        return self.username == os.environ.get("VANTAGE6_USERNAME")


def execute(given: Options) -> None:
    """Run the task and write its result.

    Raises
    ------
    UsageProblem
        Before anything runs, if an option, file or folder is wrong.
    Exception
        Whatever ended the task; nothing is written then.
    """
    from rich.console import Console

    given.check()
    job = Job(given.algorithm, given.function, _arguments(given))
    if given.out is None:
        raise UsageProblem("--out is needed: name the file of the result")
    files.check_output("--out", given.out)
    if given.report is not None:
        files.check_output("--report", given.report)
    progress = Progress(Console(stderr=True), given.quiet)
    result = _run(given, job, progress)
    texts = {given.out: files.json_text(result)}
    if given.report is not None:
        from .report import render

        texts[given.report] = render(result, f"{job.algorithm}: {job.function}")
    files.write_texts(texts)
    for warning in result.get("warnings") or []:
        progress.note(f"warning: {warning}")
    progress.note(f"result: {given.out}")
    if given.report is not None:
        progress.note(f"report: {given.report}")


def check(given: Options) -> None:
    """Run the preflight of a task alone, and print what every station says to it.

    Raises
    ------
    UsageProblem
        If an option or an argument is wrong.
    PrivacyViolation
        If a station refuses.
    """
    from rich.console import Console

    from .preflight import print_stations, raise_refusals

    given.check()
    arguments = {"function": given.function, "arguments": _arguments(given)}
    check_function(given.algorithm, given.function)
    result = _run(given, Job(given.algorithm, "preflight", arguments), Progress(Console(stderr=True), given.quiet))
    print_stations(result["stations"])
    raise_refusals(result["stations"])


def _run(given: Options, job: Job, progress: Progress) -> Any:
    try:
        return _embedded(given, job, progress) if given.server is None else _on_server(given, job, progress)
    finally:
        progress.finish()


def _arguments(given: Options) -> dict[str, Any]:
    arguments = options.read_arguments(given.arg or [], given.args)
    if given.model is None:
        return arguments
    if "model" in arguments:
        raise UsageProblem("--model: the argument 'model' is given twice; give it once")
    model = read_result(given.model).get("model")
    if model is None:
        raise UsageProblem(f"--model: {given.model} holds no model")
    return {**arguments, "model": model}


def _embedded(given: Options, job: Job, progress: Progress) -> Any:
    from . import local

    place = LocalPlace(
        parties=options.read_parties(given.party or [], given.database),
        helpers=given.helper or (),
        policies=options.read_policies(given.policy or []),
        aggregator=given.aggregator,
        database=given.database,
        latency=given.latency,
        timeout=given.timeout,
    )
    try:
        return local.run(job, place, progress)
    except Exception as failure:
        # Looked up only now, as the first imports the algorithm and the other reads whole tables.
        check_function(job.algorithm, job.function)
        if type(failure).__name__ == "DataProblem":
            _check_tables(place)
        raise


def _check_tables(place: LocalPlace) -> None:
    """Raise `UsageProblem` for a CSV file that cannot be read: a station does not tell the line, its owner may know it."""
    for files_of_party in place.parties.values():
        path = Path(files_of_party.get(place.database, ""))
        if path.suffix == ".csv":
            read_table(path)


def _on_server(given: Options, job: Job, progress: Progress) -> Any:
    from . import remote

    organization = options.read_organizations([given.organization])[0] if given.organization else None
    place = remote.RemotePlace(
        collaboration=int(given.collaboration or 0),
        image=str(given.image),
        organization=organization,
        databases=(given.database,),
        timeout=given.timeout,
    )
    client = remote.connect(_access(given))
    return remote.run(client, job, place, progress)


def _access(given: Options) -> Any:
    from .remote import Access

    username, password = given.username, os.environ.get("VANTAGE6_PASSWORD")
    if not username:
        raise UsageProblem("--server needs --username (or the variable VANTAGE6_USERNAME)")
    if password is None:
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageProblem("no terminal to ask for the password; set the variable VANTAGE6_PASSWORD")
        import typer

        password = str(typer.prompt(f"password of {username}", hide_input=True, err=True))
    return Access(str(given.server), username, password, given.mfa_code, given.key)
