"""Formulae of models: what they mean is what patsy makes of them; what is outside the grammar is refused."""

import numpy as np
import pandas as pd
import patsy
import pytest

from fedbayes.bayes.formulae.model_matrix import (
    Codes,
    Numbers,
    arithmetic,
    columns_at,
    matrix,
    spline_basis,
    spline_numbers,
)
from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.values.encoding import SchemaError

ROWS = 200
TEXTS = ("a", "b")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), ROWS),
            "b": rng.choice(list("pq"), ROWS),
            "u": rng.normal(size=ROWS),
            "v": rng.uniform(0.1, 9.9, ROWS),
        }
    )


def levels_of(table, factor):
    found = sorted(table[factor.columns[0]].unique())
    return sorted(found, key=lambda level: level != (factor.reference or found[0]))


def own_matrix(table, formula):
    terms = read_terms(formula)
    factors = {}
    for name, factor in terms.factors.items():
        column = factor.columns[0]
        if factor.formula is not None:
            factors[name] = arithmetic(factor, table, ROWS)
        elif factor.spline is not None:
            factors[name] = spline_numbers(factor, table[column].to_numpy())
        elif column in TEXTS:
            levels = levels_of(table, factor)
            factors[name] = Codes(np.array([levels.index(text) for text in table[column]]), tuple(levels))
        else:
            factors[name] = Numbers(table[[column]].to_numpy(), (name,))
    return matrix(terms, factors, ROWS)


FORMULAE = {
    "~ u + a": "u + a",
    "a:b": "a:b",
    "~ a*b*u": "a*b*u",
    "~ u:a": "u:a",
    "~ a + a:b": "a + a:b",
    "~ a:b + u:a + u:v": "a:b + u:a + u:v",
    "~ (a + b + u):v + log(v)": "(a + b + u):v + np.log(v)",
    '~ C(a, reference="y")*u + I(u ** 2)': "C(a, Treatment('y'))*u + I(u ** 2)",
    "~ bs(v, df=5, lower_bound=0, upper_bound=12)*b": "bs(v, knots=(4, 8), degree=3, lower_bound=0, upper_bound=12)*b",
    "~ bs(v, knots=[2.5], degree=2, lower_bound=0, upper_bound=10)": "bs(v, knots=(2.5,), degree=2, lower_bound=0, upper_bound=10)",
}


@pytest.mark.parametrize("formula", FORMULAE)
def test_columns_are_those_of_patsy(table, formula):
    found = own_matrix(table, formula)
    expected = np.asarray(patsy.dmatrix(FORMULAE[formula], table))[:, 1:]
    ours = np.concatenate([part.values for part in found.values()], axis=1)
    in_order = [values[:, np.lexsort(np.round(values, 9))] for values in (ours, expected)]
    np.testing.assert_allclose(*in_order, atol=1e-12)
    labels = [label for part in found.values() for label in part.labels]
    assert len(set(labels)) == ours.shape[1]


@pytest.mark.parametrize(
    "formula", [*FORMULAE, "~ C(`x y`, reference=2):z + I(`x y` ** 2)", "~ bs(`ſ`, df=3) + C(`class`)"]
)
def test_a_formula_written_again_is_the_same(formula):
    terms = read_terms(formula)
    assert read_terms(terms.text) == terms


def test_backticks_within_quotes_are_text():
    factor = read_terms('~ C(`a b`, reference="`x` y")').factors["a b"]
    assert factor.reference == "`x` y"


def test_too_many_columns_are_refused_before_there_is_one():
    levels = tuple(str(place) for place in range(50))
    factors = {name: Codes(np.zeros(ROWS, dtype=int), levels) for name in "abcde"}
    with pytest.raises(SchemaError, match=r"'a:b:c:d:e'.*more than 500 columns.*merge categories"):
        matrix(read_terms("~ a:b:c:d:e"), factors, ROWS)


def test_names_of_columns(table):
    found = own_matrix(
        table, '~ C(a, reference="y"):u + C(a, reference="y") + bs(v, df=3, lower_bound=0, upper_bound=10)'
    )
    assert {name: list(part.labels) for name, part in found.items()} == {
        "a": ["a=x", "a=z"],
        "bs(v, df=3)": ["bs(v, df=3)[0]", "bs(v, df=3)[1]", "bs(v, df=3)[2]"],
        "a:u": ["a=y:u", "a=x:u", "a=z:u"],
    }


def test_the_dictionary_tells_references_and_bounds():
    terms = read_terms("~ C(a) + b + bs(v, df=4) + bs(u, df=4, lower_bound=1)")
    entries = {"a": {"reference": "y"}, "b": {"reference": 1}, "v": {"bounds": [0, 10]}, "u": {"bounds": [0, 5]}}
    assert terms.with_dictionary(entries).text == (
        "~ C(a, reference='y') + C(b, reference='1') + bs(v, df=4, lower_bound=0.0, upper_bound=10.0)"
        " + bs(u, df=4, lower_bound=1.0, upper_bound=5.0)"
    )
    assert terms.with_dictionary(entries).names == terms.names
    with pytest.raises(SchemaError, match="needs public bounds"):
        terms.with_dictionary({"a": {"reference": "y"}})
    with pytest.raises(SchemaError, match="must increase"):
        read_terms("~ bs(v, knots=[7], lower_bound=1)").with_dictionary({"v": {"bounds": [0, 5]}})


def test_values_outside_the_bounds_are_moved_to_them():
    factor = read_terms("~ bs(v, df=4, lower_bound=0, upper_bound=10)").factors["bs(v, df=4)"]
    found = spline_basis(np.array([-5.0, 0.0, 10.0, 99.0]), factor.spline)
    np.testing.assert_array_equal(found[[0, 2]], found[[1, 3]])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert spline_basis(np.zeros(0), factor.spline).shape == (0, 5)


def test_a_fitted_model_knows_its_categories(table):
    terms, levels = read_terms("~ a + u:b"), {"a": ["x", "y", "z"], "b": ["p", "q"]}
    found = columns_at(terms, levels, table, ROWS)
    np.testing.assert_array_equal(found["a=z"], table["a"] == "z")
    np.testing.assert_array_equal(found["u:b=p"], table["u"] * (table["b"] == "p"))
    with pytest.raises(SchemaError, match="'a' is missing, or has a category"):
        columns_at(terms, {**levels, "a": ["x", "y"]}, table, ROWS)
    with pytest.raises(SchemaError, match="'u' is missing or no number"):
        columns_at(terms, levels, table.assign(u=np.nan), ROWS)
    with pytest.raises(SchemaError, match="'u:v' is out of range"):
        columns_at(read_terms("~ u:v"), {}, table.assign(u=1e200, v=1e200), ROWS)
    with pytest.raises(SchemaError, match="'a' is missing or no number"):
        columns_at(terms, {"b": ["p", "q"]}, table, ROWS)


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("", "give a text"),
        (7, "give a text"),
        ("~ a +", "at its end"),
        ("~ a b", "at 'b'"),
        ("~ 0 + a", "no intercept"),
        ("~ a - 1", "no intercept"),
        ("~ a ** 2", "cannot be read"),
        ("~ (a", "at its end"),
        ("~ a)", "cannot be read"),
        ("~ log(a", "cannot be read"),
        ("~ f(a)", "there is no f"),
        ("~ C(a + b)", "write C"),
        ("~ C(a, levels=[1])", "write C"),
        ("~ C(a, reference=[1])", "reference is a category"),
        ("~ C(a, **{'reference': 1})", "write C"),
        ("~ C(a, reference='x', reference='y')", "write C"),
        ("~ bs(a, df={[]: 1})", "write bs"),
        ("~ bs(a, df=4, upper_bound=1e999)", "are numbers"),
        ("~ I(" + "-" * 900 + "a)", "too deep"),
        ("~ C(" + "(" * 1900 + "a" + ")" * 1900 + ")", "write C"),
        ("~ I((lambda: a)())", "not allowed"),
        ("~ I(a.__class__)", "not allowed"),
        ("~ bs(a)", "df is a whole number"),
        ("~ bs(a, df=2)", "df is a whole number"),
        ("~ bs(a, df=31)", "df is a whole number"),
        ("~ bs(a, df=4, degree=0)", "degree"),
        ("~ bs(a, knots='a')", "are numbers"),
        ("~ bs(a, knots=[3, 2], lower_bound=0, upper_bound=5)", "must increase"),
        ("~ I(__import__('os'))", "not allowed"),
        ("~ bs(a, df=12, lower_bound=1, upper_bound=1.0000000000000002)", "must increase, by steps"),
        ("~ bs(a, df=4, lower_bound=0, upper_bound=1e-320)", "must increase, by steps"),
        ("~ bs(a, knots=[1e-300, 1], lower_bound=0, upper_bound=2)", "must increase, by steps"),
        ("~ C(a, reference='x') + a", "write it alike"),
        ("~ bs(a, df=4) + bs(a, df=5)", "two splines"),
        ("~ a:b + `a:b`", "name of a product"),
        ("~ a:b:c:d:e:f", "more than 5 factors"),
        ("~ " + " + ".join(f"a{place}" for place in range(201)), "more than 200 terms"),
        ("~ " + "(" * 50 + "a" + ")" * 50, "too deep"),
    ],
)
def test_what_is_outside_the_grammar_is_refused(formula, match):
    with pytest.raises(SchemaError, match=match):
        read_terms(formula)


def test_a_name_that_is_no_word_is_quoted_in_either_way():
    assert read_terms("~ age:Q('ph.ecog') + Q( \"a b\" )") == read_terms("~ age:`ph.ecog` + `a b`")
    kept = read_terms("C(x, reference=\"Q('a')\")")
    assert kept != read_terms('C(x, reference="`a`")')
