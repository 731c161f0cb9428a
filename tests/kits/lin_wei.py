"""The sandwich of Lin and Wei by its definition, with Breslow's ties: a loop over the events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd


def _events(
    frame: pd.DataFrame, columns: list[str], beta: np.ndarray, time: str, event: str, stratum: np.ndarray | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield for each event its record, every record's part of the risk then, (records, 1), and columns less their mean by it, (records, columns)."""
    x, times, events = frame[columns].to_numpy(dtype=float), frame[time].to_numpy(), frame[event].to_numpy()
    risk, group = np.exp(x @ beta), np.zeros(len(x)) if stratum is None else stratum
    for record in np.flatnonzero(events):
        at_risk = (times >= times[record]) & (group == group[record])
        part = np.where(at_risk, risk, 0.0)[:, None] / risk[at_risk].sum()
        yield int(record), part, x - (part * x).sum(axis=0)


def score_residuals(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    time: str = "week",
    event: str = "arrest",
    stratum: np.ndarray | None = None,
) -> np.ndarray:
    """Return every record's part of the score, (records, columns)."""
    scores = np.zeros((len(frame), len(columns)))
    for record, part, centred in _events(frame, columns, beta, time, event, stratum):
        scores[record] += centred[record]
        scores -= part * centred
    return scores


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
    information = np.zeros((len(columns), len(columns)))
    for _, part, centred in _events(frame, columns, beta, time, event, stratum):
        information += (part * centred).T @ centred
    scores = score_residuals(frame, columns, beta, time, event, stratum)
    if cluster is not None:
        scores = pd.DataFrame(scores).groupby(cluster).sum().to_numpy()
    inverse = np.linalg.inv(information)
    return np.asarray(inverse @ scores.T @ scores @ inverse)
