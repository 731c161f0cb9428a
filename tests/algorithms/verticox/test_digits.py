"""The Cox likelihood keeps its digits: strata of very unlike risks, predictors beyond the range of exp, features far from zero."""

import warnings

import numpy as np
import pytest

from v6_verticox.cox import levelled, likelihood

LONG = np.longdouble


def by_definition(time, event, strata, x, beta, ties):
    """Log partial likelihood, gradient and information from the definition in extended precision, each risk set about its own largest risk."""
    x = x.astype(LONG)
    predictor = x @ beta.astype(LONG)
    value, gradient, information = LONG(0), np.zeros(x.shape[1], LONG), np.zeros((x.shape[1],) * 2, LONG)
    for code, moment in sorted({(s, t) for s, t, died in zip(strata, time, event, strict=True) if died}):
        risk = np.flatnonzero((strata == code) & (time >= moment))
        dead = np.flatnonzero((strata == code) & (time == moment) & (event == 1))
        top = predictor[risk].max()
        for place in range(len(dead)):
            spared = LONG(place) / len(dead) if ties == "efron" else LONG(0)
            share = (1 - spared * np.isin(risk, dead)) * np.exp(predictor[risk] - top)
            total = share.sum()
            mean = share @ x[risk] / total
            apart = x[risk] - mean
            value -= top + np.log(total)
            gradient -= mean
            information += (apart * (share / total)[:, None]).T @ apart
        value += predictor[dead].sum()
        gradient += x[dead].sum(axis=0)
    return value, gradient, information


def drawn(seed, rows=80):
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(rows, 3)) * (1 + seed % 3)) + (1e3 if seed % 2 else 0.0)
    time, event = rng.integers(1, 15, rows).astype(float), rng.integers(0, 2, rows)
    return time, event, rng.integers(0, 3, rows), x, rng.normal(size=3) / x.std(axis=0)


def apart(found, wanted):
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("steep", [0.2, 1.0, 30.0, 200.0])
@pytest.mark.parametrize("seed", range(4))
def test_to_the_last_digits(seed, steep, ties):
    time, event, strata, x, direction = drawn(seed)
    beta = steep * direction
    value, gradient, information = by_definition(time, event, strata, x, beta, ties)
    risk = likelihood.RiskSets.of(time, event, strata, ties)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here = likelihood.evaluate(risk, x, beta)
        alone, residuals, _ = likelihood.evaluate_predictor(risk, x @ beta)
        moved = [x.T @ likelihood.curvature_product(risk, x @ beta, column) for column in x.T]
    assert apart(here.log_likelihood, value) < 1e-14 * max(1.0, steep)
    assert apart(alone, value) < 1e-14 * max(1.0, steep)
    assert apart(here.gradient, gradient) < 1e-12
    assert apart(x.T @ residuals, gradient) < 1e-12
    squares = (
        event.sum() * 1e-14
    )  # the information is a difference of sums of squares: about the mean, and for directions about zero
    np.testing.assert_allclose(
        here.information, information.astype(float), rtol=0, atol=squares * np.ptp(x, axis=0).max() ** 2
    )
    np.testing.assert_allclose(np.array(moved), information.astype(float), rtol=0, atol=squares * np.abs(x).max() ** 2)


def test_a_stratum_does_not_drown_in_another():
    rng = np.random.default_rng(3)
    time, event, x = np.tile(np.arange(1.0, 21.0), 2), np.ones(40, dtype=int), rng.normal(size=(40, 1))
    strata = np.repeat([0, 1], 20)
    apart_by = x + 800.0 * strata[:, None]
    near = likelihood.evaluate(likelihood.RiskSets.of(time, event, strata), x, np.ones(1))
    far = likelihood.evaluate(likelihood.RiskSets.of(time, event, strata), apart_by, np.ones(1))
    assert far.log_likelihood == pytest.approx(near.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(far.information, near.information, rtol=1e-9)


def test_an_early_giant_leaves_the_later_risk_sets_alone():
    time, event, predictor = np.arange(1.0, 7.0), np.ones(6, dtype=int), np.array([2000.0, 0.0, -900.0, 1.0, 0.5, 0.0])
    risk = likelihood.RiskSets.of(time, event)
    wanted = sum(predictor[row] - np.logaddexp.reduce(predictor[row:]) for row in range(6))
    assert likelihood.evaluate_predictor(risk, predictor)[0] == pytest.approx(wanted, rel=1e-15)


def test_running_sums_begin_anew_in_each_group():
    group, exponent = np.array([0, 0, 0, 1, 1]), np.array([-np.inf, 600.0, -600.0, -3000.0, 5.0])
    level = levelled.levels(exponent, group)
    assert level[1] == level[2] == 512.0
    assert level[3] == -3072.0
    sums = levelled.running(np.exp(exponent - level)[:, None], level, group)[:, 0]
    np.testing.assert_allclose(np.log(sums[1:]) + level[1:], [600.0, 600.0, -3000.0, 5.0], rtol=1e-15)
    assert sums[0] == 0.0
