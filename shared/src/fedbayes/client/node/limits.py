"""The limits in a node's configuration: which hold, which stop every task, which are weak; the ledger that they need, and functions that they name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...bayes.values.names import nearest
from ...dp.promise import excess
from ...federation.errors import PolicyError
from ...federation.installed import packages
from ...federation.node.limit_kinds import FALSE
from ...federation.node.policy import KINDS, NOT_LIMITS, PREFIX, Policy, is_meant
from ..text.limits import say
from .file import IGNORED, LIMIT, NOTE, STOPS, UNSAFE, Finding, Place

LIMITS = {PREFIX + name.upper(): name for name in KINDS}
LEAST = ("minimum_rows", "minimum_organizations", "minimum_count")
NEEDS_LEDGER = tuple(
    PREFIX + name for name in ("BUDGET_EPSILON", "BUDGET_DELTA", "MAXIMUM_QUERIES", "PINNED_KEYS", "SCHEMA")
)
SIMILAR = 0.8  # of two names of remote functions
MUCH_EPSILON = 5.0  # where the dossier calls a promise weak
FINGERPRINT = re.compile(r"[0-9a-fA-F]{64}")  # SHA-256, `mpc.relay.fingerprint`
WEAK = {
    ("allow_foreign_models", True): (UNSAFE, "models can be made up so that an exact answer speaks of one record"),
    ("allow_formulas", True): (UNSAFE, "a formula or a subset can be aimed at single rows"),
    ("allow_differences", True): (
        UNSAFE,
        "two exact answers over organizations that differ by one tell that one's own table",
    ),
    ("allow_predictions", True): (NOTE, "predictions of single records speak of persons"),
    ("long_term_key", False): (UNSAFE, "whoever controls the server can speak for the other organizations"),
}
"""Limit and value -> what is to be said of it."""


def check(root: Place) -> Iterator[Finding]:
    """Yield what is to be said of the limits of a configuration."""
    section = root.get("algorithm_env")
    if section.items or (section.line and not section.entries and not section.empty()):
        yield Finding(section.line, STOPS, "'algorithm_env' must map names to values, without dashes: no task starts")
    line = root.keys.get("algorithm_env", 0)
    for name, part in section.entries.items():
        yield from _variable(name, part, section.keys[name])
    values = {name: str(part.plain()).strip() for name, part in section.entries.items()}
    yield from _ledger(root, values, line)
    for name, scope in (("MAXIMUM_EPSILON", "one release"), ("BUDGET_EPSILON", "all releases together")):
        if PREFIX + name not in values:
            yield Finding(line, UNSAFE, f"no cap on epsilon: {scope} may cost any; set {PREFIX}{name}")
    if PREFIX + "ID_COLUMNS" not in values:
        text = f"records may be linked by any column that the schema file does not describe, which tells its values; list identifiers in {PREFIX}ID_COLUMNS"
        yield Finding(line, NOTE, text)
    if values.get(PREFIX + "ALLOW_NON_PRIVATE", "true").lower() not in FALSE:
        text = f'answers without differential privacy may leave, under the guards; {PREFIX}ALLOW_NON_PRIVATE: "false" forbids them'
        yield Finding(line, NOTE, text)


def _variable(name: str, part: Place, line: int) -> Iterator[Finding]:
    if name == "PKG_NAME" or not name.isidentifier():
        yield Finding(line, STOPS, f"'{name}' cannot be set for algorithms: no task starts")
    elif name in LIMITS:
        yield from _limit(name, part, line)
    elif is_meant(name):
        if name not in NOT_LIMITS:
            yield Finding(line, STOPS, f"'{name}' is no limit: every task stops here{_near(name, 0.6)}")
    elif _near(name, 0.8):
        yield Finding(line, IGNORED, f"'{name}' is no limit{_near(name, 0.8)}")


def _near(name: str, cutoff: float) -> str:
    """Return which limit was meant, by a name that is written in another way or without its prefix."""
    capitals = name.upper()
    tried = [capitals if capitals.startswith(PREFIX) else PREFIX + capitals, capitals]
    return next((found for text in tried if (found := nearest(text, LIMITS, cutoff))), "")


def _limit(name: str, part: Place, line: int) -> Iterator[Finding]:
    try:
        policy = Policy.from_environment({PREFIX + "LEDGER": "ledger", name: str(part.plain())})
    except PolicyError:
        text = f"the value of '{name}' cannot be read: every task stops here; write {KINDS[LIMITS[name]].written}"
        yield Finding(line, STOPS, text)
        return
    limit = LIMITS[name]
    value = getattr(policy, limit)
    yield Finding(line, LIMIT, say(limit, _counted(value)) + _entries(value))
    for finding in (_weak(limit, value), _useless(limit, value)):
        if finding is not None:
            yield Finding(line, *finding)
    if limit == "allowed_functions":
        yield from (Finding(line, IGNORED, text) for text in misspelt(value or ()))


def _entries(value: Any) -> str:
    """Return the entries of a list as the node reads them: a missing comma makes one of two."""
    if not isinstance(value, tuple | dict):
        return ""
    return f" ({len(value)}: {', '.join(value)})" if value else " (none)"


def _useless(limit: str, value: Any) -> tuple[str, str] | None:
    """Return what of a value keeps tasks from ending."""
    if limit == "allowed_functions" and not any(name.startswith("partial_") for name in value):
        text = (
            "no partial_ function is listed: this station answers no task; a method's algorithm_store.json names them"
        )
        return STOPS, text
    if limit == "pinned_keys":
        wrong = [name for name, mark in value.items() if not FINGERPRINT.fullmatch(mark)]
        if wrong:
            return (
                STOPS,
                f"the key of {', '.join(wrong)} is no fingerprint of 64 hexadecimal digits: no job with them works",
            )
    return None


def _counted(value: Any) -> Any:
    """Return lists and mappings as whether they are set: their words are for them as a whole."""
    return value is not None if isinstance(value, tuple | dict) else value


def _weak(limit: str, value: Any) -> tuple[str, str] | None:
    """Return what is unsafe about a limit, or to be known."""
    least = getattr(Policy(), limit)
    if limit in LEAST and value < least:
        return UNSAFE, f"weaker than the default of {least}"
    if limit == "maximum_refusals" and value > least:
        return UNSAFE, f"more than the default of {least}: by halving ranges values are found from refusals alone"
    if limit in ("maximum_delta", "budget_delta") and excess(0.0, value) is not None:
        return NOTE, f"a delta of {value:g} promises nothing: answers with so much count as not private"
    if limit == "maximum_epsilon" and value > MUCH_EPSILON:
        return NOTE, f"an epsilon above {MUCH_EPSILON:g} promises little to one person"
    if limit == "maximum_honest_fraction" and not value:
        return NOTE, "no noise that stations share is drawn: only noise of every station's own, or none"
    return WEAK.get((limit, value)) if isinstance(value, bool) else None


def _ledger(root: Place, values: dict[str, str], line: int) -> Iterator[Finding]:
    label = values.get(PREFIX + "LEDGER", "")
    if label:
        yield from _folder(root, label, root.get("algorithm_env").keys[PREFIX + "LEDGER"])
        return
    text = f"no ledger: losses are not summed up, peers not recognised; name a folder database by {PREFIX}LEDGER"
    yield Finding(line, UNSAFE, text)
    for name in NEEDS_LEDGER:
        if name in values:
            yield Finding(line, STOPS, f"{name} needs {PREFIX}LEDGER: every task stops here")


def _folder(root: Place, label: str, line: int) -> Iterator[Finding]:
    databases = [entry for entry in root.get("databases").items if str(entry.get("label").value) == label]
    if not databases:
        yield Finding(line, STOPS, f"there is no database '{label}': every task stops here; add one of type folder")
        return
    if databases[0].get("type").value != "folder":
        yield Finding(databases[0].line, STOPS, f"the ledger's database '{label}' must be of type folder")
    if str(databases[0].get("mount_mode").value).lower() == "ro":
        text = f"the ledger's folder '{label}' is mounted read-only: nothing can be debited, so nothing is released"
        yield Finding(databases[0].line, STOPS, text)


def misspelt(names: Sequence[str]) -> Iterator[str]:
    """Yield what to say of every name that no installed method has, though one that is written nearly so; other images may have the rest."""
    functions = _installed() if names else set()
    for name in names:
        meant = "" if name in functions else nearest(name, sorted(functions), SIMILAR)
        if meant:
            yield f"'{name}' is a function of no method that is installed here{meant}"


def _installed() -> set[str]:
    """Return the remote functions of the installed methods; those that cannot be imported are left out."""
    found: set[str] = set()
    for module in packages():
        try:
            found.update(getattr(importlib.import_module(module), "__all__", ()))
        except Exception:
            continue
    return found
