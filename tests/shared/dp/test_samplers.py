"""The exact samplers: every path of their coins enumerated with its exact probability, laws by counts and against OpenDP, edges, and controls that fail."""

import heapq
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from opendp_kit import PEERS, opendp_noise
from scipy import stats

from fedbayes import randomness
from fedbayes.dp import mechanisms, samplers

FALSE_ALARM = 1e-9
KEEPS = 1.0 - math.exp(-1.0)  # of candidates of a geometric variable, on average
FLIPS = {
    "bernoulli_exp": lambda numerator, denominator: math.exp(-numerator / denominator),
    "bernoulli_normal": lambda numerator, denominator: math.exp(-((numerator / denominator) ** 2) / 2.0),
}


class MoreCoinsError(Exception):
    """A path asks for a draw that is not decided yet, with these probabilities of its values."""


class Path:
    """The draws of one path: those that are decided, in their order."""

    def __init__(self, decided: tuple[int, ...]) -> None:
        self.decided = iter(decided)

    def decide(self, chances: tuple[float, ...]) -> int:
        if 1.0 in chances:
            return chances.index(1.0)
        for value in self.decided:
            return value
        raise MoreCoinsError(chances)

    def uniform(self, bound: int, size: int) -> np.ndarray:
        """Stand in for `uniform_integers`, of one value or none."""
        assert size in (0, 1)
        return np.array([self.decide((1.0 / int(bound),) * int(bound)) for _ in range(size)], dtype=np.uint64)

    def flip(self, name: str, numerator: np.ndarray, denominator: int) -> np.ndarray:
        """Stand in for a flip that a test of its own covers."""
        chances = [FLIPS[name](int(value), int(denominator)) for value in numerator]
        return np.array([self.decide((1.0 - chance, chance)) for chance in chances], dtype=np.bool_)


def paths(
    draw: Callable[[], object], patch: pytest.MonkeyPatch, known: Sequence[str] = (), enough: float = 0.002
) -> tuple[dict[object, float], float]:
    """Return the mass of every outcome of `draw` on its likeliest paths, and the mass of those that were not followed to their end, about `enough`.

    What is `known` is taken at its probability, and its own coins are not followed.
    """
    path = Path(())
    for module in (randomness, samplers):
        patch.setattr(module, "uniform_integers", lambda bound, size: path.uniform(bound, size))
        for name in known:
            patch.setattr(module, name, lambda *values, name=name: path.flip(name, *values))
    patch.setattr(samplers, "_uniform", lambda bits: path.decide((0.5**bits,) * 2**bits))
    masses: dict[object, list[float]] = defaultdict(list)
    waiting: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
    left = 1.0
    while left > enough:
        minus, decided = heapq.heappop(waiting)
        path = Path(decided)
        try:
            masses[draw()].append(-minus)
            left += minus
        except MoreCoinsError as more:
            for value, chance in enumerate(more.args[0]):
                if chance > 0.0:
                    heapq.heappush(waiting, (minus * chance, (*decided, value)))
    return {outcome: math.fsum(mass) for outcome, mass in masses.items()}, left


def accepted(candidates: tuple[np.ndarray, np.ndarray]) -> int | None:
    return int(candidates[0][0]) if candidates[1][0] else None


def assert_masses(found: dict[object, float], left: float, law: Callable[[int], float], reach: int = 60) -> None:
    """What was followed is below the law everywhere, and all of the law but what was left."""
    outcomes = [key for key in found if key is not None]
    assert len(outcomes) > 6
    for outcome in outcomes:
        assert found[outcome] <= law(outcome) * (1 + 1e-12)
    total = math.fsum(law(k) for k in range(-reach, reach + 1))
    assert math.fsum(found[key] for key in outcomes) >= total - left - 1e-12
    assert found[None] <= 1.0 - total + 1e-9


def laplace_mass(numerator: int, bits: int) -> Callable[[int], float]:
    """Return the probability that a candidate is k and accepted."""
    denominator = 2**bits

    def law(k: int) -> float:
        first = abs(k) * denominator
        return 0.5 * KEEPS / numerator * math.fsum(math.exp(-(first + rest) / numerator) for rest in range(denominator))

    return law


def gaussian_mass(numerator: int, bits: int) -> Callable[[int], float]:
    plain = laplace_mass(numerator, bits)
    return lambda k: plain(k) * math.exp(-((abs(k) * 2**bits / numerator - 1.0) ** 2) / 2.0)


def fine_mass(numerator: int, bits: int) -> Callable[[int], float]:
    return lambda k: 0.5 * KEEPS / numerator / 2**bits * math.exp(-abs(k) / (numerator * 2**bits))


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 3), (1, 3), (3, 3), (3, 2), (5, 2)])
def test_every_path_of_a_flip(monkeypatch, numerator, denominator):
    value = np.array([numerator])
    found, left = paths(lambda: bool(randomness.bernoulli_exp(value, denominator)[0]), monkeypatch)
    assert -1e-12 <= FLIPS["bernoulli_exp"](numerator, denominator) - found.get(True, 0.0) <= left + 1e-12


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 3), (1, 3), (2, 3), (3, 3), (7, 4), (5, 2), (11, 4)])
def test_every_path_of_a_normal_flip(monkeypatch, numerator, denominator):
    value = np.array([numerator])
    known = ["bernoulli_exp"]
    found, left = paths(lambda: bool(randomness.bernoulli_normal(value, denominator)[0]), monkeypatch, known)
    assert -1e-12 <= FLIPS["bernoulli_normal"](numerator, denominator) - found.get(True, 0.0) <= left + 1e-12


RATIOS = [(1, 0), (2, 0), (3, 1), (5, 2), (5, 1), (7, 0)]


@pytest.mark.parametrize(("numerator", "bits"), RATIOS)
@pytest.mark.parametrize(
    ("draw", "mass", "known"),
    [
        (samplers.laplace_candidates, laplace_mass, ["bernoulli_exp"]),
        (samplers.gaussian_candidates, gaussian_mass, list(FLIPS)),
    ],
    ids=["laplace", "gaussian"],
)
def test_every_path_of_a_candidate(monkeypatch, draw, mass, known, numerator, bits):
    found, left = paths(lambda: accepted(draw(1, numerator, bits)), monkeypatch, known)
    assert_masses(found, left, mass(numerator, bits))


@pytest.mark.parametrize(("numerator", "bits"), [(2, 0), (1, 2), (3, 1)])
def test_every_path_of_a_fine_candidate(monkeypatch, numerator, bits):
    draw = samplers.fine_candidates
    found, left = paths(lambda: next(iter(draw(1, numerator, bits)), None), monkeypatch, ["bernoulli_exp"], 0.02)
    assert_masses(found, left, fine_mass(numerator, bits), reach=200)


def test_control_a_zero_that_counts_twice_and_a_rounded_scale_are_noticed(monkeypatch):
    def twice() -> int | None:
        sizes, kept = samplers._geometric(1, 2)
        negative = randomness.uniform_integers(2, 1) == 1
        return accepted((np.where(negative, -sizes, sizes), kept))

    found, left = paths(twice, monkeypatch, ["bernoulli_exp"])
    with pytest.raises(AssertionError):
        assert_masses(found, left, laplace_mass(2, 0))
    found, left = paths(lambda: accepted(samplers.laplace_candidates(1, 5, 1)), monkeypatch, ["bernoulli_exp"])
    for wrong in (laplace_mass(5, 2), laplace_mass(4, 1), laplace_mass(6, 1)):
        with pytest.raises(AssertionError):
            assert_masses(found, left, wrong)


def laplace_law(scale: float, cells: np.ndarray) -> np.ndarray:
    return np.asarray(-math.expm1(-1 / scale) / (1 + math.exp(-1 / scale)) * np.exp(-np.abs(cells) / scale))


def gaussian_law(sigma: float, cells: np.ndarray) -> np.ndarray:
    whole = np.arange(-int(40 * sigma) - 40, int(40 * sigma) + 41)
    return np.asarray(np.exp(-(cells**2) / (2 * sigma**2)) / np.exp(-(whole**2) / (2 * sigma**2)).sum())


def p_of(noise: np.ndarray, law: Callable[[float, np.ndarray], np.ndarray], scale: float) -> float:
    """Return the p-value of Pearson's test, cell by cell, the tails in one."""
    reach = int(3 * scale) + 2
    cells = np.arange(-reach, reach + 1)
    expected = law(scale, cells)
    expected = np.append(expected, max(1.0 - expected.sum(), 0.0)) * noise.size
    seen = np.bincount(np.clip(noise + reach, -1, 2 * reach + 1) % (2 * reach + 2), minlength=2 * reach + 2)
    few = expected < 5
    seen, expected = np.append(seen[~few], seen[few].sum()), np.append(expected[~few], expected[few].sum())
    known = expected > 0
    return float(stats.chisquare(seen[known], expected[known] * seen[known].sum() / expected[known].sum()).pvalue)


LAWS = [(mechanisms.discrete_laplace, laplace_law), (mechanisms.discrete_gaussian, gaussian_law)]


@pytest.mark.parametrize(("draw", "law"), LAWS, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1 / 3, 1.0, 2.5, 7.1, 40.0])
def test_cell_by_cell(draw, law, scale):
    """The right scale is accepted, scales of 5 % more or less are not."""
    noise = draw(np.zeros(150_000, dtype=np.int64), scale)
    assert p_of(noise, law, scale) > FALSE_ALARM
    assert p_of(noise, law, 1.05 * scale) < FALSE_ALARM
    assert p_of(noise, law, 0.95 * scale) < FALSE_ALARM


def p_of_two(one: np.ndarray, other: np.ndarray) -> float:
    """Return the p-value of a chi-squared test of two samples, over cells of about even numbers."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 40)))
    table = np.array([np.bincount(np.searchsorted(edges, part), minlength=edges.size) for part in (one, other)])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


@pytest.mark.few(3)
@pytest.mark.parametrize(("draw", "maker", "atom"), PEERS, ids=["laplace", "gaussian", "float"])
@pytest.mark.parametrize("scale", [0.7, 12.3, 98765.4])
def test_the_same_law_as_opendps(draw, maker, atom, scale):
    """In both directions: ours is no narrower and no wider than OpenDP's; 20 % are seen."""
    size = 12_000
    zeros = np.zeros(size, dtype=np.float64 if atom == "f64" else np.int64)
    peer = opendp_noise(maker, atom, size, scale)
    assert p_of_two(draw(zeros, scale), peer) > FALSE_ALARM
    assert p_of_two(draw(zeros, 1.2 * scale), peer) < 1e-4
    assert p_of_two(draw(zeros, scale / 1.2), peer) < 1e-4


@pytest.mark.audit
@pytest.mark.parametrize(("draw", "law"), LAWS, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.3, 3.0000001, 400.7])
def test_cell_by_cell_ten_million_draws(draw, law, scale):
    """So many draws show a scale that is 1 % wrong."""
    noise = draw(np.zeros(10_000_000, dtype=np.int64), scale)
    assert p_of(noise, law, scale) > FALSE_ALARM
    assert p_of(noise, law, 1.01 * scale) < FALSE_ALARM


@pytest.mark.parametrize("draw", [mechanisms.discrete_laplace, mechanisms.discrete_gaussian])
def test_the_widest_noise_stays_in_64_bits(draw):
    noise = draw(np.zeros(20_000, dtype=np.int64), 2.0**52)
    relative = noise / 2.0**52
    law = stats.laplace.cdf if draw is mechanisms.discrete_laplace else stats.norm.cdf
    assert stats.kstest(relative, law).pvalue > FALSE_ALARM
    assert len(set((noise & 7).tolist())) == 8
    with pytest.raises(ValueError, match="scale: give at most"):
        draw([0], 2.0**52 * 1.001)


@pytest.mark.parametrize("draw", [mechanisms.discrete_laplace, mechanisms.discrete_gaussian])
def test_sums_beyond_64_bits_end_where_they_passed(draw):
    ends = np.iinfo(np.int64)
    for end in (ends.min, ends.max):
        noisy = draw(np.full(200, end), 50.0)
        assert end in noisy
        assert np.abs(noisy.astype(np.float64) - float(end)).max() < 1e6
        assert len(set(noisy.tolist())) > 10


@pytest.mark.parametrize("scale", [5e-324, 3e-320, 1e-310, 1e-30, 1.0, 1e30, 1e300])
def test_fine_noise_of_every_scale(scale):
    """In units of 2^-1074: the law of floats' own noise, for the smallest scales as for the largest."""
    units = Fraction(scale) * 2**samplers.FINEST_BITS
    noise = samplers.fine_laplace(4000, scale)
    if units > 1000:
        sizes = np.array([float(Fraction(number) / units) for number in noise])
        assert stats.kstest(sizes, stats.laplace.cdf).pvalue > FALSE_ALARM
        assert stats.kstest(1.3 * sizes, stats.laplace.cdf).pvalue < 1e-4
        assert len({number & 7 for number in noise}) == 8
    elif units < 50:
        assert p_of(np.array(noise), laplace_law, float(units)) > FALSE_ALARM


def test_floats_get_the_nearest_float_of_the_exact_sum(monkeypatch):
    values = [0.1, -3.7, 1e300, -1e-310, 0.0, sys.float_info.max, -sys.float_info.max]
    noise = [2**1074 // 3, -(2**1075) - 1, 5, 1, -3, 2**2098, -(2**2098)]
    monkeypatch.setattr(samplers, "fine_laplace", lambda count, scale: noise)
    exact = [Fraction(value) + Fraction(drawn, 2**1074) for value, drawn in zip(values, noise, strict=True)]
    released = mechanisms.laplace(values, 1.0)
    assert released[:5].tolist() == [float(total) for total in exact[:5]]
    assert released[5:].tolist() == [sys.float_info.max, -sys.float_info.max]


def finer_near_zero(noisy: np.ndarray) -> float:
    """Return how often a number near 0 is no multiple of 2^-53: noise that was rounded before it was added to 1 never is."""
    near = noisy[np.abs(noisy) < 1 / 8]
    return float(np.mean(near * 2.0**53 != np.rint(near * 2.0**53)))


def test_no_bit_of_a_float_betrays_the_value():
    """Mironov's attack: the last bits of a naive release tell 1 from 0; those of ours do not."""
    size = 20_000
    naive = np.random.default_rng(7).laplace(size=size)
    assert finer_near_zero(naive) > 0.5
    assert finer_near_zero(1.0 + naive) == 0.0
    of_zero, of_one = (finer_near_zero(mechanisms.laplace(np.full(size, value), 1.0)) for value in (0.0, 1.0))
    assert of_zero > 0.5
    assert of_one > 0.5


def test_nothing_is_drawn_for_nothing():
    for draw in (mechanisms.discrete_laplace, mechanisms.discrete_gaussian, mechanisms.laplace):
        assert draw(np.zeros((0, 2), dtype=np.int64), 3.0).shape == (0, 2)
