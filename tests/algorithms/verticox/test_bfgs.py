"""Solver "bfgs": its steps and rounds on real data, with the rounds answered from the pooled table."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.errors import ArgumentError, ConvergenceError
from v6_verticox.cox import likelihood
from v6_verticox.cox.subspace import maximised
from v6_verticox.cox.tails import Tails, reach
from v6_verticox.rounds.points import Gradient
from v6_verticox.solvers.bfgs import Search, Seen, block_update

ALIGNED = 4  # open_channel, partial_submit, partial_match, partial_prepare
DATA = ["rossi", "lung", "gbsg2", "veteran", "seer_breast"]


@dataclass
class PooledRounds:
    """What `bfgs.SeenPredictor` asks of the stations, from the pooled table; counts rounds as the federation does."""

    values: np.ndarray
    risk: likelihood.RiskSets
    searches: bool = True

    def __post_init__(self):
        self.federation = SimpleNamespace(rounds=ALIGNED)
        self.surface, self.trend, self.hazard = self, np.zeros(0), np.zeros(0)
        self.reached, self.combination = np.zeros((self.values.shape[1], 0)), np.zeros(0)

    def _at(self, coefficients):
        return likelihood.evaluate(self.risk, self.values, coefficients)

    async def start(self):
        self.federation.rounds += 4 + (self.risk.ties == "efron")
        zero = np.zeros(self.values.shape[1])
        return Gradient(zero, self._at(zero).gradient, 0.0)

    async def information(self, step, final):
        self.federation.rounds += 1
        return self._at(np.zeros(self.values.shape[1])).information

    def evaluate(self, step, coefficients):
        self.federation.rounds += 2
        self.reached = np.column_stack([self.reached, coefficients - self.reached @ self.combination])
        start = np.append(self.combination, 1.0)
        self.combination = maximised(self.risk, self.values @ self.reached, start) if self.searches else start
        self.here = self._at(self.reached @ self.combination)
        products = self.here.information @ self.reached
        likelihood = self.here.log_likelihood
        return Seen(self.combination, self.here.gradient, products, likelihood, np.zeros(0), None, b"")

    async def seen_information(self, step, published, corrections, final):
        self.federation.rounds += 3
        self.trend = np.zeros(self.values.shape[1]) if final else self.trend
        return self.here.information


def table(paper_data, name):
    frame = paper_data(name)
    if name == "lung":
        frame = frame.drop(columns=["inst"]).dropna()
    frame = pd.get_dummies(frame, drop_first=True, dtype=float)
    frame = frame[[column for column in frame if not column.startswith("6th")]]
    return frame, [column for column in frame if column not in ("time", "event")]


def search(frame, features, ties="breslow", penalty=0.0, strata=None, max_rounds=30):
    values = frame[features].to_numpy(dtype=float)
    scales = 2.0 ** np.round(np.log2(values.std(axis=0)))
    codes = None if strata is None else frame[strata].to_numpy()
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy(), codes, ties)
    standardised = (values - values.mean(axis=0)) / scales
    rounds = PooledRounds(standardised, risk, penalty == 0.0)
    outcome = SimpleNamespace(events=int(frame["event"].sum()))
    prepared = SimpleNamespace(scales=scales, names=features, outcome=outcome, tails=Tails.of(reach(standardised)))
    options = SimpleNamespace(penalty=penalty, tolerance=1e-7, limit=max_rounds)
    found = Search(rounds, prepared, options)
    found.begin()
    while not found.settled:
        found.advance()
    return found.solution(), scales, rounds.federation.rounds + 1, likelihood.fit(risk, values, features, penalty)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("name", DATA)
def test_every_data_set_within_thirty_rounds(paper_data, name, ties):
    found, scales, rounds, expected = search(*table(paper_data, name), ties)
    np.testing.assert_allclose(found.coefficients / scales, expected.coefficients, atol=1e-7)
    errors = [np.sqrt(np.diag(np.linalg.inv(i))) for i in (found.information, expected.information)]
    np.testing.assert_allclose(errors[0] / scales, errors[1], rtol=1e-4)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)
    assert found.exact_information
    assert rounds <= 30


def mostly_zero(seed, rows=300, columns=5):
    """Return laboratory values that few records have, with long tails, and what they do."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.uniform(size=(rows, columns)) < 0.95, 0.0, np.exp(rng.normal(size=(rows, columns))))
    time = rng.exponential(np.exp(-0.5 * (values / values.std(axis=0)).sum(axis=1)))
    names = [f"x{place}" for place in range(columns)]
    return pd.DataFrame(values, columns=names).assign(time=time, event=1), names


@pytest.mark.parametrize("seed", [4, 8])
def test_standard_errors_of_heavy_tails_are_those_at_the_end(seed, monkeypatch):
    def errors_off():
        found, scales, rounds, expected = search(*mostly_zero(seed))
        errors = [np.sqrt(np.diag(np.linalg.inv(i))) for i in (found.information, expected.information)]
        return np.max(np.abs(errors[0] / scales / errors[1] - 1.0)), rounds

    off, rounds = errors_off()
    assert off <= 1e-6
    monkeypatch.setattr(Tails, "reached", lambda tails, move: 0.0)
    without, fewer = errors_off()
    assert without >= 2.5e-5
    assert rounds == fewer + 2 <= 30


@pytest.mark.parametrize(
    ("name", "penalty"), [("rossi", 1.0), ("gbsg2", 10.0), ("veteran", 10.0), ("seer_breast", 5.0)]
)
def test_penalty_within_thirty_rounds(paper_data, name, penalty):
    found, scales, rounds, expected = search(*table(paper_data, name), penalty=penalty)
    np.testing.assert_allclose(found.coefficients / scales, expected.coefficients, atol=1e-6)
    assert rounds <= 30


def test_strata_within_thirty_rounds(paper_data):
    frame, features = table(paper_data, "rossi")
    features.remove("race")
    found, scales, rounds, expected = search(frame, features, "efron", strata="race")
    np.testing.assert_allclose(found.coefficients / scales, expected.coefficients, atol=1e-7)
    assert rounds <= 30


def test_bad_data_is_named(paper_data):
    frame, features = table(paper_data, "rossi")
    with pytest.raises(ArgumentError, match="age, twice"):
        search(frame.assign(twice=2.0 * frame["age"]), [*features, "twice"])
    with pytest.raises(ConvergenceError, match="max_rounds"):
        search(frame, features, max_rounds=12)
    first = frame.assign(early=(frame["time"] < frame["time"].median()).astype(float), event=1)
    with pytest.raises(ConvergenceError, match=r"early|max_rounds"):
        search(first, ["early", "age"])


def test_the_best_combination_has_no_slope(paper_data):
    frame, features = table(paper_data, "gbsg2")
    values = frame[features].to_numpy(dtype=float)
    directions = (values - values.mean(axis=0)) @ np.random.default_rng(0).normal(size=(len(features), 3))
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    found = maximised(risk, directions, np.ones(3))
    slope = directions.T @ likelihood.evaluate_predictor(risk, directions @ found)[1]
    np.testing.assert_allclose(slope / directions.std(axis=0), 0.0, atol=1e-6)
    twice = maximised(risk, np.column_stack([directions, directions[:, 0]]), np.append(found, 0.0))
    np.testing.assert_allclose(directions @ twice[:3] + directions[:, 0] * twice[3], directions @ found, atol=1e-6)


def test_a_block_update_is_right_on_the_span_of_the_steps():
    rng = np.random.default_rng(4)
    root, moves = rng.normal(size=(6, 6)), rng.normal(size=(6, 3))
    true = root @ root.T
    updated = block_update(np.eye(6), moves, true @ moves)
    np.testing.assert_allclose(updated @ moves, true @ moves, rtol=1e-8)
    assert np.all(np.linalg.eigvalsh(updated) > 0)
    np.testing.assert_allclose(block_update(np.eye(6), root, true @ root), true, rtol=1e-6, atol=1e-8)


def test_products_that_rounding_lost_teach_nothing():
    first = np.diag([1.0, 2.0, 3.0])
    moves = np.array([[1e-24, 0.0], [2e-24, 1e-23], [0.0, 1e-23]])
    np.testing.assert_array_equal(block_update(first, moves, np.zeros((3, 2))), first)
    np.testing.assert_array_equal(block_update(first, 0.0 * moves, np.zeros((3, 2))), first)
