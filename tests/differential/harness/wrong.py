"""Wrong arguments of every function, and the preflight of every function: drawn from the right ones, and from what is declared."""

from __future__ import annotations

import functools
import importlib
import json
import math
from typing import Any

from hypothesis import strategies as st

from fedbayes.federation.declare import Argument

from .cases import Case, Difference, Outcome, judge, run

NAMES = ("ArgumentError", "PlacementError", "DataProblem")
USAGE = ("ArgumentError", "PlacementError")
LONG = "x" * 500
WRONG: dict[str, list[Any]] = {
    "integer": ["three", 2.5, True, [], {}, -1, 10**30, "", float("inf"), float("nan")],
    "float": ["much", True, [], {}, float("inf"), float("nan"), 10**400, "1"],
    "boolean": ["yes", 1, 0, None, [], 0.0],
    "column": [7, "", [], {}, True, LONG, "a\nb", "\x00"],
    "column_list": ["x", 7, [], {}, [7], [""], [LONG], ["x", "x"], [None], [["x"]], True],
    "float_list": ["x", 7, {}, ["x"], [None], [float("nan")], [True], [10**400], True],
    "organization": ["nobody", 99, -1, {}, [], True, 1.5],
    "organization_list": ["a", [], ["nobody"], [99], {}, [None], [["a"]], True, 0],
    "string": ["nonsense", 7, [], {}, True, ""],
}
"""Values that no argument of a type takes; None is left out, as it is the default of many."""
JSON: dict[str, list[Any]] = {
    "model": [7, [], {}, "x", {"nodes": 3}, True],
    "domain": [
        7,
        ["x"],
        "x",
        {"x": 3},
        {"x": {"categories": []}},
        {"x": {"bounds": [2, 1]}},
        {"x": {"bounds": [0, float("inf")]}},
        {"x": {"bounds": [0, 10**400]}},
    ],
    "bins": [
        "nonsense",
        -1,
        0,
        2.5,
        [],
        True,
        {"x": "nonsense"},
        {"x": [2, 1]},
        {"x": [float("nan")]},
        {"x": [10**400]},
    ],
    "conditions": [
        7,
        [],
        {},
        [{}],
        [{"column": "x"}],
        [{"column": "x", "op": "~"}],
        [{"column": "x", "op": "<", "value": "a"}],
        [{"column": "x", "op": "<", "value": 10**400}],
        [{"column": "x", "op": "between", "value": [0, 10**400]}],
        ["x"],
    ],
    "structure": ["nonsense", 7, {}, [["x"]], [["x", "x"]], [[1, 2]], True],
    "order": ["nonsense", 7, {}, ["x", "x"], [1]],
    "records": [7, "x", [], {}, [7]],
    "required_edges": [7, "x", {}, [["x"]], [["x", "x"]], [["no such", "column"]]],
    "forbidden_edges": [7, "x", {}, [["x"]], [["x", "x"]], [["no such", "column"]]],
    "members": [7, "nonsense", True, [[]], [["nobody"]]],
    "membership": [7, "x", [], {"epoch": "x"}, True],
    "arguments": [7, "x", [], True],
    "public_records": [7, "x", [], {}, {"x": []}],
}
ANY_STRING = {("scalar_product", "helper")}


@functools.cache
def declared(method: str, function: str) -> dict[str, Argument]:
    """Return the arguments that a function declares, by name."""
    called = getattr(importlib.import_module(f"v6_{method}"), function)
    return {one.name: one for one in called.fedbayes_declared.declared()}


def within(one: Argument) -> list[Any]:
    """Return values at the ends of what an argument declares that it may be; none for columns, organizations and JSON."""
    kind = one.declared.kind
    found: list[Any] = [None] if one.default is None or one.declared.optional else []
    if kind.store == "boolean":
        return [*found, True, False]
    limits = kind.limits
    found += [limits[end] for end in ("low", "high") if end in limits]
    found += [
        math.nextafter(limits[end], to) for end, to in (("above", math.inf), ("below", -math.inf)) if end in limits
    ]
    return [*found, *kind.choices]


def beyond(one: Argument) -> list[Any]:
    """Return values just outside of what an argument declares that it may be: of its range, and of its choices."""
    kind = one.declared.kind
    limits, step = kind.limits, 1 if kind.store == "integer" else 0.5
    found: list[Any] = [limits[end] for end in ("above", "below") if end in limits]
    found += [limits[end] - step for end in ("low", "above") if end in limits]
    found += [limits[end] + step for end in ("high", "below") if end in limits]
    near = [word for choice in kind.choices for word in (choice.upper(), f"{choice}s", f" {choice}")]
    return [*found, *(word for word in near if word not in kind.choices)]


def wrong_values(one: Argument) -> list[Any]:
    """Return values that an argument may not have: of its type, of its range, of its choices; of a form of its own, see `JSON`."""
    store = one.declared.kind.store
    return JSON[one.name] if store == "json" else [*WRONG[store], *beyond(one)]


@st.composite
def wrong_cases(draw: Any, method: str, function: str, right: Any) -> Case:
    """A right question with one argument that is wrong by its type or range, unknown, or left out."""
    case: Case = draw(right())
    for entry in case.organizations:
        entry["policy"] = {**entry["policy"], "minimum_rows": 1, "minimum_organizations": 1}
    known = declared(method, function)
    arguments = dict(case.steps[-1][1])
    kind = draw(st.integers(0, 9))
    if kind == 9:
        name, value = draw(st.sampled_from(["nonsense", "Epsilon", "__class__"])), 1
    else:
        name = draw(st.sampled_from(sorted(known)))
        value = draw(st.sampled_from(wrong_values(known[name])))
    facts = {**case.facts, "right": [arguments[name]] if name in arguments else []}
    arguments[name] = value
    of_columns = name in known and known[name].declared.kind.store.startswith("column")
    kinds = NAMES if of_columns else USAGE
    steps = [*case.steps[:-1], [case.steps[-1][0], arguments]]
    invalid = {"argument": name, "value": value, "kinds": list(kinds)}
    return Case(method, function, case.organizations, case.central, steps, invalid, facts)


def check_wrong(case: Case, outcome: Outcome) -> None:
    """A wrong argument is refused as one; a right refusal of something else may come first."""
    assert case.invalid is not None
    if outcome.error is None and case.invalid["value"] != case.invalid["value"]:
        raise Difference(f"accepted, though {case.invalid['argument']} is NaN")
    if outcome.error is None and (_harmless(case) or _is_idle(case, outcome)):
        return
    if (
        outcome.error is not None
        and outcome.error[0] not in case.invalid["kinds"]
        and _refused_anyway(case, outcome.error[0])
    ):
        return
    judge(case, outcome, [], lambda _: None)


def _refused_anyway(case: Case, kind: str) -> bool:
    """Whether the question with the right argument is refused in the same way."""
    function, arguments = case.steps[-1]
    rest = {name: value for name, value in arguments.items() if name != case.invalid["argument"]}  # type: ignore[index]
    if case.facts["right"]:
        rest[case.invalid["argument"]] = case.facts["right"][0]  # type: ignore[index]
    steps = [*case.steps[:-1], [function, rest]]
    outcome = run(Case(case.algorithm, case.function, case.organizations, case.central, steps, None, case.facts))
    return outcome.error is not None and outcome.error[0] == kind


def _harmless(case: Case) -> bool:
    """Whether what is wrong for the type is a right value of this argument after all."""
    name, value = case.invalid["argument"], case.invalid["value"]  # type: ignore[index]
    return (case.algorithm, name, json.dumps(value)) in HARMLESS or (name, json.dumps(value)) in HARMLESS


def _is_idle(case: Case, outcome: Outcome) -> bool:
    """Whether the answer warns that the argument has no effect: which organization it names is not looked up then."""
    told = f"{case.invalid['argument']} has no effect"  # type: ignore[index]
    return any(text.startswith(told) for text in outcome.result["warnings"])


HARMLESS: set[tuple[str, ...]] = {("domain", "{}"), ("domain", "[]"), ("bins", "{}")}


@st.composite
def preflight_cases(draw: Any, method: str, functions: tuple[tuple[str, Any], ...]) -> Case:
    """The preflight of a right question."""
    function, right = draw(st.sampled_from(functions))
    case: Case = draw(right())
    asked = {"function": function, "arguments": case.asked(case.steps[-1][1])}
    return Case(
        method, "preflight", case.organizations, case.central, [["preflight", asked]], None, {"asked": function}
    )


def check_preflight(case: Case, outcome: Outcome) -> None:
    """What the preflight lets pass is not refused for a limit of a node; what the question answers, the preflight lets pass."""
    asked = case.arguments
    question = Case(
        case.algorithm, asked["function"], case.organizations, case.central, [[asked["function"], asked["arguments"]]]
    )
    real = run(question)

    def compare(result: Any) -> None:
        table = result["stations"]
        if real.error is None and any(table.values()):
            raise Difference(f"the preflight refuses what is answered: {table}")

    kinds = (
        "ArgumentError",
        "PlacementError",
        "ThresholdError",
        "PolicyError",
        "BudgetError",
        "DataProblem",
        "StationError",
    )
    reasons = [(kind, "the question is refused too") for kind in kinds] if real.error else []
    judge(case, outcome, [], compare, reasons)
