"""What a task did, in one line: the title of its report, and the first line of `fedbayes show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formats import title

NOUNS = {
    "evaluate": "evaluation",
    "classify": "classification",
    "predict": "prediction",
    "contingency": "contingency table",
    "baseline": "baseline hazard",
    "describe": "description",
    "sample": "synthetic records",
}
MOST_CONDITIONS, LONGEST = 5, 60  # of a count, and characters of each word
JOINED = {"contingency": " by ", "scalar_product": " and "}
"""Functions whose columns are what they are about, and the word between two of them."""
SUBJECTS = ("label", "event", "function")


def heading_of(result: Mapping[str, Any]) -> str:
    """Return what was done, for a title: function, what it was about, method and date, as far as the result tells."""
    provenance: Any = result.get("provenance") or {}
    if not provenance:
        return "A result of fedbayes"
    arguments = provenance.get("arguments") or {}
    given = arguments.get("model")
    model = given if isinstance(given, Mapping) else {}
    function = str(provenance.get("function", ""))
    about = _subject(function, arguments, model)
    verb = NOUNS.get(function, function.replace("_", " "))
    day = str(provenance.get("date", ""))[:10]
    return f"{title(verb)}{about} with {provenance.get('algorithm')}{f', {day}' if day else ''}"


def _subject(function: str, arguments: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    """Return what a task was about, with the word that joins it to the function; "" where nothing tells."""
    columns = arguments.get("columns")
    if function in JOINED and isinstance(columns, list):
        return f" of {JOINED[function].join(map(str, columns))}"
    if function == "sample":
        return ""
    conditions = arguments.get("conditions")
    if function == "count" and isinstance(conditions, list):
        more = [f"{len(conditions) - MOST_CONDITIONS} more"] if len(conditions) > MOST_CONDITIONS else []
        return f" of {' and '.join([*map(_condition, conditions[:MOST_CONDITIONS]), *more])}"
    subjects = [source[name] for source in (arguments, model) for name in SUBJECTS if isinstance(source.get(name), str)]
    return f" {'about' if function == 'information_gain' else 'of'} {subjects[0]}" if subjects else ""


def _condition(condition: Any) -> str:
    """Return a condition of a count as a formula has it: ``age >= 65``."""
    if not isinstance(condition, Mapping):
        return str(condition)
    words = (condition.get("column"), condition.get("op"), condition.get("value"))
    return " ".join(str(word)[:LONGEST] for word in words if word is not None)
