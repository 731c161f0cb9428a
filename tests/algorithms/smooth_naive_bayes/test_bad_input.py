"""Every bad argument and file gives an error that names it and the remedy, and never a data value."""

import ast
import copy
import inspect
import math
import re

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.features import Gaussian
from fedbayes.bayes.schema import Schema
from fedbayes.federation import errors
from v6_smooth_naive_bayes import options, partial
from v6_smooth_naive_bayes.arguments import Fit
from v6_smooth_naive_bayes.messages import Settings
from v6_smooth_naive_bayes.warnings import lost_in_noise

NAME = "smooth_naive_bayes"


@pytest.fixture
def federation(parties):
    with OneProcess(parties) as running:
        yield running


def fit(federation, public, **changes):
    arguments = {"label": "class", "domain": public, "epsilon": 1.0, **changes}
    return federation.run(NAME, "fit", arguments)


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("epsilon", [0, -1.0, math.nan, math.inf, True, "1", None]),
        ("sensitivity", ["local", None, 3]),
        ("noise", ["laplace", None]),
        ("degrees_of_freedom", [0, 0.5, "3", math.nan, True, 1e9, None]),
        ("neighbors", ["swap", ["add_remove"]]),
    ],
)
def test_wrong_settings_are_named(argument, values):
    right = {
        "epsilon": 1.0,
        "sensitivity": "smooth",
        "noise": "cauchy",
        "degrees_of_freedom": 3,
        "neighbors": "add_remove",
    }
    assert Fit.read("fit", {"label": "class", **right}).settings.epsilon == 1.0
    for value in values:
        with pytest.raises(errors.ArgumentError, match=argument):
            Fit.read("fit", {"label": "class", **right, argument: value})


def test_wrong_arguments_end_the_task_with_their_name(federation, domain):
    for argument, value in (("epsilon", math.nan), ("label", ""), ("noise", "laplace")):
        with pytest.raises(errors.ArgumentError, match=argument):
            fit(federation, domain, **{argument: value})


def test_wrong_columns_and_domains_are_named(federation, domain):
    without_label = {name: domain[name] for name in ("age", "smoker")}
    one_class = {**domain, "class": {"categories": ["healthy"]}}
    cases = [
        ({"features": ["age", "nothing"]}, "nothing"),
        ({"features": ["age", "class"]}, "features"),
        ({"features": []}, "features"),
        ({"domain": without_label}, "class"),
        ({"domain": one_class}, "class"),
        ({"domain": {**domain, "age": {"bounds": [10, 1]}}}, "age"),
        ({"domain": {**domain, "age": {"bounds": [0, 1e-80]}}}, "'age': bounds .* change its unit"),
        ({"domain": {**domain, "age": {"bounds": [0, 1e80]}}}, "'age': bounds .* change its unit"),
        ({"domain": None}, "domain"),
        ({"label": "age"}, "age"),
        ({"features": ["age", "age"]}, "features"),
        (
            {
                "domain": {
                    **domain,
                    "class": {"categories": list(range(90_000))},
                    "smoker": {"categories": list(range(90_000))},
                }
            },
            "domain.*fewer",
        ),
        ({"domain": {**domain, "class": {"categories": list(range(15_000))}}}, "domain.*fewer"),
        ({"epsilon": 1e-8}, "epsilon .* give at least 5e-06"),
        ({"epsilon": 1e-4, "noise": "student_t", "degrees_of_freedom": 1000}, "degrees_of_freedom .* give fewer"),
        ({"organizations": ["nowhere"]}, "organizations"),
        ({"epsilons": 3}, "epsilons"),
    ]
    for changes, named in cases:
        with pytest.raises(errors.ArgumentError, match=named):
            fit(federation, domain, **changes)


def test_wrong_files_are_named_without_a_value(parties, tables, domain):
    tables["south"].assign(age="secret-word").to_csv(parties["south"]["default"], index=False)
    printed = {"sensitivity": "published"}
    with OneProcess(parties) as federation:
        with pytest.raises(errors.DataProblem, match=r"south: .*age") as caught:
            fit(federation, domain, **printed)
        assert fit(federation, domain)["model"]  # a refusal would be an answer that nobody paid for
    assert "secret-word" not in str(caught.value)
    tables["south"].drop(columns="age").to_csv(parties["south"]["default"], index=False)
    with OneProcess(parties) as federation, pytest.raises(errors.DataProblem, match="'age'"):
        fit(federation, domain)


def test_too_few_rows_or_organizations_are_refused(parties, tables, domain):
    tables["west"].head(5).to_csv(parties["west"]["default"], index=False)
    with OneProcess(parties) as federation:
        with pytest.raises(errors.ThresholdError, match=r"west: .*fewer rows"):
            fit(federation, domain)
        with pytest.raises(errors.ThresholdError, match="organizations"):
            fit(federation, domain, organizations=["east", "south"])


def test_a_station_checks_the_release_itself(parties, domain):
    """Central is not believed: bounds whose squares are no floats are refused before the ledger is charged."""
    from fedbayes.federation.horizontal import Columns

    wrong = {"age": {"bounds": [0, 1e-80]}, "class": domain["class"]}
    with pytest.raises(errors.ArgumentError, match="'age'"):
        options.check_release(Columns("class", ["age"], wrong), options.Settings(1.0))
    with pytest.raises(errors.ArgumentError, match="outside"):
        options.check_release(
            Columns("class", ["age"], {**wrong, "age": domain["age"]}, "refuse"), options.Settings(1.0)
        )
    called = {name.id for name in ast.walk(ast.parse(inspect.getsource(partial))) if isinstance(name, ast.Name)}
    assert "check_release" in called


def test_a_model_that_is_none_is_refused(federation, domain):
    broken = fit(federation, domain)["model"]
    holed = copy.deepcopy(broken)
    holed["class_counts"][0] = None
    far = copy.deepcopy(broken)
    far["features"]["age"]["total"][1] = math.nan
    for model in ({}, {"format": "other"}, "model", None, holed, far):
        with pytest.raises(errors.ArgumentError, match="model"):
            federation.run(NAME, "evaluate", {"model": model})


def test_a_label_that_is_a_feature_is_refused(federation, domain):
    model = fit(federation, domain)["model"]
    with pytest.raises(errors.ArgumentError, match="label 'smoker' is a feature"):
        federation.run(NAME, "evaluate", {"model": model, "label": "smoker"})


def test_many_classes_that_drown_are_one_warning_each(federation, domain):
    many = {**domain, "class": {"categories": ["healthy", "ill", "severe", *(f"unseen {k}" for k in range(30))]}}
    warnings = fit(federation, many, epsilon=0.001)["warnings"]
    assert sum("noise in the means" in text for text in warnings) == 1
    rows = [text for text in warnings if "rows of classes" in text]
    assert len(rows) <= 1
    assert all(len(text) < 400 for text in warnings)
    assert any(" more is about" in text or " more do not" in text for text in warnings)


@pytest.mark.parametrize(
    ("sensitivity", "noise"), [("smooth", "student_t"), ("smooth", "cauchy"), ("global", "cauchy")]
)
def test_moments_whose_spread_is_noise_are_warned_of_with_what_would_help(sensitivity, noise):
    """The bounds are 80 standard deviations wide: at epsilon 1 models of 600 rows do little better than chance."""
    random = np.random.default_rng(1)
    codes = random.integers(0, 2, 600)
    rows = {"y": np.array(["a", "b"])[codes], "wide": 50 + 4 * codes + 3 * random.normal(size=600)}
    table = pd.DataFrame({**rows, "wider": 100 + 8 * codes + 6 * random.normal(size=600)})
    domain = {"y": {"categories": ["a", "b"]}, "wide": {"bounds": [0, 250]}, "wider": {"bounds": [0, 500]}}
    given = {"label": "y", "domain": domain, "sensitivity": sensitivity, "noise": noise}
    with OneProcess({name: table.iloc[start::3] for start, name in enumerate("abc")}) as federation:
        loud = [federation.run("smooth_naive_bayes", "fit", {**given, "epsilon": 1.0})["warnings"] for _ in range(4)]
        quiet = federation.run("smooth_naive_bayes", "fit", {**given, "epsilon": 1e3})["warnings"]
    told = [text for warnings in loud for text in warnings if "noise dominates" in text]
    assert len(told) >= 2  # heavy tails: a draw can look like a spread
    assert all("narrower bounds of 'wide'" in text or "narrower bounds of 'wider'" in text for text in told)
    assert all(("sensitivity='global'" in text) == (sensitivity == "smooth") for text in told)
    assert not [text for text in quiet if "dominates" in text]


@pytest.mark.parametrize(
    ("means", "variances", "loud"),
    [
        ([0.50, 0.52], [0.004, 0.004], True),
        ([0.36, 0.58], [0.004, 0.004], True),  # four scales of the noise apart, three deviations of what seems a spread
        ([0.50, 0.52], [0.20, 0.15], True),  # below three scales of the noise
        ([0.50, 0.52], [0.25, 0.25], False),
        ([0.10, 0.90], [0.004, 0.004], False),
    ],
)
def test_heavy_draws_of_noise_pass_neither_for_a_spread_nor_for_classes_that_differ(means, variances, loud):
    """Noise of a twentieth of the range in means, 1.5 times that in variances: what is judged is no random draw."""
    feature = Gaussian.from_parameters([300.0, 300.0], np.array(means), np.array(variances), (0.0, 1.0))
    schema = Schema.from_domain({"y": {"categories": ["a", "b"]}, "x": {"bounds": [0.0, 1.0]}})
    model = NaiveBayes(schema, "y", np.array([300.0, 300.0]), {"x": feature})
    texts = lost_in_noise(model, Settings(1.0), {"x": {"a": 0.05, "b": 0.05}})
    assert any("noise dominates" in text for text in texts) == loud


def test_arguments_without_effect_and_much_noise_are_warned_of(federation, domain):
    told = fit(federation, domain, sensitivity="global", noise="student_t", degrees_of_freedom=5, epsilon=1000.0)
    assert [text.split()[0] for text in told["warnings"]] == ["noise", "degrees_of_freedom"]
    assert max(part for parts in told["diagnostics"]["noise_of_means"].values() for part in parts.values()) < 0.01
    printed = fit(federation, domain, sensitivity="published", neighbors="replace_one")["warnings"]
    assert [text.split()[0] for text in printed] == ["neighbors"]
    tables = fit(federation, domain, features=["smoker"], sensitivity="global", noise="student_t")["warnings"]
    assert [text.split()[0] for text in tables if "effect" in text] == ["noise", "sensitivity"]
    nobody = {**domain, "class": {"categories": ["healthy", "ill", "severe", "nobody"]}}
    for sensitivity in ("smooth", "global"):
        rare = fit(federation, nobody, epsilon=1000.0, sensitivity=sensitivity)["warnings"]
        assert any("rows of class 'nobody' do not" in text for text in rare)
        assert not any("'ill'" in text for text in rare)
        wide = {**domain, "age": {"bounds": [-1e6, 1e6]}}
        # One draw in some hundreds of this heavy-tailed noise looks like a spread.
        fits = [fit(federation, wide, epsilon=1e5, sensitivity=sensitivity) for _ in range(3)]
        flat = [[text[:28] for text in told["warnings"]] == ["the spread of 'age' does not"] for told in fits]
        assert sum(flat) >= 2
    tables = fit(federation, nobody, features=["smoker"], epsilon=1000.0)["warnings"]
    assert any("rows of class 'nobody' do not" in text for text in tables)
    loud = fit(federation, domain, epsilon=0.001)
    noise = loud["diagnostics"]["noise_of_means"]
    assert set(noise) <= set(domain)
    assert all(set(parts) == {"healthy", "ill", "severe"} for parts in noise.values())
    means = [text for text in loud["warnings"] if "noise in the means" in text]
    assert len(means) == 1
    assert re.search(r"of features of classes 'healthy', 'ill', 'severe' is about ([0-9]+% to )?100% of", means[0])
    assert "raise it" in means[0]
    assert fit(federation, domain, epsilon=1000.0, noise="student_t", degrees_of_freedom=5)["warnings"] == []


@pytest.mark.parametrize("sensitivity", ["smooth", "global"])
def test_a_feature_that_is_missing_everywhere_makes_no_other_loud(sensitivity):
    random = np.random.default_rng(3)
    codes = random.integers(0, 2, 3000)
    table = pd.DataFrame({"y": np.array(["a", "b"])[codes], "full": random.uniform(0, 1, 3000), "empty": np.nan})
    domain = {"y": {"categories": ["a", "b"]}, "full": {"bounds": [0, 1]}, "empty": {"bounds": [0, 1]}}
    given = {"label": "y", "domain": domain, "epsilon": 10.0, "sensitivity": sensitivity}
    with OneProcess({name: table.iloc[start::3] for start, name in enumerate("abc")}) as federation:
        result = federation.run("smooth_naive_bayes", "fit", given)
    noise = result["diagnostics"]["noise_of_means"]
    assert min(noise["empty"].values()) > 0.1 > 0.03 > max(noise["full"].values())
    means = [text for text in result["warnings"] if "noise in the means" in text]
    assert [text.split(" is about")[0] for text in means] == ["the noise in the means of 'empty' of classes 'a', 'b'"]
    assert not any("dominates" in text or "'full'" in text for text in result["warnings"])


def test_the_warning_names_at_most_five_features_and_says_where_classes_differ():
    names = [f"x{position}" for position in range(7)]
    domain = {"y": {"categories": ["a", "b"]}, **{name: {"bounds": [0.0, 1.0]} for name in names}}
    feature = Gaussian.from_parameters([300.0, 300.0], np.array([0.1, 0.9]), np.array([0.1, 0.1]), (0.0, 1.0))
    model = NaiveBayes(Schema.from_domain(domain), "y", np.array([300.0, 300.0]), dict.fromkeys(names, feature))
    noise = {name: {"a": 0.2, "b": 0.3 if name == "x1" else 0.01} for name in names[:6]} | {
        "x6": {"a": 0.01, "b": 0.01}
    }
    (text,) = lost_in_noise(model, Settings(1.0), noise)
    assert (
        "means of 'x0', 'x1', 'x2', 'x3', 'x4' and 1 more of some classes (diagnostics.noise_of_means has all)" in text
    )
    assert "about 20% to 30% of" in text
