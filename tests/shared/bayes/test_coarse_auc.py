"""How far the area under the curve of binned scores may be from that of the scores themselves, and when that is told."""

import numpy as np
import pytest

from fedbayes.bayes.evaluation.metrics import auc, mean_auc
from fedbayes.bayes.evaluation.tallies import COARSE_AUC, auc_error, coarse_auc, tally


def scored(rows: int, rare: float, width: float, seed: int):
    """Return truth, and log probabilities of two classes whose log-odds are within some width of those of the rare class."""
    draw = np.random.default_rng(seed)
    truth = (draw.random(rows) < rare).astype(np.int64)
    truth[:5] = 1
    odds = np.log(rare) + width * (draw.normal(size=rows) + 0.6 * truth)
    return truth, -np.logaddexp(0.0, np.column_stack([odds, -odds]))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("width", [0.02, 0.2, 3.0])
@pytest.mark.parametrize("rare", [0.002, 0.3])
def test_the_error_bounds_what_bins_change(rare, width, seed):
    truth, logs = scored(3_000, rare, width, seed)
    tallies = tally(truth, logs)
    found = mean_auc([(yes, no) for no, yes in tallies.scores])
    assert abs(found - auc(truth == 1, logs[:, 1])) <= auc_error(tallies) + 1e-12


def test_close_scores_of_a_rare_class_are_told_and_others_are_not():
    close, wide = (tally(*scored(3_000, 0.002, width, 0)) for width in (0.05, 3.0))
    assert auc_error(close) > COARSE_AUC > auc_error(wide)
    assert "known to within 0." in coarse_auc(close)
    assert "512 bins" in coarse_auc(close)
    assert coarse_auc(wide) == ""


def test_without_a_class_nothing_is_told():
    truth, logs = scored(50, 0.3, 1.0, 0)
    assert coarse_auc(tally(np.zeros_like(truth), logs)) == ""
