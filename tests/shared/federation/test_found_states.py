"""What an answer lists beside its counts: states and cut points that the owner of a column finds in its own records."""

import json
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import DataProblem, PolicyError, ThresholdError
from fedbayes.federation.vertical import coding, opening

ROWS = 150
DRAW = np.random.default_rng(1)
NAMES = [f"Name {row:03d}" for row in range(ROWS)]
INCOMES = np.round(DRAW.lognormal(10.0, 0.5, ROWS), 2)
GROUP = np.array(["x"] * 60 + ["y"] * 82 + ["z"] * 8)
ILL = np.where(np.arange(ROWS) < 142, DRAW.integers(0, 2, ROWS), np.arange(ROWS) == 145)
"""One of the eight of group z is ill."""
TASKS = {
    "names in a table": ("scalar_product", "contingency", {"columns": ["name", "ill"]}),
    "names in a network": ("vertibayes", "fit", {"columns": ["name", "ill"], "structure": [["ill", "name"]]}),
    "incomes in a table": ("scalar_product", "contingency", {"columns": ["income", "ill"], "bins": {"income": 1000}}),
    "incomes in a list": ("scalar_product", "contingency", {"columns": ["income"], "bins": 30}),
    "incomes in a network": (
        "vertibayes",
        "fit",
        {"columns": ["income", "ill"], "structure": [["ill", "income"]], "bins": {"income": 1000}},
    ),
    "names in an ensemble": (
        "bayesian_ensemble",
        "fit",
        {"label": "ill", "features": ["name", "sex"], "members": "party"},
    ),
}


def tables():
    ids = [f"p{row:03d}" for row in range(ROWS)]
    return {
        "a": pd.DataFrame({"id": ids, "income": INCOMES, "name": NAMES, "group": GROUP}),
        "b": pd.DataFrame({"id": ids, "ill": ILL.astype(int)}),
        "c": pd.DataFrame({"id": ids, "sex": DRAW.choice(["m", "f"], ROWS)}),
    }


def run(method, function, asked, **limits):
    policies = {"*": limits} if limits else None
    return OneProcess(tables(), helpers=["h"], policies=policies).run(method, function, {**asked, "id_column": "id"})


@pytest.mark.parametrize("name", TASKS)
def test_values_of_single_records_are_not_listed(name):
    with pytest.raises(ThresholdError, match=r"values of its station.s records|would list them"):
        run(*TASKS[name])


@pytest.mark.parametrize("name", ["names in a table", "incomes in a table"])
def test_control_unchecked_all_are(name):
    with mock.patch.object(coding, "_check_found"), mock.patch.object(coding, "rounded", lambda bins, _: bins):
        told = json.dumps(run(*TASKS[name]), default=str)
    values = NAMES if name.startswith("names") else [repr(float(income)) for income in INCOMES]
    assert sum(value in told for value in values) >= ROWS - 1


@pytest.mark.parametrize("bins", ["published", "quantile", 10, 20])
def test_ordinary_bins_are_found(bins):
    asked = {"columns": ["income", "ill"], "bins": bins}
    assert run("scalar_product", "contingency", asked)["axes"][0]["cuts"]


FOUND = {
    "table": ("scalar_product", "contingency", {"columns": ["income", "ill"]}),
    "network": ("vertibayes", "fit", {"columns": ["income", "ill"], "structure": [["ill", "income"]]}),
    "ensemble": ("bayesian_ensemble", "fit", {"label": "ill", "features": ["income", "sex"], "members": "party"}),
}


def found_cuts(question, bins):
    """Return the cut points of incomes that an answer tells, and the answer without these."""
    method, function, asked = FOUND[question]
    result = run(method, function, {**asked, "bins": bins})
    if question == "table":
        return result["axes"][0]["cuts"], result["counts"]
    model = result["model"] if question == "network" else result["model"]["members"][0]["network"]
    return model["nodes"]["income"]["cuts"], model["tables"]


@pytest.mark.parametrize("bins", ["published", "quantile", 10])
@pytest.mark.parametrize("question", FOUND)
def test_no_cut_point_is_the_value_of_a_record(question, bins):
    """A published result told to all digits what one person in ten earns, and so to who knows a person's income that this one is in the file."""
    told, counts = found_cuts(question, bins)
    assert told
    assert not np.isin(told, INCOMES).any()
    with mock.patch.object(coding, "rounded", lambda cuts, _: cuts):
        own, same = found_cuts(question, bins)
    assert np.isin(own, INCOMES).all(), "control"
    assert same == counts, "the bins hold the same records"


def test_a_few_rare_categories_are_found():
    rare = tables()["a"].assign(group=np.where(np.arange(ROWS) < 4, NAMES, GROUP))
    parties = {**tables(), "a": rare}
    asked = {"columns": ["group", "ill"], "id_column": "id"}
    assert len(OneProcess(parties, helpers=["h"]).run("scalar_product", "contingency", asked)["axes"][0]["labels"]) == 7


WEIGHED = {
    "a recode to numbers": {"type": "number", "bounds": [0, 1e7], "recode": {"x": 1, "y": 100, "z": 10000}},
    "a recode to texts of numbers": {
        "type": "category",
        "categories": ["1", "100", "10000"],
        "recode": {"x": "1", "y": "100", "z": "10000"},
    },
}
PRODUCT = ("scalar_product", "scalar_product")


def weighed(entry, **limits):
    columns = {"group": entry, "ill": {"type": "integer", "bounds": [0, 1]}}
    return run(*PRODUCT, {"columns": ["group", "ill"], "dictionary": {"columns": columns}}, **limits)


@pytest.mark.parametrize("name", WEIGHED)
def test_no_sum_weighs_records_by_numbers_of_the_tasks_choice(name):
    """Its digits would be the table, that of the one ill of group z too."""
    with pytest.raises(PolicyError, match="numbers that the task chose"):
        weighed(WEIGHED[name])


@pytest.mark.parametrize("name", WEIGHED)
def test_control_unchecked_the_digits_are_the_table(name):
    with mock.patch.object(opening, "check_weights"):
        told = f"{weighed(WEIGHED[name])['scalar_product']:.0f}"
    assert (int(told[-2:]), int(told[-4:-2]), int(told[:-4])) == tuple(ILL[one == GROUP].sum() for one in "xyz")
    assert weighed(WEIGHED[name], allow_formulas=True)["scalar_product"] == float(told), "by the administrator's leave"


def test_a_recode_to_nought_and_one_is_a_group():
    entry = {"type": "integer", "bounds": [0, 1], "recode": {"x": 0, "y": 1, "z": 0}}
    assert weighed(entry)["scalar_product"] == ILL[GROUP == "y"].sum()


def test_a_cut_is_no_number_of_a_product():
    columns = {
        "band": {"type": "category", "categories": ["1", "100"], "cut": {"column": "income", "at": [20000]}},
        "ill": {"type": "integer", "bounds": [0, 1]},
    }
    with pytest.raises((PolicyError, DataProblem), match="numbers that the task chose"):
        run(*PRODUCT, {"columns": ["band", "ill"], "dictionary": {"columns": columns}})
