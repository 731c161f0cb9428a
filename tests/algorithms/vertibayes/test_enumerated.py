"""EM against one that lists every completion of every record: the same log-likelihood and tables, on networks of three or four columns."""

import itertools

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.bayes.network.em import EmSettings, expectation_maximisation

RECORDS = 40
LIMITS = {"*": {"minimum_rows": 1, "minimum_count": 0, "minimum_organizations": 2}}


def drawn(seed):
    """Return cardinalities, parents by place, and codes (records, columns) with -1 for a gap."""
    random = np.random.default_rng(seed)
    cards = random.integers(2, 4, int(random.integers(3, 5))).tolist()
    chosen = [random.permutation(place)[: int(random.integers(0, min(place, 2) + 1))] for place in range(len(cards))]
    codes = np.array([[random.integers(0, card) for card in cards] for _ in range(RECORDS)])
    codes[:, 1] = np.where(random.random(RECORDS) < 0.7, codes[:, 0] % cards[1], codes[:, 1])
    codes[random.random(codes.shape) < 0.17] = -1
    return cards, [tuple(sorted(part.tolist())) for part in chosen], codes


def agreeing(codes, worlds):
    """Return whether each record may be each world, float64 (records, worlds)."""
    return np.array([[all(c in (-1, v) for c, v in zip(r, w, strict=True)) for w in worlds] for r in codes], float)


def normal(counts):
    sums = counts.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), 1.0 / counts.shape[-1])


def tallied(cards, family, worlds, weights):
    counts = np.zeros([cards[place] for place in family])
    for world, weight in zip(worlds, weights, strict=True):
        counts[tuple(world[place] for place in family)] += weight
    return counts


def enumerated(cards, parents, codes, weights, pseudocount):
    """Return the tables and the log-likelihood, from the records that have a whole family."""
    families = [(*chosen, place) for place, chosen in enumerate(parents)]
    worlds = list(itertools.product(*map(range, cards)))
    may_be = agreeing(codes, worlds)
    tables = []
    for family in families:
        whole = (codes[:, family] >= 0).all(axis=1)
        tables.append(normal(tallied(cards, family, codes[whole], weights[whole]) + (pseudocount or 0.5)))
    before = -np.inf
    while True:
        joint = np.ones(len(worlds))
        for family, table in zip(families, tables, strict=True):
            joint *= [table[tuple(world[place] for place in family)] for world in worlds]
        chances = may_be @ joint
        likelihood = float(weights @ np.log(chances))
        objective = likelihood + (pseudocount * sum(np.log(table).sum() for table in tables) if pseudocount else 0.0)
        if objective - before <= 1e-14 * abs(objective):
            return tables, likelihood
        before = objective
        expected = (weights / chances) @ (may_be * joint)
        tables = [normal(tallied(cards, family, worlds, expected) + pseudocount) for family in families]


@pytest.mark.parametrize("seed", range(9))
def test_em_of_a_network_is_that_of_all_completions(seed):
    cards, parents, codes = drawn(seed)
    pseudocount = (0.0, 0.5, 1.0)[seed % 3]
    weights = np.ones(RECORDS) if seed % 2 else np.random.default_rng(seed).random(RECORDS) * 3
    names = [f"c{place}" for place in range(len(cards))]
    ours = expectation_maximisation(
        {name: [str(code) for code in range(card)] for name, card in zip(names, cards, strict=True)},
        {name: [names[place] for place in chosen] for name, chosen in zip(names, parents, strict=True)},
        codes,
        weights,
        EmSettings(starts=1, pseudocount=pseudocount, tolerance=1e-14, max_iterations=20_000),
    )
    tables, likelihood = enumerated(cards, parents, codes, weights, pseudocount)
    assert ours.converged
    assert ours.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    for name, table in zip(names, tables, strict=True):
        np.testing.assert_allclose(ours.network.tables[name], table, atol=1e-6)


def family_table(cards, codes, pseudocount):
    """Return P(last column | the others) of the most likely joint distribution of a family's columns, by plain steps."""
    worlds = list(itertools.product(*map(range, cards)))
    may_be = agreeing(codes, worlds)
    whole = (codes >= 0).all(axis=1)
    joint = may_be[whole].sum(axis=0) + 0.5
    joint, before = joint / joint.sum(), np.ones(len(worlds))
    while np.abs(joint - before).max() > 1e-13:
        before = joint
        joint = ((may_be * joint) / (may_be @ joint)[:, None]).mean(axis=0)
    return normal(tallied(cards, range(len(cards)), worlds, joint * len(codes)) + pseudocount)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_a_federated_fit_on_counts_is_that_of_all_completions_of_a_family(seed):
    cards, parents, codes = drawn(seed)
    names = [f"c{place}" for place in range(len(cards))]
    table = pd.DataFrame({name: [None if c < 0 else f"s{c}" for c in codes[:, n]] for n, name in enumerate(names)})
    table.insert(0, "id", [f"r{record:02d}" for record in range(RECORDS)])
    files = by_columns(table, {"p": names[:1], "q": names[1:]})
    asked = {
        "id_column": "id",
        "columns": names,
        "domain": {
            n: {"categories": [f"s{code}" for code in range(card)]} for n, card in zip(names, cards, strict=True)
        },
        "structure": [[names[parent], names[place]] for place, chosen in enumerate(parents) for parent in chosen],
        "missing": "em_on_counts",
        "pseudocount": (0.5, 1.0)[seed % 2],
    }
    with OneProcess(files, helpers=["helper"], policies=LIMITS) as federation:
        tables = federation.run("vertibayes", "fit", asked)["model"]["tables"]
    for place, name in enumerate(names):
        family = [*(names.index(parent) for parent in tables[name]["parents"]), place]
        expected = family_table([cards[member] for member in family], codes[:, family], asked["pseudocount"])
        np.testing.assert_allclose(tables[name]["probabilities"], expected, atol=1e-6)
