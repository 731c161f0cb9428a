"""Numbers say where they come from, and names say what they hold: vague ones are counted, and the counts may only fall."""

import ast
import functools
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for folder in ("shared/src", "algorithms", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if "tests" not in path.parts
)
VAGUE = {"found": 14, "place": 40, "told": 18, "tell": 0, "what": 1, "known": 43, "thing": 1}
"""Name -> functions that assign it or take it as an argument, at the most: the field mostly has a better one."""


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, made of numbers, or a tuple or mapping to them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(is_number, node.elts))
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(map(is_number, node.values))
    lower = isinstance(node, ast.Call) and ast.unparse(node.func)[:1].islower()  # no class of ours
    return lower and len(node.args) == 1 and is_number(node.args[0])


def bare_numbers(text: str) -> list[int]:
    """Return the lines of a module's constants that are numbers without a comment beside or above them, or a text below."""
    lines, body, found = text.splitlines(), ast.parse(text).body, []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not is_number(node.value):
            continue
        below = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        beside = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if not (below or beside or lines[node.lineno - 2].startswith("#")):
            found.append(node.lineno)
    return found


@functools.cache
def functions_by_name() -> dict[str, list[str]]:
    """Return the functions that assign each name or take it as an argument."""
    functions = defaultdict(list)
    for path in SOURCES:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
                parts = (part for part in ast.walk(function) if isinstance(part, ast.Name))
                for name in names | {part.id for part in parts if isinstance(part.ctx, ast.Store)}:
                    functions[name].append(f"{path.relative_to(ROOT)}:{function.lineno}")
    return functions


def test_numbers_say_where_they_come_from() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        for line in bare_numbers(path.read_text(encoding="utf-8"))
    ]
    assert not bare, f"a comment or a text below is missing: {', '.join(bare)}"


def test_a_bare_number_is_seen() -> None:
    assert bare_numbers(
        'A = 3\nB = 4  # of them\nC = -2**3\n"""So many."""\nD = (1, 2.0)\nE = "text"\n# Few.\nF = 1\nG = {"a": 2}\n'
    ) == [1, 5, 9]


@pytest.mark.parametrize("name", VAGUE)
def test_vague_names_do_not_spread(name: str) -> None:
    uses = functions_by_name()[name]
    assert len(uses) <= VAGUE[name], f"'{name}' says too little; the newest may be among: {', '.join(uses)}"
