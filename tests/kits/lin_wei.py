"""The sandwich of Lin and Wei by its definition, with Breslow's ties: a loop over the events."""

import numpy as np
import pandas as pd


def score_residuals(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    time: str = "week",
    event: str = "arrest",
    stratum: np.ndarray | None = None,
) -> np.ndarray:
    """Return every record's part of the score, (records, columns)."""
    x, times, events = frame[columns].to_numpy(dtype=float), frame[time].to_numpy(), frame[event].to_numpy()
    risk, scores = np.exp(x @ beta), np.zeros_like(x)
    group = np.zeros(len(x)) if stratum is None else stratum
    for place in np.flatnonzero(events):
        at_risk = (times >= times[place]) & (group == group[place])
        part = np.where(at_risk, risk, 0.0)[:, None] / risk[at_risk].sum()
        centred = x - (part * x).sum(axis=0)
        scores[place] += centred[place]
        scores -= part * centred
    return np.asarray(scores)


def lin_wei(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    time: str = "week",
    event: str = "arrest",
    stratum: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
) -> np.ndarray:
    """Return the robust covariance, of score residuals summed by cluster where there are some."""
    x, times, events = frame[columns].to_numpy(dtype=float), frame[time].to_numpy(), frame[event].to_numpy()
    risk, information = np.exp(x @ beta), np.zeros((len(columns), len(columns)))
    group = np.zeros(len(x)) if stratum is None else stratum
    for place in np.flatnonzero(events):
        at_risk = (times >= times[place]) & (group == group[place])
        part = np.where(at_risk, risk, 0.0)[:, None] / risk[at_risk].sum()
        centred = x - (part * x).sum(axis=0)
        information += (part * centred).T @ centred
    scores = score_residuals(frame, columns, beta, time, event, group)
    if cluster is not None:
        scores = pd.DataFrame(scores).groupby(cluster).sum().to_numpy()
    inverse = np.linalg.inv(information)
    return np.asarray(inverse @ scores.T @ scores @ inverse)
