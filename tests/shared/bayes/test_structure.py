"""Structure search: scores against their formulas, K2 and hill climbing against obvious slow searches."""

from itertools import combinations
from math import factorial, log

import numpy as np
import pytest
from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from fedbayes.bayes.counts.tables import PooledTables, TableCache, count
from fedbayes.bayes.network.graph import topological_order
from fedbayes.bayes.search import scores
from fedbayes.bayes.search.hill_climb import hill_climb
from fedbayes.bayes.search.structure import SearchSpace, better, information_order, k2, mutual_information, with_counts


def random_data(seed: int, nodes: int = 5, rows: int = 300) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    rng = np.random.default_rng(seed)
    cards = {f"c{i}": int(rng.integers(2, 4)) for i in range(nodes)}
    codes: dict[str, np.ndarray] = {}
    for i, (name, card) in enumerate(cards.items()):
        base = sum(codes[f"c{j}"] * int(rng.integers(0, 3)) for j in range(i)) if i else 0
        codes[name] = (base + (rng.random(rows) < 0.3) * rng.integers(0, card, rows)) % card
        codes[name] = np.asarray(codes[name], dtype=np.int64)
    return codes, cards


def cache_of(codes: dict[str, np.ndarray], cards: dict[str, int]) -> TableCache:
    return TableCache(PooledTables(codes, cards), list(codes))


def test_scores_equal_their_formulas() -> None:
    table = np.array([[3, 1], [0, 2]])
    direct = sum(
        log(factorial(1) / factorial(n + 1) * np.prod([factorial(c) for c in row]))
        for row, n in ((row, int(row.sum())) for row in table)
    )
    assert scores.k2(table) == pytest.approx(direct)
    likelihood = 3 * log(3 / 4) + log(1 / 4)
    assert scores.bic(table) == pytest.approx(likelihood - 0.5 * log(6) * 2)
    assert scores.bdeu(table, 4.0) == pytest.approx(scores.k2(table))
    assert scores.k2(table - [[0, 0], [3, 0]]) == pytest.approx(scores.k2(table))
    assert set(scores.SCORES) == {"k2", "bic", "bdeu"}
    assert all(np.isfinite(scores.by_name(name)(np.zeros((2, 3)))) for name in scores.SCORES)


def test_equivalent_structures_have_equal_bdeu_scores() -> None:
    codes, cards = random_data(3)
    joint = count([codes["c0"], codes["c1"]], [cards["c0"], cards["c1"]])
    forward = scores.bdeu(joint.sum(axis=1)) + scores.bdeu(joint)
    backward = scores.bdeu(joint.sum(axis=0)) + scores.bdeu(joint.T)
    assert forward == pytest.approx(backward)


@settings(max_examples=25, deadline=None)
@cases(st.integers(0, 10_000), st.sampled_from(scores.SCORES), st.integers(0, 3))
def test_k2_equals_the_textbook_loop(seed: int, name: str, limit: int) -> None:
    codes, cards = random_data(seed)
    score = scores.by_name(name)
    order = list(np.random.default_rng(seed).permutation(list(codes)))
    oracle = PooledTables(codes, cards)
    expected = {}
    for position, node in enumerate(order):
        parents: list[str] = []

        def value(names: list[str], node: str = node) -> float:
            return score(oracle([(*sorted(names), node)])[0])

        while len(parents) < limit:
            candidates = [c for c in order[:position] if c not in parents]
            best = value(parents)
            chosen = None
            for candidate in candidates:
                found = value([*parents, candidate])
                if better(found, best):
                    best, chosen = found, candidate
            if chosen is None:
                break
            parents.append(chosen)
        expected[node] = tuple(sorted(parents))
    found = k2(cache_of(codes, cards), SearchSpace(tuple(codes), limit), order, score)
    assert found.parents == {node: expected[node] for node in codes}
    assert found.batches <= max(1, limit)
    assert found.score == pytest.approx(sum(score(table) for table in found.counts.values()))


def wide_data(seed: int) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return records of columns with so many states that some tables have more cells than there are records."""
    random = np.random.default_rng(seed)
    cards = {f"c{place}": int(states) for place, states in enumerate(random.permutation([2, 3, 9, 12, 12, 14, 16]))}
    codes: dict[str, np.ndarray] = {}
    for name, states in cards.items():
        above = list(codes.values())[-1] if codes else random.integers(0, states, 400)
        codes[name] = (above + (random.random(400) < 0.1) * random.integers(0, states, 400)) % states
    return codes, cards


@pytest.mark.parametrize("name", ["k2", "bic"])
@pytest.mark.parametrize("seed", range(5))
def test_candidates_that_cannot_win_are_not_counted_and_the_structure_is_the_same(seed: int, name: str) -> None:
    codes, cards = wide_data(seed)
    space = SearchSpace(tuple(codes), 3)
    every, fewer = cache_of(codes, cards), cache_of(codes, cards)
    expected = k2(every, space, list(codes), scores.by_name(name))
    found = k2(fewer, space, list(codes), scores.by_name(name), scores.ceiling_by_name(name))
    assert (found.parents, found.score) == (expected.parents, expected.score)
    assert fewer.asked < every.asked
    assert fewer.batches <= every.batches


def test_a_ceiling_that_is_too_low_loses_edges() -> None:
    codes, cards = random_data(5)
    space = SearchSpace(tuple(codes), 3)
    expected = k2(cache_of(codes, cards), space, list(codes), scores.k2)
    found = k2(cache_of(codes, cards), space, list(codes), scores.k2, lambda rows, states: -1e9)
    assert len(found.edges) < len(expected.edges)


@pytest.mark.parametrize("name", ["k2", "bic"])
@pytest.mark.parametrize("seed", range(5))
def test_no_family_scores_above_the_ceiling_of_some_of_its_parents(seed: int, name: str) -> None:
    random = np.random.default_rng(seed)
    score, ceiling = scores.by_name(name), scores.ceiling_by_name(name)
    assert ceiling is not None
    for _ in range(50):
        table = random.integers(0, 4, random.integers(2, 6, 3)) * (random.random() < 0.8)
        table[..., 1:] *= random.integers(0, 2)  # half of them have the child in one state
        finer, coarser = table.sum(axis=2), table.sum(axis=(1, 2))
        assert score(table) <= ceiling(finer, table.shape[2]) + 1e-9
        assert ceiling(finer, table.shape[2]) <= ceiling(coarser, table.shape[2]) + 1e-9
    table[..., 1:] = 0
    assert name == "bic" or score(table) == pytest.approx(ceiling(table.sum(axis=2), table.shape[2]))


def test_textbook_example_of_cooper_and_herskovits(paper_data) -> None:
    frame = paper_data("k2_example").rename(columns={"class": "x3"})
    codes = {name: np.unique(frame[name], return_inverse=True)[1].astype(np.int64) for name in frame}
    found = k2(cache_of(codes, dict.fromkeys(codes, 2)), SearchSpace(tuple(codes), 2), ["x1", "x2", "x3"], scores.k2)
    assert found.edges == [("x1", "x2"), ("x2", "x3")]


def test_k2_keeps_required_and_forbidden_edges() -> None:
    codes, cards = random_data(5)
    space = SearchSpace(tuple(codes), 2, required=(("c0", "c4"),), forbidden=(("c1", "c2"), ("c0", "c1")))
    found = k2(cache_of(codes, cards), space, list(codes), scores.k2)
    assert "c0" in found.parents["c4"]
    assert "c1" not in found.parents["c2"]
    with pytest.raises(ValueError, match="contradicts the order"):
        k2(cache_of(codes, cards), space, list(codes)[::-1], scores.k2)
    with pytest.raises(ValueError, match="every column exactly once"):
        k2(cache_of(codes, cards), space, ["c0", "c1"], scores.k2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"required": (("a", "b"), ("b", "a"))}, "cycle"),
        ({"required": (("a", "b"),), "forbidden": (("a", "b"),)}, "required and forbidden"),
        ({"forbidden": (("a", "z"),)}, "unknown column"),
        ({"required": (("a", "c"), ("b", "c")), "max_parents": 1}, "more required parents"),
        ({"max_parents": -1}, "max_parents"),
    ],
)
def test_bad_search_spaces_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchSpace(("a", "b", "c"), **arguments)


@settings(max_examples=15, deadline=None)
@cases(st.integers(0, 10_000), st.sampled_from(scores.SCORES))
def test_hill_climbing_ends_in_a_local_optimum(seed: int, name: str) -> None:
    codes, cards = random_data(seed)
    score = scores.by_name(name)
    space = SearchSpace(tuple(codes), 2, forbidden=(("c0", "c1"),))
    found = hill_climb(cache_of(codes, cards), space, score)
    topological_order(found.parents)
    oracle = PooledTables(codes, cards)

    def total(parents: dict[str, frozenset[str]]) -> float:
        return sum(score(oracle([(*sorted(names), node)])[0]) for node, names in parents.items())

    graph = {node: frozenset(names) for node, names in found.parents.items()}
    assert found.score == pytest.approx(total(graph))
    for a, b in combinations(codes, 2):
        for parent, child in ((a, b), (b, a)):
            changed = {**graph, child: graph[child] ^ {parent}, parent: graph[parent] - {child}}
            if len(changed[child]) > 2 or not space.allows(parent, child):
                continue
            try:
                topological_order(changed)
            except ValueError:
                continue
            assert total(changed) <= found.score + 1e-6


def test_hill_climbing_asks_few_batches_and_keeps_constraints() -> None:
    codes, cards = random_data(11, nodes=9, rows=2000)
    space = SearchSpace(tuple(codes), 3, required=(("c8", "c0"),), forbidden=(("c0", "c1"), ("c1", "c0")))
    found = hill_climb(cache_of(codes, cards), space, scores.bic)
    assert "c8" in found.parents["c0"]
    assert "c0" not in found.parents["c1"]
    assert "c1" not in found.parents["c0"]
    assert found.batches <= len(found.edges)


def test_order_by_information_asks_pairs_once() -> None:
    codes, cards = random_data(2)
    cache = cache_of(codes, cards)
    space = SearchSpace(tuple(codes), 1)
    order = information_order(cache, space)
    assert sorted(order) == sorted(codes)
    assert cache.batches == 1
    k2(cache, space, order, scores.k2)
    assert cache.batches == 1


def test_cache_derives_margins_and_never_asks_twice() -> None:
    codes, cards = random_data(1)
    asked: list[tuple[str, ...]] = []

    def oracle(tables):
        asked.extend(tables)
        return PooledTables(codes, cards)(tables)

    cache = TableCache(oracle, list(codes))
    cache.ask([("c0",), ("c1", "c0"), ("c2", "c0", "c1"), ("c3",)])
    assert asked == [("c2", "c0", "c1"), ("c3",)]
    cache.ask([("c2", "c1"), ("c0",)])
    assert len(asked) == 2
    np.testing.assert_array_equal(
        cache.family(["c2", "c0"], "c1"),
        count([codes["c0"], codes["c2"], codes["c1"]], [cards["c0"], cards["c2"], cards["c1"]]),
    )
    with pytest.raises(KeyError):
        cache.family(["c4"], "c0")


def test_given_structure_and_missing_codes() -> None:
    codes, cards = random_data(4)
    codes["c0"] = np.where(np.arange(300) < 30, -1, codes["c0"])
    found = with_counts(
        cache_of(codes, cards),
        SearchSpace(tuple(codes), 3),
        {"c1": ("c0",)} | {c: () for c in codes if c != "c1"},
        scores.k2,
    )
    assert found.counts["c1"].sum() == 270
    assert found.counts["c2"].sum() == 300
    assert found.batches == 1
    with pytest.raises(ValueError, match="outside the states"):
        count([np.array([5])], [2])


@pytest.mark.parametrize("table", [[[40, -3], [-5, 2]], [[-30, 4], [1, 3]], [[-1, -2], [-3, 0]]])
def test_what_noise_made_negative_tells_nothing_of_two_columns(table):
    counted = np.maximum(table, 0)
    assert mutual_information(np.array(table)) == mutual_information(counted) >= 0
