"""Lower bounds on epsilon by sampling, over worst-case neighbours: below the claim for what is released, above it for each positive control.

A sample is everything that one station releases of a table, whole (local noise), or the sum over the honest stations (distributed). Its score is the log
ratio of its probabilities under both tables where the law is known, which is the best test there is; 95 % Clopper-Pearson on a threshold chosen on
half of the samples. So a bound above the claim comes once in forty audits of an exact mechanism that attains it; claims are given 3 % of room, and
what exceeds them is audited once more (`audit_kit.again`).
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audit_kit import CONFIDENCE, Alone, again, lower_bound

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import Schema
from fedbayes.dp import mechanisms
from fedbayes.federation.errors import MessageError
from fedbayes.federation.horizontal import (
    Columns,
    CountNoise,
    EvaluateRequest,
    Unit,
    release,
    tally_station,
    tallying,
)
from v6_dp_naive_bayes.model import Plan, summarise
from v6_dp_naive_bayes.published import publish
from v6_smooth_naive_bayes import model as smooth
from v6_smooth_naive_bayes.messages import Settings
from v6_smooth_naive_bayes.queries import Release

DOMAIN = {
    "x": {"bounds": [0, 10]},
    "c": {"categories": ["a", "b"]},
    "y": {"categories": ["n", "p"]},
}
SAMPLES = 3000
ROOM = 1.03


def table(rows=6):
    return pd.DataFrame({"id": [f"p{n}" for n in range(rows)], "x": [2.0] * rows, "c": ["a"] * rows, "y": ["n"] * rows})


def with_rows(frame, *rows):
    return pd.concat([frame, pd.DataFrame(rows, columns=list(frame.columns))], ignore_index=True)


NEIGHBOURS = {
    "add_remove": (table(), with_rows(table(), ("new", 10.0, "b", "p"))),
    "replace_one": (with_rows(table(), ("new", 0.0, "a", "n")), with_rows(table(), ("new", 10.0, "b", "p"))),
}


def laplace_score(samples, one, other, scale):
    """Return log P(sample | other) - log P(sample | one) of discrete Laplace noise, cell by cell."""
    return ((np.abs(samples - one) - np.abs(samples - other)) / scale).sum(axis=1)


def normal_score(samples, one, other, sigma):
    return (((samples - one) ** 2 - (samples - other) ** 2) / (2 * sigma**2)).sum(axis=1)


def plan_for(statistics, noise, unit=None):
    columns = Columns("y", ["x", "c"], DOMAIN, "clip", unit or Unit())
    return Plan(columns, {"x": 3}, statistics, "bounds", noise, 1.0)


def drawn(station, queries, noise, times):
    """Return what `times` releases of one station hold, float64, (times, cells): one release of as many copies, whose noise is the same."""
    copies = [replace(query, values=np.tile(query.values.ravel(), times)) for query in queries]
    whole = np.asarray(release(station, copies, noise, "audit").value, dtype=np.float64)
    parts = np.split(whole, np.cumsum([query.values.size for query in copies])[:-1])
    return np.concatenate([part.reshape(times, -1) for part in parts], axis=1)


def scales(plan, queries, stations=1):
    """Return the scale of the noise in every cell of a release of one honest station."""
    noise, total = plan.noise, len(queries)
    changes = [noise.change(q.l1, q.l2, q.values.size, q.nonnegative) for q in queries]
    parts = [noise.width(total, change, stations) for change in changes]
    return np.concatenate([np.full(q.values.size, part) for q, part in zip(queries, parts, strict=True)])


def fit_bound(plan, frames, noise, samples=SAMPLES):
    """Return the lower bound on epsilon of a fit's release; `noise` is what is drawn, the plan's what is claimed."""
    stations = [Alone(frame) for frame in frames]
    queries = [summarise(plan, plan.columns.read(station)) for station in stations]
    exact = [np.concatenate([q.values.ravel() for q in found]).astype(np.float64) for found in queries]
    score = normal_score if noise.delta > 0 else laplace_score
    spread = scales(plan, queries[0])
    found = [
        score(drawn(station, query, noise, samples), *exact, spread)
        for station, query in zip(stations, queries, strict=True)
    ]
    return lower_bound(found[1], found[0], plan.noise.delta)


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_fit(statistics, delta, relation, epsilon):
    noise = CountNoise("local", epsilon, delta, relation)
    plan = plan_for(statistics, noise)
    found = again(lambda: fit_bound(plan, NEIGHBOURS[relation], noise), epsilon * ROOM, 0.0 if delta else 0.1 * epsilon)
    assert found <= epsilon * ROOM
    if delta == 0:
        assert found > 0.1 * epsilon  # the audit sees something


@pytest.mark.audit
@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_control_a_fit_with_noise_for_twice_the_budget_is_found_out(statistics):
    claimed, drawn_with = CountNoise("local", 1.0), CountNoise("local", 2.6)
    plan = plan_for(statistics, claimed)
    assert again(lambda: fit_bound(plan, NEIGHBOURS["add_remove"], drawn_with), above=1.0) > 1.0


@pytest.mark.audit
def test_an_identifier_with_all_its_rows():
    unit, epsilon = Unit("id", 3), 1.5
    noise = CountNoise("local", epsilon, rows=3, id_column="id")
    frames = (table(), with_rows(table(), *[("new", 10.0, "b", "p")] * 9))
    found = again(lambda: fit_bound(plan_for("histogram", noise, unit), frames, noise), epsilon * ROOM, 0.1 * epsilon)
    assert 0.1 * epsilon < found <= epsilon * ROOM


@pytest.mark.audit
def test_control_a_person_with_many_rows_spends_more_than_a_rows_promise():
    noise = CountNoise("local", 1.5)
    frames = (table(), with_rows(table(), *[("new", 10.0, "b", "p")] * 9))
    assert again(lambda: fit_bound(plan_for("histogram", noise), frames, noise), above=1.5) > 1.5


@pytest.mark.audit
@pytest.mark.parametrize("stations", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_sum_that_a_station_sees_which_subtracts_its_own_share(stations, epsilon):
    noise = CountNoise("distributed", epsilon, honest_fraction=1.0)
    found = again(lambda: seen_by_one(stations, epsilon, noise), epsilon * ROOM, 0.1 * epsilon)
    assert 0.1 * epsilon < found <= epsilon * ROOM


@pytest.mark.audit
def test_control_shares_that_need_everybodys_are_found_out(monkeypatch):
    from fedbayes.dp import shares

    monkeypatch.setattr(shares, "honest_parties", lambda parties, fraction: parties)
    noise = CountNoise("distributed", 1.0, honest_fraction=1.0)
    assert again(lambda: seen_by_one(2, 1.0, noise), above=1.0) > 1.0


def seen_by_one(stations, epsilon, noise):
    """One cell; the noise of all stations but one."""
    samples = 8000
    total = np.zeros(samples, dtype=np.int64)
    from fedbayes.dp import shares

    for _ in range(stations - 1):
        total += shares.polya(
            samples, noise.width(1, noise.change(1.0, 1.0, 1), stations), stations, noise.honest_fraction
        )
    other = np.zeros(samples, dtype=np.int64)
    for _ in range(stations - 1):
        other += shares.polya(
            samples, noise.width(1, noise.change(1.0, 1.0, 1), stations), stations, noise.honest_fraction
        )
    return max(lower_bound(total + 1, other), lower_bound(-np.abs(other), -np.abs(total + 1)))


MODEL = NaiveBayes.from_dict(
    {
        "format": "fedbayes.naive_bayes/1",
        "label": "y",
        "domain": {"x": DOMAIN["x"], "y": DOMAIN["y"]},
        "class_counts": [1.0, 1.0],
        "class_noise": 0.0,
        "features": {
            "x": {
                "kind": "gaussian",
                "count": [1.0, 1.0],
                "total": [-0.9, 0.9],
                "squares": [0.35, 0.35],
                "bounds": [0, 10],
                "noise": 0.0,
            }
        },
        "provenance": {},
    }
)


class Crafted:
    """A model that says whatever makes one row change the most, numbers or not."""

    schema, label, features = Schema.from_domain({"x": DOMAIN["x"], "y": DOMAIN["y"]}), "y", ["x"]

    def __init__(self, answer):
        self._answer = answer

    def predict_log_proba(self, frame):
        return np.tile(np.array(self._answer, dtype=np.float64), (len(frame), 1))


def tallies_of(frame, noise, classifier):
    """Return the queries that a station's scores are made of, before their noise."""
    seen = []

    def catch(station, queries, noise, note):
        seen.append(queries)
        raise MessageError("seen")

    real, tallying.release = tallying.release, catch
    try:
        tally_station(Alone(frame), EvaluateRequest({}, "y", noise), lambda data: classifier)
    except MessageError:
        return seen[0]
    finally:
        tallying.release = real


@pytest.mark.audit
@pytest.mark.parametrize("classifier", [MODEL, Crafted([math.nan, math.nan]), Crafted([-math.inf, 0.0])])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_scores_of_any_model(classifier, epsilon):
    frames = [table(), with_rows(table(), ("new", 10.0, "b", "n"))]
    noise = CountNoise("local", epsilon)
    queries = [tallies_of(frame, noise, classifier) for frame in frames]
    exact = [np.concatenate([q.values.ravel() for q in found]).astype(np.float64) for found in queries]
    spread = np.concatenate(
        [
            np.full(q.values.size, noise.width(len(queries[0]), noise.change(q.l1, q.l2, q.values.size), 1))
            for q in queries[0]
        ]
    )

    def bound():
        found = [laplace_score(drawn(Alone(None), each, noise, SAMPLES), *exact, spread) for each in queries]
        return lower_bound(found[1], found[0])

    assert again(bound, epsilon * ROOM) <= epsilon * ROOM


@pytest.mark.audit
def test_control_losses_that_are_cast_before_they_are_cut_are_found_out():
    """What a model whose probabilities are no numbers did: one row's loss became -2^63."""
    with np.errstate(invalid="ignore"):
        cast = np.minimum(np.rint(np.full(1, np.nan) * 2**16), 8 * 2**16).astype(np.int64)
    scale = 4 * 8 * 2**16 / 0.001
    one, other = (mechanisms.discrete_laplace(np.full(2000, loss), scale) for loss in (int(cast[0]) // 2, 0))
    assert lower_bound(-one.astype(np.float64), -other.astype(np.float64)) > 0.001


def smooth_samples(frame, settings, times):
    """Return what `times` releases hold, (times, numbers): one release of as many copies of the statistics."""
    schema = Schema.from_domain({"x": DOMAIN["x"], "y": DOMAIN["y"]})
    summary = smooth.summarise(Release(schema, "y", settings), schema.encode(frame[["x", "y"]]))
    copies = smooth.Summary(
        np.tile(summary.counts, times),
        np.tile(summary.missing, (times, 1)),
        *(np.tile(part, (times, 1)) for part in (summary.first, summary.second)),
        *(np.tile(part, (times, 1)) for part in (summary.first_scale, summary.second_scale)),
    )
    told = smooth.perturb(copies, Release(schema, "y", settings))
    parts = (told.counts, *[told.missing] * bool(told.missing.size), told.first, told.second)
    return np.concatenate([np.asarray(part, dtype=np.float64).reshape(times, -1) for part in parts], axis=1)


def best_of_columns(one, other):
    """Return the largest bound over single released numbers, each told by its distance to where `one` has its bulk (a Bonferroni correction)."""
    count = one.shape[1]
    level = 1.0 - (1.0 - CONFIDENCE) / (2 * count)
    found = []
    for column in range(count):
        centre = np.median(one[: len(one) // 2, column])
        scores = [np.abs(part[:, column] - centre) for part in (one, other)]
        found += [
            lower_bound(one[:, column], other[:, column], 0.0, level),
            lower_bound(scores[0], scores[1], 0.0, level),
        ]
    return max(found)


@pytest.mark.audit
@pytest.mark.parametrize("value", [10.0, None], ids=["a value", "missing"])
@pytest.mark.parametrize("settings", [Settings(2.0), Settings(2.0, noise="student_t"), Settings(2.0, "global")])
def test_a_smooth_release(settings, value):
    columns = {"x": [0.0] * 3, "y": ["n"] * 3}, {"x": [0.0] * 3 + [value], "y": ["n"] * 4}
    neighbours = [pd.DataFrame(part) for part in columns]

    def bound():
        one, other = (smooth_samples(frame, settings, SAMPLES) for frame in neighbours)
        return best_of_columns(other, one)

    assert again(bound, 2.0 * ROOM) <= 2.0 * ROOM


@pytest.mark.audit
def test_control_scales_that_follow_the_data_are_found_out():
    """The paper's mode: the noise is scaled by the station's own largest value."""
    columns = Columns("y", ["x"], {"x": {"bounds": [0, 1000]}, "y": {"categories": ["n", "p"]}})
    plan = Plan(columns, {}, "gaussian", "published", CountNoise("local", 1.0), 1.0)
    frames = [pd.DataFrame({"x": values, "y": ["n"] * len(values)}) for values in ([1.0], [1.0, 1000.0])]

    def bound():
        found = []
        for frame in frames:
            encoded = columns.schema.encode(frame)
            raw = np.array([publish(plan, encoded) for _ in range(1500)])
            found.append(np.abs(raw[:, 2] / 2**16 * 500.0 + 500.0 * raw[:, 0]))
        return lower_bound(found[1], found[0])

    assert again(bound, above=1.0) > 1.0


def test_the_audit_finds_a_known_loss_and_not_more():
    """Laplace noise of a known scale: the bound comes near its epsilon from below."""

    def bound():
        samples = [mechanisms.discrete_laplace(np.full(20_000, centre), 1.0) for centre in (0, 1)]
        return lower_bound(samples[1], samples[0])

    assert 0.8 < again(bound, ROOM, 0.8) <= ROOM
