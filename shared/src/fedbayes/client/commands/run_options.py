"""The options of `run` and `check` as values: what fits what, and what a result that is repeated adds to them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ...federation.jobs.inherited import is_left_out, of_fit
from ..exits import UsageProblem
from ..inputs.dictionaries import read_dictionary
from ..kinds import read_result
from ..running.catalogue import declared_of
from ..running.local import Job
from . import options
from .shared import RunOptions

REMOTE_ONLY = ("collaboration", "organization", "image", "username", "mfa_code", "key")
LOCAL_ONLY = ("party", "helper", "policy", "aggregator", "latency")
KEPT: dict[str, type] = {
    "party": list,
    "helper": list,
    "policy": list,
    "aggregator": str,
    "latency": float,
    "server": str,
    "collaboration": int,
    "organization": str,
    "image": str,
    "database": str,
}
"""What a written result keeps of its place, and of which kind it is (lists are of texts); never the user, a code or a key."""


@dataclass(frozen=True)
class Options(RunOptions):
    """The options of a task, and the arguments of the result that it repeats."""

    repeated: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, **values: Any) -> Options:
        """Return the options, those of a repeated result filled in.

        Raises
        ------
        UsageProblem
            If algorithm or function is missing, or there is nothing to repeat.
        """
        options = cls(**values)
        if options.again is not None:
            return _repeated(options)
        if not options.algorithm or not options.function:
            missing = f"a function of {options.algorithm}" if options.algorithm else "the algorithm and its function"
            raise UsageProblem(f"name {missing}; `fedbayes algorithms` lists them")
        return options

    def arguments(self) -> dict[str, Any]:
        """Return the task's arguments: those of a repeated result, of the file, of the line, each above the one before.

        Raises
        ------
        UsageProblem
            If one is malformed or missing, or a model is given twice.
        """
        own = options.read_arguments(self.arg or [], self.args)
        if self.dictionary is not None:
            if "dictionary" in own:
                raise UsageProblem("--dictionary: the argument 'dictionary' is given twice; give it once")
            own["dictionary"] = read_dictionary(self.dictionary)
        if self.model is not None:
            if "model" in own:
                raise UsageProblem("--model: the argument 'model' is given twice; give it once")
            own["model"] = read_result(self.model).get("model")
            if own["model"] is None:
                raise UsageProblem(f"--model: {self.model} holds no model")
            own = {**self.inherited(), **own}
        arguments = {**(self.repeated or {}), **own}
        lost = next((name for name, value in arguments.items() if is_left_out(value)), None)
        if lost is not None:
            raise UsageProblem(
                f"--again: the result does not keep the argument '{lost}'; give it by --arg, --args or --model"
            )
        return arguments

    def inherited(self) -> dict[str, Any]:
        """Return what a model's use takes from its fit unless it is given: the data dictionary, and in vertical methods how records are matched."""
        if self.model is None:
            return {}
        declared = {field.name for field in fields(declared_of(Job(self.algorithm, self.function, {})))}
        own_arguments = options.read_arguments(self.arg or [], self.args)
        of_model = _provenance(self.model).get("arguments") or {}
        own = set(own_arguments) if self.dictionary is None else {*own_arguments, "dictionary"}
        return of_fit(of_model, own, declared)

    def judges_its_own_records(self) -> bool:
        """Whether a model is evaluated on a file that it was fitted on, as far as the file of its result tells."""
        if self.function != "evaluate" or self.model is None or not self.party:
            return False
        fitted_on = _provenance(self.model).get("place") or {}
        return bool(_files(fitted_on.get("party") or []) & _files(self.party))

    def place(self) -> dict[str, Any]:
        """Return where the task runs, for the file of its result."""
        return {name: value for name in KEPT if (value := getattr(self, name)) not in (None, [], 0.0, "default")}

    def check(self) -> None:
        """Raise `UsageProblem` where options do not fit one another."""
        if self.server is None and not self.party:
            raise UsageProblem("give either --party NAME=FILE (embedded) or --server URL --collaboration ID")
        wrong, where = (
            (LOCAL_ONLY, "an embedded run") if self.server is not None else (REMOTE_ONLY, "a run on a server")
        )
        from_environment = self.username == os.environ.get("VANTAGE6_USERNAME")
        misplaced = [name for name in wrong if getattr(self, name) and not (name == "username" and from_environment)]
        if misplaced:
            here = (
                "this one runs on a server (--server)" if self.server is not None else "this one is embedded (--party)"
            )
            raise UsageProblem(
                f"--{misplaced[0].replace('_', '-')} belongs to {where}, and {here}; leave one of the two out"
            )
        if self.server is not None and self.collaboration is None:
            raise UsageProblem("--server needs --collaboration ID")
        if self.server is not None and self.image is None:
            raise UsageProblem("--server needs --image, the algorithm's image as the nodes know it")
        if self.key is not None and not self.key.is_file():
            raise UsageProblem(f"--key: the file {self.key} does not exist; check the path")
        if self.report is not None and self.out is not None and self.report.absolute() == self.out.absolute():
            raise UsageProblem("--out and --report must be different files")


def _files(parties: list[str]) -> set[Path]:
    return {Path(entry.partition("=")[2]).expanduser().absolute() for entry in parties}


def _provenance(path: Path) -> Mapping[str, Any]:
    """Return what a result tells of its making, empty where it tells nothing: all that is there of the kind that a written result has.

    Raises
    ------
    UsageProblem
        Naming the file and the part that is of another kind.
    """
    provenance = read_result(path).get("provenance") or {}
    kinds = {"algorithm": str, "function": str, "arguments": dict, "place": dict}
    wrong = next((name for name, kind in kinds.items() if not isinstance(provenance.get(name), kind | None)), None)
    if wrong is None:
        where = provenance.get("place") or {}
        wrong = next((name for name, kind in KEPT.items() if name in where and not _is_kept(where[name], kind)), None)
    if wrong is not None:
        raise UsageProblem(
            f"{path}: the '{wrong}' in its provenance is malformed; give a result that `fedbayes run` wrote"
        )
    return provenance


def _is_kept(value: Any, kind: type) -> bool:
    """Whether a value is one of a place: a text, a list of texts, a whole number, or a number of seconds."""
    if kind is float:
        return type(value) in (int, float) and 0 <= value < math.inf
    if kind is list:
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return type(value) is kind


def _repeated(chosen: Options) -> Options:
    """Return the options of a result that is repeated; what the line gives goes above it."""
    if chosen.algorithm or chosen.function:
        raise UsageProblem("--again repeats the algorithm and function of its result; leave them out")
    provenance = _provenance(Path(str(chosen.again)))
    if not provenance.get("algorithm") or not provenance.get("function"):
        raise UsageProblem(
            f"--again: {chosen.again} does not tell what it came from; give a result that has a provenance"
        )
    kept = {name: value for name, value in (provenance.get("place") or {}).items() if name in KEPT}
    left_out = LOCAL_ONLY if chosen.server is not None else ("server", *REMOTE_ONLY) if chosen.party else ()
    if chosen.server is None and "server" in kept and "server" not in left_out:
        raise UsageProblem(
            f"--again: the result ran on the server {str(kept['server'])[:200]}; give --server, as your password goes to no server that a file names"
        )
    defaults = {field.name: field.default for field in fields(Options)}
    added = {
        name: value for name, value in kept.items() if name not in left_out and getattr(chosen, name) == defaults[name]
    }
    if not (chosen.party or chosen.server or added.get("party")):
        raise UsageProblem(
            "--again: the result does not tell where its data are; give --party NAME=FILE or --server URL"
        )
    return replace(
        chosen,
        algorithm=provenance["algorithm"],
        function=provenance["function"],
        repeated=provenance.get("arguments") or {},
        **added,
    )
