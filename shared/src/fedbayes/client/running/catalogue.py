"""Which algorithms are installed, and what can be asked of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from ...bayes.values.names import nearest
from ...federation import signatures
from ...federation.declare import Arguments
from ...federation.installed import PREFIX, packages
from ..exits import UsageProblem
from .local import Job


@dataclass(frozen=True, slots=True)
class Function:
    """One remote function: its name, its arguments as text and as `describe` tells them, the first line of its documentation, and all of it."""

    name: str
    arguments: tuple[str, ...]
    declared: tuple[dict[str, Any], ...]
    summary: str
    documentation: str


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One installed algorithm; `problem` tells why it cannot be imported."""

    name: str
    summary: str
    functions: tuple[Function, ...]
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        functions = [
            {
                "name": function.name,
                "arguments": list(function.arguments),
                "declared": list(function.declared),
                "summary": function.summary,
            }
            for function in self.functions
        ]
        return {"name": self.name, "summary": self.summary, "functions": functions, "problem": self.problem}


def installed() -> list[Algorithm]:
    """Return every installed algorithm, by name."""
    return [_describe(name) for name in packages()]


def algorithm_named(name: str) -> Algorithm:
    """Return one installed algorithm; `UsageProblem` naming those that are installed if there is none of the name."""
    names = [module.removeprefix(PREFIX) for module in packages()]
    chosen = name.removeprefix(PREFIX)
    if chosen not in names:
        known = ", ".join(names) or "none"
        raise UsageProblem(f"algorithm '{name[:60]}' is not installed{nearest(name, names)}; installed are: {known}")
    return _describe(PREFIX + chosen)


def check_function(algorithm: str, function: str) -> None:
    """Raise `UsageProblem` if an installed algorithm has no such function for researchers, naming those that it has."""
    functions = [entry.name for entry in _describe(PREFIX + algorithm.removeprefix(PREFIX)).functions]
    if functions and function not in functions:
        raise UsageProblem(
            f"{algorithm} has no function '{function[:60]}' to be asked for{nearest(function, functions)}; "
            f"it has: {', '.join(functions)}"
        )


def declared_of(job: Job) -> type[Arguments]:
    """Return the class of arguments of a function; the bare one where its method is not installed here."""
    try:
        module = importlib.import_module(PREFIX + job.algorithm.removeprefix(PREFIX))
    except Exception:
        return Arguments
    return signatures.arguments_class(getattr(module, job.function, None))


def rounds_of(job: Job) -> int:
    """Return how many rounds a task usually takes, as its function declares; 0 where nobody knows."""
    return declared_of(job).usual_rounds(job.arguments)


def _describe(module_name: str) -> Algorithm:
    name = module_name.removeprefix(PREFIX)
    try:
        module = importlib.import_module(module_name)
    except Exception as problem:
        return Algorithm(name, "", (), f"cannot be imported ({type(problem).__name__})")
    exported = [(entry, getattr(module, entry)) for entry in sorted(getattr(module, "__all__", ()))]
    callable_by_researcher = [
        (entry, function)
        for entry, function in exported
        if getattr(function, "fedbayes_remote", None) == "central" or entry == "disclosure_settings"
    ]
    functions = tuple(
        Function(
            entry,
            tuple(signatures.call_of(one) for one in signatures.arguments_class(function).declared()),
            tuple(signatures.describe(function)["arguments"]),
            signatures.first_line(function),
            signatures.help_of(function),
        )
        for entry, function in callable_by_researcher
    )
    store = getattr(getattr(module, "arguments", None), "STORE", None)
    return Algorithm(name, store.description if store is not None else signatures.first_line(module), functions)
