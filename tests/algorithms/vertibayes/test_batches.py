"""The number of batches of tables: what an epsilon is divided over, is debited for and is stated are the same."""

import itertools

import numpy as np
import pytest

from fedbayes.federation.errors import ArgumentError
from v6_vertibayes.arguments import Fit
from v6_vertibayes.budget import Budget
from v6_vertibayes.model import Variable, learn

COLUMNS = ["a", "b", "c", "d", "e"]
REQUIRED = [
    None,
    [["a", "e"]],
    [["a", "e"], ["b", "e"]],
    [["a", "e"], ["b", "e"], ["c", "e"]],
    [["a", "b"], ["b", "c"]],
]
FORBIDDEN = [None, [["b", "c"]], [["a", "b"], ["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"], ["c", "d"], ["d", "e"]]]
ORDERS = [None, "information", ["a", "b", "c", "e", "d"]]


class Counter:
    """An oracle that takes its parts of a budget; tables in which a further parent always helps, or never."""

    def __init__(self, budget: Budget, greedy: bool) -> None:
        self.budget, self.greedy, self.debits = budget, greedy, []
        self._draw = np.random.default_rng(3)

    def __call__(self, tables):
        return self._answers(tables, self.budget.take())

    def rest(self, tables, kept):
        parts = self.budget.rest(kept)
        return self._answers(tables, self.budget.take(parts)) if parts else []

    def _answers(self, tables, debit):
        self.debits.append(debit.epsilon)
        found = []
        for table in tables:
            parity = np.indices([3] * len(table)).sum(axis=0) % 3 == 0
            found.append(np.where(parity, 4000 // 3 ** len(table), 0) if self.greedy else np.full([3] * len(table), 9))
        return found


def combinations():
    for structure, most, order, required, forbidden, validation in itertools.product(
        ["k2", "naive", [["a", "b"], ["b", "c"]]], range(6), ORDERS, REQUIRED, FORBIDDEN, ["none", "svdg"]
    ):
        if structure != "k2" and (most, order, required, forbidden) != (3, None, None, None):
            continue
        yield {
            "structure": structure,
            "max_parents": most,
            "order": order,
            "required_edges": required,
            "forbidden_edges": forbidden,
            "validation": validation,
        }


@pytest.mark.parametrize("greedy", [True, False])
def test_every_combination_of_arguments_costs_what_it_says(kit, greedy) -> None:
    seen, exhausted = 0, 0
    for arguments in combinations():
        given = {**kit.defaults, "columns": COLUMNS, "label": "a", "epsilon": 1.0, "missing": "category", **arguments}
        try:
            options = Fit.read("fit", given)
        except ArgumentError:
            continue
        budget = Budget(options.epsilon, options.batches)
        oracle = Counter(budget, greedy)
        variables = [Variable(name, ("0", "1"), True) for name in COLUMNS]
        learn(options, variables, oracle, lambda tables, o=oracle, k=options.held_out: o.rest(tables, k))
        searched = len(oracle.debits)
        if options.held_out:
            oracle.debits.append(budget.take().epsilon)
        assert budget.spent, arguments
        assert sum(oracle.debits) == pytest.approx(1.0), arguments
        assert budget.spent_epsilon == pytest.approx(1.0), arguments
        seen += 1
        exhausted += searched + options.held_out == options.batches
    assert seen > 100
    assert not greedy or exhausted > seen // 2  # the bound is reached, not only kept


def test_more_tables_than_were_paid_for_are_refused() -> None:
    budget = Budget(1.0, 2)
    assert [budget.take().epsilon, budget.take().epsilon] == [0.5, 0.5]
    with pytest.raises(ArgumentError, match="epsilon"):
        budget.take()


@pytest.mark.parametrize("validation", ["none", "svdg"])
@pytest.mark.parametrize("structure", ["private", "k2", "naive", [["a", "b"], ["b", "c"]]])
def test_gaussian_batches_have_all_parts_of_one_budget(kit, structure, validation) -> None:
    given = {"columns": COLUMNS, "label": "a", "epsilon": 1.0, "delta": 1e-6, "missing": "category"}
    options = Fit.read("fit", {**kit.defaults, **given, "structure": structure, "validation": validation})
    budget = Budget(options.epsilon, options.batches, options.delta, options.weights)
    taken = []

    def take(parts=1):
        taken.append(budget.take(parts))
        return taken[-1]

    def oracle(tables):
        take()
        return [np.full([3] * len(table), 900 // 3 ** len(table)) for table in tables]

    def rest(tables):
        parts = budget.rest(options.held_out)
        return oracle_of(parts, tables) if parts else []

    def oracle_of(parts, tables):
        take(parts)
        return [np.full([3] * len(table), 900 // 3 ** len(table)) for table in tables]

    def contrasted(tables, asked):
        counts = np.concatenate([table.ravel() for table in oracle(tables)])
        return asked.split(tables, asked.of(tables, counts.astype(np.uint64)))

    learn(options, [Variable(name, ("0", "1"), True) for name in COLUMNS], oracle, rest, lambda: 1.0, contrasted)
    if options.held_out:
        take()
    assert budget.spent
    assert budget.spent_epsilon == 1.0
    assert {(part.epsilon, part.delta, tuple(part.weights)) for part in taken} == {(1.0, 1e-6, tuple(taken[0].weights))}
    assert [place for part in taken for place in part.places] == list(range(len(taken[0].weights)))
    assert sum(1 / part.parts for part in taken) == pytest.approx(1.0)
