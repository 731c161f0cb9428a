"""dp_naive_bayes: bins and groups of states that the plan chooses are near the best of other choices, and better than a fixed 20 where noise dominates."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from test_dp_naive_bayes import adult_domain

from v6_dp_naive_bayes.arguments import Fit, planned
from v6_dp_naive_bayes.model import finalise, summarise

pytestmark = pytest.mark.benchmark

STATIONS, REPEATS = 3, 6
EPSILONS = (0.1, 0.3, 1.0)


def categorical(table):
    return {name: {"categories": sorted(table[name].dropna().unique().tolist())} for name in table}


def digits(entry):
    """Return 1,797 written digits that scikit-learn brings along: 64 numbers from 0 to 16 and ten classes."""
    values, truth = load_digits(return_X_y=True)
    table = pd.DataFrame(values.astype(int), columns=[f"pixel {place}" for place in range(64)])
    domain = {name: entry for name in table} | {"class": {"categories": [f"{number}" for number in range(10)]}}
    return table.assign(**{"class": truth.astype(str)}), domain


class Fits:
    """Fits to four fifths of a table that are judged on the others, over three stations, with noise in shares."""

    def __init__(self, table, domain):
        self.table, self.domain, self.exact = table, domain, {}

    def accuracy(self, seed, **given):
        asked = Fit.read("fit", {"label": "class", "domain": self.domain, **given})
        plan = planned(asked, asked.columns)
        kept = seed, str(plan.bins), str(plan.groups)
        if kept not in self.exact:
            order = np.random.default_rng(seed % 4).permutation(len(self.table))
            held, learned = order[: len(order) // 5], order[len(order) // 5 :]
            codes = [plan.columns.schema.encode(self.table.iloc[part]) for part in (learned, held)]
            self.exact[kept] = np.concatenate([one.values.ravel() for one in summarise(plan, codes[0])]), codes[1]
        exact, judged = self.exact[kept]
        change = plan.noise.change(1.0, 1.0, max(plan.sizes), True)
        noise = [plan.noise.shares(exact.size, plan.queries, change, STATIONS) for _ in range(STATIONS)]
        model, truth = finalise(plan, exact + np.sum(noise, axis=0), STATIONS), judged["class"]
        return float(np.mean(model.joint_from_codes(judged, truth.size).argmax(axis=1) == truth))

    def scores(self, **given):
        found = [self.accuracy(seed, **given) for seed in range(REPEATS)]
        return float(np.mean(found)), float(np.std(found, ddof=1) / REPEATS**0.5)


@pytest.mark.parametrize("entry", [{"bounds": [0, 16]}, {"categories": list(range(17))}], ids=["numbers", "states"])
def test_many_features_and_classes_take_few_bins(entry):
    table, domain = digits(entry)
    fits = Fits(table, domain)
    for epsilon in EPSILONS:
        for delta in (0.0, 1e-6):
            given = {"epsilon": epsilon, "delta": delta}
            cases = {
                "20 bins, or every state": {**given, "bins": 20},
                "by the plan": given,
                "by the plan, told its rows": {**given, "rows": len(table)},
            }
            found = {name: fits.scores(**case) for name, case in cases.items()}
            told = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in found.values())
            print(f"\n| {epsilon} | {delta:g} | {told} |", flush=True)
            fixed, usual, rows = (found[name][0] for name in cases)
            assert min(usual, rows) > fixed - 0.03
    assert min(usual, rows) > max(0.75, fixed + 0.05)  # the last: epsilon 1, delta 1e-6


@pytest.mark.parametrize("name", ["adult_train", "skin", "mushroom", "car"])
def test_other_tables_lose_nothing(paper_data, name):
    table = paper_data(name)
    domain = adult_domain(table) if name == "adult_train" else categorical(table)
    domain |= {column: {"bounds": [0, 255]} for column in "BGR" if column in domain}
    fits = Fits(table, domain)
    for epsilon in EPSILONS:
        (fixed, error), (usual, other), (rows, _) = (
            fits.scores(epsilon=epsilon, **given) for given in ({"bins": 20}, {}, {"rows": len(table)})
        )
        print(
            f"\n| {name} | {epsilon} | {fixed:.3f} ± {error:.3f} | {usual:.3f} ± {other:.3f} | {rows:.3f} |", flush=True
        )
        assert min(usual, rows) > fixed - 3.0 * np.hypot(error, other)
