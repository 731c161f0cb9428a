"""The sandwich of Lin and Wei by its definition, with Breslow's or Efron's ties, case weights and times of entry: a loop over the risk sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd


def _risk_sets(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    time: str = "week",
    event: str = "arrest",
    stratum: np.ndarray | None = None,
    ties: str = "breslow",
    weights: str | None = None,
    entry: str | None = None,
) -> Iterator[tuple[np.ndarray, float, np.ndarray, np.ndarray]]:
    """Yield for each event which part of it each record has, its mass, every record's part of the risk then, and columns less their mean by it.

    The parts are (records, 1). Of d events at a time each has the d-th part of each one's risk set, and all have their mean weight as mass.
    """
    x, times, events = frame[columns].to_numpy(dtype=float), frame[time].to_numpy(), frame[event].to_numpy()
    case = np.ones(len(x)) if weights is None else frame[weights].to_numpy(dtype=float)
    since = np.full(len(x), -np.inf) if entry is None else frame[entry].to_numpy()
    risk, group = case * np.exp(x @ beta), np.zeros(len(x)) if stratum is None else stratum
    for own, moment in sorted(set(zip(group[events == 1], times[events == 1], strict=True))):
        at_risk = (since < moment) & (times >= moment) & (group == own)
        dead = at_risk & (times == moment) & (events == 1)
        for place in range(dead.sum()):
            left = np.where(dead, 1.0 - place / dead.sum(), 1.0) if ties == "efron" else 1.0
            part = (at_risk * left * risk)[:, None]
            part = part / part.sum()
            yield (dead * case / dead.sum())[:, None], case[dead].mean(), part, x - (part * x).sum(axis=0)


def score_residuals(
    frame: pd.DataFrame, columns: list[str], beta: np.ndarray, *outcome: Any, **cases: Any
) -> np.ndarray:
    """Return every record's part of the score, (records, columns): its case weight times the score's slope in that; the rest is as in `_risk_sets`."""
    scores = np.zeros((len(frame), len(columns)))
    for dead, mass, part, centred in _risk_sets(frame, columns, beta, *outcome, **cases):
        scores += (dead - mass * part) * centred
    return scores


def naive(frame: pd.DataFrame, columns: list[str], beta: np.ndarray, *outcome: Any, **cases: Any) -> np.ndarray:
    """Return the model's own covariance, the inverse of the information matrix."""
    information = np.zeros((len(columns), len(columns)))
    for _, mass, part, centred in _risk_sets(frame, columns, beta, *outcome, **cases):
        information += mass * (part * centred).T @ centred
    return np.linalg.inv(information)


def lin_wei(
    frame: pd.DataFrame,
    columns: list[str],
    beta: np.ndarray,
    time: str = "week",
    event: str = "arrest",
    stratum: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
    **cases: Any,
) -> np.ndarray:
    """Return the robust covariance, of score residuals summed by cluster where there are some; `cases`: ties, and columns of weights and entry."""
    scores = score_residuals(frame, columns, beta, time, event, stratum, **cases)
    if cluster is not None:
        scores = pd.DataFrame(scores).groupby(cluster).sum().to_numpy()
    inverse = naive(frame, columns, beta, time, event, stratum, **cases)
    return np.asarray(inverse @ scores.T @ scores @ inverse)
