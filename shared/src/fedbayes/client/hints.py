"""What is put behind the parser's words for a wrong command: where what was meant is found."""

from __future__ import annotations

from ..bayes.values.names import near

ASKED_OF_STATIONS = ("run", "check", "plan")
COMMAND_OF_TASKS = 2
"""Words of such a command: `fedbayes check`; `fedbayes node check` has no arguments of a function."""
MISSPELT = 0.85
"""Likeness of an option to one that the command has, from which on that is meant: `--plicy`, not `--time` for `--timeout`."""
FUNCTIONS = (
    "fit",
    "update",
    "join",
    "leave",
    "evaluate",
    "describe",
    "classify",
    "baseline",
    "count",
    "contingency",
    "information_gain",
    "scalar_product",
    "sample",
    "disclosure_settings",
)
"""Remote functions of the methods that are no commands; a test holds them against what is installed."""
ELSEWHERE = {
    **{name: f"`fedbayes run ALGORITHM {name}`, and `fedbayes algorithms` lists what there is" for name in FUNCTIONS},
    "report": "`fedbayes show RESULT --report FILE.html`",
    "plot": "`fedbayes show RESULT --report FILE.html`, or .plot() in Python",
    "export": "`fedbayes show RESULT --export FILE.csv`",
    "help": "`fedbayes --help`, or `fedbayes COMMAND --help`",
    "version": "`fedbayes --version`",
    "draft": "`fedbayes domain draft FILE`",
    "peers": "`fedbayes node peers FOLDER`",
    "refusals": "`fedbayes node refusals FOLDER`",
    "ledger": "`fedbayes ledger FOLDER`",
    "list": "`fedbayes algorithms`",
}
"""Words that people take for commands, and what does that."""


def hint_of(error: BaseException) -> str:
    """Return what helps with an error of the parser, with what joins it to the parser's words; empty where nothing does.

    Kinds are told by the names of their classes, as `exits.code_of` does.
    """
    context = getattr(error, "ctx", None)
    path = str(getattr(context, "command_path", "")).split()
    command = path[-1] if len(path) == COMMAND_OF_TASKS else ""
    if type(error).__name__ == "NoSuchOption" and command in ASKED_OF_STATIONS:
        option = str(getattr(error, "option_name", ""))
        known = [name for one in context.command.params for name in one.opts]  # type: ignore[union-attr]
        if near(option, known, MISSPELT):
            return ""
        name = option.lstrip("-").replace("-", "_")
        return f"; an argument of the function is given as --arg {name[:60]}=VALUE"
    message = str(getattr(error, "message", ""))
    if message.startswith("Got unexpected extra argument") and command in ("run", "check"):
        return "; a table is given as --party NAME=FILE, an argument of the function as --arg NAME=VALUE"
    if message.startswith("No such command"):
        meant = ELSEWHERE.get(message.split("'")[1] if "'" in message else "", "")
        return f" Give {meant}." if meant else ""
    return ""
