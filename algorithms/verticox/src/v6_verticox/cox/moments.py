"""Times that are told: numbers between two times of the file, so that none need be a record's own."""

from __future__ import annotations

import numpy as np

from fedbayes.bayes.values.digits import in_few_digits
from fedbayes.typing import Floats


def between(moments: Floats, times: Floats) -> list[float]:
    """Return of each moment, one of all `times`, the number of the fewest decimals from it on and before the next time."""
    following = np.append(times[1:], 2.0 * times[-1] - times[max(len(times) - 2, 0)])
    nexts = following[np.searchsorted(times, moments)]
    return [in_few_digits(moment, end) for moment, end in zip(moments.tolist(), nexts.tolist(), strict=True)]
