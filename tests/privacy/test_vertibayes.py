"""What one record can change in noisy tables: a sampled lower bound of the loss, and a control that must exceed its claim."""

from types import SimpleNamespace

import numpy as np
import pytest
from audit_kit import CONFIDENCE, again
from scipy.stats import beta

from v6_vertibayes.partial import _noise

STATIONS = 3


def lower_bound(epsilon: float, claimed_tables: int, draws: int) -> float:
    """Return a lower bound of the loss of two tables in which one record more changes one cell each.

    Noise is that of all stations but one, which knows its own share; `claimed_tables` sets its scale. The event is the one that tells
    most: both cells are one or more.
    """
    request = SimpleNamespace(tables=[["a"]] * claimed_tables, epsilon=epsilon, honest_fraction=0.8)
    noise = sum(_noise((draws, 2), request, STATIONS) for _ in range(STATIONS - 1))
    with_record = int((noise + 1 >= 1).all(axis=1).sum())
    without = int((noise >= 1).all(axis=1).sum())
    low = beta.ppf((1 - CONFIDENCE) / 2, with_record, draws - with_record + 1)
    high = beta.ppf(1 - (1 - CONFIDENCE) / 2, without + 1, draws - without)
    return float(np.log(low / high))


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_tables_keep_their_epsilon_and_half_the_noise_does_not(epsilon) -> None:
    assert again(lambda: lower_bound(epsilon, 2, 40_000), epsilon) <= epsilon
    assert lower_bound(epsilon, 1, 40_000) > epsilon  # noise for one table on two: the audit sees it


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_tables_keep_their_epsilon_in_many_draws(epsilon) -> None:
    found = again(lambda: lower_bound(epsilon, 2, 300_000), epsilon)
    assert 0.9 * epsilon < found <= epsilon
