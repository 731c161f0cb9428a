"""The commands of ``fedbayes``; every command's work is in a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from .exits import CODES, INTERRUPTED, OK, UsageProblem, code_of, line_of

app = typer.Typer(
    name="fedbayes",
    help="Privacy-preserving Bayesian and survival models over vantage6: run a method, read its result.\n\n" + CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

node = typer.Typer(help="For a node's administrator.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(node, name="node")

Texts = Optional[list[str]]  # noqa: UP045 (typer evaluates it on Python 3.10 too)
Pair = Optional[tuple[str, str]]  # noqa: UP045


def _option(text: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=text, show_default=False, **settings)


@app.command(help="Run a function of an algorithm, embedded (--party) or on a vantage6 server (--server).\n\n" + CODES)
def run(
    algorithm: Annotated[str, typer.Argument(help="As `fedbayes algorithms` lists it, for example dp_naive_bayes.")],
    function: Annotated[str, typer.Argument(help="A function of it, for example fit.")],
    out: Annotated[Path, _option("Result, as JSON.", "--out")],
    arg: Annotated[
        Texts, _option("An argument, NAME=VALUE; JSON if it parses, else text. Repeatable.", "--arg")
    ] = None,
    args: Annotated[Path | None, _option("JSON object with arguments; --arg goes above it.", "--args")] = None,
    model: Annotated[
        Path | None,
        _option("A result whose model is given as the argument `model` (evaluate, update, ...).", "--model"),
    ] = None,
    report: Annotated[Path | None, _option("Report, as one HTML file.", "--report")] = None,
    party: Annotated[
        Texts, _option("NAME=FILE: a station and its table; NAME:LABEL=PATH for a further database.", "--party")
    ] = None,
    helper: Annotated[Texts, _option("An organization without data. Repeatable.", "--helper")] = None,
    policy: Annotated[Texts, _option("NAME:LIMIT=VALUE, or LIMIT=VALUE for everyone.", "--policy")] = None,
    aggregator: Annotated[
        str | None, _option("Who runs the central function; the first party by default.", "--aggregator")
    ] = None,
    latency: Annotated[float, _option("Seconds added to every round, as nodes would need.", "--latency", min=0)] = 0.0,
    server: Annotated[str | None, _option("Address of a vantage6 server, https://host:port/api.", "--server")] = None,
    collaboration: Annotated[int | None, _option("Id of the collaboration.", "--collaboration")] = None,
    organization: Annotated[
        str | None, _option("Who runs the function, id or name; your own by default.", "--organization")
    ] = None,
    image: Annotated[str | None, _option("Image of the algorithm, as the nodes know it.", "--image")] = None,
    database: Annotated[str, _option("Label of the stations' database.", "--database")] = "default",
    username: Annotated[str | None, _option("User at the server.", "--username", envvar="VANTAGE6_USERNAME")] = None,
    mfa_code: Annotated[str | None, _option("Two-factor code.", "--mfa-code")] = None,
    key: Annotated[
        Path | None, _option("Your organization's private key, for an encrypted collaboration.", "--key")
    ] = None,
    timeout: Annotated[float, _option("Seconds after which the task is killed (3600).", "--timeout", min=1)] = 3600.0,
    quiet: Annotated[bool, _option("No progress on stderr.", "--quiet")] = False,
) -> None:
    """Collect the options and hand them on; the password comes from VANTAGE6_PASSWORD or a prompt."""
    options = dict(locals())
    from . import command_run

    command_run.execute(command_run.Options(**options))


@app.command(
    help="Ask every station whether it would take part in a task; nothing is spent. Options as for run.\n\n" + CODES
)
def check(
    algorithm: Annotated[str, typer.Argument(help="As `fedbayes algorithms` lists it, for example dp_naive_bayes.")],
    function: Annotated[str, typer.Argument(help="A function of it, for example fit.")],
    arg: Annotated[
        Texts, _option("An argument, NAME=VALUE; JSON if it parses, else text. Repeatable.", "--arg")
    ] = None,
    args: Annotated[Path | None, _option("JSON object with arguments; --arg goes above it.", "--args")] = None,
    model: Annotated[
        Path | None,
        _option("A result whose model is given as the argument `model` (evaluate, update, ...).", "--model"),
    ] = None,
    party: Annotated[
        Texts, _option("NAME=FILE: a station and its table; NAME:LABEL=PATH for a further database.", "--party")
    ] = None,
    helper: Annotated[Texts, _option("An organization without data. Repeatable.", "--helper")] = None,
    policy: Annotated[Texts, _option("NAME:LIMIT=VALUE, or LIMIT=VALUE for everyone.", "--policy")] = None,
    aggregator: Annotated[
        str | None, _option("Who runs the central function; the first party by default.", "--aggregator")
    ] = None,
    latency: Annotated[float, _option("Seconds added to every round, as nodes would need.", "--latency", min=0)] = 0.0,
    server: Annotated[str | None, _option("Address of a vantage6 server, https://host:port/api.", "--server")] = None,
    collaboration: Annotated[int | None, _option("Id of the collaboration.", "--collaboration")] = None,
    organization: Annotated[
        str | None, _option("Who runs the function, id or name; your own by default.", "--organization")
    ] = None,
    image: Annotated[str | None, _option("Image of the algorithm, as the nodes know it.", "--image")] = None,
    database: Annotated[str, _option("Label of the stations' database.", "--database")] = "default",
    username: Annotated[str | None, _option("User at the server.", "--username", envvar="VANTAGE6_USERNAME")] = None,
    mfa_code: Annotated[str | None, _option("Two-factor code.", "--mfa-code")] = None,
    key: Annotated[
        Path | None, _option("Your organization's private key, for an encrypted collaboration.", "--key")
    ] = None,
    timeout: Annotated[float, _option("Seconds after which the task is killed (3600).", "--timeout", min=1)] = 3600.0,
    quiet: Annotated[bool, _option("No progress on stderr.", "--quiet")] = False,
) -> None:
    """Collect the options and hand them on; the password comes from VANTAGE6_PASSWORD or a prompt."""
    options = dict(locals())
    from . import command_run

    command_run.check(command_run.Options(**options, out=None, report=None))


@app.command()
def algorithms(
    algorithm: Annotated[
        str | None, typer.Argument(help="Tell all about this one, what each argument means too.")
    ] = None,
    as_json: Annotated[bool, _option("As JSON.", "--json")] = False,
) -> None:
    """List the installed algorithms, their functions and arguments."""
    from . import command_show

    command_show.list_algorithms(as_json, algorithm)


@app.command()
def show(
    result: Annotated[Path, typer.Argument(help="A result, as `fedbayes run` wrote it.")],
    report: Annotated[Path | None, _option("Write the report too, as one HTML file.", "--report")] = None,
    export: Annotated[Path | None, _option("Write the model's network: FILE.bif or FILE.xdsl.", "--export")] = None,
) -> None:
    """Show a result: privacy, rounds, model, warnings."""
    from . import command_show

    command_show.show_result(result, report, export)


@app.command()
def predict(
    result: Annotated[Path, typer.Argument(help="A result with a model.")],
    data: Annotated[Path, typer.Argument(help="New records: csv, parquet or xlsx.")],
    out: Annotated[Path | None, _option("CSV to write; stdout by default.", "--out")] = None,
    target: Annotated[str | None, _option("Which node of a Bayesian network to predict.", "--target")] = None,
    times: Annotated[str | None, _option("Times of survival probabilities, comma separated.", "--times")] = None,
) -> None:
    """Predict new records with a model, on this machine."""
    from . import command_predict

    command_predict.execute(result, data, out, target, times)


@app.command()
def ledger(
    path: Annotated[Path, typer.Argument(help="The ledger's file, or the folder database that holds it.")],
    days: Annotated[float | None, _option("Sum up the last days only.", "--days", min=0)] = None,
    as_json: Annotated[bool, _option("As JSON.", "--json")] = False,
) -> None:
    """Show a node's privacy ledger: every debit and what is spent (for the node's administrator)."""
    from . import command_ledger

    command_ledger.execute(path, as_json, days)


@node.command()
def peers(
    folder: Annotated[Path, typer.Argument(help="The node's folder database (with the ledger).")],
    accept: Annotated[
        Pair, _option("NAME FINGERPRINT: know the organization by this key from now on.", "--accept")
    ] = None,
    forget: Annotated[Texts, _option("NAME: forget the organization's key. Repeatable.", "--forget")] = None,
    as_json: Annotated[bool, _option("As JSON.", "--json")] = False,
) -> None:
    """List the organizations whose lasting keys this node knows; accept a new key, or forget one."""
    from . import command_node

    command_node.peers(folder, accept, forget or [], as_json)


@app.command()
def demo(
    out: Annotated[Path, _option("Folder for the files, the result and the report (out).", "--out")] = Path("out"),
    repeats: Annotated[
        int, _option("Random splits into training and test records (5).", "--repeats", min=1, max=100)
    ] = 5,
    epsilon: Annotated[float, _option("Privacy budget (1).", "--epsilon", min=1e-3)] = 1.0,
) -> None:
    """Five hospitals fit a naive Bayes classifier under differential privacy, embedded."""
    from .demo import execute

    execute(out, repeats, epsilon)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors become one line on stderr."""
    try:
        code = app(list(arguments) if arguments is not None else None, standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else OK
    except (Exception, KeyboardInterrupt) as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(getattr(error, "message", ""), file=sys.stderr)
            return code_of(UsageProblem())
        print(f"error: {line_of(error)}", file=sys.stderr)
        return code_of(error)
