"""Audits: exact enumeration on tiny domains, and sampled lower bounds of epsilon with a positive control."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from fedbayes.dp import heavy_tails, mechanisms, shares, smooth

CONFIDENCE = 1.0 - 1e-9
RUNS = 20_000


def shown(hits: np.ndarray, other_hits: np.ndarray) -> np.ndarray:
    """Lower bound of the log ratio of two probabilities from their numbers of hits (Clopper and Pearson)."""
    low = np.where(hits > 0, stats.beta.ppf(1 - CONFIDENCE, np.maximum(hits, 1), RUNS - hits + 1), 1e-12)
    high = stats.beta.ppf(CONFIDENCE, other_hits + 1, np.maximum(RUNS - other_hits, 1))
    return np.log(low / high)


def lower_bound(mechanism: Callable[[int], np.ndarray], other: Callable[[int], np.ndarray]) -> float:
    """Epsilon that the outputs show: the best event is chosen on a first half of the runs and judged on the second."""
    learn, learn_other = mechanism(RUNS), other(RUNS)
    cuts = np.quantile(np.concatenate([learn, learn_other]), np.linspace(0.005, 0.995, 199))
    centre = np.median(learn)
    radii = np.quantile(np.abs(learn - centre), np.linspace(0.01, 0.99, 50))

    def hits(outputs: np.ndarray) -> np.ndarray:
        outside = [(np.abs(outputs - centre) > radius).sum() for radius in radii]
        above, below = [(outputs >= cut).sum() for cut in cuts], [(outputs <= cut).sum() for cut in cuts]
        return np.array(above + below + outside)

    best = int(np.argmax(shown(hits(learn), hits(learn_other))))
    return float(shown(hits(mechanism(RUNS)), hits(other(RUNS)))[best])


def test_exact_enumeration_of_noisy_counts():
    """All neighbouring tiny histograms: every output probability within e^epsilon, and equality is reached."""
    epsilon = 0.7
    outputs = np.arange(-60, 70)
    for neighbors, pairs in (
        ("add_remove", [((1, 2), (1, 3)), ((0, 0), (1, 0))]),
        ("replace_one", [((1, 2), (2, 1)), ((3, 0), (2, 1))]),
    ):
        rate = epsilon / (1 if neighbors == "add_remove" else 2)
        for one, two in pairs:
            losses = [
                np.abs(stats.dlaplace.logpmf(outputs - a, rate) - stats.dlaplace.logpmf(outputs - b, rate)).max()
                for a, b in zip(one, two, strict=True)
            ]
            assert sum(losses) == pytest.approx(epsilon)


def test_exact_enumeration_of_polya_sums():
    """The convolution of the honest shares' own law is epsilon-DP for a count, whatever the others do."""
    epsilon, honest, top = 1.0, 3, 80
    mass = stats.nbinom.pmf(np.arange(top), 1.0 / honest, -math.expm1(-epsilon))
    share = np.convolve(mass, mass[::-1])
    total = share
    for _ in range(honest - 1):
        total = np.convolve(total, share)
    middle = len(total) // 2
    window = np.log(total[middle - 20 : middle + 21])
    assert np.abs(np.diff(window)).max() == pytest.approx(epsilon, rel=1e-6)


def test_exact_enumeration_of_diluted_geometric_sums():
    """The sum of the diluted shares of all parties but the one that looks is (epsilon, delta)-DP; with half the dilution it is not."""
    epsilon, delta, parties = 1.0, 0.05, 6
    others = parties - 1
    support = np.arange(-60, 61)
    noise = stats.dlaplace.pmf(support, epsilon)

    def excess(beta: float) -> float:
        share = beta * noise + (1 - beta) * (support == 0)
        total = share
        for _ in range(others - 1):
            total = np.convolve(total, share)
        return float(np.maximum(0.0, total[1:] - math.exp(epsilon) * total[:-1]).sum())

    beta = shares.dilution(parties, 1.0, delta)
    assert excess(beta) <= delta
    assert excess(beta / 2) > delta


def cauchy_loss(beta, k):
    """The exact privacy loss of Cauchy noise of scale k * S with a beta-smooth S: a distance in the hyperbolic plane."""
    return max(math.acosh(math.cosh(b) + math.exp(-b) / (2.0 * k * k)) for b in (0.0, beta))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0])
def test_cauchy_calibration_is_tight(epsilon):
    for beta in (heavy_tails.default_beta(epsilon), epsilon / 10, epsilon * 0.9):
        k = heavy_tails.multiplier(epsilon, beta)
        assert cauchy_loss(beta, k) <= epsilon * (1 + 1e-9)
        assert cauchy_loss(beta, k * 0.98) > epsilon
    z = np.concatenate([-np.logspace(6, -6, 20001), np.logspace(-6, 6, 20001)])
    beta, k = epsilon / 2, heavy_tails.multiplier(epsilon, epsilon / 2)
    for b, shift in itertools.product((-beta, 0.0, beta), (-1.0, 1.0)):
        here, there = stats.cauchy(scale=k), stats.cauchy(loc=shift * min(1.0, math.exp(b)), scale=k * math.exp(b))
        grid = z * k
        assert np.abs(here.logpdf(grid) - there.logpdf(grid)).max() <= epsilon * (1 + 1e-6)


def test_published_cauchy_scale_fails_at_beta_equal_to_epsilon():
    for epsilon in (0.1, 1.0):
        published = math.sqrt(2.0) / epsilon
        assert cauchy_loss(epsilon, published) > epsilon
        assert cauchy_loss(0.69 * epsilon, published) < epsilon * 1.001


@pytest.mark.parametrize("nu", [1.0, 3.0, 7.5])
def test_student_calibration_holds_on_a_grid(nu):
    epsilon = 0.8
    beta = heavy_tails.default_beta(epsilon, "student_t", nu)
    k = heavy_tails.multiplier(epsilon, beta, "student_t", nu)
    grid = np.concatenate([-np.logspace(6, -6, 20001), np.logspace(-6, 6, 20001)])
    for b, shift in itertools.product((-beta, 0.0, beta), (-1.0, 1.0)):
        here, there = stats.t(nu, scale=k), stats.t(nu, loc=shift * min(1.0, math.exp(b)), scale=k * math.exp(b))
        loss = np.abs(here.logpdf(grid) - there.logpdf(grid)).max()
        assert loss <= epsilon * (1 + 1e-6)
    with pytest.raises(ValueError, match="beta"):
        heavy_tails.multiplier(epsilon, epsilon / nu, "student_t", nu)


@pytest.mark.parametrize("nu", [1.0, 1.7, 3.0, 12.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.8, 6.0, 60.0])
def test_student_calibration_is_tight(nu, epsilon):
    """The closed form of the loss is the largest that a search over places, shifts and dilations finds, and the factor uses all of epsilon."""
    beta = heavy_tails.default_beta(epsilon, "student_t", nu)
    k = heavy_tails.multiplier(epsilon, beta, "student_t", nu)
    loss = heavy_tails.student_loss(beta, k, nu)
    assert epsilon * (1 - 1e-4) < loss < epsilon
    assert heavy_tails.student_loss(beta, 0.98 * k, nu) > epsilon * (1 - 1e-4)
    assert k < (nu + 1) / (2 * math.sqrt(nu)) / (epsilon - nu * beta)
    found = 0.0
    for b in np.linspace(-beta, beta, 21):
        wide = max(1.0, math.exp(b)) * k
        for shift in np.linspace(0.0, min(1.0, math.exp(b)), 6):
            z = np.concatenate(
                [np.linspace(-9 * wide, 9 * wide + 1, 2001), -np.logspace(-9, 12, 400), np.logspace(-9, 12, 400)]
            )
            one, two = z / k, (z - shift) / (k * math.exp(b))
            ratio = (nu + 1) / 2 * (np.log1p(two**2 / nu) - np.log1p(one**2 / nu)) + b
            found = max(found, float(np.abs(ratio).max()))
    assert 0.98 * loss <= found <= loss * (1 + 1e-9)


def test_student_with_one_degree_is_cauchy():
    for epsilon, part in itertools.product((1e-3, 0.5, 2.0, 30.0), (0.1, 0.5, 0.9)):
        student = heavy_tails.multiplier(epsilon, part * epsilon, "student_t", 1.0)
        assert student == pytest.approx(heavy_tails.multiplier(epsilon, part * epsilon), rel=1e-3)


def test_any_budget_has_a_finite_factor():
    for epsilon in (1e-6, 1e-3, 1.0, 1e3, 1e6, 1e300):
        for noise, nu in (("cauchy", 3.0), ("student_t", 1.0), ("student_t", 3.0), ("student_t", 20.0)):
            k = heavy_tails.multiplier(epsilon, heavy_tails.default_beta(epsilon, noise, nu), noise, nu)
            assert 0.0 <= k < math.inf


def test_smooth_mean_release_enumerated_over_all_neighbours():
    """Density ratios of the Cauchy release over every pair of neighbouring data sets of up to five rows on a grid."""
    epsilon = 0.9
    beta = heavy_tails.default_beta(epsilon)
    k = heavy_tails.multiplier(epsilon, beta)
    points = (0.0, 0.4, 1.0)
    at = np.concatenate([np.linspace(-3, 4, 3001), -np.logspace(1, 5, 50), np.logspace(1, 5, 50)])

    def law(name: str, data: tuple[float, ...]) -> np.ndarray:
        bound = getattr(smooth, name)(np.array(data), (0.0, 1.0), beta, "add_remove").value
        centre = getattr(np, {"mean": "mean", "variance": "var"}[name])(data) if data else 0.5 * (name == "mean")
        return stats.cauchy(loc=centre, scale=k * bound).logpdf(at)

    for name in ("mean", "variance"):
        for size in range(5):
            for data in itertools.combinations_with_replacement(points, size):
                here = law(name, data)
                losses = [np.abs(here - law(name, (*data, new))).max() for new in points]
                assert max(losses) <= epsilon * (1 + 1e-6)


def test_sampled_bound_stays_below_the_claim():
    epsilon = 1.0

    def counts(value: int) -> Callable[[int], np.ndarray]:
        return lambda size: mechanisms.discrete_laplace(np.full(size, value), 1.0 / epsilon)

    assert 0.5 < lower_bound(counts(10), counts(11)) <= epsilon

    beta = heavy_tails.default_beta(epsilon)
    k = heavy_tails.multiplier(epsilon, beta)

    def release(data: np.ndarray) -> Callable[[int], np.ndarray]:
        scale = k * smooth.mean(data, (0.0, 100.0), beta, "add_remove").value
        return lambda size: heavy_tails.perturb(np.full(size, data.mean()), np.full(size, scale), 100.0)

    small = np.ones(20)
    assert lower_bound(release(small), release(np.append(small, 100.0))) <= epsilon
    assert lower_bound(release(np.append(small, 100.0)), release(small)) <= epsilon


def test_the_audit_exposes_local_sensitivity():
    """Positive control: Laplace noise scaled to the largest value seen, as published, is not epsilon-DP and the audit shows it."""
    epsilon = 1.0

    def published(data: np.ndarray) -> Callable[[int], np.ndarray]:
        return lambda size: mechanisms.laplace(np.full(size, data.sum()), np.abs(data).max() / epsilon)

    small = np.ones(20)
    assert lower_bound(published(np.append(small, 100.0)), published(small)) > 2.0 * epsilon
