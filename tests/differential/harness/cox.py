"""Cox regression of one table in plain numpy (checked against lifelines in the tests): the pooled twin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

TIED = 2.0**-30
"""Linear predictors that differ by no more are documented to be ties (the sum over the stations is rounded)."""


@dataclass
class Fit:
    """A fitted model; `converged` is False where the likelihood has no finite maximum, or none was found."""

    coefficients: Any
    information: Any
    log_likelihood: float
    null: float
    converged: bool


def likelihood(
    time: Any, event: Any, strata: Any, x: Any, beta: Any, ties: str, case: Any = 1.0, entry: Any = -np.inf
) -> tuple[float, Any, Any]:
    """Return log partial likelihood, gradient and information matrix, from the definition; `case`: weights, `entry`: times of entry."""
    total, gradient, information = 0.0, np.zeros(x.shape[1]), np.zeros((x.shape[1], x.shape[1]))
    predictor, case, entry = x @ beta, np.broadcast_to(case, len(time)), np.broadcast_to(entry, len(time))
    for stratum in np.unique(strata):
        rows = strata == stratum
        shift = predictor[rows].max()
        for moment in np.unique(time[rows & (event == 1)]):
            risk = rows & (time >= moment) & (entry < moment)
            dead = rows & (time == moment) & (event == 1)
            weights = case[risk] * np.exp(predictor[risk] - shift)
            own = case[dead] * np.exp(predictor[dead] - shift)
            total += float(case[dead] @ (predictor[dead] - shift))
            gradient = gradient + case[dead] @ x[dead]
            sums = [weights.sum(), weights @ x[risk], (x[risk].T * weights) @ x[risk]]
            tied = [own.sum(), own @ x[dead], (x[dead].T * own) @ x[dead]]
            count, mean = int(dead.sum()), float(case[dead].mean())
            for place in range(count):
                share = place / count if ties == "efron" else 0.0
                s0, s1, s2 = (whole - share * part for whole, part in zip(sums, tied, strict=True))
                total -= mean * float(np.log(s0))
                gradient = gradient - mean * s1 / s0
                information = information + mean * (s2 / s0 - np.outer(s1, s1) / s0**2)
    return total, gradient, information


def score_residuals(
    time: Any, event: Any, strata: Any, x: Any, beta: Any, ties: str, case: Any = 1.0, entry: Any = -np.inf
) -> Any:
    """Return every record's part of the score, weighted, (records, columns): the slope of the score in its case weight, times that."""
    case, entry = np.broadcast_to(case, len(time)), np.broadcast_to(entry, len(time))
    x = x - x.mean(axis=0)
    risk, found = case * np.exp(x @ beta - (x @ beta).max()), np.zeros_like(x)
    for stratum, moment in sorted({(s, t) for s, t, died in zip(strata, time, event, strict=True) if died}):
        own = (strata == stratum) & (entry < moment) & (moment <= time)
        dead = own & (time == moment) & (event == 1)
        count = int(dead.sum())
        for place in range(count):
            part = own - (place / count if ties == "efron" else 0.0) * dead
            mean = (part * risk) @ x / (part @ risk)
            found += (case * dead / count - case[dead].mean() * part * risk / (part @ risk))[:, None] * (x - mean)
    return found


def fit(
    time: Any,
    event: Any,
    strata: Any,
    x: Any,
    ties: str = "breslow",
    penalty: float = 0.0,
    case: Any = 1.0,
    entry: Any = -np.inf,
) -> Fit:
    """Maximise the log partial likelihood less penalty / 2 times the sum of squares, by Newton's method with halving."""
    scale = x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    z, ridge = (x - x.mean(axis=0)) / scale, penalty / scale**2
    beta = np.zeros(x.shape[1])
    value, gradient, information = likelihood(time, event, strata, z, beta, ties, case, entry)
    null = value
    converged = False
    for _ in range(60):
        try:
            move = np.linalg.solve(information + np.diag(ridge), gradient - ridge * beta)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(move).all() or np.abs(beta + move).max() > 1e3:
            break
        before = value - 0.5 * float(ridge @ beta**2)
        for _ in range(40):
            there = likelihood(time, event, strata, z, beta + move, ties, case, entry)
            if there[0] - 0.5 * float(ridge @ (beta + move) ** 2) >= before - 1e-10 * abs(before):
                break
            move = move / 2
        beta = beta + move
        value, gradient, information = there
        if np.abs(move).max() < 1e-10:
            converged = True
            break
    with np.errstate(all="ignore"):
        condition = np.linalg.cond(information + np.diag(ridge)) if np.isfinite(information).all() else np.inf
    converged = converged and np.abs(beta).max() < 12 and condition < 1e8
    return Fit(beta / scale, information * np.outer(scale, scale), value, null, bool(converged))


def concordance(time: Any, event: Any, risk: Any, strata: Any) -> float | None:
    """Return Harrell's concordance over all comparable pairs of one stratum; predictors within `TIED` are ties. None without any."""
    agree = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            if (
                event[i]
                and strata[i] == strata[j]
                and (time[i] < time[j] or (time[i] == time[j] and not event[j] and i != j))
            ):
                pairs += 1
                agree += 1.0 if risk[i] > risk[j] + TIED else 0.5 if abs(risk[i] - risk[j]) <= TIED else 0.0
    return agree / pairs if pairs else None


def step_of(records: Any) -> float:
    """Return the step in which scores over so many records are told: 1, 2 or 5 times a power of ten."""
    steps = sorted(factor / 10.0**power for factor in (1, 2, 5) for power in range(9))
    return next(step for step in steps if step * records >= 1.0 - 1e-9)


def brier_score(time: Any, event: Any, risk: Any, curve: tuple[list[float], list[float]], moment: float) -> float:
    """Return the Brier score at a time with Kaplan-Meier weights of the censoring, after Graf et al. (1999); `curve`: baseline hazard."""
    hazard = max([h for t, h in zip(*curve, strict=True) if t <= moment], default=0.0)
    predicted = np.exp(-hazard * np.exp(risk))
    return weighted_squares(time, event, (time <= moment) & (event == 1), predicted, moment)


def weighted_squares(time: Any, event: Any, died: Any, predicted: Any, moment: float) -> float:
    """Return the mean squared error of predicted survival at a time, by the inverse probability of being observed; `died`: by then."""
    moments = np.unique(time)
    survival_of_censoring, value = [], 1.0
    for place in moments:
        censored = ((time == place) & (event == 0)).sum()
        value *= 1 - censored / max((time > place).sum() + censored, 1)  # at one time events come before censoring
        survival_of_censoring.append(value)

    def weight(at: float, before: bool) -> float:
        place = int(np.searchsorted(moments, at, side="left" if before else "right"))
        return 1.0 if place == 0 else survival_of_censoring[place - 1]

    total = 0.0
    for row in range(len(time)):
        if died[row]:
            total += predicted[row] ** 2 / max(weight(time[row], True), 1e-12)
        elif time[row] > moment:
            total += (1 - predicted[row]) ** 2 / max(weight(moment, False), 1e-12)
    return float(total / len(time))


def cumulative_hazard(time: Any, event: Any, risk: Any, moment: float, case: Any, entry: Any) -> float:
    """Return Breslow's cumulative baseline hazard of one stratum at a time; `risk`: relative risks, `case`: weights, `entry`: times of entry."""
    total = 0.0
    for place in np.unique(time[(event == 1) & (time <= moment)]):
        died = case[(time == place) & (event == 1)].sum()
        total += died / (case * risk)[(time >= place) & (entry < place)].sum()
    return float(total)


def hazard_by_ties(time: Any, event: Any, risk: Any, case: Any, entry: Any, moment: float, ties: str) -> float:
    """Return the cumulative baseline hazard of one stratum at a time: with Efron's ties each tied event has what is left of the others' risk."""
    total, risk = 0.0, case * risk
    for place in np.unique(time[(event == 1) & (time <= moment)]):
        dead = (time == place) & (event == 1)
        at_risk = risk[(time >= place) & (entry < place)].sum()
        shares = np.arange(dead.sum()) / dead.sum() * (ties == "efron")
        total += case[dead].mean() * np.sum(1.0 / (at_risk - shares * risk[dead].sum()))
    return float(total)


def calibration(
    time: Any, event: Any, risk: Any, curve: Any, moment: float, groups: int
) -> list[tuple[int, float, float]] | None:
    """Return records, mean predicted and observed (Kaplan-Meier) survival of groups of predicted survival; None where rounding decides what is tied."""
    hazard = max([h for t, h in zip(*curve, strict=True) if t <= moment], default=0.0)
    frame = pd.DataFrame({"time": time, "event": event, "predicted": np.exp(-hazard * np.exp(risk))})
    frame = frame.sort_values("predicted", ignore_index=True)
    steps = frame["predicted"].diff()
    if ((steps > TIED / 4) & (steps < 1e-6)).any():
        return None
    block = (steps > TIED).cumsum()
    ends = [0, *(block.groupby(block).size().cumsum())]
    wanted = [place * len(frame) // groups for place in range(1, groups + 1)]
    cuts = {min(ends, key=lambda end, place=place: (abs(end - place), -end)) for place in wanted} | {0}
    return [_group(frame.iloc[low:high], moment) for low, high in pairwise(sorted(cuts))]


def _group(part: pd.DataFrame, moment: float) -> tuple[int, float, float]:
    alive = 1.0
    for time in sorted(set(part["time"][(part["event"] == 1) & (part["time"] <= moment)])):
        alive *= 1 - ((part["time"] == time) & (part["event"] == 1)).sum() / (part["time"] >= time).sum()
    return len(part), float(part["predicted"].mean()), float(alive)
