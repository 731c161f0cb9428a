"""A budget in parts: what the parts cost together, and that a station spends each once, whatever it is asked."""

import math

import numpy as np
import pytest

from fedbayes.dp.laws import Change, law_of
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.guards.installments import Installment, pay
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.perimeter.opening import Relation

WEIGHTS = [2.0, 3.0, 1.0]
RELATION = Relation("replace_one", "record")


class Node:
    """What paying needs of a station."""

    def __init__(self):
        self.round_name, self.debits, self.queries, self._kept = "tables-1", {}, 0, {}

    def charge(self, epsilon, delta=0.0, note="", queries=0, once=None, summed=True, united=False, *, relation=None):
        self.queries += queries
        self.debits.setdefault((once or self.round_name, epsilon, delta), note)
        return epsilon, delta

    def keep(self, name, **arrays):
        self._kept.setdefault(name, arrays)

    def kept(self, name):
        return self._kept[name]

    def once(self, name, content):
        return self._kept.setdefault(name, content)

    @property
    def epsilons(self):
        return [epsilon for _, epsilon, _ in self.debits if epsilon]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"delta": 1.0},
        {"delta": -1e-9},
        {"weights": []},
        {"weights": [1.0, 0.0]},
        {"weights": [1.0, math.nan]},
        {"weights": [1.0] * 1001},
        {"places": []},
        {"places": [1]},
        {"places": [-1]},
        {"places": [0, 0]},
        {"weights": [1.0, 1.0], "places": [1, 0]},
    ],
)
def test_parts_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match=r"epsilon|weights|part"):
        Installment(**{"epsilon": 1.0, "delta": 1e-6, **wrong})


def test_it_travels_as_it_is():
    part = Installment(1.0, 1e-6, WEIGHTS, [0, 2])
    assert decode(Installment, encode(part)) == part


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_parts_together_cost_the_budget(delta):
    parts = [Installment(1.0, delta, WEIGHTS, places) for places in ([0], [1, 2])]
    assert [part.law for part in parts] == [law_of(1.0, delta)] * 2
    assert math.fsum(1.0 / part.parts for part in parts) == pytest.approx(1.0)


def test_noise_follows_the_share_and_the_change():
    change = Change(100.0, 10.0, 400)
    whole, half = Installment(1.0, 1e-6), Installment(1.0, 1e-6, [1.0, 1.0], [1])
    assert half.deviation(change, 3, 0.8) == pytest.approx(math.sqrt(2.0) * whole.deviation(change, 3, 0.8), rel=0.01)
    wider = Change(400.0, 20.0, 400)
    assert half.deviation(wider, 3, 0.8) == pytest.approx(2.0 * half.deviation(change, 3, 0.8), rel=0.01)
    drawn = sum(half.shares(20_000, change, 3, 0.8) for _ in range(3))
    assert np.std(drawn) == pytest.approx(half.deviation(change, 3, 0.8), rel=0.05)


def test_noise_that_cannot_be_drawn_is_refused_by_name():
    with pytest.raises(ArgumentError, match="epsilon"):
        Installment(1e-9).shares(1, Change(1e12, 1e6, 1), 3, 0.8)


def test_the_whole_budget_is_debited_with_the_first_part_only():
    node = Node()
    for place in range(3):
        node.round_name = f"tables-{place}"
        assert pay(node, Installment(1.0, 1e-6, WEIGHTS, [place]), RELATION, "tables", 7) == (1.0, 1e-6)
    assert node.epsilons == [1.0]
    assert node.queries == 21


def test_a_part_is_spent_once_but_a_repeat_of_its_round_is_free():
    node = Node()
    part = Installment(1.0, 1e-6, WEIGHTS, [1])
    pay(node, part, RELATION, "tables")
    pay(node, part, RELATION, "tables")
    node.round_name = "tables-2"
    with pytest.raises(MessageError, match="spent"):
        pay(node, part, RELATION, "tables")
    with pytest.raises(MessageError, match="spent"):
        pay(node, Installment(1.0, 1e-6, WEIGHTS, [0, 1]), RELATION, "tables")
    assert node.epsilons == [1.0]


@pytest.mark.parametrize("other", [Installment(1.0, 1e-6, [2.0, 30.0, 1.0], [2]), Installment(2.0, 1e-6, WEIGHTS, [2])])
def test_another_division_in_the_same_job_is_refused(other):
    node = Node()
    pay(node, Installment(1.0, 1e-6, WEIGHTS, [0]), RELATION, "tables")
    node.round_name = "tables-2"
    with pytest.raises(MessageError, match="spent"):
        pay(node, other, RELATION, "tables")


def test_a_whole_budget_is_debited_with_every_round():
    node = Node()
    for name in ("tables-1", "tables-2"):
        node.round_name = name
        pay(node, Installment(0.5), RELATION, "tables", 2)
    assert node.epsilons == [0.5, 0.5]
    assert node.queries == 4
