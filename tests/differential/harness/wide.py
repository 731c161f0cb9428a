"""Right questions of which one to three arguments are any value that they declare to take, where no pooled twin knows the answer.

What comes is held against what holds for every answer: strict JSON in the form of the result's schema, a statement of privacy that is what the stations
debited; or a refusal with a reason; no exception, no crash.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fedbayes.federation.declare import Argument

from .cases import KINDS, Case, Difference, Outcome
from .wrong import declared, within

FURTHEST = 1e6
"""Beyond a limit that is not declared."""
LONGEST = 200
"""Of whole numbers: what declares more is a size, whose end takes long and is asked as such in `tests/privacy`."""
SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "result.schema.json"


@functools.cache
def _schema() -> Any:
    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _numbers(one: Argument) -> Any:
    limits = one.declared.kind.limits
    low = limits.get("low", limits.get("above", -FURTHEST))
    high = limits.get("high", limits.get("below", FURTHEST))
    if one.declared.kind.store == "integer":
        return st.integers(int(low), min(int(high), max(int(low), LONGEST)))
    return st.floats(low, high, exclude_min="above" in limits, exclude_max="below" in limits)


def values(one: Argument, case: Case) -> Any:
    """Return a strategy of what an argument may be in a case; None for forms of its own, which other strategies draw."""
    kind, columns = one.declared.kind, sorted({name for entry in case.organizations for name in entry["columns"] or ()})
    names = [entry["name"] for entry in case.organizations]
    found: dict[str, Any] = {
        "column": st.sampled_from(columns),
        "column_list": st.lists(st.sampled_from(columns), min_size=1, unique=True),
        "organization": st.sampled_from(names),
        "organization_list": st.lists(st.sampled_from(names), min_size=1, unique=True),
        "float_list": st.lists(st.floats(-FURTHEST, FURTHEST), min_size=1, max_size=8, unique=True).map(sorted),
        "boolean": st.booleans(),
    }
    if kind.store in ("integer", "float") and kind.limits:
        ends = [value for value in within(one) if kind.store != "integer" or value is None or value <= LONGEST]
        return st.one_of(st.sampled_from(ends), _numbers(one)) if ends else _numbers(one)
    if kind.choices:
        return st.sampled_from(within(one))
    return found.get(kind.store)


@st.composite
def wide_cases(draw: Any, method: str, function: str, right: Any) -> Case:
    """A right question with one to three arguments anywhere in what they declare."""
    case: Case = draw(right())
    known = {name: values(one, case) for name, one in declared(method, function).items()}
    given = case.facts.get("gives", ())  # by the dictionary, whatever the arguments say
    names = sorted(name for name, strategy in known.items() if strategy is not None and name not in given)
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    arguments = {**case.steps[-1][1], **{name: draw(known[name]) for name in chosen}}
    steps = [*case.steps[:-1], [case.steps[-1][0], arguments]]
    return Case(method, function, case.organizations, case.central, steps, None, {**case.facts, "wide": chosen})


def check_wide(case: Case, outcome: Outcome) -> None:
    """An answer has the form of a result; a refusal is one."""
    if outcome.error is not None:
        kind, text, code = outcome.error
        if kind not in KINDS or kind == "MessageError" or "unexpected " in text or code not in (1, 2, 3):
            raise Difference(f"an exception instead of an answer or a refusal: {kind}: {text}")
        return
    try:
        result = json.loads(json.dumps(outcome.result, allow_nan=False))
    except (TypeError, ValueError) as problem:
        raise Difference(f"the answer is no strict JSON: {problem}") from None
    wrong = next(iter(_schema().iter_errors(result)), None)
    if wrong is not None:
        raise Difference(
            f"the answer has not the form of a result at {'/'.join(map(str, wrong.absolute_path))}: {wrong.message:.300}"
        )
    _check_promise(result)


def _check_promise(result: Any) -> None:
    """Hold the statement of an answer against what the stations debited: nobody more than is stated, and all together as much."""
    told, debits = result["privacy"], list(result["federation"]["debits"].values())
    for name in ("epsilon", "delta"):
        stated, spent = told.get(name) or 0.0, [entry[name] for entry in debits]
        slack = 1e-9 * max(1.0, stated)
        if max(spent, default=0.0) > stated + slack or sum(spent) < stated - slack:
            raise Difference(f"{name}: {stated} is stated, and {spent} debited")
    if told["differentially_private"] and not (0 < told["epsilon"] <= 20 and 0 <= (told["delta"] or 0.0) <= 1e-3):
        raise Difference("called private with a budget that nobody may call so")
