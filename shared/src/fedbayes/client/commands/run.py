"""``fedbayes run``: in the embedded federation or on a server, result and report written at the end, all or nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...federation.tables.files import KINDS
from ..exits import UsageProblem
from ..inputs import files
from ..inputs.tables import read_table, tell_reading
from ..progress import Progress
from ..running import connection
from ..running.catalogue import check_function, rounds_of
from ..running.local import Job, LocalPlace
from . import options
from .listing import print_table
from .run_options import Options

OWN_RECORDS = (
    "the model was fitted on these files: scores on training records are too optimistic; "
    "evaluate it on other records, or by cross-validation (folds) where the method has it"
)


def execute(chosen: Options) -> None:
    """Run the task and write its result.

    Raises
    ------
    UsageProblem
        Before anything runs, if an option, file or folder is wrong.
    Exception
        Whatever ended the task; nothing is written then.
    """
    from rich.console import Console

    chosen.check()
    job = Job(chosen.algorithm, chosen.function, chosen.arguments())
    target = Target.checked(chosen.out, chosen.report, chosen.force)
    progress = Progress(Console(stderr=True), chosen.quiet, rounds_of(job))
    for name, value in chosen.inherited().items():
        progress.note(f"{name}: as in {chosen.model}" + ("" if isinstance(value, dict) else f", {value}"))
    if chosen.again is not None and chosen.server is not None:
        progress.note(f"{chosen.algorithm} {chosen.function} of {chosen.again}, by the image {chosen.image}")
    result = _run(chosen, job, progress)
    if chosen.judges_its_own_records():
        result.setdefault("warnings", []).append(OWN_RECORDS)
    if isinstance(result.get("provenance"), dict):
        result["provenance"]["place"] = chosen.place()
    target.write(result, progress)


@dataclass(frozen=True)
class Target:
    """Where a result goes: `out` is a file or ``-``, and perhaps a report."""

    out: Path
    report: Path | None

    @classmethod
    def checked(cls, out: Path | None, report: Path | None, force: bool) -> Target:
        """Return the target after seeing, before anything runs, that it can be written.

        Raises
        ------
        UsageProblem
            If no file is named, it is there already, or cannot be written.
        """
        if out is None:
            raise UsageProblem("--out is needed: name the file of the result, or - for stdout")
        if str(out) != files.STDOUT:
            if out.suffix in KINDS:
                raise UsageProblem(
                    f"--out: a result is JSON; name it FILE.json, then `fedbayes show FILE.json --export {out.with_suffix('.csv').name}`"
                )
            if out.suffix not in ("", ".json"):
                raise UsageProblem(
                    f"--out: a result is JSON; name it {out.with_suffix('.json').name}"
                    + (", and the page --report FILE.html" if out.suffix in files.PAGES else "")
                )
            files.check_output("--out", out, replace=force)
        if report is not None:
            files.check_output("--report", report, files.PAGES)
        return cls(out, report)

    def write(self, result: Any, progress: Progress) -> None:
        """Write the result and its report, all or nothing; tell the warnings and the files on stderr."""
        texts = {} if str(self.out) == files.STDOUT else {self.out: files.json_text(result)}
        if self.report is not None:
            from ..pages.report import render
            from ..text.heading import heading_of

            texts[self.report] = render(result, heading_of(result))
        files.write_texts(texts)
        if str(self.out) == files.STDOUT:
            files.print_json(result)
        for warning in result.get("warnings") or []:
            progress.note(f"warning: {warning}")
        for name, path in (("result", self.out), ("report", self.report)):
            if path is not None and str(path) != files.STDOUT:
                progress.note(f"{name}: {path}")


def check(chosen: Options) -> None:
    """Run the preflight of a task alone, and print what every station says to it.

    Raises
    ------
    UsageProblem
        If an option or an argument is wrong.
    PolicyError
        If a station refuses.
    """
    from rich.console import Console

    from ...federation.errors import PolicyError

    chosen.check()
    arguments = {"function": chosen.function, "arguments": chosen.arguments()}
    check_function(chosen.algorithm, chosen.function)
    result = _run(chosen, Job(chosen.algorithm, "preflight", arguments), Progress(Console(stderr=True), chosen.quiet))
    refusals: dict[str, str | None] = result["stations"]
    rows = [(name, "yes" if refusal is None else "no", refusal) for name, refusal in refusals.items()]
    print_table(("organization", "takes part", "refuses"), rows)
    refusing = [name for name, refusal in refusals.items() if refusal is not None]
    if refusing:
        raise PolicyError(f"{', '.join(refusing)} would refuse this task; nothing was spent")


def _tell_twins(location: LocalPlace, progress: Progress) -> None:
    """Say which parties read the same file: their records count twice."""
    readers: dict[Path, list[str]] = {}
    for name, databases in location.parties.items():
        if isinstance(file := databases.get(location.database), Path):
            readers.setdefault(file.resolve(), []).append(name)
    for file, names in readers.items():
        if len(names) > 1:
            progress.note(
                f"warning: {', '.join(names)} read the same file, {file.name}: its records count more than once"
            )


def _run(chosen: Options, job: Job, progress: Progress) -> Any:
    try:
        return _embedded(chosen, job, progress) if chosen.server is None else _on_server(chosen, job, progress)
    finally:
        progress.finish()


def _embedded(chosen: Options, job: Job, progress: Progress) -> Any:
    from ...federation.installed import module_name
    from ..running import local

    module_name(job.algorithm)
    place = LocalPlace(
        parties=options.read_parties(chosen.party or [], chosen.database),
        helpers=chosen.helper or (),
        policies=options.read_policies(chosen.policy or []),
        aggregator=chosen.aggregator,
        database=chosen.database,
        latency=chosen.latency,
        timeout=chosen.timeout,
    )
    if not chosen.quiet:
        _tell_readings(place)
        _tell_twins(place, progress)
    try:
        return local.run(job, place, progress)
    except Exception as failure:
        # Looked up only now, as the first imports the algorithm and the other reads whole tables.
        check_function(job.algorithm, job.function)
        if type(failure).__name__ == "DataProblem":
            _check_tables(place, str(failure))
        raise


def _tell_readings(place: LocalPlace) -> None:
    for party, databases in place.parties.items():
        limits = {**place.policies.get("*", {}), **place.policies.get(party, {})}
        if place.database in databases:
            tell_reading(Path(databases[place.database]), limits.get("csv_separator"), limits.get("csv_decimal"))


def _check_tables(place: LocalPlace, said: str) -> None:
    """Raise `UsageProblem` for a file that cannot be read: a station tells neither its name nor the line, its owner may know them.

    Of an Excel or parquet file only what the station `said` itself: the task knows more of its columns than is known here.
    """
    from ...federation.embedded.remedies import to_owner

    for files_of_party in place.parties.values():
        path = Path(files_of_party.get(place.database, ""))
        if path.suffix.lower() not in KINDS:
            continue
        try:
            read_table(path)
        except UsageProblem as problem:
            if path.suffix.lower() == ".csv" or to_owner(str(problem.__cause__)) in said:
                raise


def _on_server(chosen: Options, job: Job, progress: Progress) -> Any:
    from ..running import remote

    organization = options.read_organizations([chosen.organization])[0] if chosen.organization else None
    place = remote.RemotePlace(
        collaboration=int(chosen.collaboration or 0),
        image=str(chosen.image),
        organization=organization,
        databases=(chosen.database,),
        timeout=chosen.timeout,
    )
    client = connection.connect(access(str(chosen.server), chosen.username, chosen.mfa_code, chosen.key))
    return remote.run(
        client,
        job,
        place,
        progress,
        lambda task: progress.note(f"task {task}; `fedbayes attach {task}` reconnects to it"),
    )


def access(server: str, username: str | None, mfa_code: str | None, key: Path | None) -> Any:
    """Return how to enter a server; the password comes from VANTAGE6_PASSWORD or a prompt.

    Raises
    ------
    UsageProblem
        If the user is missing, or the password and a terminal to ask for it.
    """
    from ..running.connection import Access

    password = os.environ.get("VANTAGE6_PASSWORD")
    if not username:
        raise UsageProblem("--server needs --username (or the variable VANTAGE6_USERNAME)")
    if password is None:
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageProblem("no terminal to ask for the password; set the variable VANTAGE6_PASSWORD")
        import typer

        password = str(typer.prompt(f"password of {username}", hide_input=True, err=True))
    return Access(server, username, password, mfa_code, key)
