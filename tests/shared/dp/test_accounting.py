"""Accounting: known values, inverses, monotonicity."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.dp import accounting, gaussian, neighbors
from fedbayes.dp.accounting import PrivacyLoss

EPSILONS = st.floats(1e-3, 20.0)
DELTAS = st.floats(1e-12, 1e-2)


@given(st.floats(1e-6, 10.0), DELTAS)
def test_conversion_is_never_worse_than_the_classic_one_and_monotone(rho, delta):
    epsilon = accounting.rho_to_epsilon(rho, delta)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-12
    assert accounting.rho_to_epsilon(rho * 1.1, delta) >= epsilon
    assert accounting.rho_to_epsilon(rho, delta / 2) >= epsilon - 1e-9


def test_conversion_is_not_below_the_exact_gaussian():
    """The Gaussian mechanism's exact (epsilon, delta) curve (Balle and Wang 2018) lies below the converted epsilon."""
    from scipy.stats import norm

    for rho, delta in itertools.product((0.005, 0.1, 1.0), (1e-3, 1e-6)):
        epsilon, mu = accounting.rho_to_epsilon(rho, delta), math.sqrt(2 * rho)
        exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert exact <= delta


@given(st.lists(EPSILONS, min_size=1, max_size=8))
def test_composition_is_free_of_order_and_adds(epsilons):
    losses = [PrivacyLoss(epsilon=epsilon) for epsilon in epsilons]
    assert accounting.compose(losses) == accounting.compose(losses[::-1]) == (math.fsum(epsilons), 0.0)
    assert accounting.compose(losses, 1e-6)[0] <= math.fsum(epsilons)


def test_many_small_losses_compose_better_through_zcdp():
    epsilon, delta = accounting.compose([PrivacyLoss(epsilon=0.01)] * 1000, 1e-6)
    assert epsilon < 2.0
    assert delta == 1e-6


def test_gaussian_needs_delta_and_losses_one_parameter():
    with pytest.raises(ValueError, match="delta"):
        accounting.compose([PrivacyLoss(mu=0.1)])
    alone = accounting.compose([PrivacyLoss(mu=0.1)], 1e-6)[0]
    assert accounting.compose([PrivacyLoss(mu=0.1), PrivacyLoss(epsilon=0.1)], 1e-6)[0] == pytest.approx(alone + 0.1)
    for wrong in ({}, {"epsilon": 1.0, "mu": 1.0}, {"epsilon": -1.0}, {"mu": math.nan}):
        with pytest.raises(ValueError, match=r"epsilon|mu"):
            PrivacyLoss(**wrong)


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8), DELTAS)
def test_gaussian_losses_compose_as_one_of_the_root_of_their_squares(mus, delta):
    """The exact curve of the whole (Balle and Wang 2018) meets delta at the epsilon that is told; what is set aside for shares costs twice itself."""
    epsilon, _ = accounting.compose([PrivacyLoss(mu=mu) for mu in mus], delta)
    whole = math.hypot(*mus)
    if epsilon > 0:
        assert gaussian.delta_of(whole, epsilon) == pytest.approx(delta, rel=1e-6)
    assert gaussian.delta_of(whole, epsilon) <= delta * (1 + 1e-9)  # what is told is above the exact one by as much
    apart = accounting.compose([PrivacyLoss(mu=mu, excess=1e-5) for mu in mus], delta)[0]
    assert epsilon + 2e-5 * len(mus) <= apart < epsilon + 2.2e-5 * len(mus) + 1e-4 * whole


@given(st.floats(1e-6, 100.0), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40))
def test_split_never_exceeds_the_total(total, weights):
    parts = accounting.split(total, weights)
    assert math.fsum(parts) <= total
    assert math.fsum(parts) == pytest.approx(total, rel=1e-9)
    assert np.allclose(np.array(parts) / parts[0], np.array(weights) / weights[0])


def test_wrong_arguments_are_named():
    cases = [
        (lambda: neighbors.check_neighbors("swap"), "neighbors"),
        (lambda: accounting.rho_to_epsilon(0.0, 1e-6), "rho"),
        (lambda: accounting.rho_to_epsilon(1.0, 0.0), "delta"),
        (lambda: gaussian.mu_of(1.0, 0.0), "delta"),
        (lambda: gaussian.mu_of(math.inf, 1e-6), "epsilon"),
        (lambda: gaussian.unit_sigma(-1.0), "mu"),
        (lambda: accounting.split(1.0, []), "weights"),
        (lambda: accounting.split(math.inf, [1.0]), "total"),
    ]
    for call, named in cases:
        with pytest.raises(ValueError, match=named):
            call()
