"""Products with a commodity server and without one: exact against plain numpy, and uniform in every view."""

import itertools

import numpy as np
import pytest

from fedbayes.mpc import factors, replicated, ring, subset_shares
from fedbayes.mpc import shared_products as products

ROWS = 400


def indicator(codes, states):
    return (codes[:, None] == np.arange(states)).astype(np.uint32)


def plain(matrices):
    letters = "abcdefgh"[: len(matrices)]
    spec = ",".join("r" + letter for letter in letters) + "->" + letters
    return np.einsum(spec, *[matrix.astype(np.int64) for matrix in matrices])


class Dealer:
    """All roles of the dealer protocol in one place; parties are 1..n, factor "f<p>" is owned by party p."""

    def __init__(self, data, dtype=np.uint32):
        self.parties = sorted(data)
        self.keys = {party: bytes([party]) * 32 for party in self.parties}
        self.factors, self.openings, self.parts, self.wholes = {}, {}, {p: {} for p in self.parties}, {}
        self.data = {}
        for party, matrix in data.items():
            factor = factors.Factor(f"f{party}", (party,), matrix.shape[1] - 1, True)
            values = matrix[:, :-1].astype(dtype)
            opening = factors.open_values(values, self.keys[party], factor)
            self.add(factor, factors.complete_opening(opening, factor), matrix)

    def add(self, factor, opening, matrix, sides=()):
        self.factors[factor.name] = factor
        self.openings[factor.name] = opening
        self.data[factor.name] = matrix
        whole = np.zeros_like(opening)
        for holder in factor.holders:
            part = factors.mask_part(self.keys[holder], factor, len(opening), opening.dtype)
            if sides:
                empty = [np.zeros_like(self.openings[name]) for name in sides]
                part = factors.complete_product(
                    part, *(self.parts[holder].get(name, zero) for name, zero in zip(sides, empty, strict=True))
                )
            self.parts[holder][factor.name] = part
            whole = whole + part
        self.wholes[factor.name] = whole

    def side(self, party, corrections=None, tables=()):
        return products.DataSide(
            party,
            self.parties,
            self.keys[party],
            self.factors,
            self.openings,
            self.parts[party],
            corrections,
            subset_shares.corrections_for(tables, self.parties),
        )

    def helper(self):
        return products.HelperSide(self.keys, self.factors, self.wholes)

    def multiply(self, name, left, right):
        factor = factors.product_factor(name, self.factors[left], self.factors[right])
        pieces = [self.side(party).product_part(factor, left, right) for party in factor.holders]
        pieces.append(self.helper().product_part(factor, left, right))
        opening = sum(pieces[1:], pieces[0])
        matrix = factors.row_products([self.data[left], self.data[right]])
        whole = factors.complete_product(opening, self.openings[left], self.openings[right])
        self.add(factor, whole, matrix, (left, right))
        return pieces

    def deal(self, tables):
        dealt = {party: {} for party in self.parties}
        for correction in subset_shares.corrections_for(tables, self.parties).values():
            dealt[correction.receiver][correction.subset] = self.helper().correction(correction)
        return dealt

    def ask(self, tables, batch="1", dealt=None):
        shares = [self.side(p, dealt[p] if dealt else None, tables).answers(tables, batch) for p in self.parties]
        shares.append(self.helper().answers(tables, batch))
        return products.split_answers(sum(shares[1:], shares[0]), tables, self.factors), shares


def dealer(states, seed=1, dtype=np.uint32):
    draw = np.random.default_rng(seed)
    return Dealer({p + 1: indicator(draw.integers(0, k, ROWS), k) for p, k in enumerate(states)}, dtype)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_tables_over_two_factors_and_margins_are_exact(dtype):
    engine = dealer([3, 2, 4], dtype=dtype)
    tables = [("f1", "f2"), ("f3",), ("f3", "f1"), ("f1", "f3"), ("f2", "f2"), ("f2",)]
    for answer, table in zip(engine.ask(tables)[0], tables, strict=True):
        assert np.array_equal(answer, plain([engine.data[name] for name in table]))


@pytest.mark.parametrize("count", [3, 4, 5])
def test_subset_shares_answer_a_table_over_many_parties(count):
    engine = dealer([2, 3, 2, 2, 2][:count])
    table = tuple(f"f{party}" for party in range(1, count + 1))
    answers, _ = engine.ask([table], dealt=engine.deal([table]))
    assert np.array_equal(answers[0], plain([engine.data[name] for name in table]))


def test_a_count_over_eight_parties_by_subset_shares_and_by_a_tree_agree():
    draw = np.random.default_rng(5)
    engine = Dealer({p: indicator((draw.random(ROWS) < 0.8).astype(int), 2) for p in range(1, 9)})
    table = tuple(f"f{party}" for party in range(1, 9))
    by_subsets = engine.ask([table], dealt=engine.deal([table]))[0][0]
    for name, left, right in [("a", "f1", "f2"), ("b", "f3", "f4"), ("c", "f5", "f6"), ("d", "f7", "f8")]:
        engine.multiply(name, left, right)
    engine.multiply("ab", "a", "b")
    engine.multiply("cd", "c", "d")
    by_tree = engine.ask([("ab", "cd")], "2")[0][0].reshape([2] * 8)
    assert np.array_equal(by_subsets, by_tree)
    assert np.array_equal(by_tree, plain([engine.data[name] for name in table]))


def test_products_of_products_keep_joint_states_and_share_holders():
    engine = dealer([3, 2, 2])
    engine.multiply("p", "f1", "f2")
    engine.multiply("q", "p", "f1")
    assert engine.factors["q"].holders == (1, 2)
    answer = engine.ask([("q", "f3")])[0][0]
    assert np.array_equal(answer, plain([engine.data["q"], engine.data["f3"]]))


def test_fixed_point_columns_multiply_in_the_larger_ring():
    draw = np.random.default_rng(3)
    left, right = draw.normal(size=(ROWS, 2)), draw.normal(size=(ROWS, 1))
    engine = dealer([2, 2], dtype=np.uint64)
    for party, values in ((1, left), (2, right)):
        factor = factors.Factor(f"x{party}", (party,), values.shape[1])
        encoded = ring.lower(np.rint(values * 2.0**20).astype(np.int64), np.uint64)
        engine.add(factor, factors.open_values(encoded, engine.keys[party], factor), encoded)
    answer = engine.ask([("x1", "x2")])[0][0] / 2.0**40
    assert np.allclose(answer, left.T @ right, atol=ROWS * 2.0**-18)


def assert_uniform(values):
    """Chi-square of the bytes of a ring array, 20 sigma out."""
    counts = np.bincount(np.ascontiguousarray(values).view(np.uint8).reshape(-1), minlength=256)
    expected = counts.sum() / 256
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert abs(statistic - 255) < 20 * np.sqrt(2 * 255)


def test_openings_corrections_and_shares_are_uniform_whatever_the_data():
    zeros = np.zeros(ROWS, dtype=int)
    engine = Dealer({p: indicator(zeros, 5) for p in (1, 2, 3)})
    for opening in engine.openings.values():
        assert_uniform(opening)
    dealt = engine.deal([("f1", "f2", "f3")])
    for corrections in dealt.values():
        for correction in corrections.values():
            assert_uniform(correction)
    for piece in engine.multiply("z", "f1", "f2"):
        assert_uniform(piece)
    tables = [pair for pair in itertools.product(("f1", "f2", "f3"), repeat=2)] * 8
    answers, shares = engine.ask(tables)
    for missing in range(len(shares)):
        assert_uniform(sum((share for index, share in enumerate(shares) if index != missing), shares[0] * 0))
    assert answers[0][0, 0] == ROWS


def test_the_same_question_in_another_round_is_padded_afresh():
    engine = dealer([2, 2])
    first, second = engine.ask([("f1", "f2")], "1")[1], engine.ask([("f1", "f2")], "2")[1]
    assert all(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_the_choice_between_tree_and_subset_shares_follows_the_size():
    small, large = [2] * 8, [2] * 8
    assert subset_shares.subset_seconds([1] * 8, 10_000, 8) < subset_shares.tree_seconds([1] * 8, 10_000, 8)
    assert subset_shares.subset_seconds(small, 10**6, 8) > subset_shares.tree_seconds(large, 10**6, 8)


class Replicated:
    """Three computing parties; data of owner p is factor "f<p>"."""

    def __init__(self, matrices, dtype=np.uint32):
        pair = {(0, 1): b"a" * 32, (0, 2): b"b" * 32, (1, 2): b"c" * 32}
        self.neighbors = [{q: pair[min(p, q), max(p, q)] for q in range(3) if q != p} for p in range(3)]
        self.factors, self.shares, self.data = {}, [{}, {}, {}], {}
        for index, matrix in enumerate(matrices):
            factor = factors.Factor(f"f{index}", (index,), matrix.shape[1] - 1, True)
            keys = {1: bytes([index, 1] * 16), 2: bytes([index, 2] * 16)}
            values = matrix[:, :-1].astype(dtype)
            shares = {0: replicated.share_values(values, factor, keys)}
            shares |= {s: replicated.expand_share(keys[s], factor, len(values), dtype) for s in (1, 2)}
            self.add(factor, shares, matrix)

    def add(self, factor, shares, matrix, sides=()):
        self.factors[factor.name], self.data[factor.name] = factor, matrix
        for share, values in shares.items():
            for party in {0, 1, 2} - {share}:
                whole = replicated.complete_share(share, values, factor)
                if sides:
                    whole = factors.complete_product(whole, *(self.shares[party][name][share] for name in sides))
                self.shares[party].setdefault(factor.name, {})[share] = whole

    def sides(self):
        return [replicated.ComputingSide(p, self.neighbors[p], self.factors, self.shares[p]) for p in range(3)]

    def multiply(self, name, left, right):
        factor = factors.product_factor(name, self.factors[left], self.factors[right])
        parts = {(p + 2) % 3: side.product_part(factor, left, right) for p, side in enumerate(self.sides())}
        self.add(factor, parts, factors.row_products([self.data[left], self.data[right]]), (left, right))

    def ask(self, tables, batch="1"):
        shares = [side.answers(tables, batch) for side in self.sides()]
        return products.split_answers(sum(shares[1:], shares[0]), tables, self.factors), shares


def test_replicated_shares_give_the_same_tables():
    draw = np.random.default_rng(8)
    engine = Replicated([indicator(draw.integers(0, k, ROWS), k) for k in (3, 2, 4, 2)])
    engine.multiply("p", "f0", "f1")
    engine.multiply("q", "f2", "f3")
    tables = [("f0",), ("f0", "f1"), ("p", "f2"), ("p", "q"), ("f3", "f3")]
    answers, shares = engine.ask(tables)
    for answer, table in zip(answers, tables, strict=True):
        assert np.array_equal(answer, plain([engine.data[name] for name in table]))
    assert not np.array_equal(shares[0] + shares[1], shares[0] * 0)


@pytest.mark.parametrize(("left", "right"), [(2, 2), (2, 5), (4, 3), (1, 3)])
def test_a_product_of_indicators_travels_without_what_follows_from_its_sides(left, right):
    draw = np.random.default_rng(left * 10 + right)
    sides = [indicator(draw.integers(0, k, ROWS), k).astype(np.uint16) for k in (left, right)]
    factor = factors.product_factor("p", *(factors.Factor(f"{k}", (k,), k - 1, True) for k in (left, right)))
    core = factors.travelling(*sides, factor)
    assert core.shape == (ROWS, factor.width) == (ROWS, (left - 1) * (right - 1))
    whole = factors.complete_product(core, *sides)
    assert whole.shape == (ROWS, factor.states)
    assert np.array_equal(whole, factors.row_products(sides))


def test_many_small_tables_in_a_few_products_are_what_each_would_be():
    draw = np.random.default_rng(12)
    widths = draw.integers(1, 40, 30)
    left = {f"{i}": draw.integers(0, 2**16, (50, w)).astype(np.uint16) for i, w in enumerate(widths)}
    right = {
        name: draw.integers(0, 2**16, matrix.shape).astype(np.uint16) for name, matrix in left.items() if name != "3"
    }
    pairs = [*((f"{a}", f"{b}") for a, b in draw.integers(0, 30, (200, 2))), ("3", "3")]
    found = factors.pair_products(pairs, [(left, right), (right, left)])
    for a, b in pairs:
        terms = [
            x[a].T.astype(object) @ y[b].astype(object) for x, y in ((left, right), (right, left)) if a in x and b in y
        ]
        nothing = np.zeros((left[a].shape[1], left[b].shape[1]), dtype=object)
        assert np.array_equal(found[a, b], (sum(terms, nothing) % 2**16).astype(np.uint16))


def test_replicated_views_are_uniform():
    engine = Replicated([indicator(np.zeros(ROWS, dtype=int), 5)] * 2)
    engine.multiply("p", "f0", "f1")
    for party in range(3):
        for shares in engine.shares[party].values():
            for share in shares.values():
                assert_uniform(share)
