"""What one record can change in noisy tables: a sampled lower bound of the loss, and a control that must exceed its claim."""

from itertools import combinations, product

import numpy as np
import pytest
from audit_kit import again, proportions

from fedbayes.bayes.markov.balance import balanced
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.contrasts import Contrasts
from v6_vertibayes.messages import change_of

STATIONS = 3
DELTA = 1e-2


def lower_bound(epsilon: float, claimed_tables: int, draws: int) -> float:
    """Return a lower bound of the loss of two tables in which one record more changes one cell each.

    Noise is that of all stations but one, which knows its own share; `claimed_tables` sets its scale. The event is the one that tells
    most: both cells are one or more.
    """
    change = change_of(claimed_tables, 2 * claimed_tables)
    noise = sum(Installment(epsilon).shares((draws, 2), change, STATIONS, 0.8) for _ in range(STATIONS - 1))
    with_record = int((noise + 1 >= 1).all(axis=1).sum())
    without = int((noise >= 1).all(axis=1).sum())
    low, high = proportions((with_record, draws), (without, draws))
    return float(np.log(low / high))


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_tables_keep_their_epsilon_and_half_the_noise_does_not(epsilon) -> None:
    assert again(lambda: lower_bound(epsilon, 2, 40_000), epsilon) <= epsilon
    assert (
        again(lambda: lower_bound(epsilon, 1, 40_000), above=epsilon) > epsilon
    )  # noise for one table on two: the audit sees it


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_tables_keep_their_epsilon_in_many_draws(epsilon) -> None:
    found = again(lambda: lower_bound(epsilon, 2, 300_000), epsilon, 0.9 * epsilon)
    assert 0.9 * epsilon < found <= epsilon


def excess(epsilon: float, claimed_tables: int, draws: int) -> float:
    """Return a lower bound of the delta of two tables in two batches of one budget, in which one record more changes one cell each.

    The event is that the likelihood of the noise (that of all stations but one) speaks for the record by more than epsilon.
    """
    weights, change = [1.0, 2.0], change_of(claimed_tables, 4 * claimed_tables)
    parts = [Installment(epsilon, DELTA, weights, [place]) for place in (0, 1)]
    noise = [sum(part.shares((draws, 2), change, STATIONS, 0.8) for _ in range(STATIONS - 1)) for part in parts]
    squares = [part.deviation(change, STATIONS, 0.8) ** 2 * (STATIONS - 1) / STATIONS for part in parts]

    def speaks(moved: int) -> int:
        ratios = (
            ((2 * (cells + moved) - 1) / (2 * square)).sum(axis=1) for cells, square in zip(noise, squares, strict=True)
        )
        return int((sum(ratios) > epsilon).sum())

    low, high = proportions((speaks(1), draws), (speaks(0), draws))
    return float(low - np.exp(epsilon) * high)


@pytest.mark.parametrize("draws", [20_000, pytest.param(60_000, marks=pytest.mark.audit)])
def test_two_batches_with_gaussian_noise_keep_their_epsilon_and_delta_and_noise_for_half_the_tables_does_not(
    draws: int,
) -> None:
    assert again(lambda: excess(1.0, 2, draws), DELTA) <= DELTA
    assert again(lambda: excess(1.0, 1, draws), above=DELTA) > DELTA


TABLES = [tuple(pair) for pair in combinations("abc", 2)]


def differences_excess(replaced: bool, claimed: bool, draws: int) -> float:
    """Return a lower bound of the delta of differences between states of three pairs of columns with two states, at epsilon 1.

    The records (or the two values of one) are those that change most; `claimed` says whether the noise is for a record that is replaced. The event is
    that the likelihood of the noise speaks for the record by more than epsilon.
    """
    epsilon = 1.0
    asked = Contrasts({name: balanced(2, 16) for name in "abc"}, [1] * len(TABLES))

    def vector(states: dict[str, int]) -> np.ndarray:
        cells = []
        for a, b in TABLES:
            alone = np.zeros((2, 2), dtype=np.int64)
            alone[states[a], states[b]] = 1
            cells.append(alone.ravel())
        return asked.of(TABLES, np.concatenate(cells))

    records = [vector(dict(zip("abc", states, strict=True))) for states in product((0, 1), repeat=3)]
    moves = [a - b for a in records for b in records] if replaced else records
    moved = max(moves, key=lambda move: float((move.astype(float) ** 2).sum()))
    change = asked.change(TABLES, claimed)
    part = Installment(epsilon, DELTA)
    noise = sum(part.shares((draws, len(moved)), change, STATIONS, 0.8) for _ in range(STATIONS - 1))
    square = part.deviation(change, STATIONS, 0.8) ** 2 * (STATIONS - 1) / STATIONS

    def speaks(times: int) -> int:
        seen = noise + times * moved
        return int((((2 * seen - moved) * moved).sum(axis=1) / (2 * square) > epsilon).sum())

    low, high = proportions((speaks(1), draws), (speaks(0), draws))
    return float(low - np.exp(epsilon) * high)


@pytest.mark.few(1)
@pytest.mark.parametrize("replaced", [True, False])
def test_differences_between_states_keep_their_epsilon_and_delta(replaced) -> None:
    assert again(lambda: differences_excess(replaced, replaced, 40_000), DELTA) <= DELTA


def test_noise_for_a_record_without_values_is_too_little_for_one_with_other_values() -> None:
    assert again(lambda: differences_excess(replaced=True, claimed=False, draws=40_000), above=DELTA) > DELTA
