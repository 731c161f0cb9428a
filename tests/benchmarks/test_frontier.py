"""The frontier on Adult: accuracy and area under the curve against epsilon, ours at 1, 10 and 1,000 stations, and peers, in one run.

Peers run in a Python of their own, whose path is FEDBAYES_PEERS (`frontier_peers.txt` has what it needs); without it they are left out and nothing is
written. Ours are simulated on pooled rows with noise of the deviation that the stations' shares have together.
"""

import json
import os
import subprocess
from pathlib import Path

import frontier
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from test_discriminative_private import NoisySums
from test_dp_naive_bayes import BOUNDS, adult_domain, vector
from test_smooth_naive_bayes import release

from fedbayes.bayes.evaluation import metrics
from fedbayes.federation.horizontal import Columns, CountNoise, check_bins
from v6_discriminative_naive_bayes.arguments import Fit
from v6_discriminative_naive_bayes.likelihood import log_posterior
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import encode_rows
from v6_discriminative_naive_bayes.training import Training
from v6_dp_naive_bayes.model import Plan, finalise, settled

pytestmark = pytest.mark.benchmark

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
STATIONS = (1, 10, 1000)
SEEDS = 20
DELTA = 1e-6
GOALS = {0.1: (0.833, 0.89), 0.3: (0.847, 0.905), 1.0: (0.855, 0.91)}


def scored(truth, logs):
    return {
        "accuracy": float(np.mean(logs.argmax(axis=1) == truth)),
        "auc": float(metrics.auc(truth == 1, logs[:, 1] - logs[:, 0])),
    }


class Adult:
    """Training and test rows, and fits to them."""

    def __init__(self, train, test):
        self.rows = len(train)
        self.domain = adult_domain(train, test)
        self.columns = Columns("class", [name for name in self.domain if name != "class"], self.domain)
        self.train, self.test = (self.columns.schema.encode(part) for part in (train, test))
        self.truth = self.test["class"].astype(np.int64)

    def discriminative(self, epsilon, stations, seed):
        given = {"label": "class", "tables": "dp", "epsilon": epsilon, "delta": DELTA, "rows": self.rows}
        asked = Fit.read("fit", given if epsilon else {"label": "class", "rounds": 60})
        bins = asked.cut(self.columns) if epsilon else Fit.read("fit", {**given, "epsilon": 1.0}).cut(self.columns)
        shape = Shape(self.columns, bins, tables=asked.kind_of_tables)
        rows, (codes, truth) = encode_rows(shape, self.train), encode_rows(shape, self.test)
        if not epsilon:
            from discriminative_naive_bayes.simulation import simulated

            tables = tables_from_counts(shape.layout, count(shape.layout, *rows))
            weights = simulated(shape, [rows], rounds=60)[1].weights
            return scored(truth, log_posterior(shape.layout, tables, weights, codes))
        training = Training(NoisySums(rows, seed, stations), range(stations), shape, asked.settings)
        training.count_tables()
        return scored(truth, log_posterior(shape.layout, training.tables(), training.learn().weights, codes))

    def plain(self, epsilon, stations, seed):
        noise = CountNoise("distributed", epsilon, DELTA)
        plan = Plan(self.columns, check_bins(self.columns, 20), "histogram", "bounds", noise, 1.0)
        plan, exact = settled(plan, "auto"), vector(plan, self.train)
        change = plan.noise.change(1.0, 1.0, max(plan.sizes), True)
        parts = min(stations, 10)  # of more the shares add up to the same
        told = exact + np.sum(
            [plan.noise.shares(exact.size, plan.queries, change, parts) for _ in range(parts)], axis=0
        )
        return scored(self.truth, finalise(plan, told, parts).joint_from_codes(self.test, self.truth.size))

    def smooth(self, epsilon, stations, seed):
        model = release(self.columns.schema, self.train, epsilon)
        return scored(self.truth, model.joint_from_codes(self.test, self.truth.size))


def ours(adult):
    kinds = {
        "discriminative_naive_bayes": (adult.discriminative, STATIONS),
        "dp_naive_bayes": (adult.plain, STATIONS),
        "smooth_naive_bayes": (adult.smooth, (1,)),
    }
    for name, (fit, places) in kinds.items():
        for stations in places:
            for epsilon in EPSILONS:
                for seed in range(SEEDS):
                    yield {"name": name, "stations": stations, "epsilon": epsilon, **fit(epsilon, stations, seed)}


def theirs(paper_folder):
    python = os.environ.get("FEDBAYES_PEERS")
    if python is None:
        return
    program = Path(__file__).with_name("frontier_peers.py")
    files = [str(paper_folder / f"adult_{part}.csv.gz") for part in ("train", "test")]
    arguments = [json.dumps(BOUNDS), ",".join(map(str, EPSILONS)), str(SEEDS)]
    done = subprocess.run([python, str(program), *files, *arguments], capture_output=True, text=True, check=True)
    yield from ({"stations": None, **json.loads(line)} for line in done.stdout.splitlines())


def without_privacy(adult):
    codes = [np.column_stack([part[name] for name in adult.columns.features]) for part in (adult.train, adult.test)]
    boosted = HistGradientBoostingClassifier(random_state=0).fit(codes[0], adult.train["class"])
    yield {"name": "gradient boosting", **scored(adult.truth, np.log(boosted.predict_proba(codes[1])))}
    yield {"name": "discriminative_naive_bayes", **adult.discriminative(None, 1, 0)}


def mean(rows):
    """Return one row for every line and epsilon: means and standard errors."""
    frame, found = pd.DataFrame(rows), []
    frame["stations"] = frame["stations"].fillna(0).astype(int)
    for (name, stations, epsilon), part in frame.groupby(["name", "stations", "epsilon"], sort=False):
        row = {"name": name, "stations": int(stations) or None, "epsilon": float(epsilon), "ours": bool(stations > 0)}
        for score in frontier.SCORES:
            row |= {score: round(float(part[score].mean()), 5), f"{score}_error": round(float(part[score].sem()), 5)}
        found.append(row)
    return found


def test_the_frontier_on_adult(paper_data, paper_folder):
    adult = Adult(paper_data("adult_train"), paper_data("adult_test"))
    rows = [*ours(adult), *theirs(paper_folder)]
    found = {
        "data": "Adult",
        "delta": DELTA,
        "seeds": SEEDS,
        "rows": mean(rows),
        "without_privacy": [*without_privacy(adult)],
    }
    print("\n" + frontier.table(found))
    if any(not row["ours"] for row in found["rows"]):
        frontier.write(found)
    for row in found["rows"]:
        if row["name"] == "discriminative_naive_bayes" and row["epsilon"] in GOALS:
            assert (row["accuracy"], row["auc"]) >= GOALS[row["epsilon"]], row
            assert row["auc"] >= GOALS[row["epsilon"]][1], row
