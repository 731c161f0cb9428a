"""What is promised holds, and the audit can fail: the published mode is its positive control."""

import math

import numpy as np
import pandas as pd
import pytest
from audit_kit import Alone, proportions

from fedbayes.federation.errors import ArgumentError, PolicyError
from fedbayes.federation.horizontal import Columns, CountNoise, Query, release
from v6_dp_naive_bayes.model import Plan
from v6_dp_naive_bayes.published import publish

TRIALS = 20_000
CONFIDENCE = 1e-9  # far out, so that the test does not flake


def lower_bound(first, second, threshold):
    """Return a Clopper-Pearson lower bound on epsilon from the event "below the threshold"."""
    counts = [(int(np.sum(values < threshold)), len(values)) for values in (first, second)]
    low, high = proportions(*counts, CONFIDENCE)
    return math.log(low / high) if low > 0 else -math.inf


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("stations", [1, 5])
def test_the_noise_in_a_sum_is_what_the_result_says(delta, stations):
    noise = CountNoise("distributed", 2.0, delta, "add_remove", 0.8)
    queries = [Query(np.zeros(TRIALS // 4, dtype=np.int64)) for _ in range(2)]
    total = sum(release(Alone(participants=stations), queries, noise, "test").value for _ in range(stations))
    said = noise.deviation(2, 1.0, 1.0, TRIALS // 4, stations)
    found = float(np.std(total))
    assert 0.9 * said < found < 1.1 * said


@pytest.mark.parametrize("placement", ["local", "distributed"])
def test_the_sampled_loss_of_a_count_stays_below_the_claim(placement):
    """Neighbours differ by one row, so a count by one; all queries but one are spent elsewhere."""
    epsilon = 1.5
    noise = CountNoise(placement, epsilon)
    one = release(Alone(participants=1), [Query(np.zeros(TRIALS, dtype=np.int64))], noise, "test").value
    other = release(Alone(participants=1), [Query(np.ones(TRIALS, dtype=np.int64))], noise, "test").value
    bounds = [lower_bound(one, other, threshold) for threshold in range(-1, 3)]
    assert 0.5 * epsilon < max(bounds) <= epsilon


@pytest.mark.audit
def test_the_published_mode_breaks_its_promise():
    """One row with a large value more: the noise grows with it, and a narrow event becomes rare."""
    columns = Columns("class", ["x"], {"x": {"bounds": [0, 1000]}, "class": {"categories": [0, 1]}})
    epsilon = 1.0
    plan = Plan(columns, {}, "gaussian", "published", CountNoise("local", epsilon), 1.0)
    small = pd.DataFrame({"x": [1.0], "class": [0]})
    large = pd.DataFrame({"x": [1.0, 1000.0], "class": [0, 0]})
    totals = []
    for frame in (small, large):
        encoded = columns.schema.encode(frame)
        totals.append(np.array([raw_sum(publish(plan, encoded)) for _ in range(600)]))
    near = [np.where(np.abs(total) < 100, 0.0, 1.0) for total in totals]
    assert lower_bound(near[0], near[1], 0.5) > epsilon


def raw_sum(vector):
    """Undo the mapping of the model: the published sum of x of class 0."""
    counts, total = vector[0], vector[2] / 2**16
    return total * 500.0 + 500.0 * counts


def test_local_noise_is_whole_at_every_station():
    noise = CountNoise("local", 1.0, honest_fraction=0.5)
    assert noise.honest(10) == 1
    values = release(Alone(participants=10), [Query(np.zeros(TRIALS, dtype=np.int64))], noise, "test").value
    said = noise.deviation(1, 1.0, 1.0, TRIALS, 1)
    assert 0.9 * said < np.std(values) < 1.1 * said


def test_a_release_is_charged_in_full_and_once():
    station = Alone(participants=4)
    release(station, [Query(np.zeros(3, dtype=np.int64))] * 7, CountNoise("distributed", 0.7, 1e-6), "test")
    assert station.charged == [(0.7, 1e-6)]
    exact = release(station, [Query(np.arange(3))], CountNoise(), "test")
    assert exact.value.tolist() == [0, 1, 2]
    assert len(station.charged) == 1


def test_a_station_can_demand_privacy():
    with pytest.raises(PolicyError):
        release(
            Alone(participants=4, allow_non_private=False), [Query(np.zeros(3, dtype=np.int64))], CountNoise(), "test"
        )


def test_replacing_one_row_doubles_the_noise():
    for delta, lattice in ((0.0, 0.0), (1e-6, 1 / 12)):
        noises = [CountNoise("local", 1.0, delta, relation) for relation in ("add_remove", "replace_one")]
        one, two = (noise.width(1, noise.change(1.0, 1.0, 5), 1) for noise in noises)
        assert two**2 - lattice == pytest.approx(4 * (one**2 - lattice), rel=1e-4)


def test_an_epsilon_too_small_to_sample_is_refused_by_name():
    with pytest.raises(ArgumentError, match="epsilon"):
        release(Alone(participants=4), [Query(np.zeros(3, dtype=np.int64))], CountNoise("distributed", 1e-300), "test")
