"""The errors of the project, in vantage6's exception tree.

::

    AlgorithmError (vantage6)
    ├── PrivacyViolation          PolicyError      a limit of the node forbids it
    │   ├── PrivacyThresholdViolation  ThresholdError   too few rows, records or organizations
    │   └──                       BudgetError      the node's ledger has not enough left
    ├── DataError                 DataProblem      the station's file cannot be used as asked
    ├── ClientError
    │   └── CollectResultsError   StationError     a station did not answer, or not as it must
    ├── InputError
    │   ├── UserInputError        ArgumentError    an argument of the task
    │   │                         PlacementError   roles that one organization must not hold together
    │   └── DeserializationError  MessageError     a message that is malformed, stale or tampered with
    └── AlgorithmRuntimeError     ConvergenceError the numbers do not settle

Messages name the argument, column or limit and the remedy; they never contain a data value or a count of data, because vantage6 sends
them to the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vantage6.algorithm.tools.exceptions import (
    AlgorithmError,
    CollectResultsError,
    DataError,
    DeserializationError,
    PrivacyThresholdViolation,
    PrivacyViolation,
    UserInputError,
)
from vantage6.algorithm.tools.exceptions import ConvergenceError as PlatformConvergenceError

from ..bayes.values.encoding import SchemaError
from ..bayes.values.written import printable

UNFITTING = "the masks of the stations do not fit together: they were not asked the same, or do not have the same records linked; the job stops"

MARK = "fedbayes-error"


class ArgumentError(UserInputError):  # type: ignore[misc]
    """An argument of the task is wrong; the message names it and the remedy."""


class PlacementError(UserInputError):  # type: ignore[misc]
    """One organization would hold roles that must be kept apart."""


class PolicyError(PrivacyViolation):  # type: ignore[misc]
    """A limit that the node's administrator set forbids the request."""


class ThresholdError(PrivacyThresholdViolation):  # type: ignore[misc]
    """Fewer rows, records or organizations than the node demands."""


class MembersError(ThresholdError):
    """Fewer organizations than the node demands, whatever their tables hold; elsewhere it is told as a `ThresholdError`."""


class BudgetError(PrivacyViolation):  # type: ignore[misc]
    """The privacy or query budget of the node does not allow another release."""


class DataProblem(DataError):  # type: ignore[misc]
    """The data of a station cannot be used as the task asks."""


class MessageError(DeserializationError):  # type: ignore[misc]
    """A message is malformed, stale, for somebody else, or was changed on its way."""


class StationError(CollectResultsError):  # type: ignore[misc]
    """A station did not answer, or failed inside."""


class ConvergenceError(PlatformConvergenceError):  # type: ignore[misc]
    """An iterative computation does not settle."""


KINDS: dict[str, type[AlgorithmError]] = {
    kind.__name__: kind
    for kind in (
        ArgumentError,
        PlacementError,
        PolicyError,
        ThresholdError,
        BudgetError,
        DataProblem,
        MessageError,
        StationError,
        ConvergenceError,
    )
}


def too_few(who: str, least: int) -> str:
    """Return what is told where too few organizations take part: whose limit it is, and the limit, which `disclosure_settings` tells anyway."""
    return f"fewer organizations take part than {who} demands (minimum_organizations={least}); include more of them"


def too_few_with_data(who: str, least: int) -> str:
    """Return what is told where an exact sum would be over the rows of too few organizations: others mask too, and hide nobody."""
    return (
        f"an exact sum would be over the rows of fewer organizations than {who} demands (minimum_organizations={least}; those without data do not "
        "count); include more of them, or give an epsilon"
    )


def describe(error: BaseException) -> tuple[str, str]:
    """Return (kind, message) of an error for a party elsewhere, without anything that could be data.

    Parameters
    ----------
    error : BaseException
        One of `KINDS`: its message was written to be read elsewhere. Any other error may quote data, so only
        its class and place are told.

    Returns
    -------
    tuple of str
        The kind (a key of `KINDS`) and the message.
    """
    for kind in type(error).__mro__:
        if KINDS.get(kind.__name__) is kind:
            return kind.__name__, printable(str(error), lines=True)
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = ""
    if frame is not None:
        file = frame.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
        where = f" at {file}:{frame.tb_lineno}"
    return "StationError", f"unexpected {type(error).__name__}{where}; details stay at the node"


def rebuild(kind: str, message: str) -> AlgorithmError:
    """Return the error that `describe` told of; an unknown kind becomes a `StationError`."""
    return KINDS.get(kind, StationError)(printable(message, lines=True))


def log_line(error: BaseException) -> str:
    """Return the one line by which a log tells why a function ended."""
    kind, message = describe(error)
    return f"{MARK}: {kind}: {' '.join(message.split())}"


def from_log(log: str) -> AlgorithmError | None:
    """Return the error that a log tells of by `log_line`, or None."""
    for line in reversed(log.splitlines()):
        _, marked, rest = line.partition(f"{MARK}: ")
        if marked:
            kind, _, message = rest.partition(": ")
            return rebuild(kind, message)
    return None


@contextmanager
def sampling_errors() -> Iterator[None]:
    """Inside, noise that cannot be sampled is an error that the researcher can act on: `ArgumentError`."""
    try:
        yield
        return
    except (ValueError, OverflowError):
        pass
    raise ArgumentError("epsilon is too small for the noise to be sampled; give a larger one, or a larger delta")


def not_fitting(step: str = "") -> StationError:
    """Return the error of answers that cannot be; `step`: in which step of the method."""
    return StationError(
        f"{step}{': ' if step else ''}what the organizations answered does not fit together; use one version everywhere, or one of them deviates; the job stops"
    )


@contextmanager
def adding_up(step: str = "") -> Iterator[None]:
    """Inside, central computes with what organizations answered: what does not fit together, which one that deviates can have, is `not_fitting`."""
    try:
        yield
        return
    except (ValueError, TypeError, LookupError, ArithmeticError):
        pass
    raise not_fitting(step)


@contextmanager
def schema_errors(kind: type[Exception], argument: str = "") -> Iterator[None]:
    """Raise the library's SchemaError as ``kind``; its text names a column and a remedy, never a value. `argument` is put before it where it is not there."""
    try:
        yield
        return
    except SchemaError as problem:
        text = str(problem)
    raise kind(text if not argument or text.startswith(argument) else f"{argument}: {text}")
