"""Numbers and names as people read them, in the terminal and in reports."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ..dp.promise import WEAK_EPSILON, certainty

SHORT = {
    "auc": "AUC",
    "auc_published": "AUC, scored as published",
    "auc_by_scoring": "AUC by scoring",
    "n": "Records",
    "em": "EM",
    "aic": "AIC",
    "aic_published": "AIC as published",
    "bic": "BIC",
    "p": "p",
    "z": "z",
    "chi_squared": "Chi-squared",
    "p_value": "p",
    "odds_ratio_interval": "Odds ratio, 95 % interval",
}
LONG = {
    "accuracy_noise": "Noise deviation of the accuracy",
    "auc_error": "Deviation of what is added to the area",
    "class_noise": "Noise deviation of a class's rows",
    "epoch": "Times that stations joined or left",
    "log_likelihood_error": "Error of the log-likelihood",
    "log_loss_error": "Deviation of what is added to the log loss",
    "uses": "Number by which each organization sizes its noise",
}
"""Fields whose name alone says too little; unlike the short ones they may be names of columns inside an answer."""
OURS = ("membership", "encryption", "members")
"""Answers whose entries are fields of ours, no columns and no organizations."""
WORDS = (
    *SHORT,
    "degrees_of_freedom",
    "smallest_expected",
    "odds_ratio",
    "log_likelihood",
    "parameters",
    "converged",
    "iterations",
    "score",
    "tables",
    "batches",
    "method",
    "accuracy",
    "auc_error",
    "log_loss",
    "log_loss_error",
    "rows",
)
"""Fields inside answers that are words of ours; other names there are columns or organizations and stay as they are."""
HIDDEN = ("format",)
"""Fields that only programs read."""


MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
LARGEST_PLAIN = 1e12
"""Beyond it a number is read by its power of ten."""


def number(value: Any, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, those before the point all and in groups of thousands; a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        whole = abs(value) >= 10.0 ** (digits - 1) or (value == int(value) and abs(value) >= 1000)
        return f"{value:,.0f}" if whole and abs(value) < LARGEST_PLAIN else f"{value:.{digits}g}"
    return str(value)


def digits_of(name: str) -> int:
    """Return the digits of the entries of an answer: criteria are what models are compared by, differences of a few units in thousands."""
    return 7 if name == "criteria" else 4


def p_value(value: Any) -> str:
    """Return a p-value with three decimals, or as smaller than 0.001."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return number(value)
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def clock(moment: Any) -> str:
    """Return a time of a result (ISO 8601, UTC) to the minute; what is none as it is."""
    text = str(moment or "–")
    return f"{text[:10]} {text[11:16]} UTC" if MOMENT.fullmatch(text) else text


def size(count: Any) -> str:
    """Return a number of bytes with its unit."""
    amount = float(count or 0)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def title(name: str) -> str:
    """Return a field's name as words."""
    if name.lower() in SHORT:
        return SHORT[name.lower()]
    if name in LONG:
        return LONG[name]
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def word(name: str, answer: str = "") -> str:
    """Return the name of an entry inside an answer (by its name): our own fields as words, columns and organizations as they are."""
    return title(name) if name in WORDS or answer in OURS else name


def is_plain(value: Any) -> bool:
    """Whether a value fits one cell of a table."""
    return value is None or isinstance(value, bool | int | float | str)


def is_range(value: Any) -> bool:
    """Whether a value is two numbers, such as an interval."""
    return isinstance(value, list) and len(value) == 2 and all(type(bound) in (int, float) for bound in value)


def ranged(value: Any, digits: int = 4) -> str:
    """Return a plain value as `number` does, or two numbers as an interval."""
    return " to ".join(number(part, digits) for part in (value if is_range(value) else [value]))


def plain_items(mapping: Mapping[str, Any]) -> dict[str, str]:
    """Return those entries of a mapping that say something and fit one cell, as text."""
    shown = {name: value for name, value in mapping.items() if value is not None and name not in HIDDEN}
    return {title(name): number(value) for name, value in shown.items() if is_plain(value)}


CHANGES = {
    "add_remove": "adding or removing",
    "replace_one": "replacing",
    "zero_out": "erasing the values of",
}
"""Neighbouring relation -> what a promise is about, before "one row"."""


def counted(count: int, name: str) -> str:
    """Return so many things, in words: ``1 edge``, ``3 edges``."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def relation(privacy: Mapping[str, Any]) -> str:
    """Return the neighbouring relation of a privacy statement in words: what may change without being seen."""
    return f"{CHANGES.get(str(privacy.get('neighbors')), 'changing')} one {privacy.get('unit') or 'row'}"


def promise(privacy: Mapping[str, Any] | None) -> str:
    """Return the privacy statement of a result in one sentence."""
    if not privacy:
        return "The result makes no privacy statement."
    if not privacy.get("differentially_private"):
        return f"Not differentially private: {privacy.get('reason') or 'no reason given'}."
    delta = privacy.get("delta") or 0
    parameters = f"epsilon = {number(privacy.get('epsilon'))}" + (f", delta = {number(delta)}" if delta else "")
    unit, epsilon = privacy.get("unit") or "row", float(privacy.get("epsilon") or 0.0)
    weak = f"; so large an epsilon lets who knows all others be sure of one {unit} and wrong once in {1 / (1 - certainty(epsilon)):,.0f} times"
    return f"Differentially private with {parameters}, for {relation(privacy)}{weak if epsilon > WEAK_EPSILON else ''}."


def cost(federation: Mapping[str, Any]) -> str:
    """Return rounds, bytes, seconds and organizations of a result in one line."""
    spent = f"{federation.get('rounds')} rounds, {size(federation.get('bytes'))}, {number(federation.get('seconds'))} s"
    names = ", ".join(str(name) for name in federation.get("organizations", []))
    if not federation.get("rounds") and not names:
        return "no organization was asked"
    return f"{spent}; organizations: {names}" if names else spent
