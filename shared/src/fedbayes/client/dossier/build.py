"""The whole dossier, as JSON: parts in the order in which an officer asks for them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ... import __version__
from ...federation.node.limits import WHETHER
from ..formats import number, promise, title
from ..pages.sequence import reveals
from ..text.limits import say
from . import differential_privacy, identifiability, questions, registry
from .facts import Facts, Statements
from .recipients import assumption, recipients

FORMAT = "fedbayes/dossier/1"
LONGEST_VALUE = 2_000  # characters of an argument on a printed page
NO_DEBIT = "Nothing was debited at any node: no private release was made."


def dossier(result: Mapping[str, Any], stated: Statements | None = None) -> dict[str, Any]:
    """Return the dossier of a result, described by ``docs/dossier.schema.json``; no field of it is empty.

    Parameters
    ----------
    result : mapping
        What a task returned.
    stated : Statements, optional
        What only people know: purpose, region, sector, contact.
    """
    facts = Facts(result, stated or Statements())
    return {
        "format": FORMAT,
        "made": _made(result),
        "computation": _computation(facts),
        "data": _data(facts),
        "recipients": recipients(facts),
        "assumption": assumption(facts),
        "rounds": rounds(facts),
        "differential_privacy": differential_privacy.section(facts),
        "nist_sp_800_226": {"source": questions.SOURCE, "questions": questions.answers(facts)},
        "identifiability": identifiability.section(facts),
        "limits": limits(facts),
        "debits": debits(facts),
        "registry": registry.entry(facts),
        "open_questions": _open(facts),
    }


def _made(result: Mapping[str, Any]) -> dict[str, str]:
    text = json.dumps(result, sort_keys=True, ensure_ascii=False)
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "by": f"fedbayes {__version__}",
        "result_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def _computation(facts: Facts) -> dict[str, Any]:
    provenance = facts.part("provenance")
    versions = provenance.get("versions") or facts.part("versions")
    return {
        "algorithm": facts.algorithm,
        "function": facts.function,
        "what": _first_line(facts) or f"{facts.function} of {facts.algorithm}, which is not installed here",
        "answer": facts.answer,
        "date": str(provenance.get("date") or "not told by the result"),
        "arguments": [{"name": name, "value": _text(value)} for name, value in facts.arguments.items()]
        or [{"name": "none", "value": "no argument was given"}],
        "versions": [{"name": name, "version": str(value)} for name, value in versions.items()]
        or [{"name": "fedbayes", "version": "not told by the result"}],
        "warnings": [str(text) for text in facts.result.get("warnings") or []] or ["The result has no warning."],
        "statement": promise(facts.privacy),
    }


def _data(facts: Facts) -> dict[str, Any]:
    return {
        "organizations_with_data": facts.with_role("station") or ["not told by the result"],
        "without_data": facts.with_role("helper") or ["nobody: all organizations held data"],
        "central_ran_at": facts.central,
        "persons": f"those whose rows are in the tables of these organizations; one unit of the statement is one {facts.unit}",
        "records": _records(facts),
        "left_the_organizations": f"{'answers about single records' if facts.single_records else 'no row of a table'}; what left in each round is listed with "
        "the rounds, what each role learned with the recipients",
        "without_lasting_key": _unrecognised(facts),
        "purpose": facts.stated.purpose or registry.UNKNOWN,
    }


def _unrecognised(facts: Facts) -> list[str]:
    names = facts.part("federation").get("without_lasting_key")
    if names is None:
        return ["not told by the result"]
    return [str(name) for name in names] or ["nobody: every organization was recognised by its lasting key"]


def _records(facts: Facts) -> str:
    places = (facts.part("diagnostics"), facts.result, facts.part("model"))
    names = ("records", "rows", "n", "n_records", "count")
    records = next((p[n] for p in places for n in names if isinstance(p.get(n), int | float)), None)
    return number(records) if records is not None else "the result does not say how many"


def rounds(facts: Facts) -> list[dict[str, Any]]:
    """Return every round that ran: whom central asked what, and why each field of the replies left the stations."""
    if not facts.rounds:
        return [
            {
                "round": 0,
                "function": "none",
                "asked": ["nobody"],
                "replies": ["no round ran"],
                "reveals": "nothing",
                "bytes": 0,
            }
        ]
    return [
        {
            "round": int(entry.get("round") or 0),
            "function": str(entry.get("function")),
            "asked": facts.names_of(entry),
            "replies": [f"{field}: {kind}" for field, kind in entry.get("reply", {}).items()]
            or ["nothing but that it was done"],
            "reveals": _reveals(facts, str(entry.get("function"))),
            "bytes": int(entry.get("bytes") or 0),
        }
        for entry in facts.rounds
    ]


def limits(facts: Facts) -> list[dict[str, Any]]:
    """Return the limits in force at every node, as the first round told them, with their meaning."""
    if not facts.nodes:
        return [
            {
                "organization": "all",
                "role": "not told",
                "limits": [
                    {
                        "name": "none",
                        "value": "the result tells no limits",
                        "meaning": "no channel was opened, or the result is of an older version",
                    }
                ],
            }
        ]
    return [
        {
            "organization": name,
            "role": str(node["role"]),
            "limits": [
                {"name": limit, "value": _value(limit, value), "meaning": say(limit, value)}
                for limit, value in node["limits"].items()
            ],
        }
        for name, node in facts.nodes.items()
    ]


def debits(facts: Facts) -> list[dict[str, Any]]:
    """Return what every station debited in this job, and whether a ledger keeps it."""
    debited = facts.part("federation").get("debits") or {}
    if not debited:
        return [{"organization": "all", "epsilon": 0.0, "delta": 0.0, "queries": 0.0, "kept": NO_DEBIT}]
    return [
        {
            "organization": name,
            **{cost: float(costs.get(cost) or 0.0) for cost in ("epsilon", "delta", "queries")},
            "kept": "in the node's ledger"
            if facts.nodes.get(name, {}).get("limits", {}).get("ledger")
            else "in this result alone: the node has no ledger",
        }
        for name, costs in debited.items()
    ]


def _open(facts: Facts) -> list[str]:
    asked = {
        "purpose": "the purpose of the processing and its legal basis (--purpose)",
        "region": "whose law applies (--region)",
        "sector": "the sector (--sector)",
        "contact": "who answers questions (--contact)",
    }
    missing = [f"Not stated: {words}." for name, words in asked.items() if not getattr(facts.stated, name)]
    return [
        *missing,
        "For people to judge: what recipients know besides, what earlier results about the same persons told, and whether the purpose needs this answer.",
    ]


def _value(limit: str, value: Any) -> str:
    """Return the value of a limit; of lists and names whether they are set, as "no" beside allowed columns reads as if none were."""
    if isinstance(value, bool) and limit in WHETHER:
        return "set" if value else "not set"
    return "no limit" if value is None else number(value, 12)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + " ... (cut; see the result)"


def _module(facts: Facts) -> Any:
    try:
        return importlib.import_module(f"v6_{facts.algorithm}")
    except Exception:
        return None


def _first_line(facts: Facts) -> str:
    function = getattr(_module(facts), facts.function, None)
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _reveals(facts: Facts, function: str) -> str:
    """Return what a partial function's documentation says that it reveals."""
    sections = reveals(getattr(_module(facts), function, None))
    return (
        title(sections)
        if sections
        else "what each role learns, as told with the recipients; this round's function states nothing apart"
    )
