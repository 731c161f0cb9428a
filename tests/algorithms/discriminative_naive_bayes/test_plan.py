"""What is left to the plan is chosen from the domain, the budget and the rows that the caller tells: the same whatever the data are."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from sklearn.datasets import load_iris
from weighted_tables import DOMAIN, table

from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.local import Job
from fedbayes.federation.horizontal import Columns, check_bins
from v6_discriminative_naive_bayes.arguments import Fit
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.plan import FEW_BINS, FEWEST_BINS, MANY_BINS, usual_bins
from v6_discriminative_naive_bayes.terms import fits

ALGORITHM = "discriminative_naive_bayes"
WIDE = {**DOMAIN, "income": {"bounds": [0, 100_000]}}
PRIVATE = {"label": "class", "domain": WIDE, "epsilon": 1.0, "tables": "dp"}


def frames(seed, rows):
    generator = np.random.default_rng(seed)
    return {name: table(rows, seed).assign(income=generator.uniform(0, 10.0**seed, rows)) for name in "abc"}


def chosen(seed, rows, **change):
    with OneProcess(frames(seed, rows)) as federation:
        result = federation.run(ALGORITHM, "fit", {**PRIVATE, **change})
    told = dict(result["diagnostics"]["left_to_the_plan"])
    told.pop("clip", None)  # of the noisy tables, after the plan
    return told, result["model"]["bins"], result["diagnostics"]["steps"]


def test_the_same_is_chosen_whatever_the_data_are():
    first, second = chosen(1, 40), chosen(5, 400)
    assert first == second
    told, bins, steps = first
    foreseen = plan(Job(ALGORITHM, "fit", PRIVATE), Setting())
    assert {name: value for name, value in foreseen["chosen"].items()} == told
    assert told["rounds"] == steps == 8
    assert foreseen["rounds"] == steps + 2
    assert isinstance(bins["income"], list), "a wide range is cut on a logarithmic scale"


@pytest.mark.parametrize(
    ("epsilon", "rows", "number"), [(0.1, None, FEW_BINS), (1.0, 32_561, MANY_BINS), (0.1, 10**7, MANY_BINS)]
)
def test_more_bins_are_taken_where_rows_stand_far_out_of_the_noise(epsilon, rows, number):
    names = [name for name in WIDE if name != "class"]
    columns = Columns("class", names, WIDE)
    bins = usual_bins(columns, epsilon, 1e-6, rows)
    assert bins["z"] == number
    edges = columns.schema["income"].edges(bins["income"])
    assert len(edges) - 1 >= number
    assert (np.diff(edges) > 0).all()
    assert edges[1] < 10.0


@pytest.mark.parametrize(
    "bounds", [[1.6e18, 1.7e18], [-1.6e18, 0.0], [2e9, 3e9], [0.0, 1e20], [2.0**60, 2.0**60 + 2.0**21]]
)
@pytest.mark.parametrize("rows", [None, 10**7])
def test_a_wide_range_far_from_zero_has_bins_that_floats_tell_apart(bounds, rows):
    """As of moments in nanoseconds: on a scale of ones from such a low bound edges would be the same number."""
    columns = Columns("y", ["x"], {"x": {"bounds": bounds}, "y": {"categories": ["a", "b"]}})
    bins = usual_bins(columns, 1.0, 1e-6, rows)
    edges = columns.schema["x"].edges(bins["x"])
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 >= FEW_BINS
    assert isinstance(bins["x"], int) == (abs(bounds[0]) > 1e13)


@pytest.mark.parametrize(
    ("features", "classes", "rows", "number"),
    [(12, 2, 10**7, MANY_BINS), (40, 2, 10**7, FEW_BINS), (64, 10, None, FEWEST_BINS), (64, 10, 10**7, FEWEST_BINS)],
)
def test_fewer_bins_are_taken_where_more_would_not_fit_steps_by_terms(features, classes, rows, number):
    domain = {f"x{place}": {"bounds": [0, 17]} for place in range(features)}
    columns = Columns("y", list(domain), {**domain, "y": {"categories": [f"c{place}" for place in range(classes)]}})
    bins = usual_bins(columns, 1.0, 1e-6, rows)
    assert set(bins.values()) == {number}
    assert fits(Shape(columns, check_bins(columns, bins), tables="dp").layout)


def test_bins_are_as_many_as_ever_where_no_number_fits():
    domain = {f"x{place}": {"bounds": [0, 17]} for place in range(200)}
    columns = Columns("y", list(domain), {**domain, "y": {"categories": [f"c{place}" for place in range(10)]}})
    assert set(usual_bins(columns, 1.0, 1e-6, None).values()) == {FEW_BINS}


def test_what_the_caller_says_is_not_chosen():
    asked = Fit.read("fit", {**PRIVATE, "rounds": 3, "bins": 4, "clip": 1.0})
    assert asked.foreseen() == {}
    assert asked.steps == 3
    exact = Fit.read("fit", {"label": "class", "domain": WIDE})
    assert exact.steps == 40
    assert Fit.read("fit", {"label": "class", "domain": WIDE, "optimizer": "fedavg"}).steps == 17
    identified = {"unit": "identifier", "id_column": "person", "max_rows_per_identifier": 2}
    domain = {**WIDE, "person": {"bounds": [0, 10_000]}}
    people = Fit.read("fit", {**PRIVATE, **identified, "domain": domain})
    assert people.foreseen() == Fit.read("fit", PRIVATE).foreseen(), "the column of identifiers is no feature"
    names = [name for name in WIDE if name != "class"]
    assert set(exact.cut(Columns("class", names, WIDE)).values()) == {10}


def test_rows_without_use_are_told():
    with OneProcess(frames(1, 40)) as federation:
        result = federation.run(ALGORITHM, "fit", {**PRIVATE, "rounds": 1, "bins": 4, "rows": 100})
    assert any("rows" in text for text in result["warnings"])


def test_a_fit_of_iris_converges_by_default():
    flowers = load_iris()
    people = pd.DataFrame(flowers.data).rename(columns=lambda place: f"x{place}")
    people["y"] = flowers.target_names[flowers.target]
    domain = {
        "y": {"categories": flowers.target_names.tolist()},
        **{f"x{place}": {"bounds": [0, 8]} for place in range(4)},
    }
    task = {"label": "y", "domain": domain}
    with OneProcess({name: people.iloc[place::3] for place, name in enumerate("abc")}) as federation:
        result = federation.run(ALGORITHM, "fit", task)
        short = federation.run(ALGORITHM, "fit", {**task, "rounds": 17})
    assert result["diagnostics"]["converged"] is True
    assert not any("had not converged" in text for text in result["warnings"])
    assert short["diagnostics"]["converged"] is False
    assert short["federation"]["rounds"] < result["federation"]["rounds"] <= 30
