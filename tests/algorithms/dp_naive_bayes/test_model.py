"""Algorithms 1 to 3 without a federation: laws, parity with the pool, sensitivities by trying."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp_naive_bayes import baselines
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.naive_bayes.features import Gaussian
from fedbayes.federation.horizontal import Columns, CountNoise, check_bins
from v6_dp_naive_bayes import gossip, robust
from v6_dp_naive_bayes.model import EXACT_UNITS, UNITS, Plan, add, finalise, plan_of, settled, summarise

DOMAIN = {
    "smoker": {"categories": ["no", "yes"]},
    "stage": {"categories": [1, 2, 3]},
    "age": {"bounds": [0, 100]},
    "class": {"categories": ["healthy", "ill", "severe"]},
}


def make_plan(statistics="histogram", noise=None, names=("smoker", "stage", "age")):
    columns = Columns("class", list(names), {name: DOMAIN[name] for name in (*names, "class")})
    return Plan(columns, check_bins(columns, 10), statistics, "bounds", noise or CountNoise(), 1.0)


def vector(plan, frame):
    return np.concatenate([query.values.ravel() for query in summarise(plan, plan.columns.schema.encode(frame))])


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_summing_stations_is_fitting_the_pool(tables, pooled, statistics):
    plan = make_plan(statistics)
    summed = np.zeros(sum(plan.sizes), dtype=np.int64)
    for table in tables.values():
        summed += vector(plan, table)
    ours = finalise(plan, summed, len(tables))
    schema = plan.columns.schema
    reference = fit_model(schema, "class", schema.encode(pooled), statistics, 10)
    tolerance = 1e-9 if statistics == "histogram" else 1e-8
    assert np.allclose(ours.predict_proba(pooled), reference.predict_proba(pooled), atol=tolerance)


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_one_row_changes_no_query_by_more_than_its_sensitivity(statistics):
    plan = make_plan(statistics)
    values = itertools.product(
        ["no", "yes", None, "other"], [1, 3, None], [-5, 0, 50, 99.7, None], ["ill", "severe", None]
    )
    for smoker, stage, age, label in values:
        row = pd.DataFrame({"smoker": [smoker], "stage": [stage], "age": [age], "class": [label]})
        for query in summarise(plan, plan.columns.schema.encode(row)):
            assert np.abs(query.values).sum() <= query.l1
            assert np.sqrt((query.values.astype(float) ** 2).sum()) <= query.l2


def test_the_papers_split_of_the_budget():
    assert make_plan("gaussian").queries == 1 + 2 + 2 * 1
    assert make_plan("histogram").queries == 3
    for relation, scale in (("add_remove", 5.0), ("replace_one", 10.0)):
        noise = CountNoise("local", 1.0, neighbors=relation)
        assert noise.width(make_plan("gaussian").queries, noise.change(1.0, 1.0, 1), 1) == pytest.approx(scale)


@given(st.permutations(range(4)), st.integers(0, 10))
@settings(max_examples=20)
def test_updates_in_any_order_are_the_batch(order, seed):
    random = np.random.default_rng(seed)
    plan = make_plan("gaussian", CountNoise("local", 1.0))
    parts = [random.integers(-500, 500, sum(plan.sizes)) for _ in range(4)]
    batch = finalise(plan, sum(parts), 4)
    running = finalise(plan, parts[order[0]], 1)
    for place in order[1:]:
        running = add(running, finalise(plan, parts[place], 1))
    for first, second in zip(running.features.values(), batch.features.values(), strict=True):
        for name, value in first.to_dict().items():
            assert name == "kind" or np.allclose(value, getattr(second, name), rtol=1e-12)
    assert np.allclose(running.class_counts, batch.class_counts)
    assert running.class_noise == pytest.approx(batch.class_noise)


def test_the_papers_recurrence_gives_the_same_means_and_variances(tables):
    """Algorithm 3, lines 2 to 9, written down as printed, against sums."""
    counts, mean, variance = np.zeros(3), np.zeros(3), np.zeros(3)
    plan = make_plan("gaussian", names=("age",))
    model = None
    for table in tables.values():
        known = table.dropna(subset=["age", "class"])
        groups = [known["age"][known["class"] == name].to_numpy() for name in DOMAIN["class"]["categories"]]
        n = np.array([len(group) for group in groups], dtype=float)
        total = np.array([group.sum() for group in groups])
        squares = np.array([(group**2).sum() for group in groups])
        after = counts + n
        second = counts / after * (variance + mean**2) + squares / after
        mean = counts / after * mean + total / after
        variance, counts = second - mean**2, after
        part = finalise(plan, vector(plan, known), 1)
        model = part if model is None else add(model, part)
    found_mean, found_variance = model.features["age"].moments()
    assert np.allclose(found_mean, mean, rtol=1e-4)
    assert np.allclose(found_variance, variance, rtol=1e-3)


def test_a_model_tells_the_plan_for_further_stations(tables):
    for statistics in ("histogram", "gaussian"):
        plan = make_plan(statistics)
        model = finalise(plan, vector(plan, tables["h0"]), 1)
        model = NaiveBayes.from_dict(
            {**model.to_dict(), "provenance": {"aggregation": "sum", "statistics": statistics}}
        )
        again = plan_of(model, CountNoise(), "clip")
        assert again.sizes == plan.sizes
        assert np.array_equal(vector(again, tables["h1"]), vector(plan, tables["h1"]))


def test_a_model_of_bins_that_says_it_is_of_moments_is_refused_before_anybody_is_asked(tables):
    plan = make_plan("histogram")
    model = finalise(plan, vector(plan, tables["h0"]), 1).to_dict()
    model = NaiveBayes.from_dict({**model, "provenance": {"aggregation": "sum", "statistics": "gaussian"}})
    with pytest.raises(ValueError, match="features in bins"):
        plan_of(model, CountNoise(), "clip")


def honest_and_wrong(rule, tables, wrong):
    plan = make_plan("gaussian")
    models = [finalise(plan, vector(plan, table), 1) for table in [*tables.values()] * 3]
    pooled = finalise(plan, sum(vector(plan, table) for table in tables.values()), 5)
    for place in range(wrong):
        lie = np.random.default_rng(place).integers(-(10**6), 10**9, sum(plan.sizes))
        models[place] = finalise(plan, lie, 1)
    return robust.merge_robustly(models, rule), pooled


@pytest.mark.parametrize("rule", ["median", "trimmed_mean", "krum", "bulyan"])
def test_a_minority_of_wrong_stations_does_little_harm(tables, pooled, rule):
    wrong = robust.tolerated(rule, 15)
    assert wrong >= 3
    model, truth = honest_and_wrong(rule, tables, 3)
    agreement = np.mean(model.predict(pooled) == truth.predict(pooled))
    assert agreement > 0.75
    mean, _ = model.features["age"].moments()
    assert np.all((mean > 20) & (mean < 90))


def test_a_plain_sum_is_ruined_by_one_wrong_station(tables, pooled):
    plan = make_plan("gaussian")
    lie = np.random.default_rng(0).integers(-(10**6), 10**9, sum(plan.sizes))
    truth = finalise(plan, sum(vector(plan, table) for table in tables.values()), 5)
    ruined = finalise(plan, sum(vector(plan, table) for table in tables.values()) + lie, 5)
    assert np.mean(ruined.predict(pooled) == truth.predict(pooled)) < 0.7


def test_rules_agree_when_all_stations_agree(tables):
    plan = make_plan("gaussian")
    one = finalise(plan, vector(plan, tables["h1"]), 1)
    for rule in robust.RULES:
        merged = robust.merge_robustly([one] * 7, rule)
        assert np.allclose(merged.predict_proba(tables["h0"]), one.predict_proba(tables["h0"]), atol=1e-6)


@given(st.integers(1, 40), st.integers(0, 100))
def test_gossip_ends_with_the_same_exact_sums_everywhere(count, seed):
    stations = [3 * n + 1 for n in range(count)]
    values = dict(zip(stations, np.random.default_rng(seed).integers(-9, 9, count).tolist(), strict=True))
    total, state = sum(values.values()), dict(values)
    steps = gossip.schedule(stations)
    for number, step in enumerate(steps):
        assert len(set(step.values())) == len(step)
        last = number == len(steps) - 1
        sent = {receiver: state[sender] for sender, receiver in step.items()}
        for receiver, value in sent.items():
            state[receiver] = value if last and receiver in gossip.replaced(stations) else state[receiver] + value
    assert set(state.values()) == {total}
    assert len(steps) <= int(np.log2(count)) + 2


@pytest.mark.parametrize(("noise", "units"), [(CountNoise("local", 1.0), UNITS), (CountNoise(), EXACT_UNITS)])
def test_sums_are_counted_in_units_of_a_public_range(noise, units):
    plan = make_plan("gaussian", noise, names=("age",))
    frame = pd.DataFrame({"age": [0.0, 100.0, None], "class": ["ill", "ill", "ill"]})
    counts, first, second = summarise(plan, plan.columns.schema.encode(frame))
    assert counts.values.tolist() == [0, 3, 0]
    assert first.values.tolist() == [0, 0, 0, 0, units, 0]
    assert second.values.tolist() == [0, units, 0]
    model = finalise(plan, np.concatenate([counts.values, first.values, second.values]), 1)
    assert isinstance(model.features["age"], Gaussian)
    assert model.features["age"].moments()[0][1] == pytest.approx(50)


def test_exact_variances_are_right_where_a_column_fills_little_of_its_bounds():
    domain = {"income": {"bounds": [0, 1e6]}, "class": {"categories": ["low", "high"]}}
    columns = Columns("class", ["income"], domain)
    plan = Plan(columns, check_bins(columns, 10), "gaussian", "bounds", CountNoise(), 1.0)
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"income": rng.normal(2e4, 1e3, 500), "class": rng.choice(["low", "high"], 500)})
    summed = vector(plan, table[:200]) + vector(plan, table[200:])
    means, variances = finalise(plan, summed, 2).features["income"].moments()
    known = table.groupby("class")["income"]
    np.testing.assert_allclose(means, [known.mean()[name] for name in ("low", "high")], rtol=1e-8)
    np.testing.assert_allclose(variances, [known.var(ddof=0)[name] for name in ("low", "high")], rtol=1e-5)


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_the_baselines_come_near_one_another_with_a_large_budget(pooled, statistics):
    plan = make_plan(statistics, CountNoise("local", 1e5))
    encoded = plan.columns.schema.encode(pooled)
    plain = baselines.vanilla(plan, encoded)
    reference = fit_model(plan.columns.schema, "class", encoded, statistics, 10)
    assert np.allclose(plain.predict_proba(pooled), reference.predict_proba(pooled), atol=1e-3)
    for private in (baselines.centralized, baselines.vaidya):
        agreement = np.mean(private(plan, encoded).predict(pooled) == plain.predict(pooled))
        assert agreement > 0.9


def test_the_baselines_are_ruined_by_a_tiny_budget(pooled):
    plan = make_plan("gaussian", CountNoise("local", 1e-3))
    encoded = plan.columns.schema.encode(pooled)
    plain = baselines.vanilla(plan, encoded).predict(pooled)
    for private in (baselines.centralized, baselines.vaidya):
        agreements = [np.mean(private(plan, encoded).predict(pooled) == plain) for _ in range(9)]
        assert np.median(agreements) < 0.9


def test_central_functions_stay_short():
    import ast
    import inspect

    from v6_dp_naive_bayes import central

    for node in ast.walk(ast.parse(inspect.getsource(central))):
        if isinstance(node, ast.FunctionDef):
            body = [part for part in node.body if not isinstance(part, ast.Expr)]
            assert body[-1].end_lineno - body[0].lineno < 40


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_the_law_of_a_plan_is_the_narrower_one(statistics, neighbors):
    chosen = set()
    for features in (1, 3, 10, 40):
        domain = {f"x{number}": DOMAIN["age" if number % 2 else "stage"] for number in range(features)}
        columns = Columns("class", list(domain), {**domain, "class": DOMAIN["class"]})
        for delta in (1e-9, 1e-6, 1e-3):
            noise = CountNoise("distributed", 0.5, delta, neighbors)
            asked = Plan(columns, check_bins(columns, 10), statistics, "bounds", noise, 1.0)
            plan = settled(asked, "auto")
            pure = settled(
                Plan(columns, asked.bins, statistics, "bounds", CountNoise("distributed", 0.5, 0.0, neighbors), 1.0),
                "auto",
            )
            spread = [np.prod(np.array(one.deviations(1)) ** (1 / one.queries)) for one in (plan, asked, pure)]
            assert spread[0] == pytest.approx(min(spread))
            assert plan.noise.delta in (0.0, delta)
            assert settled(asked, "gaussian") == settled(asked, "laplace") == asked
            chosen.add(plan.noise.delta > 0)
    assert chosen == {True, False}


def test_noise_that_vanishes_is_the_narrower_one():
    plan = settled(make_plan(noise=CountNoise("local", 1e6, 1e-6)), "auto")
    assert plan.noise.delta == 0.0
    assert max(plan.deviations(1)) == 0.0
