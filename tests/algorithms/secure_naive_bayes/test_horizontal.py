"""HDPNB through the embedded federation: parity with pooled, privacy, membership, refusals."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.schema import Schema
from fedbayes.federation.errors import ArgumentError, BudgetError
from fedbayes.mpc.moduli import CSAIL_2019
from v6_secure_naive_bayes.arguments import Fit

from .conftest import DOMAIN

STATIONS = ["p", "q", "r", "s"]
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5, "modulus_bits": 2048, "organizations": STATIONS}


def test_after_a_join_and_a_leave_the_counts_are_those_of_the_members(horizontal, table):
    start = horizontal.run("secure_naive_bayes", "fit", {**TASK, "noise": "none", "organizations": STATIONS[:3]})
    joined = horizontal.run(
        "secure_naive_bayes", "join", {"membership": start["membership"], "modulus_bits": 2048, "organization": "s"}
    )
    asked = {"membership": joined["membership"], "modulus_bits": 2048, "organization": "q"}
    left = horizontal.run("secure_naive_bayes", "leave", asked)["membership"]
    asked = {**TASK, "noise": "none", "membership": left, "organizations": ["s", "p", "r"]}
    fitted = horizontal.run("secure_naive_bayes", "fit", asked)["model"]
    members = table[np.arange(len(table)) % 4 != 1]  # the second of four stations left
    assert fitted["class_counts"] == members["kind"].value_counts()[["a", "b"]].tolist()
    for name, states in (("color", ["red", "green", "blue"]), ("shape", ["round", "square"])):
        known = pd.crosstab(members["kind"], members[name]).loc[["a", "b"], states]
        assert np.array_equal(fitted["features"][name]["counts"], known)
    codes = np.minimum(members["size"] // 2, 4)  # five bins of [0, 10]
    assert np.array_equal(fitted["features"]["size"]["counts"], pd.crosstab(members["kind"], codes))


def pooled(table):
    schema = Schema.from_domain({name: DOMAIN[name] for name in ("color", "size", "shape", "kind")})
    return fit_model(schema, "kind", schema.encode(table), bins=5)


@pytest.fixture(scope="module")
def exact(horizontal):
    return horizontal.run("secure_naive_bayes", "fit", {**TASK, "noise": "none"})


def test_exact_federated_equals_pooled(exact, table):
    fitted, reference = NaiveBayes.from_dict(exact["model"]), pooled(table)
    assert fitted.class_counts.tolist() == reference.class_counts.tolist()
    for name, feature in reference.features.items():
        assert np.array_equal(fitted.features[name].counts, feature.counts)
        assert np.array_equal(fitted.features[name].missing, feature.missing)
    assert exact["privacy"]["differentially_private"] is False
    assert exact["federation"]["rounds"] == 2


def test_the_cost_is_told_beside_that_of_pairwise_masks(exact):
    told = exact["diagnostics"]["encryption"]
    assert told["ciphertexts_per_station"] == 1
    assert told["bytes_per_station"] == 512
    assert told["bytes_per_station_with_pairwise_masks"] == 8 * told["counts"] == 8 * 2 * (4 + 6 + 3)
    assert told["modulus"] == "RSA-2048 challenge"


@pytest.mark.few(1)
@pytest.mark.parametrize(("noise", "delta"), [("polya", 0.0), ("diluted_geometric", 1e-6), ("published", 1e-6)])
def test_noisy_counts_are_near_the_pooled_ones(horizontal, table, noise, delta):
    result = horizontal.run("secure_naive_bayes", "fit", {**TASK, "noise": noise, "epsilon": 1.0, "delta": delta})
    fitted, reference = NaiveBayes.from_dict(result["model"]), pooled(table)
    differences = [
        np.abs(fitted.features[name].counts - feature.counts) for name, feature in reference.features.items()
    ]
    assert max(part.max() for part in differences) < 150
    assert max(part.max() for part in differences) > 0
    private = noise != "published"
    assert result["privacy"]["differentially_private"] is private
    assert result["privacy"]["epsilon"] == (1.0 if private else 4.0)
    assert result["privacy"]["neighbors"] == "add_remove"
    assert (result["privacy"]["reason"] is None) is private


@pytest.mark.parametrize(("epsilon", "warned"), [(1e-4, True), (1.0, False)])
def test_counts_that_drown_in_noise_are_told(horizontal, epsilon, warned):
    result = horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": epsilon})
    assert any("raise epsilon" in text for text in result["warnings"]) is warned


def test_a_dealer_deals_modulus_and_exponents(horizontal, table):
    task = {**TASK, "noise": "none", "keys": "dealer", "organizations": None}
    result = horizontal.run("secure_naive_bayes", "fit", task)
    assert NaiveBayes.from_dict(result["model"]).class_counts.tolist() == pooled(table).class_counts.tolist()
    assert result["diagnostics"]["encryption"]["keys"] == "dealer"
    assert result["federation"]["rounds"] == 3


def test_evaluation_of_the_fitted_model(horizontal, exact):
    result = horizontal.run("secure_naive_bayes", "evaluate", {"model": exact["model"], "organizations": STATIONS})
    assert result["accuracy"] > 0.85
    assert result["n"] == 900


def test_a_party_as_unit_uses_a_bounded_number_of_its_records(horizontal):
    task = {**TASK, "epsilon": 20, "unit": "party", "maximum_records": 50}
    result = horizontal.run("secure_naive_bayes", "fit", task)
    assert sum(result["model"]["class_counts"]) == pytest.approx(200, abs=120)
    assert result["privacy"]["unit"] == "party"


def test_membership_through_join_fit_and_leave(horizontal):
    start = horizontal.run("secure_naive_bayes", "fit", {**TASK, "noise": "none", "organizations": STATIONS[:3]})
    numbers = {"membership": start["membership"], "modulus_bits": 2048}
    joined = horizontal.run("secure_naive_bayes", "join", {**numbers, "organization": "s"})
    assert joined["membership"]["epoch"] == 1
    assert sorted(joined["membership"]["uses"].values()) == [3, 3, 4, 4]
    assert len(joined["diagnostics"]["changed"]) == 2
    again = horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 50.0, "membership": joined["membership"]})
    assert again["membership"] == joined["membership"]
    assert sum(again["model"]["class_counts"]) == pytest.approx(900, abs=60)
    numbers["membership"] = joined["membership"]
    left = horizontal.run("secure_naive_bayes", "leave", {**numbers, "organization": "p"})
    assert sorted(left["membership"]["uses"].values()) == [2, 3, 3]
    with pytest.raises(ArgumentError, match="membership"):
        horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 1.0, "membership": left["membership"]})
    with pytest.raises(ArgumentError, match="organization: "):
        horizontal.run("secure_naive_bayes", "leave", {**numbers, "organization": "dealer"})
    with pytest.raises(ArgumentError, match=r"organization .*database at dealer"):
        horizontal.run("secure_naive_bayes", "join", {**numbers, "organization": "dealer"})


MANY_CLASSES = {"size": DOMAIN["size"], "kind": {"categories": [f"class {number}" for number in range(20)]}}
BAD = [
    ({"epsilon": None}, "epsilon"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": float("nan")}, "epsilon"),
    ({"epsilon": True}, "epsilon"),
    ({"noise": "diluted_geometric"}, "delta"),
    ({"noise": "diluted_geometric", "delta": 1e-300}, "delta"),
    ({"noise": "gaussian"}, "noise"),
    ({"noise": "none"}, "epsilon"),
    ({"honest_fraction": 0}, "honest_fraction"),
    ({"unit": "party"}, "maximum_records"),
    ({"unit": "party", "maximum_records": 50, "noise": "none", "epsilon": None}, 'unit="party"'),
    ({"unit": "party", "maximum_records": 50, "epsilon": 21}, 'unit="party"'),
    ({"maximum_records": 5}, "maximum_records"),
    ({"modulus_bits": 1024}, "modulus_bits"),
    ({"modulus_bits": 4096}, "modulus_bits"),
    ({"keys": "paper"}, "keys"),
    ({"split": "diagonal"}, "split"),
    ({"partitioning": "vertical"}, "now called 'split'"),
    ({"label": 5}, "label"),
    ({"bins": 0}, "bins"),
    ({"membership": {"uses": 3}}, "membership"),
    ({"bins": {"size": 10_000}, "features": ["size"], "domain": MANY_CLASSES}, "bins and categories"),
    ({"membership": {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"98": 2, "99": 2}}}, "membership"),
]


@pytest.mark.parametrize(("changes", "named"), BAD[:16])
def test_bad_arguments_are_refused_by_name(changes, named):
    with pytest.raises(ArgumentError, match=named):
        Fit.read("fit", {"label": "kind", "epsilon": 1.0, **changes})


@pytest.mark.parametrize(("changes", "named"), BAD[16:])
def test_bad_arguments_are_refused_by_name_in_a_run(horizontal, changes, named):
    with pytest.raises(ArgumentError, match=named):
        horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 1.0, **changes})


def test_a_dealer_must_be_there(horizontal):
    with pytest.raises(ArgumentError, match="dealer"):
        horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 1.0, "keys": "dealer"})


def test_the_ledger_counts_what_is_released(horizontal):
    with pytest.raises(BudgetError, match="is left"):
        horizontal.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 5e9})


def test_published_modulus_of_the_default_length_is_used():
    assert Fit.modulus_bits == 3072
    assert CSAIL_2019.bit_length() == 3072
