"""``fedbayes plan --rehearse``: the task itself, on this machine and on made-up records: what it sends, and what its noise takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...randomness import ResearchSampler
from ..exits import UsageProblem
from ..running.catalogue import declared_of
from ..running.local import Job
from .class_tables import EPSILON_FACTORS
from .made_up import People, deal

if TYPE_CHECKING:
    import pandas as pd

JUDGED = 2000
"""Further records of a population, on which a classifier is judged."""
NEARLY_EXACT = 1000.0
"""An epsilon with next to no noise: the same steps, so that a difference is the noise's."""
PERMITTED = {"allow_predictions": True, "allow_formulas": True}
"""Limits of the rehearsal's stations; those of real nodes are judged by the plan itself."""
NAMED_PLACES = ("organizations", "organization")
FITS = ("fit", "update")


@dataclass
class Runs:
    """What the runs of one choice of arguments gave."""

    rounds: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    errors: dict[str, list[float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, result: Any, judged: pd.DataFrame, label: str | None) -> None:
        """Add a run: its cost, and how good its model is."""
        self.rounds.append(int(result.cost.rounds))
        self.sent.append(int(result.cost.bytes))
        self.warnings += [text for text in result.warnings if text not in self.warnings]
        if result.kind == "Cox regression":
            for name, error in result.to_frame()["se(coef)"].items():
                self.errors.setdefault(str(name), []).append(float(error))
        elif label is not None:
            own = result["model"].get("label") is not None
            classifier = result.to_sklearn() if own else result.to_sklearn(label=label)
            predicted = np.asarray(classifier.predict(judged.drop(columns=label)))
            self.accuracies.append(float(np.mean(predicted.astype(str) == judged[label].astype(str).to_numpy())))

    def measure(self) -> Any:
        """Return the mean accuracy, the mean standard error of every coefficient, or None for what is neither."""
        if self.errors:
            return {name: float(np.mean(errors)) for name, errors in self.errors.items()}
        return float(np.mean(self.accuracies)) if self.accuracies else None


def rehearse(
    job: Job, domain: Mapping[str, Any], columns: Sequence[str], size: tuple[int, int], runs: int, signal: float
) -> dict[str, Any]:
    """Return what a task did on made-up records.

    Parameters
    ----------
    job : Job
        With the arguments that its dictionary fills.
    domain : mapping
        Of every column that is made up.
    columns : sequence of str
        Of the task; empty where it takes all of the domain.
    size : tuple of int
        Stations with data, and records in all.
    runs : int
        Populations, each with every choice of epsilon.
    signal : float
        How much a feature tells.

    Returns
    -------
    dict
        ``runs``, ``rounds`` and ``bytes`` (means over the runs as asked), ``measure`` (``accuracy``, ``standard error`` by coefficient, or None), ``asked``
        and ``instead`` (the same with another epsilon), ``warnings`` (of the runs as asked).

    Raises
    ------
    UsageProblem
        If records cannot be made up, or the task fails on them.
    """
    split = split_of(job)
    people = _people(job, domain, columns, signal)
    choices = {"": job.arguments, **_instead(job)}
    done = {words: Runs() for words in choices}
    for population in range(runs):
        sampler = ResearchSampler(population + 1)
        table = people.draw(size[1] + JUDGED, sampler)
        fitted, judged = table.iloc[: size[1]], table.iloc[size[1] :]
        parties = deal(fitted, people, size[0], split)
        for words, arguments in choices.items():
            result = _run(Job(job.algorithm, job.function, arguments), parties, split)
            done[words].add(result, judged.reset_index(drop=True), people.label if job.function in FITS else None)
    asked = done.pop("")
    return {
        "runs": runs,
        "rounds": round(float(np.mean(asked.rounds))),
        "bytes": round(float(np.mean(asked.sent))),
        "measure": "standard error" if asked.errors else "accuracy" if asked.accuracies else None,
        "asked": asked.measure(),
        "instead": {words: one.measure() for words, one in done.items()},
        "warnings": asked.warnings,
    }


def known_domain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the arguments of a task tell of columns: those of its model, of its dictionary, of its domain, each above the one before."""
    from ...federation.guards.dictionaries import ARGUMENT, read

    model = arguments.get("model")
    domain: dict[str, Any] = {}
    if isinstance(model, Mapping):
        nodes = model.get("nodes") or {}
        domain |= {name: {"categories": node["states"]} for name, node in nodes.items() if "bins" not in node}
        domain |= {name: {"categories": levels} for name, levels in (model.get("levels") or {}).items()}
        domain |= model.get("domain") or {}
    if arguments.get(ARGUMENT) is not None:
        domain |= read(arguments[ARGUMENT]).domain()
    domain |= arguments.get("domain") or {}
    return {name: entry for name, entry in domain.items() if isinstance(entry, Mapping)}


def split_of(job: Job) -> str:
    """Return whether stations hold columns of the same records (vertical), different records (horizontal), or some of both (hybrid)."""
    from ...federation.guards.dictionaries import VERTICAL

    defaults = {one.name: one.default for one in declared_of(job).declared()}
    model = job.arguments.get("model")
    split = (
        job.arguments.get("split")
        or defaults.get("split")
        or (model.get("split") if isinstance(model, Mapping) else None)
    )
    if split is None:
        return "vertical" if VERTICAL in defaults or "helper" in defaults else "horizontal"
    return str(split)


def _people(job: Job, domain: Mapping[str, Any], columns: Sequence[str], signal: float) -> People:
    arguments, model = job.arguments, job.arguments.get("model")
    facts = {**(model if isinstance(model, Mapping) else {}), **arguments}
    identifier = arguments.get("id_column")
    label, time, event = (
        facts.get(name) if isinstance(facts.get(name), str) else None for name in ("label", "time", "event")
    )
    named = [name for name in columns if name != identifier]
    if not set(named) - {label, time, event}:
        named = [label, *(name for name in domain if name != label)] if label is not None else list(domain)
    if job.function == "evaluate" and label is not None:
        named = list(dict.fromkeys([*named, label]))
    times = arguments.get("times")
    if time is not None and time not in domain and isinstance(times, list) and times:
        domain = {**domain, time: {"bounds": [0.0, float(max(times))]}}
    return People(domain, [name for name in named if name is not None], label, time, event, identifier, signal)


def _instead(job: Job) -> dict[str, Mapping[str, Any]]:
    """Return the arguments with other epsilons, by what changes; nothing for tasks that are no private fit."""
    epsilon = job.arguments.get("epsilon")
    if not epsilon or job.function not in FITS:
        return {}
    changed = {f"epsilon {factor * epsilon:.3g}": factor * epsilon for factor in EPSILON_FACTORS}
    changed["next to no noise"] = NEARLY_EXACT
    return {words: {**job.arguments, "epsilon": value} for words, value in changed.items()}


def _run(job: Job, parties: Mapping[str, Any], split: str) -> Any:
    from vantage6.algorithm.tools.exceptions import AlgorithmError

    from ...federation.embedded import EmbeddedFederation

    arguments = {name: value for name, value in job.arguments.items() if name not in NAMED_PLACES}
    helper = arguments.get("helper")
    helpers = [helper if isinstance(helper, str) and helper != "none" else "helper"] if split != "horizontal" else []
    limits = {**PERMITTED, "minimum_organizations": min(3, len(parties))}
    try:
        with EmbeddedFederation(parties, helpers=helpers, policies={"*": limits}) as federation:
            return federation.run(job.algorithm, job.function, arguments)
    except AlgorithmError as problem:
        text = str(problem)
    raise UsageProblem(f"--rehearse: on made-up records the task ends with: {text}")
