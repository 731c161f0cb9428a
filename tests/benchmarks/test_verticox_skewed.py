"""Rounds and errors of `private_newton` on heavy tails and rare indicators, all roles in one process: 500 records, three stations, ten seeds."""

import numpy as np
import pytest
from cox_rehearsal import Rehearsal, standardised
from skewed_kit import EFFECTS, PAIRS, RARE, SEVERAL, TAILED, hospital, pair, several, single

from fedbayes.federation.errors import ConvergenceError
from v6_verticox.arguments import MOST_ROUNDS
from v6_verticox.cox import likelihood
from v6_verticox.rounds.lockstep import alone
from v6_verticox.solvers.newton import solve

pytestmark = pytest.mark.benchmark
SEEDS = range(10)
SETUP = 5  # rounds of channel, alignment by an identifier, columns, and the mean at the end
LARGEST = 10.0  # linear predictor of one record against a record at the mean: a risk of 22,000


def measured(frame):
    """Return rounds, largest error in standard deviations and largest linear predictor; None where an indicator has no event at all."""
    features = [name for name in frame if name not in ("time", "event")]
    binary = [name for name in features if frame[name].nunique() == 2]
    if any(frame["event"][frame[name] == frame[name].max()].sum() == 0 for name in binary):
        return None
    values, scale = standardised(frame, features)
    blocks = [values[:, part] for part in np.array_split(np.arange(len(features)), 3)]
    surface = Rehearsal(blocks, frame["time"].to_numpy(dtype=float), frame["event"].to_numpy(dtype=int))
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    raw = frame[features].to_numpy(dtype=float)
    expected = likelihood.fit(risk, raw, features).coefficients
    farthest = np.max(values @ (expected * scale))
    try:
        found = alone(solve(surface, np.zeros(len(features)), 1e-7, 30, likelihood=True))
    except ConvergenceError:
        return np.inf, np.inf, farthest
    error = np.max(np.abs(found.coefficients / scale - expected) * raw.std(axis=0))
    return surface.rounds + SETUP, error, farthest


def tables():
    effects = [*EFFECTS, "log"]
    for kind in (*TAILED, *RARE):
        for effect in effects:
            if effect != "log" or (kind in TAILED and kind != "one far away"):
                yield f"{kind}, {effect}", [single(kind, effect, seed) for seed in SEEDS]
    for kinds in PAIRS:
        yield " + ".join(kinds), [pair(kinds, seed) for seed in SEEDS]
    yield "hospital", [hospital(seed) for seed in SEEDS]
    yield "hospital, 1,000 records", [hospital(seed, 1_000) for seed in SEEDS]


def summary(found):
    rounds, errors = (np.array([entry[place] for entry in found]) for place in (0, 1))
    return (
        f"{np.median(rounds):.0f} rounds, 95 % at most {np.quantile(rounds, 0.95):.0f}, all at most {rounds.max():.0f}; "
        f"error at most {errors.max():.0e} ({len(found)} tables)"
    )


def test_rounds_and_errors_on_skewed_features():
    inside, beyond = [], []
    for name, frames in tables():
        found = [entry for entry in map(measured, frames) if entry is not None]
        own = [entry for entry in found if entry[2] <= LARGEST]
        print(f"{name}: {summary(own)}")
        inside += own
        beyond += [entry for entry in found if entry[2] > LARGEST]
    print(f"largest linear predictor at most {LARGEST:.0f}: {summary(inside)}")
    print(f"larger: {[(entry[0], f'{entry[1]:.0e}', round(float(entry[2]), 1)) for entry in beyond]}")
    assert max(entry[0] for entry in inside) <= 80
    assert max(entry[1] for entry in inside) <= 2e-6


def test_rounds_and_errors_of_several_heavy_tails():
    """Four features with such tails and effects beside two ordinary ones, 300 and 1,000 records."""
    for kind in SEVERAL:
        for rows in (300, 1_000):
            found = [measured(several(kind, seed, rows)) for seed in SEEDS]
            own = [entry for entry in found if entry[2] <= LARGEST]
            print(f"four of {kind}, {rows} records: {summary(own)}; {sum(entry[0] <= 80 for entry in own)} within 80")
            assert max(entry[0] for entry in own) <= MOST_ROUNDS["private_newton"]
            assert max(entry[1] for entry in own) <= 1e-5
