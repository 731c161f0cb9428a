"""The noise of the sum: at least one full term, accounted over families; the laws of both kinds of shares."""

import math

import numpy as np
import pytest

from v6_secure_naive_bayes import model
from v6_secure_naive_bayes.messages import Noise

CELLS, STATIONS, FEATURES = 20_000, 8, 4


def noise_of(kind: str, epsilon: float = 2.0, **changes: object) -> Noise:
    delta = 0.0 if kind == "polya" else 1e-5
    fields = {"honest_fraction": 1.0, "unit": "record", "maximum_records": 0, "delta": delta, **changes}
    return Noise(kind, epsilon, **fields)


def summed(noise: Noise, uses: list[int]) -> np.ndarray:
    return sum(model.draw(noise, used, FEATURES, CELLS) for used in uses)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["polya", "diluted_geometric"])
@pytest.mark.parametrize("uses", [[8] * 8, [5, 5, 6, 6, 7, 7, 8, 8]])
def test_the_sum_has_the_stated_deviation(kind, uses):
    noise = noise_of(kind)
    drawn = summed(noise, uses)
    stated = model.deviation(noise, uses, FEATURES, CELLS)
    assert drawn.std() == pytest.approx(stated, rel=0.08)
    assert abs(drawn.mean()) < 6 * stated / math.sqrt(CELLS)


def test_polya_shares_add_up_to_one_discrete_laplace_variable():
    noise = noise_of("polya")
    drawn = summed(noise, [STATIONS] * (STATIONS - 1))  # no station is honest towards itself
    quiet = math.exp(-1 / model.scale(noise, FEATURES))
    for value in range(-4, 5):
        expected = (1 - quiet) / (1 + quiet) * quiet ** abs(value)
        assert np.mean(drawn == value) == pytest.approx(expected, abs=6 * math.sqrt(expected / CELLS))


@pytest.mark.few(1)
@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_the_test_would_notice_a_wrong_scale(factor):
    drawn = summed(noise_of("polya", epsilon=2.0 / factor), [STATIONS] * STATIONS)
    stated = model.deviation(noise_of("polya"), [STATIONS] * STATIONS, FEATURES, CELLS)
    assert drawn.std() != pytest.approx(stated, rel=0.08)


def test_diluted_noise_is_several_terms_and_polya_is_one():
    many = [100] * 100
    diluted = model.deviation(noise_of("diluted_geometric"), many, 1, 1)
    polya = model.deviation(noise_of("polya"), many, 1, 1)
    assert (diluted / polya) ** 2 == pytest.approx(math.log(1e5), rel=0.01)


def test_the_budget_is_split_over_the_families():
    assert model.scale(noise_of("polya", epsilon=0.5), FEATURES) == FEATURES / 0.5
    assert model.charge(noise_of("polya", epsilon=0.5), FEATURES) == (0.5, 0.0)
    assert model.charge(noise_of("diluted_geometric", epsilon=0.5), FEATURES) == (0.5, 1e-5)
    assert model.cell_delta(noise_of("diluted_geometric"), FEATURES, 100) == 1e-5 / FEATURES


def test_published_costs_a_budget_a_family():
    noise = noise_of("published", epsilon=0.5)
    assert model.scale(noise, FEATURES) == 1 / 0.5
    epsilon, delta = model.charge(noise, FEATURES)
    assert epsilon == 2.5
    assert delta == pytest.approx(5e-5)
    whole = noise_of("published", epsilon=0.5, unit="party", maximum_records=30)
    assert model.charge(whole, FEATURES) == (2.5, pytest.approx(150e-5))


def test_a_party_as_unit_scales_with_its_public_bound():
    noise = noise_of("diluted_geometric", unit="party", maximum_records=30)
    assert model.scale(noise, FEATURES) == 30 * FEATURES / 2.0
    assert model.cell_delta(noise, FEATURES, 50) == 1e-5 / 50


def test_no_noise():
    noise = Noise("none", 0.0, 0.0, 0.8, "record", 0)
    assert not model.draw(noise, 3, FEATURES, 10).any()
    assert model.deviation(noise, [3] * 3, FEATURES, 10) == 0.0
    assert model.charge(noise, FEATURES) == (0.0, 0.0)


def test_posteriors_follow_the_papers_rule():
    counts = np.array([10.0, 20.0])
    products = [[4 * 5, 10 * 2], [3, 9], [1, 1]]
    posterior = model.class_scores(counts, products, np.array([2, 1, 0]))
    first = np.array([10 * (4 / 10) * (5 / 10), 20 * (10 / 20) * (2 / 20)])
    assert posterior[0] == pytest.approx(first / first.sum())
    assert posterior[1] == pytest.approx([0.25, 0.75])
    assert posterior[2] == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize(
    "fields",
    [
        ("other", 1.0, 0.0, 1.0, "record", 0),
        ("polya", 0.0, 0.0, 1.0, "record", 0),
        ("polya", math.nan, 0.0, 1.0, "record", 0),
        ("polya", 1.0, 1.0, 1.0, "record", 0),
        ("polya", 1.0, 0.0, 0.0, "record", 0),
        ("polya", 1.0, 0.0, 1.0, "party", 0),
        ("polya", 1.0, 0.0, 1.0, "record", 5),
    ],
)
def test_malformed_noise_is_refused(fields):
    with pytest.raises(ValueError, match=r".+"):
        Noise(*fields)


def test_counts_drown_where_the_noise_of_their_own_sum_could_hide_it():
    assert model.drowned(10.0, 19.0, classes=2, summed=0, tables=1)
    assert not model.drowned(10.0, 21.0, classes=2, summed=0, tables=1)
    assert model.drowned(10.0, 139.0, classes=2, summed=4, tables=1)
    assert not model.drowned(10.0, 141.0, classes=2, summed=4, tables=1)
    assert not model.drowned(0.0, 0.0, classes=2, summed=4, tables=1)
