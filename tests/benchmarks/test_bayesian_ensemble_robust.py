"""Stations that poison, and stations with populations of their own: what bounded votes and tested members buy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exact_kit import weighted_auc

from bayesian_ensemble import simulation
from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.network.probability_tables import normalise
from fedbayes.randomness import ResearchSampler
from v6_bayesian_ensemble.ensemble import Member
from v6_bayesian_ensemble.model import Learning, column_codes

pytestmark = pytest.mark.benchmark
STATIONS, FOLDS, MOST_ROWS = 5, 5, 2000
SETS = {"asia": "asia10k", "autism": "autism", "diabetes": "diabetes_fbne"}
ATTACKS = ("labels", "certain")
RULES = {
    "mean": ("mean", "uniform", 0.0),
    "log pool": ("log_pool", "uniform", 0.0),
    "log pool, bound 0.01": ("log_pool", "uniform", 0.01),
    "log pool, bound 0.1": ("log_pool", "uniform", 0.1),
    "mean, score": ("mean", "score", 0.0),
    "log pool, score": ("log_pool", "score", 0.0),
    "log pool, score, bound 0.01": ("log_pool", "score", 0.01),
}


def turned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the two labels turned round."""
    first, second = sorted(frame["class"].unique())
    return frame.assign(**{"class": frame["class"].map({first: second, second: first})})


def certain(member: Member) -> Member:
    """Return the member with tables that are nearly sure of what they say."""
    tables = {node: normalise(np.maximum(table, 1e-6) ** 8) for node, table in member.network.tables.items()}
    return replace(member, network=replace(member.network, tables=tables))


def places(labels: pd.Series, bias: float, draw: np.random.Generator) -> np.ndarray:
    """Return the station of each record; with a bias each station has that share of one class."""
    even = draw.permutation(len(labels)) % STATIONS
    if bias == 0.5:
        return even
    second = np.asarray(labels == sorted(labels.unique())[1])
    swapped = draw.random(len(labels)) > bias
    upper = STATIONS // 2 + draw.integers(0, STATIONS - STATIONS // 2, len(labels))
    return np.where(second ^ swapped, upper, draw.integers(0, STATIONS // 2, len(labels)))


def scores(frame: pd.DataFrame, attack: str, bad: int, bias: float) -> dict[str, tuple[float, float]]:
    """Return the area and the log-loss of every rule on clean held-out records."""
    draw = ResearchSampler(7).generator
    order = draw.permutation(len(frame))[:MOST_ROWS]
    found: dict[str, list] = {name: [] for name in RULES}
    for fold in range(FOLDS):
        test = frame.iloc[order[fold::FOLDS]].reset_index(drop=True)
        train = frame.iloc[np.setdiff1d(order, order[fold::FOLDS])].reset_index(drop=True)
        at = places(train["class"], bias, draw)
        clean = [train[at == station] for station in range(STATIONS)]
        parts = [turned(part) if number < bad else part for number, part in enumerate(clean)]
        members = list(simulation.horizontal(parts, "class", Learning(), {}))
        if attack == "certain":
            members = [certain(m) if number < bad else m for number, m in enumerate(members)]
        truth: Any = None
        for name, (vote, weights, bound) in RULES.items():
            model = simulation.ensemble(members, "class", vote, weights, "horizontal", bound)
            model = simulation.tested(model, parts) if weights == "score" else model
            truth = column_codes(test["class"], model.classes, None)
            logs = model.predict_log_proba({c: test[c] for c in test if c != "class"}, len(test))
            found[name].append((weighted_auc(truth, logs), metrics.row_losses(truth, logs).mean()))
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}


def table(paper_data: Any, attack: str, bad: int, bias: float = 0.5) -> dict[str, tuple[float, float]]:
    """Return the means over the sets."""
    each = [scores(paper_data(SETS[name]), attack, bad, bias) for name in SETS]
    means = {name: tuple(np.mean([entry[name] for entry in each], axis=0)) for name in RULES}
    for name, (area, loss) in means.items():
        print(f"{attack}, {bad} of {STATIONS} poison, bias {bias:.0%}; {name}: auc {area:.3f}, log-loss {loss:.3f}")
    return means


def test_poisoned_members(paper_data, figure) -> None:
    print()
    found = {(attack, bad): table(paper_data, attack, bad) for attack in ATTACKS for bad in range(3)}
    with figure("bayesian_ensemble", "poisoned", 2) as axes:
        for axis, attack in zip(axes, ATTACKS, strict=True):
            for name, (_, weights, bound) in RULES.items():
                style = "--" if weights == "score" else "-"
                areas = [found[attack, bad][name][0] for bad in range(3)]
                axis.plot(range(3), areas, style, marker="s" if bound else "o", markersize=4, label=name)
            axis.set(xticks=range(3), ylim=(0.0, 1.0), xlabel=f"stations that poison, of {STATIONS}")
            axis.set_title("labels turned round" if attack == "labels" else "and sure of them")
        axes[0].set_ylabel("area under the curve")
        axes[0].legend(fontsize=7, loc="lower left")
    for attack in ATTACKS:
        clean, worst = found[attack, 0], found[attack, 2]
        assert clean["log pool, score"][0] > clean["log pool"][0] - 0.01
        assert worst["log pool, score, bound 0.01"][0] > clean["log pool"][0] - 0.03
        assert worst["log pool, score, bound 0.01"][1] < worst["mean"][1]
        assert found[attack, 1]["log pool, bound 0.1"][0] > clean["log pool"][0] - 0.05


def test_stations_with_populations_of_their_own(paper_data) -> None:
    print()
    even, biased = table(paper_data, "none", 0), table(paper_data, "none", 0, 0.95)
    assert biased["log pool"][0] > even["log pool"][0] - 0.1
