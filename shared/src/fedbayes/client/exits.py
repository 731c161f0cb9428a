"""How the command ends: exit codes, and one readable line for every error."""

from __future__ import annotations

OK = 0  # as shells have it
FAILED = 1  # as shells have it
USAGE = 2  # as of argparse and click
REFUSED = 3  # the first that nobody else has
INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it

CODES = f"""Exit codes: {OK} done; {FAILED} the task failed; {USAGE} wrong usage or argument; {REFUSED} refused for privacy
(a limit or a budget of a node); {INTERRUPTED} interrupted, the task was killed."""

REFUSALS = ("PrivacyViolation", "LedgerExhausted")
MISUSES = ("UserInputError", "UsageProblem", "SchemaError", "TooLarge")
PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "give a whole number",
    "Input should be a valid number, unable to parse string as a number": "give a number",
}
"""What the parser says of an option that is no number, and what people would."""


class UsageProblem(Exception):
    """The command was called wrongly; the message names the option or file and the remedy."""


class TaskFailed(Exception):
    """The task ended without a result, or the server did not do as asked."""


def code_of(error: BaseException) -> int:
    """Return the exit code of an error.

    Kinds are compared by the names of their classes, so that nothing heavy is imported to say that an option is missing.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, KeyboardInterrupt) or "Abort" in names:
        return INTERRUPTED
    if hasattr(error, "format_message") or names & set(MISUSES):
        return USAGE
    return REFUSED if names & set(REFUSALS) else FAILED


def line_of(error: BaseException) -> str:
    """Return what the terminal shows of an error: one line, no traceback."""
    if code_of(error) == INTERRUPTED:
        return "interrupted; the task was stopped"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    from ..bayes.values.written import printable
    from .hints import hint_of

    text = printable(" ".join(f"{message}{hint_of(error)}".split()))
    for words, plain in PLAIN_WORDS.items():
        text = text.replace(words, plain)
    return text or type(error).__name__
