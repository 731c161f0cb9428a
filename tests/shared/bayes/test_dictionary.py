"""The data dictionary: what it accepts, what it makes of a table, what it refuses."""

import ast
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.bayes.dictionaries.recoding import applied, named_values
from fedbayes.bayes.formulae.formula import DEEPEST, read_formula
from fedbayes.bayes.values.encoding import SchemaError

STUDY = {
    "title": "a study",
    "missing": ["NA"],
    "columns": {
        "sex": {"type": "category", "categories": ["female", "male"], "recode": {"M": "male", 2: "female"}},
        "age": {"type": "integer", "bounds": [18, 100], "unit": "years", "bins": [40, 65]},
        "stage": {"categories": {1: "early", 2: "late"}, "missing": [9], "reference": 1},
        "bmi": {"type": "number", "bounds": [10, 60], "derive": "weight / (height / 100) ** 2"},
        "old": {"type": "category", "categories": ["no", "yes"], "cut": {"column": "age", "at": [65]}},
        "ill": {"type": "category", "categories": ["no", "yes"], "derive": "stage == 2 or age > 90"}
        | {"recode": {"true": "yes", "false": "no"}},
        "patient": {"type": "identifier"},
    },
    "subset": "age >= 18",
}


def made(table: pd.DataFrame, columns: list[str], study=STUDY) -> tuple[pd.DataFrame, np.ndarray]:
    found, kept = applied(table, columns, Dictionary.from_json(study), len(table))
    return pd.DataFrame({name: list(values) for name, values in found.items()}), kept


def test_a_table_is_read_as_the_dictionary_means_it():
    table = pd.DataFrame(
        {
            "sex": ["M", "male", "2", "other", None],
            "age": [17.0, 18.0, 65.0, np.nan, 91.0],
            "stage": [1, 2, 1, 2, 1],
            "weight": [80.0, 60.0, 70.0, 90.0, 50.0],
            "height": [200.0, 150.0, np.nan, 180.0, 0.0],
        }
    )
    found, kept = made(table, ["sex", "stage", "bmi", "old", "ill", "age"])
    assert found["sex"].where(found["sex"].notna(), None).tolist() == ["male", "male", "female", "other", None]
    assert found["stage"].tolist() == ["1", "2", "1", "2", "1"]
    np.testing.assert_allclose(found["bmi"], [20.0, 60 / 2.25, np.nan, 90 / 3.24, np.nan])
    assert [value if isinstance(value, str) else None for value in found["old"]] == ["no", "no", "yes", None, "yes"]
    assert [value if isinstance(value, str) else None for value in found["ill"]] == ["no", "yes", "no", "yes", "yes"]
    assert found["age"].equals(table["age"])
    assert kept.tolist() == [False, True, True, False, True]


def test_domain_and_bins_are_what_methods_take():
    study = Dictionary.from_json(STUDY)
    assert study.domain(["sex", "age", "unknown"]) == {
        "missing": ["NA"],
        "sex": {"categories": ["female", "male"]},
        "age": {"bounds": [18.0, 100.0]},
    }
    assert study.domain(["stage"])["stage"] == {"categories": [1, 2], "missing": [9]}
    assert study.bins() == {"age": [40.0, 65.0]}
    skewed = Dictionary.from_json({"columns": {"cost": {"type": "number", "bounds": [0, 9999], "bins": {"log": 4}}}})
    np.testing.assert_allclose(skewed.bins()["cost"], [9, 99, 999])
    assert study.sources(["bmi", "sex"]) == ["weight", "height", "sex", "age"]
    assert study.columns["stage"].labels == {"1": "early", "2": "late"}
    assert study.identifier == "patient"


def test_texts_that_python_reads_as_numbers_are_none_in_a_formula():
    table = pd.DataFrame({"a": ["1_000", "nan", "inf", "1e3", " 7 "]}, dtype=object)
    np.testing.assert_array_equal(read_formula("f", "a + 1").values(table, 5), [np.nan, np.nan, np.nan, 1001.0, 8.0])


def test_what_stations_get_reads_back_as_the_same():
    sent = json.loads(json.dumps(Dictionary.from_json(STUDY).to_json()))
    assert Dictionary.from_json(sent).to_json() == sent
    assert "unit" not in sent["columns"]["age"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"type": "colour"}, "type"),
        ({"type": "number", "categories": ["a"]}, "type"),
        ({"type": "category", "bounds": [0, 1]}, "type"),
        ({"type": "identifier", "categories": ["a"]}, "type"),
        ({"type": "category", "categories": ["a", "b"], "recode": {"x": "c"}}, "recode"),
        ({"type": "category", "categories": ["a", "b"], "recode": {"a": "b"}}, "recode"),
        ({"type": "category", "categories": ["a", "b"], "recode": {"1": "a", "1.0": "b"}}, "recode"),
        ({"type": "category", "categories": ["a", "b"], "reference": "c"}, "reference"),
        ({"type": "number", "bounds": [0, 1], "bins": "many"}, "bins"),
        ({"type": "number", "bounds": [0, 1], "bins": {"log": 4}}, "unit"),
        ({"type": "number", "bins": 3}, "bins"),
        ({"type": "category", "categories": ["a", "b"], "cut": {"column": "c", "at": [2, 1]}}, "cut"),
        ({"type": "category", "categories": ["a", "b"], "cut": {"column": "c", "at": [1, 2]}}, "cut"),
        ({"type": "category", "categories": ["a", "b"], "cut": {"column": "c", "at": [10**400]}}, "cut"),
        ({"type": "number", "derive": "__import__('os')"}, "derive"),
        ({"type": "number", "derive": "f(x)"}, "derive"),
        ({"type": "number", "looked_at": "yes"}, "looked_at"),
        ({"type": "number", "formula": "a"}, "formula"),
        ("number", "object"),
    ],
)
def test_refusals_name_the_column_and_what_is_wrong(entry, told):
    with pytest.raises(SchemaError, match=told) as caught:
        Dictionary.from_json({"columns": {"c1": entry}})
    assert "c1" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"columns": {}},
        {"columns": {"a": {"type": "number"}}, "subset": "a + 1"},
        {"columns": {"a": {"type": "number"}}, "rows": "a > 1"},
        {"columns": {"a": {"type": "number", "derive": "b"}, "c": {"type": "number", "derive": "a + 1"}}},
        {"columns": {"a": {"type": "number", "derive": "b"}}, "subset": "a > 1"},
    ],
)
def test_what_is_no_dictionary_is_refused(content):
    with pytest.raises(SchemaError):
        Dictionary.from_json(content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 + 1",
        "a.b",
        "a[0]",
        "lambda: a",
        "a if b else c",
        "[a for a in b]",
        "open('x')",
        "column(a)",
        "a == [1]" + " " * 2000,
        "a + 'b'",
        "a < 'b'",
        "a in b",
        "a is None",
        "a := 1",
        "log(a, b)",
        "max(a)",
        "f'{a}'",
        "a @ b",
        "a // b",
        "~a",
        "1e999 * a",
        "-" * (DEEPEST + 5) + "a",
        "(" * 300 + "a" + ")" * 300,
        "a\nb",
        "*a",
    ],
)
def test_a_formula_outside_the_grammar_is_refused(text):
    with pytest.raises(SchemaError):
        read_formula("f", text)


numbers = st.one_of(st.none(), st.integers(-5, 5), st.floats(-5, 5, allow_nan=False))


def expressions() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["a", "b", "2", "0.5", 'column("c d")'])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
            st.builds("{}({})".format, st.sampled_from(["abs", "exp", "floor", "sqrt", "log"]), inner),
            st.builds("max({}, {})".format, inner, inner),
            st.builds("(-{})".format, inner),
        ),
        max_leaves=6,
    )


def conditions() -> st.SearchStrategy[str]:
    leaf = st.builds("({} {} {})".format, expressions(), st.sampled_from(["<", "<=", ">", ">="]), expressions())
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
            st.builds("(not {})".format, inner),
        ),
        max_leaves=3,
    )


@given(formula=st.one_of(expressions(), conditions()), rows=st.lists(st.tuples(numbers, numbers, numbers), max_size=8))
@settings(deadline=None, max_examples=150)
def test_a_formula_is_what_numpy_computes_a_row_at_a_time(formula, rows):
    table = pd.DataFrame(rows, columns=["a", "b", "c d"]).astype(float)
    try:
        read = read_formula("f", formula)
    except SchemaError:
        return  # no column in it
    found = read.values(table, len(table))
    for row, value in enumerate(found):
        expected = row_by_row(formula, table.iloc[row])
        np.testing.assert_allclose(value, expected, rtol=1e-9)


class Floats(ast.NodeTransformer):
    """Numbers of a formula as numpy's, which divide by zero without an exception."""

    def visit_Constant(self, constant):
        return constant if isinstance(constant.value, str) else ast.Call(ast.Name("number", ast.Load()), [constant], [])


ORDER = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal}
FUNCTIONS = {"abs": np.abs, "exp": np.exp, "floor": np.floor, "sqrt": np.sqrt, "log": np.log, "max": np.maximum}


def number(node: ast.AST, names: dict) -> np.float64:
    wrapped = ast.fix_missing_locations(ast.Expression(Floats().visit(node)))
    return eval(compile(wrapped, "f", "eval"), {"number": np.float64, **FUNCTIONS, **names})


def truth(node: ast.AST, names: dict) -> bool | None:
    """Kleene's logic, by Python's own words."""
    if isinstance(node, ast.BoolOp):
        parts = [truth(part, names) for part in node.values]
        decides = isinstance(node.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if isinstance(node, ast.UnaryOp):
        inner = truth(node.operand, names)
        return None if inner is None else not inner
    sides = [number(side, names) for side in (node.left, node.comparators[0])]
    return None if any(np.isnan(side) for side in sides) else bool(ORDER[type(node.ops[0])](*sides))


def row_by_row(formula: str, row: pd.Series) -> float:
    names = {"column": lambda name: np.float64(row[name]), "a": np.float64(row["a"]), "b": np.float64(row["b"])}
    with np.errstate(all="ignore"):
        tree = ast.parse(formula, mode="eval").body
        is_condition = isinstance(tree, ast.BoolOp | ast.Compare)
        is_condition |= isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
        result = truth(tree, names) if is_condition else number(tree, names)
    return float(result) if result is not None and np.isfinite(result) else np.nan


def test_texts_are_compared_as_categories_are():
    table = pd.DataFrame({"a": ["1", "1.0", " x ", None, "TRUE"]})
    values = read_formula("f", 'a in [1, "x"]').values(table, 5)
    np.testing.assert_array_equal(values, [1, 1, 1, np.nan, 1])
    np.testing.assert_array_equal(read_formula("f", 'a in ["1", "x"]').values(table, 5), [1, 1, 1, np.nan, 0])
    np.testing.assert_array_equal(read_formula("f", 'a != "true"').values(table, 5), [1, 1, 1, np.nan, 0])


@pytest.mark.parametrize("written", [[True, False, None], ["TRUE", "false", None], [1, 0, None], ["1.0", "0", None]])
def test_truth_values_are_one_and_zero_in_a_formula(written):
    table = pd.DataFrame({"a": pd.Series(written, dtype=object)})
    for text in (
        "a == 1",
        "1 == a",
        "a == True",
        "a != 0",
        "not a == False",
        "a in [1, 7]",
        "a > 0",
        "a == a and a >= 1",
    ):
        np.testing.assert_array_equal(read_formula("f", text).values(table, 3), [1, 0, np.nan], text)


def test_text_among_numbers_is_missing_in_a_formula():
    values = read_formula("f", "a + 1").values(pd.DataFrame({"a": ["1", "x", None]}), 3)
    np.testing.assert_array_equal(values, [2, np.nan, np.nan])


@pytest.mark.parametrize(
    ("values", "recoded", "named"),
    [
        (["a", "b", "c", "d"], "abcd", 4),
        (["a", "b", "c", "d", None, None], "abcd", 4),
        (["a", "b"] * 4, "ab", 0),
        (["a", "b", *["x"] * 40], "ab", 2),
        ([*"abcdefgh", "x"], "xy", 1),
        ([1, 2, 3, 4], "12", 2),
        (["a"] * 5, "xyz", 0),
        ([], "xyz", 0),
    ],
)
def test_values_that_a_recode_names_where_few_rows_have_each(values, recoded, named):
    entry = {"type": "category", "categories": ["new"], "recode": dict.fromkeys(recoded, "new")}
    study = Dictionary.from_json({"columns": {"code": entry}})
    assert named_values({"code": np.array(values, dtype=object), "other": np.arange(len(values))}, study) == named
