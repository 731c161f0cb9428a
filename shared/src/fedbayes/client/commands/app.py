"""The commands of ``fedbayes``; every command's work is in a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from ..exits import CODES, INTERRUPTED, OK, UsageProblem, code_of, line_of
from .groups import domain, node
from .shared import (
    Algorithm,
    Arg,
    Args,
    AsJson,
    Collaboration,
    Dictionary,
    File,
    Files,
    Force,
    Function,
    Key,
    MfaCode,
    Model,
    Out,
    Overwrite,
    Quiet,
    Report,
    RunOptions,
    Server,
    Text,
    Texts,
    Username,
    option,
    takes,
)

app = typer.Typer(
    name="fedbayes",
    help="Privacy-preserving Bayesian and survival models over vantage6: run a method, read its result.\n\n" + CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(node, name="node")
app.add_typer(domain, name="domain")


def _version(asked: bool) -> None:
    if asked:
        from ... import __version__

        typer.echo(f"fedbayes {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[bool, option("Print the version.", "--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Take the options that come before a command."""


@app.command(help="Run a function of an algorithm, embedded (--party) or on a vantage6 server (--server).\n\n" + CODES)
@takes(RunOptions)
def run(**options: Any) -> None:
    """Hand the options on; the password comes from VANTAGE6_PASSWORD or a prompt."""
    from . import run as command_run
    from . import run_options

    command_run.execute(run_options.Options.read(**options))


@app.command(
    help="Ask every station whether it would take part in a task; nothing is spent. Options as for run.\n\n" + CODES
)
@takes(RunOptions, without=("out", "again", "report", "force"))
def check(**options: Any) -> None:
    """Hand the options on; the password comes from VANTAGE6_PASSWORD or a prompt."""
    from . import run as command_run
    from . import run_options

    command_run.check(run_options.Options.read(**options))


@app.command()
def plan(
    algorithm: Algorithm = "",
    function: Function = "",
    arg: Arg = None,
    args: Args = None,
    dictionary: Dictionary = None,
    model: Model = None,
    policy: Annotated[Texts, option("LIMIT=VALUE of a node. Repeatable.", "--policy")] = None,
    stations: Annotated[int, option("How many organizations with data take part (3).", "--stations", min=1)] = 3,
    rows: Annotated[
        int, option("Records in all, to judge noise and bytes by; the same people once.", "--rows", min=0)
    ] = 0,
    signal: Annotated[
        float,
        option(
            "How much a feature tells, to simulate the accuracy: deviation of its log-odds (0.5).", "--signal", min=0
        ),
    ] = 0.5,
    rehearse: Annotated[
        int,
        option(
            "Run the task so many times on made-up records, on this machine: rounds and bytes are measured, and what the noise takes.",
            "--rehearse",
            min=0,
            max=100,
        ),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Say what a task would ask and cost; no station is contacted. Exit 3 if a limit that is given would refuse it."""
    from ..plans.setting import Setting
    from . import plan as command_plan
    from . import run_options

    options = run_options.Options.read(
        algorithm=algorithm, function=function, arg=arg, args=args, dictionary=dictionary, model=model
    )
    command_plan.execute(options, Setting(stations, rows, None, signal, rehearse), policy, as_json)


@app.command()
def jobs(
    server: Server = None,
    collaboration: Collaboration = None,
    username: Username = None,
    mfa_code: MfaCode = None,
    everyone: Annotated[bool, option("Other users' tasks and finished ones too.", "--all")] = False,
    as_json: AsJson = False,
) -> None:
    """List your running tasks at a vantage6 server; `fedbayes attach ID` waits for one."""
    from . import jobs as command_jobs

    options = RunOptions(server=server, collaboration=collaboration, username=username, mfa_code=mfa_code)
    command_jobs.jobs(options, everyone, as_json)


@app.command(help="Reconnect to a task at a vantage6 server, wait for it and write its result.\n\n" + CODES)
def attach(
    task: Annotated[int, typer.Argument(help="Id of the task, as `fedbayes jobs` and `fedbayes run` show it.", min=1)],
    out: Out = None,
    report: Report = None,
    force: Force = False,
    server: Server = None,
    username: Username = None,
    mfa_code: MfaCode = None,
    key: Key = None,
    timeout: Annotated[
        float, option("Seconds to wait (3600); the task goes on after them.", "--timeout", min=1)
    ] = 3600.0,
    quiet: Quiet = False,
) -> None:
    """Wait for a task that runs already."""
    from . import jobs as command_jobs

    options = RunOptions(out=out, report=report, force=force, timeout=timeout, quiet=quiet)
    command_jobs.attach(task, replace(options, server=server, username=username, mfa_code=mfa_code, key=key))


@app.command()
def algorithms(
    algorithm: Annotated[
        Text, typer.Argument(help="Print all about this one, with the meaning of each argument.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the installed algorithms, their functions and arguments."""
    from . import show as command_show

    command_show.list_algorithms(as_json, algorithm)


@app.command()
def show(
    result: Annotated[Path, typer.Argument(help="A result, as `fedbayes run` wrote it.")],
    report: Annotated[File, option("Write the report too, as one HTML file.", "--report")] = None,
    export: Annotated[
        File,
        option("Write the answer as a table, FILE.csv, or the model's network, FILE.bif or FILE.xdsl.", "--export"),
    ] = None,
    force: Overwrite = False,
) -> None:
    """Show a result: privacy, rounds, model, warnings."""
    from . import show as command_show

    command_show.show_result(result, report, export, force)


@app.command()
def dossier(
    result: Annotated[Path, typer.Argument(help="A result, as `fedbayes run` wrote it.")],
    out: Annotated[
        Files, option("FILE.html or FILE.json to write; both by two options; stdout by default.", "--out")
    ] = None,
    purpose: Annotated[Text, option("What the computation is for.", "--purpose")] = None,
    region: Annotated[Text, option("Which region, or whose law.", "--region")] = None,
    sector: Annotated[
        Text, option("Technology, Healthcare, Education, Government, Energy or Finance.", "--sector")
    ] = None,
    contact: Annotated[Text, option("Who answers questions.", "--contact")] = None,
    force: Overwrite = False,
) -> None:
    """Write a dossier of a result for a data-protection officer: who received what, privacy, limits, debits."""
    from . import dossier as command_dossier

    stated = {"purpose": purpose, "region": region, "sector": sector, "contact": contact}
    command_dossier.execute(result, out or [], {name: text for name, text in stated.items() if text is not None}, force)


@app.command()
def predict(
    result: Annotated[Path, typer.Argument(help="A result with a model.")],
    data: Annotated[Path, typer.Argument(help="New records: csv, parquet or xlsx.")],
    out: Annotated[File, option("CSV to write; - for stdout, as by default.", "--out")] = None,
    label: Annotated[Text, option("Which node of a Bayesian network to predict.", "--label")] = None,
    target: Annotated[Text, typer.Option("--target", hidden=True)] = None,
    times: Annotated[Text, option("Times of survival probabilities, comma separated.", "--times")] = None,
    id_column: Annotated[
        Text,
        option("Column that names the records, written first as it is; that of the fit by default.", "--id-column"),
    ] = None,
    force: Overwrite = False,
) -> None:
    """Predict new records with a model, on this machine."""
    from . import predict as command_predict

    if target is not None:
        raise UsageProblem("--target is now called --label; give --label")
    command_predict.execute(result, data, out, label, times, id_column, force)


@app.command()
def ledger(
    path: Annotated[Path, typer.Argument(help="The ledger's file, or the folder database that holds it.")],
    days: Annotated[float | None, option("Sum up the last days only; above 0.", "--days")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a node's privacy ledger: every debit and what is spent (for the node's administrator)."""
    from . import ledger as command_ledger

    command_ledger.execute(path, as_json, days)


@app.command()
def demo(
    out: Annotated[Path, option("Folder for the files, the result and the report (out).", "--out")] = Path("out"),
    repeats: Annotated[
        int, option("Random splits into training and test records (5).", "--repeats", min=1, max=100)
    ] = 5,
    epsilon: Annotated[float, option("Privacy budget (1).", "--epsilon", min=1e-3)] = 1.0,
) -> None:
    """Five hospitals fit a naive Bayes classifier under differential privacy, embedded."""
    from ..demo import execute

    execute(out, repeats, epsilon)


@cache
def _command() -> Any:
    """Return what the options and commands above are made into, once a process: it takes as long as most commands."""
    return typer.main.get_command(app)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors become one line on stderr."""
    try:
        code = _command()(
            list(arguments) if arguments is not None else None, standalone_mode=False, prog_name="fedbayes"
        )
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else OK
    except (Exception, KeyboardInterrupt) as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(getattr(error, "message", ""), file=sys.stderr)
            return code_of(UsageProblem())
        print(f"error: {line_of(error)}", file=sys.stderr)
        return code_of(error)
