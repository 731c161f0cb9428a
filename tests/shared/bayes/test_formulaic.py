"""Random formulae have the columns that formulaic makes of them; what the grammar lacks, or is written in two ways, is refused by name."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.formulae.model_matrix import columns_at
from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.values.encoding import SchemaError

formulaic = pytest.importorskip("formulaic")

ROWS = 80
FACTORS = [
    ("a", "a"),
    ("b", "b"),
    ("`a factor`", "`a factor`"),
    ("C(g)", "C(g)"),
    ('C(k, reference="y")', 'C(k, contr.treatment("y"))'),
    ("C(h, reference=2)", "C(h, contr.treatment(2))"),
    ("u", "u"),
    ("Q('o d %s')", "`o d %s`"),
    ("log(v)", "log(v)"),
    ("I(u ** 2)", "I(u ** 2)"),
    ("I(u * v - 2)", "I(u * v - 2)"),
    ("I(u > 0)", "I(u > 0)"),
    ("I(a == 'x')", "I(a == 'x')"),
    ("min(u, w)", "min(u, w)"),
    ("bs(v, knots=[3, 6], lower_bound=0, upper_bound=10)", "bs(v, knots=[3, 6], lower_bound=0, upper_bound=10)"),
    (
        "bs(w, df=4, degree=2, lower_bound=0, upper_bound=9)",
        "bs(w, knots=[3, 6], degree=2, lower_bound=0, upper_bound=9)",
    ),
]
CATEGORIES = ("a", "b", "a factor")
FUNCTIONS = {"min": np.minimum}


def frame_of(random):
    numbers = {"u": random.normal(size=ROWS), "v": random.uniform(0.1, 9.9, ROWS), "w": random.uniform(0, 9, ROWS)}
    codes = {name: random.integers(1, 4, ROWS) for name in ("g", "h")}
    texts = {name: random.choice(list("xyz"), ROWS) for name in ("a", "k")}
    odd = {"b": random.choice(["p q", "%s"], ROWS), "a factor": random.choice(["é", "None"], ROWS)}
    return pd.DataFrame({**numbers, **codes, **texts, **odd, "o d %s": random.normal(size=ROWS)})


def expression(random, depth=0):
    """Return a random right side, as ours and as formulaic's."""
    if depth > 2 or random.random() < 0.35:
        return FACTORS[int(random.integers(len(FACTORS)))]
    sign = (" + ", ":", "*")[int(random.integers(3))]
    sides = [expression(random, depth + 1) for _ in range(2)]
    grouped = random.random() < 0.5
    return tuple(sign.join(f"({side[which]})" if grouped else side[which] for side in sides) for which in range(2))


def levels_of(terms, frame):
    levels = {}
    for name, factor in terms.factors.items():
        if factor.categorical or factor.name in CATEGORIES:
            known = sorted({str(value) for value in frame[factor.columns[0]]})
            levels[name] = sorted(known, key=lambda level, first=factor.reference or known[0]: level != first)
    return levels


def in_order(matrix):
    return matrix[:, np.lexsort(np.round(matrix, 9)[::-1])]


@pytest.mark.parametrize("seed", range(12))
def test_columns_are_those_of_formulaic(seed):
    random = np.random.default_rng(seed)
    frame, compared = frame_of(random), 0
    while compared < 6:
        ours, theirs = expression(random)
        if ours.count(":") + ours.count("*") - 2 * ours.count("**") > 4:
            continue  # products of more factors are refused
        terms = read_terms(f"~ {ours}")
        made = np.stack(list(columns_at(terms, levels_of(terms, frame), frame, ROWS).values()), axis=1)
        expected = formulaic.model_matrix(theirs, frame, context=FUNCTIONS).drop(columns="Intercept")
        assert made.shape == expected.shape, ours
        np.testing.assert_allclose(in_order(made), in_order(expected.to_numpy(float)), atol=1e-9, err_msg=ours)
        compared += 1


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("scale(u)", r"no scale\(\.\.\.\)"),
        ("center(u)", r"no center\(\.\.\.\)"),
        ("poly(u, 2)", r"no poly\(\.\.\.\)"),
        ("cr(u, df=3)", r"no cr\(\.\.\.\)"),
        ("log10(v)", r"no log10\(\.\.\.\)"),
        ("strata(a)", r"no strata\(\.\.\.\)"),
        ("np.log(v)", r"at '\.log\(v\)'"),
        ("a - u", "at '- u'"),
        ("a / u", "at '/ u'"),
        ("(a + u)**2", r"at '\*2'"),
        ("u - 1", "at '- 1'"),
        ("0 + u", r"at '0 \+ u'"),
        ("u + 3", "at '3'"),
        ("C(a, contr.sum)", r"write C\(column"),
        ("bs(u, df=4, include_intercept=True)", r"write bs\(column"),
        ("bs(log(v), df=4)", r"write bs\(column"),
        ("I(u % 2)", "not allowed"),
        ("C(g, reference=2):C(g)", "'g' has different references in two places"),
        ("u*C(g, reference=2)*C(g, reference=1)", "'g' has different references in two places"),
        ("C(g, reference=2) + C(g)", "'g' has different references in two places"),
        ("C(a):a", r"'a' is a category in one place, C\(a\), and a number in another"),
        (
            "bs(v, df=4, lower_bound=0, upper_bound=9):bs(v, df=4, lower_bound=1, upper_bound=9)",
            r"'bs\(v, df=4\)' has different bounds in two places",
        ),
    ],
)
def test_what_the_grammar_lacks_is_refused_by_name(formula, match):
    with pytest.raises(SchemaError, match=match):
        read_terms(f"~ {formula}")
