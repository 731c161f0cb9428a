"""The laws of mechanisms, shares and heavy tails: the right scale is accepted, 20 % more and 20 % less are rejected."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from fedbayes import randomness
from fedbayes.dp import gaussian, heavy_tails, mechanisms, shares

DRAWS = 40_000
LIMIT = 3.2  # sqrt(n) times the Kolmogorov distance: exceeded by the right law with probability 3e-9; the wrong ones lie above 5


def distance(sample: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    points, counts = np.unique(sample, return_counts=True)
    steps = np.cumsum(counts) / sample.size
    return math.sqrt(sample.size) * float(np.abs(steps - cdf(points)).max())


def assert_scale(
    sample: np.ndarray, cdf_of: Callable[[float], Callable[[np.ndarray], np.ndarray]], scale: float
) -> None:
    assert distance(sample, cdf_of(scale)) < LIMIT
    assert distance(sample, cdf_of(1.2 * scale)) > LIMIT
    assert distance(sample, cdf_of(0.8 * scale)) > LIMIT


def discrete_laplace_cdf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda k: stats.dlaplace.cdf(k, 1.0 / scale)


def discrete_gaussian_cdf(sigma: float) -> Callable[[np.ndarray], np.ndarray]:
    support = np.arange(-400, 401)
    cumulated = np.cumsum(np.exp(-(support**2) / (2.0 * sigma**2)))
    return lambda k: (cumulated / cumulated[-1])[np.asarray(k, dtype=np.int64) + 400]


def test_discrete_laplace_law():
    noise = mechanisms.discrete_laplace(np.zeros(DRAWS, dtype=np.int64), 4.0)
    assert_scale(noise, discrete_laplace_cdf, 4.0)


def test_discrete_laplace_is_exact_cell_by_cell():
    """Where rationals are divided wrongly, as OpenDP did before 0.14.2, the chi-square is above 100 at this scale."""
    draws, scale, cells = 120_000, 2.5, np.arange(-6, 7)
    noise = mechanisms.discrete_laplace(np.zeros(draws, dtype=np.int64), scale)
    law = stats.dlaplace.pmf(cells, 1.0 / scale)
    law = np.append(law, 1.0 - law.sum())
    seen = np.array([*(np.sum(noise == cell) for cell in cells), np.sum(np.abs(noise) > 6)])
    assert stats.chisquare(seen, draws * law).pvalue > 1e-9


def test_laplace_law():
    noise = mechanisms.laplace(np.zeros(DRAWS // 2), 0.3)
    assert_scale(np.tile(noise, 2), lambda scale: stats.laplace(scale=scale).cdf, 0.3)


def test_discrete_gaussian_law():
    noise = mechanisms.discrete_gaussian(np.zeros(DRAWS, dtype=np.int64), 6.0)
    assert_scale(noise, discrete_gaussian_cdf, 6.0)


@pytest.mark.parametrize("maker", [mechanisms.discrete_laplace, mechanisms.discrete_gaussian])
def test_noise_is_added_to_the_values_and_keeps_their_shape(maker):
    values = np.arange(-6, 6).reshape(3, 4) * 1000
    released = maker(values, 0.01)
    assert released.dtype == np.int64
    assert np.array_equal(released, values)
    assert maker(np.zeros((0, 3), dtype=int), 1.0).shape == (0, 3)


def test_laplace_keeps_shape_and_values():
    values = np.array([[1.5, -2.0], [0.0, 1e6]])
    assert np.abs(mechanisms.laplace(values, 1e-6) - values).max() < 1e-3


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, True])
def test_a_wrong_scale_is_refused(scale):
    for maker in (mechanisms.discrete_laplace, mechanisms.discrete_gaussian):
        with pytest.raises(ValueError, match="scale"):
            maker([1], scale)
    with pytest.raises(ValueError, match="scale"):
        mechanisms.laplace([1.0], scale)


def test_wrong_values_are_refused():
    with pytest.raises(ValueError, match="integers"):
        mechanisms.discrete_laplace([1.5], 1.0)
    with pytest.raises(ValueError, match="finite"):
        mechanisms.laplace([math.nan], 1.0)


def loss_of_law(law):
    """Return the largest log ratio of the probabilities of neighbouring whole numbers, where they are not too small to be told."""
    known = law > 1e-12
    both = known[1:] & known[:-1]
    return (
        float(np.abs(np.diff(np.log(law[known]))).max())
        if both.all()
        else float(np.abs(np.log(law[1:][both] / law[:-1][both])).max())
    )


def sum_of_shares(count, honest, epsilon):
    """Return the exact law of the sum of `count` Polya shares, each of shape 1 / honest."""
    top = int(60 / epsilon) + 200
    mass = stats.nbinom.pmf(np.arange(top), count / honest, -math.expm1(-epsilon))
    return np.convolve(mass, mass[::-1])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("parties", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("fraction", [0.3, 0.8, 1.0])
def test_a_party_that_subtracts_its_own_share_learns_no_more_than_epsilon(parties, epsilon, fraction):
    honest = shares.honest_parties(parties, fraction)
    left = max(1, parties - 1)
    assert honest <= left
    assert loss_of_law(sum_of_shares(left, honest, epsilon)) <= epsilon * (1 + 1e-9)


def test_the_loss_is_seen_where_every_party_counts_as_honest():
    assert loss_of_law(sum_of_shares(1, 2, 1.0)) > 1.5
    assert shares.honest_parties(2, 1.0) == 1
    assert [shares.honest_parties(n, shares.HONEST_FRACTION) for n in (1, 2, 3, 5, 10)] == [1, 1, 2, 4, 8]


@pytest.mark.parametrize(
    ("epsilon", "counted", "lost"), [(0.1, 2, 0.61), (0.1, 8, 0.16), (1.0, 2, 1.68), (1.0, 8, 1.13), (2.0, 2, 2.69)]
)
def test_stated_what_is_lost_where_one_more_withholds_its_share_than_the_fraction_says(epsilon, counted, lost):
    """As many as the threat model says; those that it counts on lose what is promised."""
    assert loss_of_law(sum_of_shares(counted, counted, epsilon)) <= epsilon * (1 + 1e-9)
    assert loss_of_law(sum_of_shares(counted - 1, counted, epsilon)) == pytest.approx(lost, abs=0.005)


@pytest.mark.parametrize("parties", [2, 3, 6, 11])
def test_diluted_noise_suffices_without_ones_own(parties):
    """Of all the others, each adds noise with this probability: that none does has at most the probability delta."""
    delta = 0.01
    assert (1 - shares.dilution(parties, 1.0, delta)) ** (parties - 1) <= delta * (1 + 1e-12)


def test_gaussian_shares_below_the_range_of_their_bound_are_never_used(monkeypatch):
    narrow = gaussian.unit_sigma(gaussian.mu_of(20.0, 1e-6))
    assert narrow / math.sqrt(5) < gaussian.SMALLEST_SHARE < gaussian.share_sigma(5, 1e-4)
    used = []
    monkeypatch.setattr(mechanisms, "discrete_gaussian", lambda values, scale: used.append(scale) or values)
    shares.discrete_gaussian(3, narrow, 10, 0.5)
    assert used == [gaussian.SMALLEST_SHARE]


@pytest.mark.few(1)
@pytest.mark.parametrize(("parties", "fraction"), [(1, 1.0), (2, 1.0), (5, 1.0), (6, 0.5)])
def test_honest_polya_shares_sum_to_discrete_laplace(parties, fraction):
    honest = shares.honest_parties(parties, fraction)
    total = sum(shares.polya(DRAWS, 4.0, parties, fraction) for _ in range(honest))
    assert_scale(total, discrete_laplace_cdf, 4.0)


@pytest.mark.parametrize("scale", [0.4, 3.0, 5000.0])
def test_polya_share_is_a_difference_of_negative_binomials(scale):
    honest = 3
    sample = shares.polya(DRAWS, scale, honest + 1, 1.0)
    success = -math.expm1(-1.0 / scale)
    top = int(40 * scale) + 40
    mass = stats.nbinom.pmf(np.arange(top), 1.0 / honest, success)
    law = np.cumsum(np.convolve(mass, mass[::-1]) if top < 5000 else _by_fft(mass))
    assert distance(sample, lambda k: law[k + top - 1]) < LIMIT


def _by_fft(mass: np.ndarray) -> np.ndarray:
    from scipy.signal import fftconvolve

    return fftconvolve(mass, mass[::-1])


def test_diluted_geometric_share():
    beta = shares.dilution(40, 0.5, 0.01)
    assert beta == pytest.approx(math.log(100) / 20)
    sample = shares.diluted_geometric(DRAWS, 2.0, 40, 0.5, 0.01)
    law = discrete_laplace_cdf(2.0)
    assert distance(sample, lambda k: beta * law(k) + (1 - beta) * (k >= 0)) < LIMIT
    assert shares.dilution(3, 1.0, 1e-5) == 1.0


def test_discrete_gaussian_shares_add_up():
    total = sum(shares.discrete_gaussian(DRAWS, 9.0, 4, 0.5) for _ in range(2))
    assert_scale(total, discrete_gaussian_cdf, 9.0)
    assert gaussian.sum_excess(9.0 / math.sqrt(2.0), 2) < 1e-100


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.0, 2, 1.0), "scale"),
        ((2.0**33, 2, 1.0), "scale"),
        ((1.0, 0, 1.0), "parties"),
        ((1.0, 2, 0.0), "honest_fraction"),
        ((1.0, 2, 1.5), "honest_fraction"),
        ((1.0, 2, math.nan), "honest_fraction"),
    ],
)
def test_wrong_share_arguments_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        shares.polya(3, *arguments)


def test_heavy_tails_laws():
    zeros = np.zeros(DRAWS)
    cauchy = heavy_tails.perturb(zeros, np.full(DRAWS, 0.7), 1e-3)
    assert_scale(cauchy, lambda scale: stats.cauchy(scale=scale).cdf, 0.7)
    student = heavy_tails.perturb(zeros, np.full(DRAWS, 0.7), 1e-3, "student_t", 3.0)
    assert_scale(student, lambda scale: stats.t(3.0, scale=scale).cdf, 0.7)


def test_release_is_on_the_public_grid():
    released = heavy_tails.perturb(np.full(100, 0.1234567), np.full(100, 0.01), 90.0)
    grid = 2.0 ** (6 - 24)
    assert np.array_equal(released, np.round(released / grid) * grid)


def test_a_release_stays_in_its_limits_and_never_is_exact():
    wild = heavy_tails.perturb(np.full(1000, 0.3), np.full(1000, 1e9), 1.0, limits=(0.0, 1.0))
    assert set(wild) == {0.0, 1.0}
    still = heavy_tails.perturb(np.full(1000, 0.3), np.zeros(1000), 1.0, limits=(0.0, 1.0))
    assert len(set(still)) > 1
    assert np.abs(np.median(still) - 0.3) < 2.0**-20


def test_uniforms_keep_their_bits_near_zero():
    """Half of all draws are in [1/2, 1), a quarter in [1/4, 1/2), ..., and the last bits are random everywhere."""
    draws = randomness.floating_uniforms(DRAWS)
    assert draws.min() > 0.0
    assert draws.max() < 1.0
    assert_scale(stats.norm.ppf(draws), lambda scale: stats.norm(scale=scale).cdf, 1.0)
    mantissas, exponents = np.frexp(draws)
    for exponent in (0, -1, -5, -9):
        last = (mantissas[exponents == exponent] * 2.0**53).astype(np.int64) & 1
        assert abs(last.mean() - 0.5) < 6.5 / np.sqrt(4 * last.size)


def test_uniforms_reach_far_below_one_word(monkeypatch):
    words = iter([0, 0, 1 << 63, 7 << 12])
    monkeypatch.setattr(randomness, "uniform_bits", lambda shape: np.full(shape, next(words), dtype=np.uint64))
    assert randomness.floating_uniforms(1)[0] == (1 + 7 * 2.0**-52) * 2.0 ** (-1 - 2 * 53)


@pytest.mark.parametrize(("numerator", "bits"), [(1, 3), (12, 3), (3 << 50, 52), (5, 0)])
def test_bernoulli_exp(numerator, bits):
    flips = randomness.bernoulli_exp(np.full(DRAWS, numerator), 2**bits)
    expected = math.exp(-numerator / 2.0**bits)
    assert abs(flips.mean() - expected) < 6.5 * math.sqrt(expected * (1 - expected) / DRAWS)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**63 - 25])
def test_uniform_integers(bound):
    draws = randomness.uniform_integers(bound, DRAWS).astype(np.float64)
    assert draws.max() < bound
    spread = math.sqrt(max(bound**2 - 1, 0) / 12)
    assert abs(draws.mean() - (bound - 1) / 2) <= 6.5 * spread / math.sqrt(DRAWS)


def test_uniform_integers_of_nothing_are_refused():
    with pytest.raises(ValueError, match="bound"):
        randomness.uniform_integers(0, 3)


def test_secrets_differ_and_research_repeats():
    assert randomness.secret_bytes(32) != randomness.secret_bytes(32)
    one, two = randomness.ResearchSampler(5), randomness.ResearchSampler(5)
    assert np.array_equal(one.discrete_laplace(3.0, 50), two.discrete_laplace(3.0, 50))
    assert_scale(randomness.ResearchSampler(6).discrete_laplace(4.0, DRAWS), discrete_laplace_cdf, 4.0)


@pytest.mark.parametrize("scale", [1e16, 1e19, 1e300])
def test_shares_so_wide_that_the_sampler_would_saturate_are_refused(scale):
    """Noise that saturates at 2^63 is one of two constants, which a sum modulo 2^64 takes away."""
    with pytest.raises(ValueError, match="raise epsilon"):
        shares.discrete_gaussian(3, scale, 5, 0.8)
    with pytest.raises(ValueError, match="raise epsilon"):
        shares.diluted_geometric(3, scale, 5, 0.8, 0.01)
    widest = shares.discrete_gaussian(64, 2.0**52, 1, 1.0)
    assert len(set(widest.tolist())) == 64


def test_the_next_draw_is_always_far_nearer_than_a_cell(monkeypatch):
    """Inside the limits every cell holds millions of possible outputs, so none betrays value or scale by being impossible."""
    uniforms = np.concatenate([np.logspace(-15, -0.01, 200), np.linspace(0.01, 0.999, 200)])
    sizes = []
    for coin in (0, 1):  # the inner and the outer half
        for draws in (uniforms, np.nextafter(uniforms, 1.0)):
            monkeypatch.setattr(randomness, "floating_uniforms", lambda shape, draws=draws: draws)
            monkeypatch.setattr(
                randomness, "uniform_bits", lambda shape, coin=coin: np.full(shape, coin, dtype=np.uint64)
            )
            sizes.append(randomness.standard_cauchy(uniforms.shape))
    for here, there in (sizes[:2], sizes[2:]):
        scales = 1.0 / np.abs(here)  # those that bring the draw to the far limit, where the steps are largest
        assert (np.abs(there - here) * scales < 2.0**-49).all()
