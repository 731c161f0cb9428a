"""Bins and groups of states that are left to the plan: from domain, budget and rows as they were told; what is given stays."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_process import OneProcess

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import DEFAULT_BINS
from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.local import Job
from fedbayes.federation.errors import ArgumentError
from v6_dp_naive_bayes.arguments import Fit, planned
from v6_dp_naive_bayes.grouping import grouped, ungrouped

NAME = "dp_naive_bayes"
STATES = list(range(17))
DOMAIN = {
    **{f"pixel {place}": {"categories": STATES} for place in range(20)},
    "income": {"bounds": [0, 100_000]},
    "age": {"bounds": [0, 100]},
    "town": {"categories": [f"t{place}" for place in range(17)]},
    "digit": {"categories": [f"{number}" for number in range(10)]},
}
ASKED = {"label": "digit", "domain": DOMAIN, "epsilon": 0.5}


def frame(seed, rows):
    generator = np.random.default_rng(seed)
    columns = {name: generator.integers(0, 17, rows) for name in DOMAIN if name.startswith("pixel")}
    return pd.DataFrame(
        {
            **columns,
            "income": generator.uniform(0, 10.0**seed, rows),
            "age": generator.uniform(0, 20 * seed, rows),
            "town": [f"t{place}" for place in generator.integers(0, 3 * seed, rows)],
            "digit": generator.integers(0, 10, rows).astype(str),
        }
    )


def read(**change):
    asked = Fit.read("fit", {**ASKED, **change})
    return planned(asked, asked.columns)


def test_wide_ranges_have_logarithmic_bins_where_floats_tell_a_scale_of_ones():
    assert len(read().bins["income"]) + 1 == 4
    assert read(domain={**DOMAIN, "income": {"bounds": [1e15, 2e15]}}).bins["income"] == 4


def test_the_same_is_chosen_whatever_the_data_are_and_plans_tell_it():
    found = []
    for seed, rows in ((1, 30), (5, 300)):
        with OneProcess({name: frame(seed, rows) for name in "abc"}) as federation:
            found.append(federation.run(NAME, "fit", ASKED))
    told = [result["diagnostics"]["left_to_the_plan"] for result in found]
    assert told[0] == told[1] == plan(Job(NAME, "fit", ASKED), Setting())["chosen"]
    assert told[0]["groups of states"] == {f"pixel {place}": 4 for place in range(20)}
    assert told[0]["bins"] == {"income": 4, "age": 4}
    for result in found:
        model = NaiveBayes.from_dict(result["model"])
        assert model.features["income"].edges[1] < 50, "a wide range is cut on a logarithmic scale"
        assert model.features["pixel 0"].counts.shape == (10, 17)
        assert np.unique(model.features["pixel 0"].counts.round(9), axis=1).shape[1] == 4, (
            "two groups may be alike in some class"
        )


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"epsilon": 0.1}, 2),
        ({"rows": 1500}, 2),
        ({"rows": 1500, "delta": 1e-6}, 2),
        ({}, 4),
        ({"epsilon": 0.9}, 8),
        ({"rows": 10**6}, DEFAULT_BINS),
        ({"noise": "none", "epsilon": None}, DEFAULT_BINS),
        ({"bins": DEFAULT_BINS, "epsilon": 0.1}, DEFAULT_BINS),
        ({"bins": 7, "epsilon": 0.1}, 7),
    ],
)
def test_fewer_bins_are_taken_the_less_rows_stand_out_of_the_noise(change, number):
    found = read(**change)
    assert found.bins["age"] == number
    left = "bins" not in change and number < DEFAULT_BINS
    assert set(found.groups) == ({f"pixel {place}" for place in range(20)} if left else set())
    assert isinstance(found.bins["income"], list) == left


@pytest.mark.parametrize(
    "states", [list("abcdefghijk"), [5, *range(5), *range(6, 11)], [True, False], [0, 1], ["0", "1", "2", "3", "4"]]
)
def test_states_that_are_no_numbers_in_order_or_few_stay_as_they_are(states):
    assert not read(domain={"x": {"categories": states}, **DOMAIN}, epsilon=0.05).groups.get("x")


def test_states_stay_as_they_are_where_they_stand_out_of_the_noise():
    found = read(epsilon=0.9, domain={"x": {"categories": list(range(9))}, **DOMAIN})
    assert found.bins["age"] == 8
    assert "pixel 0" in found.groups
    assert "x" not in found.groups


def test_an_update_adds_to_a_model_of_groups():
    with OneProcess({name: frame(2, 200) for name in "abcd"}) as federation:
        first = federation.run(NAME, "fit", {**ASKED, "organizations": ["a", "b", "c"]})
        added = {"model": first["model"], "epsilon": 1.0, "noise": "local", "organizations": ["d"]}
        result = federation.run(NAME, "update", added)
    assert NaiveBayes.from_dict(result["model"]).features["pixel 0"].counts.shape == (10, 17)


def test_rows_without_a_use_are_told_and_what_is_no_number_of_rows_is_refused():
    assert Fit.read("fit", {**ASKED, "rows": 100, "bins": 3}).unused() == ["rows has no effect with bins"]
    with pytest.raises(ArgumentError, match="rows"):
        Fit.read("fit", {**ASKED, "rows": 0})


@given(st.integers(1, 40).flatmap(lambda states: st.tuples(st.just(states), st.integers(1, states))))
def test_groups_keep_every_row_and_ungrouping_is_undone_by_grouping(sizes):
    states, groups = sizes
    table = np.random.default_rng(states).integers(0, 50, (3, states + 1))
    small = grouped(table, groups)
    assert small.shape == (3, groups + 1)
    assert (small.sum(axis=1) == table.sum(axis=1)).all()
    assert (small[:, -1] == table[:, -1]).all()
    wide = ungrouped(small.astype(float), states)
    assert wide.shape == table.shape
    assert np.allclose(wide.sum(axis=1), table.sum(axis=1))
    assert (grouped(np.rint(wide * 10_000_000).astype(int), groups) // 9_999_999 >= small - 1).all()
    assert (grouped(table, states) == table).all()
