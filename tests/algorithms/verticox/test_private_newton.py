"""The private solver, all roles in one process: parity, rounds, and every role's view."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.errors import ArgumentError, ConvergenceError
from fedbayes.mpc.relayed_sums import relayed
from v6_verticox.cox import likelihood
from v6_verticox.rounds.lockstep import alone
from v6_verticox.shares.reciprocals import is_wide, reciprocal_plan
from v6_verticox.solvers.newton import solve

SETUP = 5  # open_channel, partial_submit, partial_match, partial_prepare; partial_finish
FEATURES = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]


def oracle(frame, features):
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    return likelihood.fit(risk, frame[features].to_numpy(dtype=float), features)


def solved(rehearse, frame, features, parties, penalty=0.0):
    surface, scale = rehearse(frame, features, parties)
    return surface, alone(solve(surface, penalty / scale**2 + np.zeros(len(scale)), 1e-7, 30, likelihood=True)), scale


@pytest.mark.parametrize("parties", [2, 3, 4, 5])
def test_parity_on_rossi(paper_data, rehearse, parties):
    frame = paper_data("rossi")
    surface, found, scale = solved(rehearse, frame, FEATURES, parties)
    expected = oracle(frame, FEATURES)
    np.testing.assert_allclose(found.coefficients / scale, expected.coefficients, atol=1e-6)
    np.testing.assert_allclose(found.information * np.outer(scale, scale), expected.information, rtol=1e-4)
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert abs(found.gain - gain) <= min(1e-6 * gain, found.gain_error)
    assert surface.rounds + SETUP <= 80


@pytest.mark.parametrize("name", ["lung", "gbsg2", "veteran"])
def test_parity_on_other_data(paper_data, rehearse, name):
    frame = paper_data(name)
    if name == "lung":
        frame = frame.drop(columns=["inst"]).dropna()
    frame = pd.get_dummies(frame, drop_first=True, dtype=float)
    features = [column for column in frame if column not in ("time", "event")]
    surface, found, scale = solved(rehearse, frame, features, 3)
    np.testing.assert_allclose(found.coefficients / scale, oracle(frame, features).coefficients, atol=1e-6)
    assert surface.rounds + SETUP <= 80


@pytest.mark.parametrize(("name", "limit"), [("rossi", 1), ("rossi", 3), ("rossi", 50), ("veteran", 5)])
def test_efron(paper_data, rehearse, name, limit):
    frame = pd.get_dummies(paper_data(name), drop_first=True, dtype=float)
    features = [column for column in frame if column not in ("time", "event")]
    surface, scale = rehearse(frame, features, 3, limit=limit)
    found = alone(solve(surface, np.zeros(len(features)), 1e-7, 30))
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy(), ties="efron")
    expected = likelihood.fit(risk, frame[features].to_numpy(dtype=float), features)
    np.testing.assert_allclose(found.coefficients / scale, expected.coefficients, atol=1e-6)
    assert surface.rounds + SETUP <= 80


CASES = [
    ("rossi", 2, "efron", "race", 5.0),
    ("lung", 3, "breslow", "sex", 0.0),
    ("veteran", 4, "efron", None, 1.0),
    ("gbsg2", 4, "efron", None, 0.0),
    ("gbsg2", 5, "breslow", "horTh_yes", 10.0),
    ("lung", 5, "efron", "sex", 0.0),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "parties", "ties", "strata", "penalty"), CASES)
def test_parity_with_strata_ties_and_penalty(paper_data, rehearse, name, parties, ties, strata, penalty):
    frame = pd.get_dummies(paper_data(name).dropna(), drop_first=True, dtype=float)
    features = [column for column in frame if column not in ("time", "event", "inst", strata)]
    codes = None if strata is None else np.unique(frame[strata], return_inverse=True)[1]
    surface, scale = rehearse(frame, features, parties, limit=5 if ties == "efron" else 0, stratum=codes)
    found = alone(solve(surface, penalty / scale**2, 1e-7, 30, likelihood=True))
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy(), codes, ties)
    expected = likelihood.fit(risk, frame[features].to_numpy(dtype=float), features, penalty)
    np.testing.assert_allclose(found.coefficients / scale, expected.coefficients, atol=1e-6)
    sizes = np.sqrt(np.diag(expected.information))
    errors = found.information * np.outer(scale, scale) - expected.information
    assert np.max(np.abs(errors / np.outer(sizes, sizes))) <= 1e-5
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert abs(found.gain - gain) <= 1e-6 * gain
    assert surface.rounds + SETUP <= 80


def test_penalty(paper_data, rehearse):
    frame = paper_data("rossi")
    _, found, scale = solved(rehearse, frame, FEATURES, 2, penalty=10.0)
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    expected = likelihood.fit(risk, frame[FEATURES].to_numpy(dtype=float), FEATURES, penalty=10.0)
    np.testing.assert_allclose(found.coefficients / scale, expected.coefficients, atol=1e-6)


@pytest.mark.usefixtures("fine_hazards")
def test_baseline_hazard(paper_data, rehearse):
    frame = paper_data("rossi")
    surface, _ = rehearse(frame, FEATURES, 3, baseline_rows=(10, 200))
    found = alone(solve(surface, np.zeros(7), 1e-7, 30))
    values = np.concatenate(surface.columns, axis=1)
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    hazard = likelihood.evaluate_predictor(risk, values @ found.coefficients)[2]
    np.testing.assert_allclose(surface.baseline.ravel(), hazard[[10, 200]], rtol=1e-4)


def uniform(words, rows):
    ones = np.unpackbits(words.reshape(-1).view(np.uint8)).reshape(-1, 128)
    return np.all(np.abs(ones.mean(axis=0) - 0.5) < 7 * 0.5 / np.sqrt(len(ones))) and len(ones) >= rows


INPUTS = ("features", "x", "1.0/factor0", "1.0/factor1")  # opened modulo 2^128; others are cut


def test_every_view_is_uniform(paper_data, rehearse):
    frame = paper_data("rossi")
    surface, _, _ = solved(rehearse, frame, FEATURES, 3)
    checked = 0
    for role in ("parties", "outcome"):
        for message in surface.views[role]:
            for name, array in message.items():
                if len(array.shape) == 2 and array.shape[0] == len(frame) and (role == "outcome" or name in INPUTS):
                    assert uniform(array.to_words(), len(frame))
                    checked += 1
    assert checked > 50
    for message in surface.views[
        "relay"
    ]:  # the parts that central sees, and what it sends back but for the byte that counts
        for parts in message.values():
            for array in [*parts, relayed(parts)[..., :-1]]:
                ones = np.unpackbits(array.reshape(-1, array.shape[-1]), axis=1)
                assert np.all(np.abs(ones.mean(axis=0) - 0.5) < 7 * 0.5 / np.sqrt(len(ones)))


def test_views_have_equal_shapes_on_different_data(paper_data, rehearse):
    """Two data sets of one size: what a role receives before central chooses a step differs in no shape."""
    frame = paper_data("rossi")
    other = frame.sample(frac=1.0, random_state=1).reset_index(drop=True)
    other["age"] = other["age"] * 3 + np.arange(len(other)) % 5
    shapes = []
    for table in (frame, other):
        surface, _ = rehearse(table, FEATURES, 3)
        alone(surface.start())
        alone(surface.information(0, False))
        shapes.append(
            [
                (role, [(n, a.shape) for n, a in m.items() if hasattr(a, "shape")])
                for role in ("parties", "outcome")
                for m in surface.views[role]
            ]
        )
    assert shapes[0] == shapes[1]


def test_tau_and_openings_say_nothing_of_the_order(paper_data, rehearse):
    """The permutation that the parties learn is as good as random beside the true order."""
    frame = paper_data("rossi")
    correlations = []
    for _ in range(5):
        surface, _ = rehearse(frame, FEATURES, 2)
        correlations.append(np.corrcoef(surface.holder.tau, surface.holder.order)[0, 1])
    assert max(abs(value) for value in correlations) < 0.35


def test_central_sees_shares_whose_sum_alone_means_anything(paper_data, rehearse):
    frame = paper_data("rossi")
    surface, _, _ = solved(rehearse, frame, FEATURES, 3)
    words = [
        share.to_words().reshape(-1) for m in surface.views["central"] for shares in m.values() for share in shares
    ]
    ones = np.unpackbits(np.concatenate(words).view(np.uint8))
    assert abs(ones.mean() - 0.5) < 7 * 0.5 / np.sqrt(ones.size)


def test_the_dealer_works_without_data(paper_data, rehearse):
    """Dealing is a function of keys, shapes and stages: no data, no openings."""
    frame = paper_data("rossi")
    surface, _ = rehearse(frame, FEATURES, 2)
    alone(surface.start())
    dealt = dict(surface.corrections)
    surface.corrections.clear()
    surface._deal([s for s in (surface_stage("features"), surface_stage("last"), surface_stage("information"))])
    assert all(np.array_equal(dealt[name].low, surface.corrections[name].low) for name in surface.corrections)


def surface_stage(kind):
    from v6_verticox.messages.private import Stage

    return Stage(kind)


def test_collinear_features_are_named(paper_data, rehearse):
    frame = paper_data("rossi").assign(months=lambda table: table["age"] * 12 + 1.0)
    surface, _ = rehearse(frame, [*FEATURES, "months"], 2)
    with pytest.raises(ArgumentError, match="x1, x7"):
        alone(solve(surface, np.zeros(8), 1e-7, 30))


def test_too_few_steps(paper_data, rehearse):
    surface, _ = rehearse(paper_data("rossi"), FEATURES, 2)
    with pytest.raises(ConvergenceError, match="within the steps that so many records and features allow"):
        alone(solve(surface, np.zeros(7), 1e-7, 1))


@pytest.mark.parametrize(
    ("below", "above", "target"),
    [
        *((spread, spread, 1e-8) for spread in (0.01, 0.3, 1.0, 2.0)),
        *((1.5, spread, 1e-7) for spread in (3.0, 4.0, 4.2, 5.0, 7.0, 8.0)),
    ],
)
def test_reciprocal_plans_reach_their_target(below, above, target):
    start = np.exp(np.linspace(-below, above, 1001))
    inverse = np.ones_like(start)
    for first, second in reciprocal_plan(above, target):
        assert all(0 <= value < 2**20 for value in (first, second))
        inverse = first / 4096 * inverse - second / 4096 * start * inverse**2
    assert np.max(np.abs(1.0 - start * inverse)) < 1e-6


def test_skewed_features_take_shorter_steps(rehearse):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"skewed": np.exp(1.3 * rng.normal(size=400)), "plain": rng.normal(size=400)})
    frame["rare"] = (rng.uniform(size=400) < 0.04).astype(float)
    risk = np.clip(frame @ [0.1, 0.8, 1.5], -5, 8)
    death, censored = rng.exponential(np.exp(-risk)), rng.exponential(2.0, 400)
    frame = frame.assign(time=np.minimum(death, censored), event=(death <= censored).astype(int))
    features = ["skewed", "plain", "rare"]
    _, found, scale = solved(rehearse, frame, features, 2)
    np.testing.assert_allclose(found.coefficients / scale, oracle(frame, features).coefficients, atol=1e-5)


def nasty(kind, seed, rows=300):
    """One very skewed, sparse or badly scaled feature with a real effect, beside two ordinary ones."""
    rng = np.random.default_rng(seed)
    column = {
        "lognormal": lambda: np.exp(1.5 * rng.normal(size=rows)),
        "pareto": lambda: rng.pareto(1.5, rows),
        "outlier": lambda: np.where(np.arange(rows) == 5, 60.0, rng.normal(size=rows)),
        "sparse": lambda: (rng.uniform(size=rows) < 0.02) * rng.exponential(1e6, rows),
        "huge": lambda: 1e9 * rng.normal(size=rows) + 1e12,
        "tiny": lambda: 1e-9 * rng.normal(size=rows),
        "rare": lambda: (rng.uniform(size=rows) < 0.02).astype(float),
        "counts": lambda: rng.poisson(rng.gamma(0.3, 3.0, size=rows)).astype(float),
    }[kind]()
    frame = pd.DataFrame({"nasty": column, "x": rng.normal(size=rows), "y": rng.normal(size=rows)})
    risk = np.clip(0.6 * (column - column.mean()) / column.std() + 0.7 * frame["x"], -6, 8)
    death, censored = rng.exponential(np.exp(-risk)), rng.exponential(2.0, rows)
    return frame.assign(time=np.minimum(death, censored), event=(death <= censored).astype(int))


EXTREME = ("pareto", "outlier", "sparse")  # a record of relative risk up to exp(12)
SKEWED = (*EXTREME, "lognormal", "rare")


def attempted(surface):
    try:
        return alone(solve(surface, np.zeros(3), 1e-7, 30)), ""
    except ConvergenceError as refusal:
        return None, str(refusal)


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", [*SKEWED, "huge", "tiny", "counts"])
@pytest.mark.parametrize("seed", [1, 2])
def test_nasty_features_are_solved_or_refused_with_a_remedy(rehearse, kind, seed):
    frame, features = nasty(kind, seed), ["nasty", "x", "y"]
    surface, scale = rehearse(frame, features, 2)
    found, refusal = attempted(surface)
    assert (found is not None) or (kind in EXTREME and "transform" in refusal)
    if found is not None:
        deviations = frame[features].to_numpy().std(axis=0)
        error = np.max(np.abs(found.coefficients / scale - oracle(frame, features).coefficients) * deviations)
        assert error < (1e-3 if kind in EXTREME else 1e-6)
        assert surface.rounds <= 60 or kind in SKEWED


def test_wide_intervals_have_wide_coefficients_first():
    plan = reciprocal_plan(4.0, 1e-8)
    assert [is_wide(pair) for pair in (plan[0], plan[-1])] == [True, False]
    assert not any(is_wide(pair) for pair in reciprocal_plan(1.0, 1e-8))
    assert len(plan) <= len(reciprocal_plan(1.0, 1e-8)) + 4
