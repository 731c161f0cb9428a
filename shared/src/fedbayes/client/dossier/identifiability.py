"""Identifiability relative to each recipient: technical facts for the questions of EDPB Opinion 28/2024 and of the Court of Justice in C-413/23 P.

Nothing here is a legal finding. Whether data are personal for a recipient depends on the means that are reasonably likely to be used by it, which a program
does not know; what it knows is what the recipient received, what protects it, and what else the recipient holds by its part in the computation.
"""

from __future__ import annotations

from typing import Any

from ..formats import number
from .differential_privacy import guess
from .facts import Facts, listed
from .recipients import recipients

SOURCES = (
    "EDPB Opinion 28/2024 on certain data protection aspects related to the processing of personal data in the context of AI models, 17 December 2024",
    "Court of Justice of the European Union, C-413/23 P, EDPS v SRB, judgment of 4 September 2025, ECLI:EU:C:2025:645",
)
SENDERS = (
    "For every station its own table stays personal data. Whether it must name recipients to the persons concerned is judged from its own view, at the time of "
    "collection, whatever a recipient could make of what it receives (C-413/23 P)."
)
MEANS = {
    "researcher": "no table, no key and no message of the computation; whatever else the researcher knows, including other results about the same data",
    "central": "the messages that stations seal for it; the names of organizations",
    "stations": "its own table with identities, and the keys of its own messages",
    "helper": "no data of the task; it must not work together with a station or with central",
    "label_holder": "its own table with identities and the label or outcome, so that what it learns of a record it learns of a known person",
    "group_leaders": "its own table with identities, so that what it learns of a common record it learns of a known person",
    "everyone": "what each holds by its own part",
}
UNIFORM = "what it sees of values is masked, sealed or uniform: without what others hold nothing of it can be told from random numbers"


def section(facts: Facts) -> dict[str, Any]:
    """Return the facts for each recipient, and for the model as EDPB Opinion 28/2024 looks at it."""
    return {
        "note": "Technical facts for the assessment, which is the controller's to make; this is no legal finding.",
        "sources": list(SOURCES),
        "senders": SENDERS,
        "recipients": [_recipient(facts, entry) for entry in recipients(facts) if entry["role"] in MEANS],
        "model": _model(facts),
    }


def _recipient(facts: Facts, entry: dict[str, Any]) -> dict[str, str]:
    role = str(entry["role"])
    stated = str(entry["received"])
    return {
        "recipient": role,
        "who": str(entry["who"]),
        "receives": stated,
        "other_means": _means(facts, role),
        "bound": _bound(facts, role, bool(entry["took_part"])),
        "to_assess": _to_assess(facts, role, bool(entry["took_part"])),
    }


def _means(facts: Facts, role: str) -> str:
    if role == "central" and facts.central in facts.with_role("station"):
        return f"{MEANS[role]}; it runs at {facts.central}, which holds data of the task too: both parts count together"
    return MEANS[role]


def _bound(facts: Facts, role: str, took_part: bool) -> str:
    if not took_part:
        return "nothing was received that could identify anybody"
    if facts.private:
        return (
            f"the noisy numbers among it: the best guess about one {facts.unit} is right with a probability of at most "
            f"{number(guess(facts.epsilon, facts.delta))} (0.5 is a coin), whatever else the recipient knows; numbers of rows, names and structure are "
            "told as they are"
        )
    if role == "helper":
        return UNIFORM
    return f"none by mathematics: {facts.reason}. {_guards(facts)}"


def _guards(facts: Facts) -> str:
    limits = [node["limits"] for name, node in facts.nodes.items() if node.get("role") == "station"]
    if not limits:
        return "The result does not tell the nodes' guards."
    rows, organizations, counts = (
        min(one[name] for one in limits) for name in ("minimum_rows", "minimum_organizations", "minimum_count")
    )
    return f"Guards that all stations had at least: {rows} rows, {organizations} organizations, and over vertically split records counts of {counts}."


def _to_assess(facts: Facts, role: str, took_part: bool) -> str:
    if not took_part:
        return "nothing"
    if facts.single_records and role in ("researcher", "central", "label_holder", "group_leaders"):
        return "The result speaks of single records: for whoever knows whose records they are, or holds their identifiers, it is personal data."
    if role in ("stations", "label_holder", "group_leaders"):
        return "Which of what it receives it can link with persons in its own table."
    if facts.private:
        return "Whether the stated epsilon, and the sum over further releases about the same persons, makes identification insignificantly likely."
    return (
        "Whether persons can be singled out, linked or inferred from exact aggregates, alone or by difference with others: rare values, small groups, "
        "outsiders' knowledge."
    )


def _model(facts: Facts) -> list[dict[str, str]]:
    """Return the elements by which a claim that a model is anonymous is looked at: design, analysis, resistance, documentation."""
    direct = (
        "The model holds statistics of many records, each with noise under the stated promise; single records are not stored."
        if facts.private
        else f"The model holds exact statistics or functions of them: {facts.reason}. Cells of rare values can stand for few persons."
    )
    if facts.single_records:
        direct = "The result holds answers about single records: it is not anonymous for who can tell whose they are."
    queries = (
        "Queries of the model are post-processing: however many, they add nothing to the stated loss."
        if facts.private
        else "Queries of the model give functions of exact statistics; no bound limits what many of them tell."
    )
    tested = "Attacks that worked once are tests (docs/attacks.md); losses are bounded from below by sampling (tests/privacy)."
    return [
        {"element": "likelihood of extracting personal data from the model", "fact": direct},
        {"element": "likelihood of obtaining personal data by queries", "fact": queries},
        {"element": "design: minimisation and sources", "fact": _minimised(facts)},
        {"element": "testing and resistance to attacks", "fact": tested},
        {
            "element": "documentation",
            "fact": "this dossier, the result's file, the threat model and the page of the method",
        },
    ]


def _minimised(facts: Facts) -> str:
    return (
        f"Tables stayed at {listed(facts.with_role('station'))}; columns are those of the arguments; each round carried what is listed with the rounds, "
        "and no row."
        if facts.with_role("station")
        else "Tables stayed at their organizations; the result does not name them."
    )
