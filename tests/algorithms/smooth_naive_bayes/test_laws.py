"""Laws of the statistics, of their combination and of the printed bounds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.bayes.schema import Schema
from fedbayes.federation.messages.codec import decode, encode
from v6_smooth_naive_bayes import combination, model, published
from v6_smooth_naive_bayes.messages import Settings, Statistics
from v6_smooth_naive_bayes.queries import Release

SENSITIVITIES = ("smooth", "global", "published")


def encoded(table, domain):
    schema = Schema.from_domain(domain)
    return schema, schema.encode(table)


def test_moments_are_those_of_numpy(tables, domain):
    schema, columns = encoded(tables["east"], domain)
    summary = model.summarise(Release(schema, "class", Settings(1.0)), columns)
    groups = tables["east"].groupby("class")[["age", "pressure"]]
    order = list(domain["class"]["categories"])
    low, width = np.array([[0.0], [50.0]]), np.array([[100.0], [200.0]])
    assert np.allclose(low + width * summary.first, groups.mean().loc[order].T)
    assert np.allclose(width**2 * summary.second, groups.var(ddof=0).loc[order].T)
    assert (summary.first_scale > 0).all()
    assert summary.counts.sum() == tables["east"]["class"].notna().sum()


@pytest.mark.parametrize("sensitivity", ["smooth", "global"])
def test_neither_the_size_of_numbers_nor_their_distance_from_zero_matters(tables, domain, sensitivity):
    """Statistics and scales are those of the same column in another unit; the printed release alone depends on the unit."""
    settings, table = Settings(1.0, sensitivity), tables["east"]
    plain = Schema.from_domain({"age": domain["age"], "class": domain["class"]})
    expected = model.summarise(Release(plain, "class", settings), plain.encode(table))
    for scale, shift in ((2.0**40, 0.0), (2.0**-40, 0.0), (1.0, 2.0**30)):
        other = Schema.from_domain({"age": {"bounds": [shift, shift + 100 * scale]}, "class": domain["class"]})
        found = model.summarise(
            Release(other, "class", settings), other.encode(table.assign(age=table["age"] * scale + shift))
        )
        for name in ("first", "second", "first_scale", "second_scale"):
            assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-6)


def test_global_sums_are_exact_whatever_the_order(tables, domain):
    """Rounding of a long sum would let one row change it by more than its sensitivity."""
    schema, settings = Schema.from_domain({"age": domain["age"], "class": domain["class"]}), Settings(1.0, "global")
    table = tables["east"].sample(frac=50, replace=True, random_state=1)
    sums = [
        model.summarise(Release(schema, "class", settings), schema.encode(part))
        for part in (table, table[::-1], table.sort_values("age"))
    ]
    for other in sums[1:]:
        assert np.array_equal(other.first, sums[0].first)
        assert np.array_equal(other.second, sums[0].second)
    assert (sums[0].first * 2**24 == np.rint(sums[0].first * 2**24)).all()


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_queries_spend_exactly_the_budget(domain, sensitivity, neighbors):
    schema, settings = Schema.from_domain(domain), Settings(0.7, sensitivity, neighbors=neighbors)
    asked = {"smooth": 1 + 4, "global": 3 + 4, "published": 1 + 4 + 1}[sensitivity]
    rows = 2 if neighbors == "replace_one" and sensitivity != "published" else 1
    assert Release(schema, "class", settings).query_epsilon * asked * rows == pytest.approx(0.7)


def test_class_counts_are_a_query_only_without_categorical_features(domain):
    numeric = Schema.from_domain({name: domain[name] for name in ("age", "pressure", "class")})
    assert Release(numeric, "class", Settings(1.0)).asks_class_counts
    assert not Release(Schema.from_domain(domain), "class", Settings(1.0)).asks_class_counts
    assert Release(numeric, "class", Settings(1.0)).query_epsilon == pytest.approx(1 / 5)


@pytest.mark.parametrize("sensitivity", ["smooth", "global"])
def test_a_station_weighs_as_many_rows_as_it_has_values(tables, domain, sensitivity):
    """Nine in ten values are missing at one station: the pooled moments are those of the values that are there."""
    schema = Schema.from_domain(domain)
    settings = Settings(
        1e9, sensitivity, "student_t", 30.0
    )  # without the tails of Cauchy noise, which pass the bounds below once in 60 runs
    tables = {name: table.copy() for name, table in tables.items()}
    tables["east"].loc[tables["east"].index % 10 > 0, "age"] = None
    coded = [schema.encode(table) for table in tables.values()]
    replies = [
        model.perturb(model.summarise(Release(schema, "class", settings), part), Release(schema, "class", settings))
        for part in coded
    ]
    fitted = model.combine(Release(schema, "class", settings), replies)
    ages, labels = (np.concatenate([part[name] for part in coded]) for name in ("age", "class"))
    means, variances = fitted.features["age"].moments()
    for code in range(schema["class"].cardinality):
        own = ages[(labels == code) & ~np.isnan(ages)]
        assert fitted.features["age"].count[code] == pytest.approx(len(own))
        assert means[code] == pytest.approx(own.mean(), abs=1e-3)
        assert variances[code] == pytest.approx(own.var(), rel=1e-3)


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_combination_does_not_depend_on_the_order_of_stations(tables, domain, sensitivity):
    settings = Settings(5.0, sensitivity)
    schema = Schema.from_domain(domain)
    replies = [
        model.perturb(
            model.summarise(Release(schema, "class", settings), schema.encode(table)),
            Release(schema, "class", settings),
        )
        for table in tables.values()
    ]
    expected = model.combine(Release(schema, "class", settings), replies).predict_proba(tables["west"])
    for order in itertools.permutations(replies):
        found = model.combine(Release(schema, "class", settings), order).predict_proba(tables["west"])
        assert np.allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1.0, 1e6])
def test_any_budget_gives_finite_probabilities(tables, domain, sensitivity, epsilon):
    schema, settings = Schema.from_domain(domain), Settings(epsilon, sensitivity)
    summary = model.summarise(Release(schema, "class", settings), schema.encode(tables["west"]))
    fitted = model.combine(
        Release(schema, "class", settings), [model.perturb(summary, Release(schema, "class", settings))]
    )
    probabilities = fitted.predict_proba(tables["east"])
    assert np.isfinite(probabilities).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)


@given(
    st.lists(st.tuples(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(-1e6, 1e6)), min_size=1, max_size=5),
    st.floats(0.0, 1e6),
)
def test_whatever_noise_does_the_moments_stay_in_public_limits(stations, factor):
    means, variances, rows = (np.array(part)[:, None] for part in zip(*stations, strict=True))
    count, mean, variance = combination.combine_moments(means, variances, rows, (10.0, 30.0), factor)
    assert count[0] >= 0
    assert 10.0 - 1e-9 <= mean[0] <= 30.0 + 1e-9
    assert (20.0 / 200) ** 2 * (1 - 1e-9) <= variance[0] <= 100.0 * (1 + 1e-9)


def test_without_noise_the_weights_are_the_rows():
    random = np.random.default_rng(5)
    parts = [random.normal(5 + shift, 1 + shift / 3, 200 + 100 * shift) for shift in range(3)]
    stacked = [np.array([[f(part)] for part in parts]) for f in (np.mean, np.var, len)]
    count, mean, variance = combination.combine_moments(*stacked, (-50.0, 50.0), 0.0)
    everything = np.concatenate(parts)
    assert count[0] == everything.size
    assert mean[0] == pytest.approx(everything.mean(), rel=0.02)
    assert variance[0] == pytest.approx(everything.var(), rel=0.05)


def test_one_wild_station_cannot_carry_the_mean_away():
    means, variances = np.array([[50.0], [51.0], [1e9]]), np.array([[100.0], [101.0], [-1e9]])
    rows = np.array([[5000.0], [5000.0], [10.0]])
    _, mean, _ = combination.combine_moments(means, variances, rows, (0.0, 100.0), 20.0)
    assert abs(mean[0] - 50.5) < 1.0


@pytest.mark.parametrize(
    ("bound", "statistic", "points", "least"),
    [(published.mean_sensitivity, np.mean, 5, 1.0), (published.variance_sensitivity, np.var, 9, 0.7)],
    ids=["mean", "variance"],
)
def test_printed_bounds_are_about_the_largest_total_change(bound, statistic, points, least):
    data, epsilon = np.array([0.0, 0.25, 0.25, 1.0] if statistic is np.mean else [0.0, 0.25, 0.5, 1.0]), 0.4
    best = 0.0
    for changed in itertools.product(np.linspace(0, 1, points), repeat=4):
        weight = math.exp(-epsilon * np.sum(np.array(changed) != data))
        best = max(best, weight * abs(statistic(changed) - statistic(data)))
    assert least * best * (1 - 1e-6) <= bound(data, 1.0, epsilon) <= best * (1 + 1e-6)


def test_a_reply_survives_the_codec_and_is_checked():
    reply = Statistics(np.arange(4), np.ones((2, 3), dtype=np.int64), np.ones((2, 3)), np.zeros((2, 3)))
    again = decode(Statistics, encode(reply))
    names = ("counts", "missing", "first", "second")
    assert all(np.array_equal(getattr(again, name), getattr(reply, name)) for name in names)
    missing = reply.missing
    for wrong in (
        (np.ones(4), missing, np.ones((2, 3)), np.ones((2, 3))),
        (np.arange(4), np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3))),
        (np.arange(4), missing, np.ones((2, 3)), np.ones((3, 2))),
        (np.arange(4), missing, np.full((2, 3), np.nan), np.ones((2, 3))),
    ):
        with pytest.raises(ValueError, match=r"counts|missing|first|second"):
            Statistics(*wrong)


def test_a_reply_of_another_shape_is_refused(domain):
    reply = Statistics(np.arange(4), np.ones((2, 3), dtype=np.int64), np.ones((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        model.combine(Release(Schema.from_domain(domain), "class", Settings(1.0)), [reply])


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0.0}, {"epsilon": math.nan}, {"sensitivity": "local"}, {"noise": "gauss"}, {"neighbors": "swap"}, {"degrees_of_freedom": 0.5}],
)  # fmt: skip
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**{"epsilon": 1.0, **wrong})
