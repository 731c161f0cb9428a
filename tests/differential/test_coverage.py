"""Every central function and argument of every method is drawn by a strategy, or its exemption has a reason."""

import json
from pathlib import Path

from harness.registry import EXEMPT_ARGUMENTS, EXEMPT_FUNCTIONS, FUNCTIONS, drawn_arguments

ROOT = Path(__file__).resolve().parents[2]


def declared() -> dict[tuple[str, str], set[str]]:
    found = {}
    for path in sorted((ROOT / "algorithms").glob("*/algorithm_store.json")):
        for function in json.loads(path.read_text(encoding="utf-8"))["functions"]:
            if function["type"] == "central":
                names = {argument["name"] for argument in function["arguments"]}
                found[path.parent.name, function["name"]] = names
    return found


def test_every_central_function_has_a_strategy() -> None:
    missing = set(declared()) - set(FUNCTIONS) - set(EXEMPT_FUNCTIONS)
    assert not missing, f"in no strategy and not exempt: {sorted(missing)}"
    assert not set(EXEMPT_FUNCTIONS) & set(FUNCTIONS), "exempt though there is a strategy"


def test_every_argument_is_drawn() -> None:
    for (method, function), names in declared().items():
        if (method, function) in FUNCTIONS:
            exempt = EXEMPT_ARGUMENTS.get((method, function), {})
            missing = names - set(exempt) - drawn_arguments(method, function, names - set(exempt))
            assert not missing, f"{method}.{function}: no strategy draws {sorted(missing)}"
