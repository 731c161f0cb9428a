"""The sandwich of Lin and Wei by its definition, with Breslow's ties: a loop over the events."""

import numpy as np
import pandas as pd


def lin_wei(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    stratum: np.ndarray,
    cluster: np.ndarray | None = None,
    time: str = "week",
    event: str = "arrest",
) -> np.ndarray:
    """Return the robust covariance, of score residuals summed by cluster where there are some."""
    x, times = frame[columns].to_numpy(dtype=float), frame[time].to_numpy(dtype=float)
    events, risk = frame[event].to_numpy(), np.exp(x @ beta)
    scores, information = np.zeros_like(x), np.zeros((len(columns), len(columns)))
    for place in np.flatnonzero(events):
        at_risk = (times >= times[place]) & (stratum == stratum[place])
        part = np.where(at_risk, risk, 0.0)[:, None] / risk[at_risk].sum()
        centred = x - (part * x).sum(axis=0)
        scores[place] += centred[place]
        scores -= part * centred
        information += (part * centred).T @ centred
    inverse = np.linalg.inv(information)
    if cluster is not None:
        scores = pd.DataFrame(scores).groupby(cluster).sum().to_numpy()
    return np.asarray(inverse @ scores.T @ scores @ inverse)
