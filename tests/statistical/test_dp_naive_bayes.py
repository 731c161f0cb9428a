"""Noise inside the sum costs the same for 1, 10, 100 and 1000 stations; noise at every station does not."""

import numpy as np
import pandas as pd
import pytest
from audit_kit import again

from fedbayes.dp import shares
from fedbayes.dp.laws import Change
from fedbayes.federation.horizontal import Columns, CountNoise, check_bins
from v6_dp_naive_bayes.model import Plan, finalise, summarise

NUMERIC = {"age": [17, 90], "education-num": [1, 16], "capital-gain": [0, 99_999], "hours-per-week": [1, 99]}
REPEATS = {1: 6, 10: 6, 100: 4, 1000: 3}


@pytest.fixture(scope="module")
def adult(paper_data):
    """Return (columns, training table, test table, true labels); few numeric and categorical columns, for speed."""
    train, test = paper_data("adult_train"), paper_data("adult_test")
    names = [*NUMERIC, "marital-status", "relationship", "occupation", "sex"]
    together = pd.concat([train, test])
    domain = {
        name: {"bounds": NUMERIC[name]} if name in NUMERIC else {"categories": sorted(together[name].dropna().unique())}
        for name in [*names, "class"]
    }
    return Columns("class", names, domain), train, test


def accuracies(adult, stations, placement, epsilon, repeats):
    """Return test accuracies of models whose sum carries the shares of that many stations."""
    columns, train, test = adult
    noise = CountNoise(placement, epsilon)
    plan = Plan(columns, check_bins(columns, 20), "histogram", "bounds", noise, 1.0)
    exact = np.concatenate([q.values.ravel() for q in summarise(plan, columns.schema.encode(train))])
    scale = noise.width(plan.queries, Change(), stations)
    parties, fraction = (1, 1.0) if placement == "local" else (stations, noise.honest_fraction)
    found = []
    for _ in range(repeats):
        noisy = exact + shares.polya((stations, len(exact)), scale, parties, fraction).sum(axis=0)
        model = finalise(plan, noisy, stations)
        found.append(float(np.mean(model.predict(test) == test["class"])))
    return found


def test_distributed_noise_costs_the_same_for_any_number_of_stations(adult):
    def apart() -> float:
        means = [np.mean(accuracies(adult, n, "distributed", 0.1, repeats)) for n, repeats in REPEATS.items()]
        assert min(means) > 0.80
        return float(max(means) - min(means))

    assert again(apart, most=0.015) <= 0.015


def test_local_noise_is_paid_at_every_station(adult):
    distributed = np.mean(accuracies(adult, 100, "distributed", 0.02, 4))
    local = np.mean(accuracies(adult, 100, "local", 0.02, 4))
    assert local < distributed
