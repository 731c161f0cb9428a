"""The promise of a result in its parts, what it means for one person, and what is there to show that it holds."""

from __future__ import annotations

import math
from typing import Any

from ..formats import number, promise
from .facts import Facts

NOT_PRIVATE = "not differentially private"
RELATIONS = {
    "add_remove": "two tables are neighbours if one has one {unit} more",
    "replace_one": "two tables are neighbours if they differ in the content of one {unit}",
    "zero_out": "two tables are neighbours if all values of one {unit} are erased in one of them, so that it counts nowhere; two contents of a {unit} are two "
    "such steps apart",
}
SUBJECTS = {
    "add_remove": "Whether one {unit} is in the tables",
    "replace_one": "What one {unit} holds (not whether it is in the tables, which is not protected)",
    "zero_out": "Whether the values of one {unit} are there (not whether it is in the tables, which is not protected)",
}
TWICE = " Between two contents of one {unit} the factor is at most {factor}: its square."
EVIDENCE = (
    (
        "messages on neighbouring tables with equal answers differ in uniform values alone",
        "tests/privacy/test_views.py",
    ),
    ("attacks that worked once, and what stops them", "docs/attacks.md"),
)
"""Of every method, private or not."""

OF_PRIVATE = (
    ("the statement's debits are those in the ledgers, for a result of every method", "tests/privacy/test_dossier.py"),
)
OF_A_MECHANISM = {
    "gaussian": (("the exact delta of Gaussian noise, by enumeration", "tests/privacy/test_gaussian.py"),),
    "smooth": (("the proof that smooth sensitivities are exact", "docs/smooth-sensitivity.md"),),
}


def odds(epsilon: float) -> float:
    """Return the largest factor by which one unit can change the odds of an answer, apart from delta."""
    return math.exp(epsilon)


def guess(epsilon: float, delta: float) -> float:
    """Return the largest chance to tell two neighbouring tables apart from the release, where a coin is right half of the time.

    The total variation between the answers of neighbours is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1): Kairouz, Oh and Viswanath,
    "The composition theorem for differential privacy", ICML 2015.
    """
    grown = math.exp(epsilon)
    return min(1.0, (grown + delta) / (grown + 1.0))


def section(facts: Facts) -> dict[str, Any]:
    """Return the promise in its parts; where there is none every part says so."""
    privacy = facts.privacy
    parts = {
        "statement": promise(privacy),
        "differentially_private": facts.private,
        "why": facts.reason
        if not facts.private
        else "all that leaves the stations about values carries noise, debited before it was drawn",
        "unit": f"one {facts.unit}" if facts.private else NOT_PRIVATE,
        "relation": relation(facts),
        "epsilon": facts.epsilon if facts.private else NOT_PRIVATE,
        "delta": facts.delta if facts.private else NOT_PRIVATE,
        "mechanism": _told(facts, "mechanism"),
        "accountant": _told(facts, "composition"),
        "sensitivity": _told(facts, "sensitivity"),
        "meaning": meaning(facts),
    }
    return {**parts, "evidence": evidence(facts)}


def relation(facts: Facts) -> str:
    """Return what neighbouring tables are."""
    if not facts.private:
        return NOT_PRIVATE
    words = RELATIONS.get(str(facts.privacy.get("neighbors")), "two tables are neighbours if they differ in one {unit}")
    return words.format(unit=facts.unit)


def meaning(facts: Facts) -> str:
    """Return what the promise bounds for one unit, in numbers that follow from epsilon and delta."""
    if not facts.private:
        return (
            "No bound: from this result, together with other results and knowledge, something may follow about one person. "
            "What limits it are the guards of the nodes, listed below."
        )
    chance = guess(facts.epsilon, facts.delta)
    subject = SUBJECTS.get(str(facts.privacy.get("neighbors")), "One {unit}").format(unit=facts.unit)
    beyond = f", apart from events of probability {number(facts.delta)}" if facts.delta else ""
    beyond += "."
    if facts.privacy.get("neighbors") == "zero_out":
        beyond += TWICE.format(unit=facts.unit, factor=number(odds(2.0 * facts.epsilon)))
    return (
        f"{subject} changes the odds of any answer by a factor of at most "
        f"{number(odds(facts.epsilon))}{beyond} Whoever guesses from this release alone which of two neighbouring tables was used is right with a "
        f"probability of at most {number(chance)}, where a coin is right with 0.5. Losses of several releases about the same {facts.unit} add up."
    )


def evidence(facts: Facts) -> list[dict[str, str]]:
    """Return what shows that the statement holds, as files of the project; tests run with every change."""
    entries_chosen = list(EVIDENCE)
    if facts.private:
        entries_chosen += [*OF_PRIVATE, *facts.declared("EVIDENCE")]
        words = f"{facts.privacy.get('mechanism')} {facts.privacy.get('sensitivity')}".lower()
        entries_chosen += [entry for word, entries in OF_A_MECHANISM.items() if word in words for entry in entries]
    return [{"what": what, "where": where} for what, where in entries_chosen]


def _told(facts: Facts, name: str) -> str:
    if not facts.private:
        return NOT_PRIVATE
    return str(facts.privacy.get(name) or "the method does not state it")
