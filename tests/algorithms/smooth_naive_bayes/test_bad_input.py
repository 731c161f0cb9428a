"""Every bad argument and file gives an error that names it and the remedy, and never a data value."""

import math

import pytest

from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation
from v6_smooth_naive_bayes import options

NAME = "smooth_naive_bayes"


@pytest.fixture
def federation(parties):
    with EmbeddedFederation(parties) as running:
        yield running


def fit(federation, public, **changes):
    arguments = {"label": "class", "domain": public, "epsilon": 1.0, **changes}
    return federation.run(NAME, "fit", arguments)


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("epsilon", [0, -1.0, math.nan, math.inf, True, "1", None, 1e-9]),
        ("sensitivity", ["local", None, 3]),
        ("noise", ["laplace", None]),
        ("degrees_of_freedom", [0.5, "3", math.nan]),
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
    assert options.check_settings(**right).epsilon == 1.0
    for value in values:
        with pytest.raises(errors.ArgumentError, match=argument):
            options.check_settings(**{**right, argument: value})


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
        ({"domain": {**domain, "age": {"bounds": [0, 1e-300]}}}, "'age': bounds .* change its unit"),
        ({"domain": {**domain, "age": {"bounds": [0, 1e80]}}}, "'age': bounds .* change its unit"),
        ({"domain": None}, "domain"),
        ({"label": "age"}, "age"),
        ({"organizations": ["nowhere"]}, "organizations"),
        ({"epsilons": 3}, "epsilons"),
    ]
    for changes, named in cases:
        with pytest.raises(errors.ArgumentError, match=named):
            fit(federation, domain, **changes)


def test_wrong_files_are_named_without_a_value(parties, tables, domain):
    tables["south"].assign(age="secret-word").to_csv(parties["south"]["default"], index=False)
    with EmbeddedFederation(parties) as federation, pytest.raises(errors.DataProblem, match=r"south: .*age") as caught:
        fit(federation, domain)
    assert "secret-word" not in str(caught.value)
    tables["south"].drop(columns="age").to_csv(parties["south"]["default"], index=False)
    with EmbeddedFederation(parties) as federation, pytest.raises(errors.DataProblem, match="'age'"):
        fit(federation, domain)


def test_too_few_rows_or_organizations_are_refused(parties, tables, domain):
    tables["west"].head(5).to_csv(parties["west"]["default"], index=False)
    with EmbeddedFederation(parties) as federation:
        with pytest.raises(errors.ThresholdError, match=r"west: .*fewer rows"):
            fit(federation, domain)
        with pytest.raises(errors.ThresholdError, match="organizations"):
            fit(federation, domain, organizations=["east", "south"])


def test_a_model_that_is_none_is_refused(federation):
    for model in ({}, {"format": "other"}, "model"):
        with pytest.raises(errors.ArgumentError, match="model"):
            federation.run(NAME, "evaluate", {"model": model})


def test_a_label_that_is_a_feature_is_refused(federation, domain):
    model = fit(federation, domain)["model"]
    with pytest.raises(errors.ArgumentError, match="label 'smoker' is a feature"):
        federation.run(NAME, "evaluate", {"model": model, "label": "smoker"})


def test_arguments_without_effect_and_much_noise_are_warned_of(federation, domain):
    told = fit(federation, domain, sensitivity="global", noise="student_t", degrees_of_freedom=5, epsilon=1000.0)
    assert [text.split()[0] for text in told["warnings"]] == ["noise", "degrees_of_freedom"]
    assert max(told["diagnostics"]["noise_of_means"].values()) < 0.01
    loud = fit(federation, domain, epsilon=0.001)
    assert set(loud["diagnostics"]["noise_of_means"]) == {"healthy", "ill", "severe"}
    assert any("of class 'ill' is about" in text and "raise it" in text for text in loud["warnings"])
    assert fit(federation, domain, epsilon=1000.0, noise="student_t", degrees_of_freedom=5)["warnings"] == []
