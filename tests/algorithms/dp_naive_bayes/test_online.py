"""Algorithm 3 against a count of the pooled records by pandas alone: pieces in any order, by sums and by gossip, with odd names."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import errors
from fedbayes.federation.horizontal import CountNoise

NAME = "dp_naive_bayes"
CLASSES = ["un'x", "%d", "None"]
EDGES = [-3.0, 0.0, 1.0, 7.5]
DOMAIN = {
    "odd %s é": {"categories": ["a b", '"q"', "None", "é", "%s"]},
    "stage": {"categories": [1, 2, 10]},
    "v": {"bounds": [EDGES[0], EDGES[-1]]},
    "class": {"categories": CLASSES},
}
STATIONS = [f"h{number}" for number in range(5)]


def records(seed):
    """Return a station's records: gaps, numbers outside the bounds and a category that the domain lacks."""
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(25, 60))
    label = generator.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "odd %s é": generator.choice([*DOMAIN["odd %s é"]["categories"], "other"], rows),
            "stage": generator.choice([1, 2, 10], rows),
            "v": generator.normal(2 * label, 3.0).round(3),
            "class": np.array(CLASSES)[label],
        }
    ).astype(object)
    for column in frame:
        frame.loc[generator.random(rows) < 0.1, column] = None
    return frame


@pytest.fixture(scope="module")
def pool():
    return {name: records(seed) for seed, name in enumerate(STATIONS)}


@pytest.fixture(scope="module")
def federation(pool):
    with OneProcess(pool, helpers=["helper"], policies={"*": {"minimum_organizations": 1}}) as running:
        yield running


def scores(frame, test, statistics):
    """Return log P(class) + sum of log P(value | class) up to a constant, by counting: nothing of the project is used."""
    known = frame[frame["class"].notna()]
    joint = np.tile(np.log(known["class"].value_counts()[CLASSES].to_numpy()), (len(test), 1)).astype(float)
    for name in ("odd %s é", "stage", "v"):
        for place, kind in enumerate(CLASSES):
            column = known.loc[known["class"] == kind, name]
            if name == "v":
                values, asked = column.astype(float).clip(-3, 7.5), test[name].astype(float).clip(-3, 7.5)
                if statistics == "gaussian":
                    mean, spread = values.mean(), values.var(ddof=0)
                    term = -0.5 * np.log(2 * np.pi * spread) - (asked - mean) ** 2 / (2 * spread)
                    joint[:, place] += term.fillna(0.0)
                    continue
                column, asked = (
                    pd.cut(part, EDGES, right=False, labels=False).mask(part == 7.5, 2) for part in (values, asked)
                )
                states = [0, 1, 2]
            else:
                asked, states = test[name], DOMAIN[name]["categories"]
            counts = {state: int((column == state).sum()) + 1 for state in states}
            logs = {state: np.log(count / sum(counts.values())) for state, count in counts.items()}
            joint[:, place] += asked.map(logs).astype(float).fillna(0.0)
    return joint


def probabilities(joint):
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
@pytest.mark.parametrize("gossip", [False, True])
def test_pieces_in_any_order_are_the_pool(federation, pool, monkeypatch, statistics, gossip):
    noise = {"noise": "local", "epsilon": 1.0} if gossip else {"noise": "none"}
    if gossip:  # which needs local noise: every draw of it is 0
        monkeypatch.setattr(CountNoise, "shares", lambda self, size, *rest: np.zeros(size, dtype=np.int64))
    first = {"label": "class", "domain": DOMAIN, "statistics": statistics, **noise}
    first |= {"aggregation": "gossip"} if gossip else {}
    first |= {"bins": {"v": EDGES}} if statistics == "histogram" else {}
    models = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(STATIONS).tolist()
        pieces = (order[:3], order[3:4], order[4:]) if gossip else (order[:3], order[3:])
        model = federation.run(NAME, "fit", {**first, "organizations": pieces[0]})["model"]
        for piece in pieces[1:]:
            asked = {"model": model, **noise, "organizations": piece}
            model = federation.run(NAME, "update", asked)["model"]
        models.append(NaiveBayes.from_dict(model))
    pooled = pd.concat(pool.values(), ignore_index=True)
    known = pooled["class"].value_counts()[CLASSES].to_numpy()
    for model in models:
        np.testing.assert_allclose(model.class_counts, known)
    if not gossip:  # with noise said to be there the probabilities are smoothed for it
        expected = probabilities(scores(pooled, pooled, statistics))
        for model in models:
            np.testing.assert_allclose(model.predict_proba(pooled), expected, atol=1e-6)
    ours, others = (model.to_dict()["features"] for model in models)
    for name, feature in ours.items():
        for part in set(feature) - {"kind"}:
            np.testing.assert_allclose(feature[part], others[name][part], atol=1e-4, err_msg=f"{name} {part}")


def test_an_update_counts_the_states_in_the_groups_of_the_fit(federation):
    states = list(range(17))
    domain = {**{f"pixel {n}": {"categories": states} for n in range(20)}, "class": {"categories": ["a", "b"]}}
    generator = np.random.default_rng(0)
    files = {}
    for name in STATIONS:
        frame = pd.DataFrame({column: generator.integers(0, 17, 60) for column in domain})
        frame["class"] = generator.choice(["a", "b"], 60)
        files[name] = frame
    asked = {"label": "class", "domain": domain, "epsilon": 0.5, "rows": 500}
    with OneProcess(files, policies={"*": {"minimum_organizations": 2}}) as running:
        first = running.run(NAME, "fit", {**asked, "organizations": STATIONS[:3]})
        added = {"model": first["model"], "epsilon": 0.5, "organizations": STATIONS[3:]}
        later = running.run(NAME, "update", added)
        whole = running.run(NAME, "fit", asked)
        broken = {**first["model"], "provenance": {**first["model"]["provenance"], "groups": {"pixel 0": "4"}}}
        with pytest.raises(errors.ArgumentError, match="groups"):
            running.run(NAME, "update", {**added, "model": broken})
    kinds = {result["model"]["provenance"]["groups"]["pixel 0"] for result in (first, later, whole)}
    assert len(kinds) == 1
    table = np.array(later["model"]["features"]["pixel 0"]["counts"])
    assert len({*table[0].round(9)}) == kinds.pop(), "states of a group have equal parts"
