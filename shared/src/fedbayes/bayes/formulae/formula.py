"""Formulae of a data dictionary: a closed grammar over the columns of one row, read once, never executed as code.

``weight / (height / 100) ** 2``, ``log(income)``, ``age >= 18 and sex == "female"``, ``stage in ["II", "III"]``, ``column("days in care") > 3``

Numbers, texts in quotes, names of columns, ``+ - * / **``, comparisons, ``in``, ``not in``, ``and``, ``or``, ``not``, and the functions of `FUNCTIONS`. A value
that is missing, no number where one is needed, or not finite makes the row's result missing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...typing import Array, Floats
from ..values.encoding import SchemaError, canonical_text, meant_texts, number_written

LONGEST = 1000  # characters
DEEPEST = 30  # nested operations; far below Python's recursion limit
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "round": np.round,
    "sqrt": np.sqrt,
}
_OF_TWO = ("max", "min")
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
_SAME = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


@dataclass(frozen=True)
class Formula:
    """A formula that was read and found to be within the grammar.

    Attributes
    ----------
    text : str
        As it was written.
    columns : tuple of str
        Columns that it uses, each once.
    is_condition : bool
        Whether its result is a truth value.
    """

    text: str
    columns: tuple[str, ...]
    is_condition: bool
    _tree: ast.expr

    def values(self, table: Mapping[str, Any], rows: int) -> Floats:
        """Return the result of every row, float64, shape (rows,): NaN = missing; of a condition 1 and 0.

        Parameters
        ----------
        table : mapping of str to array
            The formula's columns, shape (rows,) each, any dtype.
        rows : int
            How many rows there are.
        """
        with np.errstate(all="ignore"):
            result = np.broadcast_to(_number(self._tree, table), (rows,)).astype(np.float64)
        result[~np.isfinite(result)] = np.nan
        return result


def read_formula(owner: str, text: object) -> Formula:
    """Read a formula.

    Parameters
    ----------
    owner : str
        Whose it is, for the message.
    text : str
        The formula.

    Raises
    ------
    SchemaError
        If it is no text, too long, or has something that the grammar lacks.
    """
    if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST:
        raise SchemaError(f"{owner}: give a formula as a text of at most {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        example = 'age >= 18 and sex == "female"' if owner == "subset" else "weight / (height / 100) ** 2"
        raise SchemaError(f"{owner}: the formula cannot be read; write it like  {example}")
    columns: list[str] = []
    _check(owner, tree, columns, 0)
    if not columns:
        raise SchemaError(f"{owner}: the formula names no column")
    return Formula(text.strip(), tuple(dict.fromkeys(columns)), _is_condition(tree), tree)


def _check(owner: str, node: ast.expr, columns: list[str], depth: int) -> None:
    """Refuse whatever the grammar lacks, and collect the columns."""
    name = _column(node)
    if name is not None:
        columns.append(name)
        return
    parts = _parts(owner, node)
    if depth > DEEPEST:
        raise SchemaError(f"{owner}: the formula is too deep; split it")
    for part in parts:
        _check(owner, part, columns, depth + 1)


def _parts(owner: str, node: ast.expr) -> list[ast.expr]:
    """Return the operands of a node of the grammar."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return [_numeric(owner, node.left), _numeric(owner, node.right)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [_numeric(owner, node.operand)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Compare):
        return _compared(owner, node)
    if isinstance(node, ast.Call) and _is_known(node):
        return [_numeric(owner, part) for part in node.args]
    if isinstance(node, ast.Constant) and _is_scalar(node.value):
        return []
    functions = ", ".join(FUNCTIONS)
    raise SchemaError(
        f"{owner}: the formula has something that is not allowed; there are columns, numbers, quoted texts, + - * / **, comparisons, in, and, or, not, "
        f"and the functions {functions}"
    )


def _is_known(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
        return False
    return len(node.args) == (2 if node.func.id in _OF_TWO else 1)


def _compared(owner: str, node: ast.Compare) -> list[ast.expr]:
    parts: list[ast.expr] = [node.left]
    for operator, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
                raise SchemaError(f'{owner}: write a list after in, like  stage in ["II", "III"]')
            if not all(isinstance(entry, ast.Constant) for entry in right.elts):
                raise SchemaError(f"{owner}: a list after in holds numbers and quoted texts only")
            parts += right.elts
        elif type(operator) in _ORDER:
            parts.append(_numeric(owner, right))
            _numeric(owner, node.left)
        elif isinstance(operator, _SAME):
            parts.append(right)
        else:
            raise SchemaError(f"{owner}: compare by < <= > >= == != in")
    return parts


def _numeric(owner: str, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        raise SchemaError(f"{owner}: a quoted text stands where a number is needed; a column's name needs no quotes")
    return node


def _is_scalar(value: object) -> bool:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return abs(value) < 1e300
    return isinstance(value, str | bool)


def _column(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "column":
        argument = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value:
            return argument.value
    return None


def _is_condition(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _number(node: ast.expr, table: Mapping[str, Any]) -> Any:
    """Return the value of a node as float64 numbers, shape (rows,) or (); NaN = missing."""
    name = _column(node)
    if name is not None:
        return as_numbers(table[name])
    if isinstance(node, ast.Constant):
        return np.float64(node.value) if isinstance(node.value, bool | int | float) else np.float64(np.nan)
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](_number(node.left, table), _number(node.right, table))
    if isinstance(node, ast.UnaryOp):
        inner = _number(node.operand, table)
        return -inner if isinstance(node.op, ast.USub) else np.where(np.isnan(inner), np.nan, inner == 0)
    if isinstance(node, ast.Call):
        function = FUNCTIONS[node.func.id]  # type: ignore[attr-defined]
        return function(*(_number(part, table) for part in node.args))
    if isinstance(node, ast.BoolOp):
        return _joined([_number(part, table) for part in node.values], isinstance(node.op, ast.And))
    assert isinstance(node, ast.Compare)
    sides = [node.left, *node.comparators]
    pairs = zip(sides, node.ops, sides[1:], strict=False)
    return _joined([_comparison(left, operator, right, table) for left, operator, right in pairs], True)


def _joined(parts: list[Any], every: bool) -> Any:
    """Return the parts joined by and (`every`) or or; missing where what is known does not decide."""
    decided = not every
    truths = np.stack(np.broadcast_arrays(*parts))
    hit = np.any(truths == float(decided), axis=0)
    return np.where(hit, float(decided), np.where(np.isnan(truths).any(axis=0), np.nan, float(not decided)))


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, table: Mapping[str, Any]) -> Any:
    if type(operator) in _ORDER:
        first, second = _number(left, table), _number(right, table)
        result: Any = _ORDER[type(operator)](first, second)
        return np.where(np.isnan(first) | np.isnan(second), np.nan, result)
    if isinstance(left, ast.Constant) and not isinstance(right, ast.List | ast.Tuple):
        left, right = right, left
    options = right.elts if isinstance(right, ast.List | ast.Tuple) else [right]
    first = _text(left, table)
    missing = np.equal(first, "")
    same: Any = np.zeros(np.shape(first), dtype=np.bool_)
    for option in options:
        texts = meant_texts(option.value) if isinstance(option, ast.Constant) else [_text(option, table)]
        for text in texts or [""]:
            same = same | np.equal(first, text)
            missing = missing | np.equal(text, "")
    wanted = same if isinstance(operator, ast.Eq | ast.In) else ~same
    return np.where(missing, np.nan, wanted.astype(np.float64))


def _text(node: ast.expr, table: Mapping[str, Any]) -> Any:
    """Return the canonical texts of a node's values, empty where missing."""
    name = _column(node)
    if name is not None:
        return as_texts(table[name])
    if isinstance(node, ast.Constant):
        return np.array(canonical_text(node.value) or "", dtype=object)
    return as_texts(np.atleast_1d(_number(node, table)))


def as_texts(values: Any) -> Array:
    """Return the canonical text of every value, an object array of shape (n,); empty where it is missing."""
    return np.array(each(values, lambda value: canonical_text(value) or ""), dtype=object)


def as_numbers(values: Any) -> Floats:
    """Return every value as a number, float64, shape (n,); NaN where it is missing or none."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "biuf" and not hasattr(values.dtype, "na_value"):
        return np.asarray(values, dtype=np.float64)
    return np.array(each(values, _as_number), dtype=np.float64)


def each(values: Any, change: Callable[[Any], Any]) -> list[Any]:
    """Return every value of a column changed; what is alike is changed once."""
    changed: dict[Any, Any] = {}
    result = []
    for value in values.tolist() if hasattr(values, "tolist") else values:
        key = (type(value), value)  # 1, 1.0 and True are one key otherwise
        if key not in changed:
            changed[key] = change(value)
        result.append(changed[key])
    return result


def _as_number(value: object) -> float:
    text = canonical_text(value)
    if text in ("true", "false"):
        return float(text == "true")
    number = None if text is None else number_written(text)
    return np.nan if number is None else number
