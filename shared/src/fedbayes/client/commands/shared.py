"""The options that several commands share, as typer reads them: each is written once."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar, get_type_hints

import typer

Texts = Optional[list[str]]  # noqa: UP045 (typer evaluates it on Python 3.10 too)
Pair = Optional[tuple[str, str]]  # noqa: UP045
Text = Optional[str]  # noqa: UP045
Number = Optional[int]  # noqa: UP045
File = Optional[Path]  # noqa: UP045
Files = Optional[list[Path]]  # noqa: UP045
Command = TypeVar("Command", bound=Callable[..., Any])


def option(text: str, *names: str, **settings: Any) -> Any:
    """Return an option with its words; no default is shown, the words tell it."""
    return typer.Option(*names, help=text, show_default=False, **settings)


def _algorithms(incomplete: str) -> list[str]:
    names = (module.name for module in pkgutil.iter_modules() if module.name.startswith("v6_"))
    return sorted(name[3:] for name in names if name[3:].startswith(incomplete))


def _functions(ctx: typer.Context, incomplete: str) -> list[str]:
    from ..running.catalogue import algorithm_named

    try:
        algorithm = algorithm_named(str(ctx.params.get("algorithm")))
    except Exception:
        return []
    return [function.name for function in algorithm.functions if function.name.startswith(incomplete)]


Algorithm = Annotated[
    str,
    typer.Argument(
        help="As `fedbayes algorithms` lists it, for example dp_naive_bayes.",
        autocompletion=_algorithms,
        show_default=False,
    ),
]
Function = Annotated[
    str, typer.Argument(help="A function of it, for example fit.", autocompletion=_functions, show_default=False)
]
Arg = Annotated[Texts, option("An argument, NAME=VALUE; JSON if it parses, else text. Repeatable.", "--arg")]
Args = Annotated[File, option("JSON object with arguments; --arg goes above it.", "--args")]
Dictionary = Annotated[
    File, option("The study's data dictionary, YAML or JSON; see `fedbayes domain`.", "--dictionary")
]
Model = Annotated[
    File, option("A result whose model is given as the argument `model` (evaluate, update, ...).", "--model")
]
Party = Annotated[
    Texts, option("NAME=FILE: a station and its table; NAME:LABEL=PATH for a further database.", "--party")
]
Helper = Annotated[Texts, option("An organization without data. Repeatable.", "--helper")]
Policy = Annotated[Texts, option("NAME:LIMIT=VALUE, or LIMIT=VALUE for everyone.", "--policy")]
Aggregator = Annotated[Text, option("Who runs the central function; the first party by default.", "--aggregator")]
Latency = Annotated[float, option("Seconds added to every round, as nodes would need.", "--latency", min=0)]
Server = Annotated[Text, option("Address of a vantage6 server, https://host:port/api.", "--server")]
Collaboration = Annotated[Number, option("Id of the collaboration.", "--collaboration")]
Organization = Annotated[Text, option("Who runs the function, id or name; your own by default.", "--organization")]
Image = Annotated[Text, option("Image of the algorithm, as the nodes know it.", "--image")]
Database = Annotated[str, option("Label of the stations' database.", "--database")]
Username = Annotated[Text, option("User at the server.", "--username", envvar="VANTAGE6_USERNAME")]
MfaCode = Annotated[Text, option("Two-factor code.", "--mfa-code")]
Key = Annotated[File, option("Your organization's private key, for an encrypted collaboration.", "--key")]
Timeout = Annotated[float, option("Seconds after which the task is killed (3600).", "--timeout", min=1)]
Quiet = Annotated[bool, option("No progress on stderr.", "--quiet")]
Out = Annotated[File, option("Result, as JSON; - for stdout.", "--out")]
Report = Annotated[File, option("Report, as one HTML file.", "--report")]
Force = Annotated[bool, option("Replace a result that exists.", "--force")]
Overwrite = Annotated[bool, option("Replace a file that exists.", "--force")]
AsJson = Annotated[bool, option("As JSON.", "--json")]
Again = Annotated[
    File,
    option("A result to repeat: its algorithm, function, arguments and place; other options go above it.", "--again"),
]


@dataclass(frozen=True)
class RunOptions:
    """The options of `run`, in the order of its help; None, nothing or the default where they are not given."""

    algorithm: Algorithm = ""
    function: Function = ""
    out: Out = None
    arg: Arg = None
    args: Args = None
    dictionary: Dictionary = None
    model: Model = None
    again: Again = None
    report: Report = None
    force: Force = False
    party: Party = None
    helper: Helper = None
    policy: Policy = None
    aggregator: Aggregator = None
    latency: Latency = 0.0
    server: Server = None
    collaboration: Collaboration = None
    organization: Organization = None
    image: Image = None
    database: Database = "default"
    username: Username = None
    mfa_code: MfaCode = None
    key: Key = None
    timeout: Timeout = 3600.0
    quiet: Quiet = False


def takes(options: type[RunOptions], without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Give a command the fields of a dataclass as its options: typer reads them from its signature."""
    hints = get_type_hints(options, include_extras=True)
    taken = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(options)
        if field.name not in without
    ]

    def with_options(command: Command) -> Command:
        command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
        return command

    return with_options
