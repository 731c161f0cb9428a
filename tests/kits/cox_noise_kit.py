"""Whole records of which private Cox fits are compared with the pooled one."""

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter

BETA = np.array([0.0, 0.5, 0.8])
NAMES = ["u", "v", "w"]
HALF = 1 / np.sqrt(3)
TASK = {
    "time": "t",
    "event": "d",
    "features": NAMES,
    "domain": {name: {"bounds": [-HALF, HALF]} for name in NAMES},
    "times": [0.1 * place for place in range(1, 11)],
    "split": "horizontal",
}


def simulated(seed: int, rows: int, spread: float = HALF) -> pd.DataFrame:
    """Return records with uniform columns, hazard exp(x beta) and exponential censoring."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-spread, spread, (rows, 3))
    died, left = rng.exponential(1, rows) / np.exp(x @ BETA), rng.exponential(1 / 0.3, rows)
    frame = pd.DataFrame(x, columns=NAMES)
    return frame.assign(t=np.minimum(died, left), d=(died <= left).astype(int))


def pooled(frame: pd.DataFrame, end: float) -> CoxPHFitter:
    """Return lifelines' fit of the exact times, who is observed beyond the end censored there."""
    seen = frame.assign(d=frame["d"] * (frame["t"] <= end), t=frame["t"].clip(upper=end))
    return CoxPHFitter().fit(seen, "t", "d")
