"""What two modules do alike stands in one place."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FEWEST_STATEMENTS = 3
"""Of a function that counts: a place for what is said in two would take as much as it spares."""


def twins(texts: Mapping[str, str]) -> list[list[str]]:
    """Return the functions that say the same in other words than their names and docstrings, as `module:line`."""
    places = defaultdict(list)
    for module, text in texts.items():
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                body = function.body[ast.get_docstring(function) is not None :]
                if len(body) >= FEWEST_STATEMENTS:
                    said = ast.dump(function.args), *map(ast.dump, body)
                    places[said].append(f"{module}:{function.lineno}")
    return [alike for alike in places.values() if len(alike) > 1]


def test_no_function_is_written_twice() -> None:
    paths = (path for folder in ("shared/src", "algorithms", "studies") for path in (ROOT / folder).rglob("*.py"))
    assert twins({str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}) == []


def test_a_twin_is_seen() -> None:
    one = 'def half(x):\n    "Return half."\n    y = x / 2\n    y += 1\n    return y\n'
    other = "def middle(x):\n    y = x / 2\n    y += 1\n    return y\n\ndef third(x):\n    y = x / 3\n    y += 1\n    return y\n"
    assert twins({"a": one, "b": other}) == [["a:1", "b:1"]]
