"""Why a task of an embedded federation failed, and what to pass where a limit refuses: who asks is its node administrator too."""

from __future__ import annotations

import re
from importlib import import_module

from vantage6.algorithm.tools.exceptions import AlgorithmError

from ...bayes.values.names import nearest
from ..errors import ArgumentError, DataProblem, PolicyError, from_log
from ..installed import module_name
from ..node.limit_kinds import FLAG
from ..node.policy import KINDS, Policy

NO_LEDGER = (
    "sets a budget but no FEDBAYES_LEDGER",
    "there is no FEDBAYES_LEDGER folder",
    "ledger folder is missing",
    "FEDBAYES_SCHEMA needs FEDBAYES_LEDGER",
)
NO_HELPER = "no organization without data takes part; include one"
NO_COHORT = "does not say which table of its database tasks may read"
OPENING = tuple(name for name, kind in KINDS.items() if kind is FLAG and not getattr(Policy(), name))
"""Limits that a node opens by a word: what they allow is refused unless somebody says so."""

_OF_A_STATION = re.compile(r"this station's (Excel file|file|table)")
_ASK, _ELSEWHERE = "ask the node administrator to ", ", or name it in the task"  # an embedded task names no sheet


class RunFailed(AlgorithmError):  # type: ignore[misc]
    """The task ended without a result, and its log does not say why."""


def failure_of(log: str, algorithm: str, function: str) -> AlgorithmError:
    """Return what to raise for a task that ended without a result, from the log of its container."""
    if f"Method '{function}' not found" in log:
        own = _functions(algorithm)
        return ArgumentError(
            f"{algorithm} has no function '{function[:60]}'{nearest(function, own)}; it has: {', '.join(own)}"
        )
    failure = from_log(log)
    return RunFailed(_last_error(log)) if failure is None else with_remedy(failure)


def _functions(algorithm: str) -> list[str]:
    functions = getattr(import_module(module_name(algorithm)), "__all__", ())
    return sorted(name for name in functions if not name.startswith("partial_"))


def with_remedy(error: AlgorithmError) -> AlgorithmError:
    """Return a refusal that also tells how this federation's caller lifts it, and what is wrong with a file as its owner reads it; any other error as it is."""
    if isinstance(error, ArgumentError) and NO_HELPER in str(error):
        return ArgumentError(f'{error}; embedded: --helper NAME, or helpers=["NAME"]')
    if isinstance(error, DataProblem) and _ASK in str(error):
        return DataProblem(to_owner(str(error)))
    if not isinstance(error, PolicyError):
        return error
    if any(text in str(error) for text in NO_LEDGER):
        return PolicyError(f"{error}; embedded, that is you: --party NAME:ledger=FOLDER --policy ledger=ledger")
    if NO_COHORT in str(error):
        return PolicyError(
            f'{error}; embedded, that is you: --policy NAME:cohort=TABLE, or policies={{"NAME": {{"cohort": "TABLE"}}}}'
        )
    named = next((name for name in OPENING if re.search(rf"\b(FEDBAYES_)?{name}\b", str(error), re.IGNORECASE)), None)
    if named is None:
        return error
    return PolicyError(
        f'{error}; embedded, that is you: --policy {named}=true, or policies={{"*": {{"{named}": True}}}}'
    )


def to_owner(text: str, called: str = "") -> str:
    """Return what a station says of its file as it is told to somebody who has the file: by its name, or after the station's; nobody else is to be asked."""
    named = _OF_A_STATION.sub(lambda found: called or f"its {found[1]}", text)
    return named.replace(_ASK, "").replace(_ELSEWHERE, "")


def _last_error(log: str) -> str:
    errors = [line.partition("error > ")[2] for line in log.splitlines() if "error > " in line]
    return errors[-1] if errors else "the container ended without a result; its log tells nothing"
