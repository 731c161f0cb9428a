"""What a formula or a dictionary chooses sets no few records apart: products, knots, bounds, expressions, cuts and recodes."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.federation.errors import DataProblem
from v6_verticox.stations.formula import design_of_terms
from v6_verticox.stations.near_duplicates import check_rewritten

ROWS = 240


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"age": rng.normal(60, 9, ROWS).round(2), "bmi": rng.uniform(18, 45, ROWS).round(2)})
    return frame.assign(stage=rng.choice(["I", "II", "III"], ROWS), arm=rng.choice(["drug", "placebo"], ROWS))


def cells(frame, formula):
    return design_of_terms(frame, read_terms(formula), 5)


def test_products_and_knots_cannot_be_aimed_at_few_records(patients):
    few = patients.assign(pair=np.where(np.arange(ROWS) < 120, "m", "n"), rare="no")
    few.loc[[0, 1, 121, 122, 123, 124, 125, 126], "rare"] = "yes"
    assert cells(few, "~ rare + pair").values.shape == (ROWS, 2)
    with pytest.raises(DataProblem, match="'rare:pair'"):
        cells(few, "~ rare:pair + age")
    near = few.assign(bmi=np.where(np.arange(ROWS) < 1, 30.0, np.where(np.arange(ROWS) < 120, 20.0, 40.0)))
    with pytest.raises(DataProblem, match=r"bs\(bmi"):
        cells(near, "~ bs(bmi, knots=[29.9, 30.0, 30.1], degree=1, lower_bound=15, upper_bound=50)")


AIMED = [  # each would have a column, or span one, that one record of the first carries
    ("~ smokes:treated + age", r"'smokes:treated'"),
    ("~ smokes*treated", r"'smokes:treated'"),
    ("~ smokes:C(treated)", r"'smokes:treated'"),
    ("~ age + bs(bmi, df=3, lower_bound=15, upper_bound=44.9) + bmi", r"'bs\(bmi, df=3\)'.*outside a bound"),
    ("~ bs(bmi, knots=[27.9, 28.1], degree=1, lower_bound=15, upper_bound=50) + pair", "between two knots"),
    ("~ bs(bmi, df=3, lower_bound=15, upper_bound=50):smokes:treated", "'bs.*:smokes:treated'"),
    ("~ I(bmi == 45)", "two values"),
    ("~ exp(bmi * 10)", "carried by fewer records"),
    ("~ I(bmi + 1e6 * (bmi == 45))", "carried by fewer records"),
]


@pytest.mark.parametrize(("formula", "match"), AIMED)
def test_one_record_is_not_set_apart(patients, formula, match):
    places = np.arange(ROWS)
    bmi = np.where(places == 0, 45.0, np.where(places == 1, 28.0, np.where(places < 120, 20.0, 40.0) + places / 100))
    smokes, treated = (places < 60).astype(int), ((places == 0) | (places >= 60)).astype(int)
    frame = patients.assign(bmi=bmi, smokes=smokes, treated=treated, pair=np.where(places < 120, "m", "n"))
    with pytest.raises(DataProblem, match=match):
        cells(frame, formula)


def rewritten(**entries):
    return Dictionary.from_json({"columns": entries})


def test_recodes_and_cuts_are_aimed_at_no_record(patients):
    places = np.arange(ROWS)
    over = pd.Series(np.where(places < 100, "no", "yes"))
    cut = pd.Series(np.where(places < 101, "young", np.where(places < 170, "old", "oldest")))
    frame = patients.assign(over=over, band=cut, stage=patients["stage"])
    told = rewritten(
        band={"type": "category", "categories": ["young", "old", "oldest"], "cut": {"column": "age", "at": [60, 70]}}
    )
    check_rewritten(told, frame, ["band", "stage", "bmi", "arm"], 5)
    with pytest.raises(DataProblem, match="'band' and 'over' differ in fewer records"):
        check_rewritten(told, frame, ["band", "over"], 5)
    check_rewritten(told, frame.assign(over=np.where(places < 95, "no", "yes")), ["band", "over"], 5)
    check_rewritten(told, frame.assign(over=np.where(places < 101, "no", "yes")), ["band", "over"], 5)
    recoded = rewritten(age={"type": "number", "recode": {"60": 0, "61": 1}})
    check_rewritten(recoded, patients, ["age", "stage"], 5)
    with pytest.raises(DataProblem, match="'age' is recoded to values that fewer records"):
        check_rewritten(recoded, patients.assign(age=np.where(places == 7, 1.0, 0.001 * (places < 20))), ["age"], 5)


def test_a_product_with_a_spline_counts_what_is_left_out(patients):
    """The first category and the basis' first column have no column of their own, but the model spans their product."""
    places = np.arange(ROWS)
    low = (places < 1) | ((places >= 120) & (places < 180))
    frame = patients.assign(pair=np.where(places < 120, "m", "n"), bmi=np.where(low, 16.0, 45.0) + places / 1000)
    spline = "bs(bmi, df=1, degree=1, lower_bound=15, upper_bound=50)"
    assert cells(frame, f"~ {spline} + pair").values.shape == (ROWS, 2)
    near = frame.assign(bmi=np.where(low, 15.0, 50.0))
    with pytest.raises(DataProblem, match=r"'bs.*:pair'"):
        cells(near, f"~ {spline}*pair")


@pytest.mark.parametrize(
    "formula", ["~ log(zero)", "~ I(1 / zero)", "~ sqrt(zero - 1)", "~ exp(1000 * age)", "~ log(stage)"]
)
def test_values_that_are_no_numbers_are_refused(patients, formula):
    with pytest.raises(DataProblem, match=r"feature '.*' is missing or no number in some records; fill in"):
        cells(patients.assign(zero=np.arange(ROWS) % 7), formula)


def test_a_product_out_of_range_is_refused(patients):
    with pytest.raises(DataProblem, match="'age:bmi' has values of an extreme size"):
        cells(patients.assign(age=patients["age"] * 1e200, bmi=patients["bmi"] * 1e200), "~ age:bmi")
