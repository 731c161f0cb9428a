"""What differential privacy costs: weights learned from noisy gradients against the noisy tables alone, which is plain naive Bayes.

A research simulation: the sums over the stations are made at one place, with noise from a seed, of the deviation that the stations' shares have together.
"""

from dataclasses import replace

import discriminative_study as study
import numpy as np
import pandas as pd
import pytest
from test_dp_naive_bayes import BOUNDS, adult_domain

from fedbayes.bayes.evaluation import metrics
from fedbayes.dp.gaussian import epsilon_of, mu_of
from fedbayes.federation.horizontal import Columns, check_bins
from v6_discriminative_naive_bayes.arguments import Fit
from v6_discriminative_naive_bayes.likelihood import log_posterior
from v6_discriminative_naive_bayes.messages import Shape, StepRequest
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import (
    TABLE_BITS,
    encode_rows,
    honest_deviation,
    move,
    prepare,
    table_deviation,
)
from v6_discriminative_naive_bayes.plan import USUAL_BINS
from v6_discriminative_naive_bayes.training import Training

pytestmark = pytest.mark.benchmark

SETS = ("votes", "tictactoe", "car", "flare", "krvskp", "mushroom", "nursery")
EPSILONS = (0.5, 2.0, 8.0)
STATIONS = 10
DELTA = Fit.delta
SEEDS = range(5)
EQUAL = dict.fromkeys(BOUNDS, 16)
ROUNDS = 8
SKEWED = {**EQUAL, "capital-gain": {"log": 16}, "capital-loss": {"log": 16}}
FEW = {**dict.fromkeys(BOUNDS, 8), "capital-gain": {"log": 8}, "capital-loss": {"log": 8}}
LEAST = {0.1: (0.838, 0.884), 0.3: (0.851, 0.901), 1.0: (0.855, 0.907)}


class NoisySums:
    """Sums of the pooled rows with noise; only for studies, since the noise has a seed."""

    def __init__(self, rows, seed, stations=STATIONS):
        self.rows = rows
        self.stations = stations
        self.generator = np.random.default_rng(seed)
        self.evidence = None

    def warn(self, text):
        """Noise wider than the data is what the small sets show."""

    def _noise(self, size, honest, request):
        wide = honest * np.sqrt(self.stations / request.noise.honest(self.stations))
        return self.generator.normal(0.0, wide, size)

    def secure_sum(self, function, request, organizations, reply_type, *, field, last=False):
        codes, labels = self.rows
        if isinstance(request, StepRequest):
            self.evidence = replace(self.evidence or prepare(request, codes, labels), layout=request.shape.layout)
            exact = move(request, self.evidence, labels, request.clip)[0][1] * 2.0**16
            honest = honest_deviation(request, self.stations)
        else:
            exact = count(request.shape.layout, codes, labels) * 2.0**TABLE_BITS
            honest = table_deviation(request, self.stations) * 2.0**TABLE_BITS
        return np.rint(exact + self._noise(len(exact), honest, request)).astype(np.int64).astype(np.uint64)


def trained(shape, rows, epsilon, seed):
    """Return (tables, weights) of a fit."""
    chosen = Fit.read("fit", {"label": "class", "tables": "dp", "epsilon": epsilon}).settings
    training = Training(NoisySums(rows, seed), range(STATIONS), shape, chosen)
    training.count_tables()
    return training.tables(), training.learn().weights


def scores(table, epsilon, seed):
    """Return accuracies on the third of the rows that was not learned from."""
    shape = table.shape("log", "dp")
    layout, order = shape.layout, np.random.default_rng(seed).permutation(len(table.labels))
    train, test = order[len(order) // 3 :], order[: len(order) // 3]
    rows = table.codes[train], table.labels[train]
    held = table.codes[test], table.labels[test]
    plain = np.ones(layout.parameters)
    tables, weights = trained(shape, rows, epsilon, seed)
    cleaned = replace(shape, weights="attribute")  # whose tables are cleaned as for plain naive Bayes
    double, _ = trained(cleaned, rows, epsilon_of(2**0.5 * mu_of(epsilon, DELTA), DELTA), seed)
    return {
        "weights learned": study.share(layout, tables, weights, *held),
        "plain, all of the budget": study.share(layout, double, plain, *held),
        "plain, no noise": study.share(layout, tables_from_counts(layout, count(layout, *rows)), plain, *held),
    }


def test_learning_from_noisy_gradients_pays_where_there_are_rows_enough(paper_folder):
    found = []
    for name in SETS:
        table = study.load(paper_folder, name)
        for epsilon in EPSILONS:
            cells = pd.DataFrame([scores(table, epsilon, seed) for seed in SEEDS]).mean()
            found.append({"set": name, "rows": len(table.labels), "epsilon": epsilon, **cells})
    print("\n" + pd.DataFrame(found).round(3).to_string(index=False))
    means = pd.DataFrame(found).set_index(["set", "epsilon"])
    gain = means["weights learned"] - means["plain, all of the budget"]
    assert gain["krvskp", 2.0] > 0.03
    assert gain["mushroom", 2.0] > 0.01
    assert (gain.xs(8.0, level="epsilon") > -0.02).all()


@pytest.fixture
def adult(paper_data):
    """Return ``parts(bins)``: the shape of Adult's model, its training rows and its test rows."""
    train, test = paper_data("adult_train"), paper_data("adult_test")
    domain = adult_domain(train, test)
    columns = Columns("class", [name for name in domain if name != "class"], domain)

    def parts(bins):
        shape = Shape(columns, check_bins(columns, bins), tables="dp")
        return shape, *(encode_rows(shape, columns.schema.encode(table)) for table in (train, test))

    return parts


def private(parts, epsilon, seed, stations):
    """Return accuracy and area under the curve on Adult's test rows."""
    shape, rows, (codes, truth) = parts
    chosen = Fit.read("fit", {"label": "class", "tables": "dp", "epsilon": epsilon, "rounds": ROUNDS}).settings
    training = Training(NoisySums(rows, seed, stations), range(stations), shape, chosen)
    training.count_tables()
    logs = log_posterior(shape.layout, training.tables(), training.learn().weights, codes)
    return float(np.mean(logs.argmax(axis=1) == truth)), metrics.auc(truth == 1, logs[:, 1] - logs[:, 0])


def test_adult_at_small_budgets(adult):
    """Delta 1e-6; mean and standard error of five seeds, on the published test rows."""
    kinds = {"10 equal": adult(USUAL_BINS), "16 equal": adult(EQUAL), "logarithmic": adult(SKEWED), "few": adult(FEW)}
    found = {}
    for kind, stations in (
        ("10 equal", 10),
        ("16 equal", 10),
        ("few", 10),
        ("logarithmic", 1),
        ("logarithmic", 10),
        ("logarithmic", 1000),
    ):
        for epsilon in LEAST:
            scores = np.array([private(kinds[kind], epsilon, seed, stations) for seed in SEEDS])
            mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / len(SEEDS) ** 0.5
            found[kind, stations, epsilon] = mean
            told = " / ".join(f"{m:.4f} +- {e:.4f}" for m, e in zip(mean, error, strict=True))
            print(f"\n| {kind} bins, {stations} stations | {epsilon} | {told} |", flush=True)
    for (kind, _, epsilon), mean in found.items():
        if kind == "logarithmic":
            assert (mean >= LEAST[epsilon]).all()
    assert found["logarithmic", 10, 1.0][0] > found["10 equal", 10, 1.0][0] + 0.003
