"""Private Cox fits of columns of the same records, three stations, beside pooled fits and beside FDPCox's simulation (`test_verticox_private.py`).

Sums are made in the clear of the stations' cut columns, noise as the stations draw it: that products on shares are these is tested in
`tests/algorithms/verticox/test_private_columns.py`.
"""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from test_verticox_private import BETA, GRID, exact, simulated

from fedbayes.federation.horizontal import check_noise
from v6_verticox.horizontal.messages import Question
from v6_verticox.horizontal.private import records
from v6_verticox.horizontal.private.messages import Asked
from v6_verticox.horizontal.private.records import spent
from v6_verticox.horizontal.private.result import spans
from v6_verticox.messages.setup import Plan
from v6_verticox.noisy.cuts import Limits, blocks_of, weighed
from v6_verticox.noisy.fit import ColumnsFit
from v6_verticox.noisy.messages import Joint
from v6_verticox.noisy.program import COLUMN_BITS

pytestmark = pytest.mark.benchmark

EDGE = 1.0 / np.sqrt(3.0)


class InTheClear(ColumnsFit):
    """A fit whose sums are added up in one process."""

    def __init__(self, found, joint, penalty):
        super().__init__(None, joint, penalty)
        self.found = found

    def _noisy(self, blocks, layout):
        noise, stations, vector = self.joint.asked.noise, len(self.plan.holders), layout.whole(blocks)
        for _ in range(stations):
            vector = vector + noise.shares(layout.length, 1.0 / layout.portion, layout.change(noise), stations)
        return vector

    def _outline_vector(self, layout):
        return self._noisy(records.outline_blocks(self.question, self.found), layout)

    def _slope_vector(self, request, layout):
        limits, known = Limits.of(request, self.plan.widths), np.ones(len(self.found.time), dtype=bool)
        seen = [
            weighed(request, limits, place, block, self.found.columns[:, block], known, COLUMN_BITS)
            for place, block in enumerate(blocks_of(self.plan.widths))
        ]
        kept, risk = np.prod([one.kept for one in seen], axis=0), np.prod([one.risk for one in seen], axis=0)
        white, out = (
            np.concatenate([one.columns for one in seen], axis=1),
            spent(request, self.found.time, self.found.event),
        )
        rows, columns = np.triu_indices(white.shape[1])
        squares = white[:, rows] * white[:, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))
        blocks = [
            white * (kept * out.dead - risk * out.whole),
            kept * out.events - risk * out.groups,
            squares * (risk * out.whole if request.weighted else kept),
            (white[:, :, None] * (risk * out.periods)[:, None, :]).reshape(len(white), -1),
        ]
        return self._noisy(blocks, layout)


def private(time, event, x, bounds, grid, epsilon, delta, widths):
    """Return (coefficients, standard errors)."""
    names = [f"x{place}" for place in range(x.shape[1])]
    domain = {name: {"bounds": list(pair)} for name, pair in zip(names, bounds, strict=True)}
    question = Question("t", "d", domain, {}, list(grid), [len(grid)], "breslow", "complete", {}, "", "", "", "")
    asked = Asked(question, check_noise("distributed", epsilon, delta, "replace_one", 1.0))
    found = records.records_of(question, time, event, dict(zip(names, x.T, strict=True)))
    rows = len(time)
    plan = Plan(list(range(1, len(widths) + 1)), list(widths), 99, rows, [rows], rows, [], 0, True)
    _, unit = spans(asked)
    _, solution = InTheClear(found, Joint(asked, plan), np.zeros(len(names))).run()
    return solution.coefficients / unit, np.sqrt(np.diag(solution.covariance)) / unit


def effects(rng, rows, size=1.0):
    """Return (times, events, columns) of six correlated normal columns within 3 deviations."""
    beta = size * np.array([0.25, -0.2, 0.15, 0.0, 0.3, -0.1])
    x = np.clip(np.sqrt(0.7) * rng.normal(size=(rows, 6)) + np.sqrt(0.3) * rng.normal(size=(rows, 1)), -3, 3)
    died, left = rng.exponential(1.0, rows) / np.exp(x @ beta), rng.exponential(1.0 / 0.3, rows)
    return np.minimum(died, left), died < left, x


CASES = {
    "three": (simulated, [(-EDGE, EDGE)] * 3, GRID, [1, 1, 1]),
    "large": (
        lambda rng, rows: effects(rng, rows, 2.0),
        [(-3, 3)] * 6,
        [0.1 * place for place in range(1, 16)],
        [2, 2, 2],
    ),
    "six": (effects, [(-3, 3)] * 6, [0.1 * place for place in range(1, 16)], [2, 2, 2]),
}


@pytest.mark.parametrize("case", ["three", "six"])
@pytest.mark.parametrize(
    ("rows", "epsilon", "most"),
    [
        (1000, 1.0, 9.0),
        (1000, 3.0, 4.0),
        (1000, 10.0, 1.5),
        (10_000, 1.0, 4.0),
        (10_000, 3.0, 1.7),
        (10_000, 10.0, 1.2),
    ],
)
def test_distance_to_the_pooled_fit(case, rows, epsilon, most):
    """In standard errors of the pooled fit, root mean square over coefficients and 8 fits; delta 1e-6."""
    assert distance(case, rows, epsilon) < most


@pytest.mark.parametrize(("epsilon", "most"), [(3.0, 6.0), (10.0, 4.0)])
def test_large_effects_are_underestimated(epsilon, most):
    """Twice the effects: three steps from zero do not reach the maximum, which the told errors do not hold."""
    assert distance("large", 10_000, epsilon) < most


def distance(case, rows, epsilon):
    """Return the distance to the pooled fit."""
    make, bounds, grid, widths = CASES[case]
    away, inside = [], []
    for seed in range(8):
        time, event, x = make(np.random.default_rng(seed), rows)
        names = [f"x{place}" for place in range(x.shape[1])]
        frame = pd.DataFrame(x, columns=names).assign(t=np.minimum(time, grid[-1]), d=event & (time <= grid[-1]))
        peer = CoxPHFitter().fit(frame, "t", "d")
        beta, error = private(time, event, x, bounds, grid, epsilon, 1e-6, widths)
        away.append((beta - peer.params_[names].to_numpy()) / peer.standard_errors_[names].to_numpy())
        inside.append(error / peer.standard_errors_[names].to_numpy())
    found = float(np.sqrt(np.mean(np.square(away))))
    print(f"{case}, n {rows}, epsilon {epsilon}: {found:.2g} standard errors; told {np.mean(inside):.2g} of them")
    return found


@pytest.mark.parametrize("rows", [20_000, 50_000])
@pytest.mark.parametrize("epsilon", [0.75, 1.0, 3.0])
def test_squared_error_on_the_simulation(rows, epsilon):
    """Delta 1e-3; the figures of FDPCox are those of `test_verticox_private.py`, which the table beside has."""
    rng, found = np.random.default_rng(rows + int(100 * epsilon)), []
    for _ in range(10):
        time, event, x = simulated(rng, rows)
        ours, _ = private(time, event, x, [(-EDGE, EDGE)] * 3, GRID, epsilon, 1e-3, [1, 1, 1])
        found.append([float(np.sum((beta - BETA) ** 2)) for beta in (exact(time, event, x, 1.0), ours)])
    without, ours = np.mean(found, axis=0)
    print(f"n {rows}, epsilon {epsilon}: exact {without:.2g}, ours {ours:.2g}")
    assert ours < 6.0 * without
