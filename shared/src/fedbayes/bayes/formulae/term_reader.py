"""Right sides of model formulae: the grammar of formulaic and patsy over the columns of a table, read once, never executed as code.

``~ age + C(stage, reference="I") + age:treatment + bs(bmi, df=4) + log(marker)``

Terms are joined by ``+``; ``a:b`` is a product, ``a*b`` is ``a + b + a:b``, parentheses group. A factor is a column, in backticks or as ``Q("name")``
where its name is no word; ``C(column, reference=...)``, its categories; ``bs(column, df=, degree=, knots=, lower_bound=, upper_bound=)``, a spline
basis; or ``I(...)`` and the functions of `formula.FUNCTIONS`, arithmetic of one row. There is no intercept to leave out (a Cox model has none), so
``0`` and ``- 1`` are no terms.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..values.encoding import SchemaError, canonical_text
from .formula import FUNCTIONS, read_formula
from .terms import Factor, Spline, Term, Terms, checked_spline, in_formula, name_of, spline_text

LONGEST = 4000  # characters
MOST_TERMS, MOST_FACTORS, DEEPEST = 200, 5, 20
"""Of a formula, of a product, and of parentheses: beyond what anybody writes, below Python's recursion limit."""
MOST_BASIS, MOST_DEGREE = 30, 5  # of a spline: what data can tell apart
_TOKEN = re.compile(r"\s*(?:(`[^`]+`)|([^\W\d]\w*)|([+:*()]))")
_QUOTED = re.compile(r"""`([^`]+)`|"[^"]*"|'[^']*'""")  # what is in quotes stays
_NAMED = re.compile(r"""("[^"]*"|'[^']*'|`[^`]*`)|\bQ\(\s*(?:"([^"`]+)"|'([^'`]+)')\s*\)""")  # Q, but not within quotes
_INSTEAD = {
    "Surv": "time and event are arguments",
    "strata": "strata is an argument",
    "cluster": "cluster is an argument",
    "weights": "weights is an argument",
    **dict.fromkeys(("poly", "ns", "cr", "cc", "s"), "curves are bs(column, df=...)"),
}
"""What there is for functions of other programs' formulae."""
_SPLINE = ("df", "degree", "knots", "lower_bound", "upper_bound")


def read_terms(text: object) -> Terms:
    """Read the right side of a formula, with or without its ``~``.

    Raises
    ------
    SchemaError
        If it is no text, too long, or has something that the grammar lacks.
    """
    if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST or not text.isprintable():
        raise SchemaError(f"formula: give a text of at most {LONGEST} characters, like  ~ age + C(stage)")
    plain = _NAMED.sub(lambda match: match[1] or f"`{match[2] or match[3]}`", text)
    reader = _Reader(plain.strip().removeprefix("~"))
    terms = reader.sum(0)
    if reader.peek() is not None:
        raise reader.refusal()
    ordered = tuple(sorted(terms, key=len))
    factors: dict[str, Factor] = {}
    for factor in (factor for term in ordered for factor in term):
        _enter(factors, factor)
    splines = [factor.columns[0] for factor in factors.values() if factor.spline is not None]
    if len(set(splines)) < len(splines):  # differences of two could be aimed at single rows
        raise SchemaError("formula: a column has two splines; choose one")
    names = [name_of(term) for term in ordered]
    if len(set(names)) != len(names):
        raise SchemaError("formula: a column has the name of a product; rename it")
    return Terms(ordered)


class _Reader:
    """A formula, read from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0

    def refusal(self) -> SchemaError:
        """Return the error for what stands here."""
        rest = self._text[self._place :].strip()[:20]
        where = f"at '{rest}'" if rest else "at its end"
        return SchemaError(
            f"formula: it cannot be read {where}; there are columns (in backticks, or Q('name'), where a name is no word), + : * and parentheses, "
            f"C(column, reference=...), bs(column, df=...), I(...) and {', '.join(FUNCTIONS)}; there is no intercept, "
            "and no outcome before ~: time and event are arguments"
        )

    def peek(self) -> str | None:
        """Return the next token, None at the end."""
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            if self._text[self._place :].strip():
                raise self.refusal()
            return None
        return match.group().strip()

    def take(self, *wanted: str) -> bool:
        """Pass the next token if it is one of these."""
        token = self.peek()
        if token is None or token not in wanted:
            return False
        self._place = self._text.index(token, self._place) + len(token)
        return True

    def sum(self, depth: int) -> list[Term]:
        """Read terms that are joined by +."""
        if depth > DEEPEST:
            raise SchemaError("formula: it is too deep; split it")
        terms = self._star(depth)
        while self.take("+"):
            terms = _union(terms, self._star(depth))
        return terms

    def _star(self, depth: int) -> list[Term]:
        terms = self._product(depth)
        while self.take("*"):
            other = self._product(depth)
            terms = _union(terms, other, _products(terms, other))
        return terms

    def _product(self, depth: int) -> list[Term]:
        terms = self._atom(depth)
        while self.take(":"):
            terms = _products(terms, self._atom(depth))
        return terms

    def _atom(self, depth: int) -> list[Term]:
        if self.take("("):
            terms = self.sum(depth + 1)
            if not self.take(")"):
                raise self.refusal()
            return terms
        token = self.peek()
        if token is None or token in "+:*)":
            raise self.refusal()
        self.take(token)
        if not token.startswith("`") and self.peek() == "(":
            return [(self._call(token),)]
        name = token.strip("`")
        return [(Factor(name, (name,)),)]

    def _call(self, function: str) -> Factor:
        inside = _inside(self._text, self._place)
        if inside is None:
            raise self.refusal()
        self._place = self._text.index("(", self._place) + len(inside) + 2
        if function in FUNCTIONS or function == "I":
            return _arithmetic(function, inside)
        column, options = _options(function, inside)
        if function == "C":
            return Factor(column, (column,), True, options.get("reference"))
        spline = _spline(options)
        return Factor(spline_text(in_formula(column), spline, False), (column,), spline=spline)


def _inside(text: str, start_at: int) -> str | None:
    """Return what stands between the parenthesis that opens here and its own; None if it is never closed."""
    depth, quote, start = 0, "", text.index("(", start_at)
    for position in range(start, len(text)):
        letter = text[position]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        else:
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                return text[start + 1 : position]
    return None


def _union(*parts: list[Term]) -> list[Term]:
    """Return terms, each once: the same factors in another order are the same term."""
    terms: dict[frozenset[str], Term] = {}
    for term in (term for part in parts for term in part):
        first = terms.setdefault(frozenset(factor.name for factor in term), term)
        other = set(term) - set(first)
        if other:
            raise _two_ways(other.pop(), {factor.name: factor for factor in first})
    if len(terms) > MOST_TERMS:
        raise SchemaError(f"formula: it has more than {MOST_TERMS} terms; leave some out")
    return list(terms.values())


def _enter(factors: dict[str, Factor], factor: Factor) -> None:
    """Add a factor by its name, unless it is there; refuse it where it is there and written otherwise."""
    if factors.setdefault(factor.name, factor) != factor:
        raise _two_ways(factor, factors)


def _two_ways(factor: Factor, factors: Mapping[str, Factor]) -> SchemaError:
    """Return the refusal of a factor that stands among these in another way."""
    name = factor.name
    if factor.categorical != factors[name].categorical:
        ways = f"'{name}' is a category in one place, C({name}), and a number in another"
    else:
        ways = f"'{name}' has different {'references' if factor.categorical else 'bounds'} in two places"
    return SchemaError(f"formula: {ways}; write it alike everywhere")


def _products(left: list[Term], right: list[Term]) -> list[Term]:
    """Return the product of every two terms; a factor stands in it once."""
    terms = _union([_product_of(one, other) for one in left for other in right])
    if any(len(term) > MOST_FACTORS for term in terms):
        raise SchemaError(f"formula: a product has more than {MOST_FACTORS} factors; leave some out")
    return terms


def _product_of(one: Term, other: Term) -> Term:
    """Return the product of two terms."""
    factors: dict[str, Factor] = {}
    for factor in (*one, *other):
        _enter(factors, factor)
    return tuple(factors.values())


def _quoted(text: str) -> str:
    """Return columns in backticks as `column(...)`, which Python's grammar knows."""
    return _QUOTED.sub(lambda match: f"column({match[1]!r})" if match[1] else match[0], text)


def _arithmetic(function: str, inside: str) -> Factor:
    text = _quoted(inside)
    formula = read_formula("formula", text if function == "I" else f"{function}({text})")
    written = ast.unparse(ast.parse(formula.text, mode="eval"))
    return Factor(
        f"I({written})" if function == "I" else written, formula.columns, formula=replace(formula, text=written)
    )


def _options(function: str, inside: str) -> tuple[str, dict[str, Any]]:
    """Return the column and the options of C or bs."""
    defaults = {"C": ("reference",), "bs": _SPLINE}.get(function)
    if defaults is None:
        instead = f"; {_INSTEAD[function]}" if function in _INSTEAD else ""
        raise SchemaError(f"formula: there is no {function}(...); there are C, bs, I, {', '.join(FUNCTIONS)}{instead}")
    usage = f"formula: write {function}(column, {', '.join(f'{name}=...' for name in defaults)})"
    try:
        call = ast.parse(f"f({_quoted(inside)})", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.args) != 1:
            raise SchemaError(usage)
        column = read_formula("formula", ast.unparse(call.args[0]))
        options = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        raise SchemaError(usage) from None
    once = len(options) == len(call.keywords) and set(options) <= set(defaults)
    if once and isinstance(call.args[0], ast.Call | ast.Name) and len(column.columns) == 1:
        if not isinstance(options.get("reference"), str | int | float | bool | None):
            raise SchemaError("formula: C: reference is a category, a text in quotes or a number")
        if function == "C" and "reference" in options:
            options["reference"] = canonical_text(options["reference"])
        if _is_bare(call.args[0]):
            return column.columns[0], options
    raise SchemaError(usage)


def _is_bare(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "column")


def _spline(options: dict[str, Any]) -> Spline:
    degree, knots = options.get("degree", 3), options.get("knots")
    numbers = [
        *(knots if isinstance(knots, list | tuple) else []),
        options.get("lower_bound", 0),
        options.get("upper_bound", 0),
    ]
    knots_usable = knots is None or isinstance(knots, list | tuple)
    if not knots_usable or not all(type(value) in (int, float) and abs(value) < 1e300 for value in numbers):
        raise SchemaError("formula: bs: knots, lower_bound and upper_bound are numbers")
    if type(degree) is not int or not 1 <= degree <= MOST_DEGREE:
        raise SchemaError(f"formula: bs: degree is a whole number from 1 to {MOST_DEGREE}")
    df = options.get("df", degree + len(knots) if knots is not None else None)
    if type(df) is not int or not degree <= df <= MOST_BASIS or (knots is not None and df != degree + len(knots)):
        raise SchemaError(
            f"formula: bs: df is a whole number from its degree to {MOST_BASIS}; with knots, the degree and the number of knots"
        )
    bounds = [None if options.get(name) is None else float(options[name]) for name in ("lower_bound", "upper_bound")]
    spline = Spline(df, degree, None if knots is None else tuple(float(knot) for knot in knots), *bounds)
    return spline if None in bounds else checked_spline("bs", spline)
