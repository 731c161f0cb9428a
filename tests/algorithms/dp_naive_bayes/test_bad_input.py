"""Every wrong argument and every wrong file: the error names it and the remedy, and never a data value."""

import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation

NAME = "dp_naive_bayes"
SECRET = "zz-secret-91"


@pytest.fixture(scope="module")
def federation(files):
    parties = {name: files[name]["default"] for name in ("h0", "h1", "h2")}
    with OneProcess(parties) as running:
        yield running


def check_refused(federation, domain, changes, kind, what):
    arguments = {"label": "class", "domain": domain, "epsilon": 1.0, **changes}
    with pytest.raises(kind) as caught:
        federation.run(NAME, "fit", arguments)
    assert what in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": None}, "epsilon is needed"),
        ({"epsilon": [1]}, "epsilon"),
        ({"epsilon": 1e-300}, "epsilon must be a number, at least 1e-09"),
        ({"delta": 1}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"noise": "some"}, "noise"),
        ({"statistics": 3}, "statistics"),
        ({"neighbors": "adjacent"}, "neighbors"),
        ({"sensitivity": "local"}, "sensitivity"),
        ({"sensitivity": "published"}, "published"),
        ({"aggregation": "mean"}, "aggregation"),
        ({"aggregation": "krum"}, "noise='local'"),
        ({"aggregation": "median", "noise": "none"}, "noise='local'"),
        ({"honest_fraction": 0}, "honest_fraction"),
        ({"honest_fraction": 1.5}, "honest_fraction"),
        ({"bins": 0}, "bins"),
        ({"bins": 10**9}, "bins"),
        ({"bins": True}, "bins"),
        ({"bins": 2.5}, "bins"),
        ({"bins": {"stage": 3}}, "stage"),
        ({"bins": {"age": [3, 2]}}, "age"),
        ({"bins": {"age": "many"}}, "age"),
        ({"pseudocount": 0}, "pseudocount"),
        ({"outside": "ignore"}, "outside"),
        ({"mechanism": "gaussian"}, "delta"),
        ({"mechanism": "cauchy", "delta": 1e-6}, "mechanism"),
        ({"label": "gone"}, "gone"),
        ({"label": "age"}, "age"),
        ({"label": ["class"]}, "label"),
        ({"features": ["age", "gone"]}, "gone"),
        ({"features": ["age", "age"]}, "features"),
        ({"features": ["age", "class"]}, "class"),
        ({"features": []}, "features"),
        ({"features": "age"}, "features"),
        ({"domain": None}, "domain"),
        ({"domain": {"class": {"categories": ["healthy", "ill"]}}}, "features"),
        ({"domain": {"age": {"bounds": [9, 1]}, "class": {"categories": [1, 2]}}}, "age"),
        ({"domain": {"age": {"bounds": [0, 1]}, "class": {"categories": [1]}}}, "class"),
        ({"domain": [1]}, "domain"),
        ({"organizations": ["h0", "h1", "nobody"]}, "organization"),
        ({"organizations": []}, "organizations"),
        ({"organizations": "h0"}, "organizations"),
        ({"colour": 1}, "colour"),
    ],
)
def test_wrong_arguments_are_refused_by_name(federation, domain, changes, what):
    check_refused(federation, domain, changes, errors.ArgumentError, what)


def test_not_a_number_is_no_epsilon(federation, domain):
    check_refused(federation, domain, {"epsilon": float("nan")}, errors.ArgumentError, "epsilon")


def test_too_few_organizations_are_refused(federation, domain):
    check_refused(federation, domain, {"organizations": ["h0", "h1"]}, errors.ThresholdError, "organizations")


def test_a_column_that_the_files_lack_is_named(federation, domain):
    wider = {**domain, "weight": {"bounds": [0, 300]}}
    check_refused(federation, wider, {}, errors.DataProblem, "weight")


def test_wrong_files_are_refused_without_their_values(files, domain):
    table = pd.read_csv(files["h2"]["default"])
    parties = {name: files[name]["default"] for name in ("h0", "h1")}
    texts = table.assign(age=table["age"].astype(object))
    texts.loc[3, "age"] = SECRET
    outside = table.copy()
    outside.loc[3, "smoker"] = SECRET
    with OneProcess({**parties, "texts": texts}) as running:
        check_refused(running, domain, {"noise": "none"}, errors.DataProblem, "'age' is numeric")
        assert running.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 1})["model"]
    with OneProcess({**parties, "outside": outside}) as running:
        check_refused(running, domain, {"outside": "refuse"}, errors.DataProblem, "'smoker'")
        assert running.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 1})["model"]
    with OneProcess({**parties, "few": table[:4]}) as running:
        check_refused(running, domain, {}, errors.ThresholdError, "few: ")


def test_limits_of_a_node_hold(files, domain):
    parties = {name: files[name]["default"] for name in ("h0", "h1", "h2")}
    limits = {"h1": {"allow_non_private": False, "maximum_epsilon": 2, "denied_columns": "stage"}}
    with OneProcess(parties, policies=limits) as running:
        check_refused(running, domain, {}, errors.PolicyError, "stage")
        narrow = {"features": ["age"], "epsilon": 3}
        check_refused(running, domain, narrow, errors.PolicyError, "epsilon")
        check_refused(running, domain, {**narrow, "noise": "none"}, errors.PolicyError, "h1")
        published = {"noise": "local", "statistics": "gaussian", "sensitivity": "published"}
        check_refused(running, domain, {**narrow, **published}, errors.PolicyError, "h1")


@pytest.mark.parametrize("function", ["update", "evaluate"])
@pytest.mark.parametrize("model", [None, 3, {}, {"format": "fedbayes.naive_bayes/1"}, []])
def test_a_malformed_model_is_refused(federation, function, model):
    with pytest.raises(errors.ArgumentError, match="model"):
        federation.run(NAME, function, {"model": model, "epsilon": 1})


def test_a_reply_that_was_changed_ends_the_job(files, domain):
    def flip(organization, function, payload):
        if organization == "h1" and function == "partial_statistics":
            sealed = payload["sealed"]
            payload = {**payload, "sealed": ("B" if sealed[40] == "A" else "A").join([sealed[:40], sealed[41:]])}
        return payload

    parties = {name: files[name]["default"] for name in ("h0", "h1", "h2")}
    with EmbeddedFederation(parties, tamper=flip) as running:
        check_refused(running, domain, {}, errors.MessageError, "")


def test_arguments_without_effect_are_warned_of(federation, domain):
    def told(function="fit", **changes):
        arguments = {"label": "class", "domain": domain, **changes} if function == "fit" else changes
        return [text.split()[0] for text in federation.run(NAME, function, arguments)["warnings"] if "effect" in text]

    assert told(epsilon=1000.0, honest_fraction=0.5) == []
    assert told(epsilon=1.0, noise="none", neighbors="replace_one") == ["epsilon", "neighbors"]
    assert told(noise="none", mechanism="laplace") == ["mechanism"]
    assert told(epsilon=1000.0, statistics="gaussian", bins=7) == ["bins"]
    assert told(epsilon=1000.0, features=["smoker"], bins=7) == ["bins"]
    assert told(epsilon=1000.0, features=["age"], statistics="gaussian", pseudocount=2.0) == ["pseudocount"]
    costly = {"label": "class", "domain": domain, "epsilon": 1000.0, "features": ["smoker"], "statistics": "gaussian"}
    assert any("costs a query" in text for text in federation.run(NAME, "fit", costly)["warnings"])
    model = federation.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 10.0})["model"]
    assert told("evaluate", model=model, delta=1e-6) == ["delta"]
    assert told("evaluate", model=model, epsilon=1.0, noise="none") == ["epsilon"]
    assert told("update", model=model, epsilon=1.0, noise="local", honest_fraction=0.5) == ["honest_fraction"]


def test_a_refusal_is_no_private_answer(files, domain):
    """Bounds moved between two fits would find the largest value: a private node does not refuse, and a result says what epsilon leaves out."""
    parties = {name: files[name]["default"] for name in ("h0", "h1", "h2")}
    with OneProcess(parties, policies={"h1": {"allow_non_private": False}}) as running:
        check_refused(running, domain, {"outside": "refuse"}, errors.PolicyError, "outside='refuse'")
    with OneProcess(parties) as running:
        wide = {name: {"bounds": [-1e6, 1e6]} if "bounds" in entry else entry for name, entry in domain.items()}
        arguments = {"label": "class", "domain": wide, "epsilon": 2.0, "features": ["age"], "outside": "refuse"}
        result = running.run(NAME, "fit", arguments)
        assert any("not covered by epsilon" in text for text in result["warnings"])
        assert result["privacy"]["differentially_private"] is False
