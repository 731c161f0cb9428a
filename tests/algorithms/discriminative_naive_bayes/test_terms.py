"""Private steps by terms: gradients of what values add to the scores, weighed by what the tables tell of the curvature."""

from dataclasses import replace

import numpy as np
import pytest
from descent_kit import PARTIES, ROWS, SHAPE, NoisySums, loss, settings

from fedbayes.federation.horizontal import CountNoise, check_noise
from v6_discriminative_naive_bayes import terms
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import StepRequest
from v6_discriminative_naive_bayes.model import Layout, Tables, count, tables_from_counts
from v6_discriminative_naive_bayes.partial import prepare
from v6_discriminative_naive_bayes.settings import settled
from v6_discriminative_naive_bayes.training import Training

LAYOUT = SHAPE.layout
COUNTS = count(LAYOUT, *ROWS)
TABLES = tables_from_counts(LAYOUT, COUNTS)
ORDERED = np.array([False, False, False, True])
NOISE = check_noise("distributed", 1.0, 1e-6)


def additive(weights, **change):
    asked = {"shape": SHAPE, "counts": None, "iterations": 0, "regularization": 0.0, "by_rows": False, "noise": NOISE}
    return StepRequest(
        **{**asked, "weights": weights[None], "clip": 1.0, "step": 1, "steps": 4, "additive": True, **change}
    )


def test_what_values_add_gives_the_scores_of_the_weights():
    codes, labels = ROWS
    weights = np.random.default_rng(2).normal(1.0, 0.3, LAYOUT.parameters)
    full = np.concatenate([TABLES.base, TABLES.single.ravel()])
    by_terms = prepare(additive(weights * full), codes, labels).log_posterior(weights * full)
    np.testing.assert_allclose(by_terms, Evidence.of(LAYOUT, TABLES, codes).log_posterior(weights), atol=1e-9)


def test_gradients_are_cut_at_the_length_that_they_have():
    """Without a cut the sum is the derivative of the loss; a row alone is never longer than the root of 2 times its values and one."""
    codes, labels = ROWS
    point = np.random.default_rng(4).normal(0.0, 0.3, LAYOUT.parameters)
    evidence = prepare(additive(point), codes, labels)
    _, gradient = loss_and_gradient(evidence, point, labels, 1e6)
    for place in (0, 1, 5, LAYOUT.parameters - 1):
        step = np.zeros(LAYOUT.parameters)
        step[place] = 1e-5
        ends = [loss_and_gradient(evidence, point + sign * step, labels)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-3)
    longest = np.sqrt(2.0 * (1 + len(LAYOUT.cardinalities)))
    for row in range(20):
        one = prepare(additive(point), codes[row : row + 1], labels[row : row + 1])
        for clip in (0.1, longest):
            length = np.linalg.norm(loss_and_gradient(one, point, labels[row : row + 1], clip)[1])
            assert 0 < length <= clip * (1 + 1e-12)


def test_second_derivatives_are_those_of_independent_attributes():
    """Of rows drawn with independent attributes and scores that tell nothing, p (1 - p) is that of the classes' shares."""
    found = terms.known(LAYOUT, TABLES, COUNTS, ORDERED).curvature
    assert found.shape == (2, 1 + LAYOUT.values, 1 + LAYOUT.values)
    sizes = COUNTS[:2]
    share = sizes[0] / sizes.sum()
    assert found[0, 0, 0] == pytest.approx(2 * terms.CERTAINTY * sizes.sum() * share * (1 - share))
    cells = COUNTS.reshape(-1, 2)
    np.testing.assert_allclose(found[0].diagonal()[1:] / found[0, 0, 0], cells[1:].sum(axis=1) / sizes.sum(), rtol=1e-9)
    assert found[0, 1, 2] == 0  # two values of one attribute never meet
    np.testing.assert_allclose(found[0], found[1])


def test_bins_of_a_number_differ_alike_and_categories_do_not():
    spread = terms.known(LAYOUT, Tables(TABLES.base, np.full_like(TABLES.single, -1.0)), COUNTS, ORDERED).spread[0]
    last = slice(1 + LAYOUT.values - LAYOUT.cardinalities[-1], 1 + LAYOUT.values)
    assert (spread[last, last] > 0).all()
    assert spread[1, 2] == 0
    assert np.linalg.eigvalsh(spread).min() > 0


def test_without_noise_the_best_sums_of_a_quadratic_are_found():
    generator = np.random.default_rng(3)
    known = terms.known(LAYOUT, TABLES, COUNTS, ORDERED)
    start = terms.first_weights(LAYOUT)
    away = generator.multivariate_normal(np.zeros(1 + LAYOUT.values), known.spread[0])
    best = known.full * start.reshape(known.full.shape) + np.stack([away, -away], axis=1)

    def ask(sums):
        apart = (sums - best) - (sums - best).mean(axis=1, keepdims=True)
        return np.stack([known.curvature[label] @ apart[:, label] for label in (0, 1)], axis=1)

    found = known.full * terms.learn(ask, known, start, 0.0, 12).reshape(known.full.shape)
    assert np.abs(ask(found)).max() < 0.02 * np.abs(ask(known.full * start.reshape(known.full.shape))).max()


def test_noise_that_drowns_everything_leaves_the_start():
    known, start = terms.known(LAYOUT, TABLES, COUNTS, ORDERED), terms.first_weights(LAYOUT)
    generator = np.random.default_rng(1)
    found = terms.learn(lambda sums: generator.normal(0.0, 1e7, sums.shape), known, start, 1e14, 8)
    np.testing.assert_allclose(found, start, atol=1e-2)


def test_it_learns_more_than_steps_by_weights(monkeypatch):
    def learned(seed):
        training = Training(NoisySums(seed=seed), range(PARTIES), SHAPE, settings(epsilon=1.0, rounds=8))
        training.count_tables()
        return training.learn().weights

    by_terms = np.mean([loss(learned(seed)) for seed in range(6)])
    monkeypatch.setattr(terms, "MOST_WORK", 0)
    assert by_terms < np.mean([loss(learned(seed)) for seed in range(6)])


def test_what_is_left_to_the_plan_depends_on_nothing_else():
    chosen = settled(settings(epsilon=1.0, rounds=9), SHAPE)
    assert (chosen.by_terms, chosen.attribute_rounds) == (True, 0)
    assert chosen.clip is None
    assert settled(settings(epsilon=1.0, clip=0.3), SHAPE).clip == 0.3
    for change in ({"weights": "attribute"}, {"structure": "a1de"}):
        assert settled(settings(epsilon=1.0, **change), replace(SHAPE, **change)).cut == 1.0
    assert not terms.fits(Layout((1000,), 10))


@pytest.mark.parametrize(
    "change",
    [
        {"counts": COUNTS},
        {"iterations": 3},
        {"noise": CountNoise()},
        {"shape": replace(SHAPE, tables="local")},
        {"shape": replace(SHAPE, structure="a1de")},
        {"weights": np.full(LAYOUT.parameters, np.nan)},
        {"weights": np.full(LAYOUT.parameters, 1e7)},
    ],
    ids=lambda change: "-".join(change),
)
def test_other_steps_are_not_additive(change):
    with pytest.raises(ValueError, match=r"must be|additive"):
        additive(**{"weights": np.zeros(LAYOUT.parameters), **change})


def test_rows_are_cut_further_up_the_more_rows_stand_against_the_noise():
    cuts = [terms.usual_clip(LAYOUT, rows) / terms.longest(LAYOUT) for rows in (-5.0, 0.0, 700.0, 2200.0, 1e9)]
    assert cuts == sorted(cuts)
    assert cuts[0] == cuts[1] == terms.LEAST_CUT
    assert cuts[3:] == [pytest.approx(terms.CUT), 1.0]
    found = []
    for epsilon in (0.05, 0.5, 5.0):
        training = Training(NoisySums(), range(PARTIES), SHAPE, settings(epsilon=epsilon, rounds=4))
        training.count_tables()
        training.learn()
        found.append(training.settings.cut)
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert Training(NoisySums(), range(PARTIES), SHAPE, settings(epsilon=1.0, clip=0.2)).settings.cut == 0.2


@pytest.mark.parametrize("deviation", [1e-6, 60.0, 1e6])
def test_cells_are_drawn_to_the_parts_of_the_classes_by_the_noise(deviation):
    layout = Layout((4,), 2)
    told = np.array([1000, 1000, 500, 900, 500, 100, 90, -90, -60, 60])
    found = terms.drawn_together(layout, told, deviation, np.array([False])).reshape(5, 2)
    assert (found >= 1).all()
    if deviation < 1:
        np.testing.assert_array_equal(found[:3].ravel(), told[:6])
    elif deviation > 1e5:
        np.testing.assert_allclose(found[1:, 0], found[1:, 1], rtol=1e-3)
    else:
        np.testing.assert_allclose(np.diff(np.log(found[1:3]))[:, 0], np.log([900 / 500, 100 / 500]), atol=0.2)
        assert np.abs(np.diff(np.log(found[3:]))).max() < 0.6


def test_tables_of_cells_drawn_together_are_nearer_to_the_exact_ones():
    away = []
    for seed in range(20):
        told = COUNTS + np.rint(np.random.default_rng(seed).normal(0.0, 150.0, len(COUNTS))).astype(np.int64)
        cells = (told, terms.drawn_together(LAYOUT, told, 150.0, ORDERED))
        away.append([np.abs(tables_from_counts(LAYOUT, one).single - TABLES.single).mean() for one in cells])
    raw, drawn = np.mean(away, axis=0)
    assert drawn < 0.8 * raw


def test_bins_of_few_rows_stand_out_of_the_noise_by_what_their_neighbours_say():
    """Twenty bins of 80 rows, ever more of them of the second class, under noise as wide as half of a cell; where states have no order nothing is won."""
    layout, share = Layout((20,), 2), np.linspace(0.1, 0.9, 20)
    exact = np.vstack([[800, 800], np.column_stack([80 * (1 - share), 80 * share])])
    away = {True: [], False: []}
    for seed in range(20):
        told = np.rint(exact + np.random.default_rng(seed).normal(0.0, 20.0, exact.shape)).astype(np.int64).ravel()
        for in_order, found in away.items():
            cells = terms.drawn_together(layout, told, 20.0, np.array([in_order])).reshape(21, 2)[1:]
            found.append(np.abs(cells[:, 1] / cells.sum(axis=1) - share).mean())
    assert np.mean(away[True]) < 0.7 * np.mean(away[False])
