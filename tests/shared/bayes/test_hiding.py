"""Hidden configurations of a network do not come back: a linear program over all that is published."""

import itertools
from unittest import mock

import numpy as np
import pytest
from scipy.optimize import linprog

from fedbayes.bayes.network import BayesianNetwork, hiding
from fedbayes.bayes.network.hiding import hidden_configurations

MINIMUM = 5


def random_case(seed: int) -> tuple[dict[str, tuple[str, ...]], dict[str, int], np.ndarray]:
    """Return parents, cardinalities and the joint counts of a random network's records."""
    draw = np.random.default_rng(seed)
    names = list("abcd")[: int(draw.integers(2, 5))]
    sizes = {name: int(draw.integers(2, 4)) for name in names}
    parents = {}
    for place, name in enumerate(names):
        number = int(draw.integers(0, min(place, 3) + 1))
        parents[name] = tuple(str(p) for p in draw.choice(names[:place], number, replace=False)) if number else ()
    shares = draw.dirichlet(np.full(int(np.prod(list(sizes.values()))), 0.4))
    joint = draw.multinomial(int(draw.integers(40, 200)), shares)
    return parents, sizes, joint.reshape(list(sizes.values()))


def family(joint: np.ndarray, names: list[str], columns: tuple[str, ...]) -> np.ndarray:
    axes = [names.index(column) for column in columns]
    others = tuple(axis for axis in range(joint.ndim) if axis not in axes)
    summed = joint.sum(axis=others)
    return np.transpose(summed, np.argsort(np.argsort(axes)))


def rows_of(names: list[str], sizes: dict[str, int], columns: tuple[str, ...], states: tuple[int, ...]) -> np.ndarray:
    """Return the 0/1 row over all joint states that adds up one cell."""
    cells = np.zeros([sizes[name] for name in names])
    place: list = [slice(None)] * len(names)
    for column, state in zip(columns, states, strict=True):
        place[names.index(column)] = state
    cells[tuple(place)] = 1.0
    return cells.ravel()


def published(parents, sizes, joint, hidden):
    """Return the equations that a reader of the network has: visible cells, margins of nodes with hidden ones."""
    names = list(sizes)
    left, right = [np.ones(joint.size)], [float(joint.sum())]
    for node, own in parents.items():
        table = family(joint, names, (*own, node))
        for states in itertools.product(*(range(sizes[name]) for name in (*own, node))):
            if not hidden[node][states[:-1]]:
                left.append(rows_of(names, sizes, (*own, node), states))
                right.append(float(table[states]))
        if hidden[node].any():
            for state in range(sizes[node]):
                left.append(rows_of(names, sizes, (node,), (state,)))
                right.append(float(family(joint, names, (node,))[state]))
    return np.array(left), np.array(right)


def restored(parents, sizes, joint, hidden, least: float = 1e-6) -> list[str]:
    """Return the small configurations, of one record or more, whose every cell follows from what is published."""
    names = list(sizes)
    left, right = published(parents, sizes, joint, hidden)
    found = []
    for node, own in parents.items():
        totals = family(joint, names, (*own, node)).sum(axis=-1)
        for states in zip(*np.nonzero(hidden[node] & (totals > 0) & (totals < MINIMUM)), strict=True) if own else ():
            if not open_cell(left, right, names, sizes, (*own, node), tuple(int(s) for s in states), least):
                found.append(f"{node}{states}")
    return found


def open_cell(left, right, names, sizes, columns, states, least) -> bool:
    for state in range(sizes[columns[-1]]):
        target = rows_of(names, sizes, columns, (*states, state))
        ends = [linprog(sign * target, A_eq=left, b_eq=right, bounds=(0, None)).fun for sign in (1, -1)]
        if any(end is None for end in ends) or -ends[1] - ends[0] > least:
            return True
    return False


def alike(parents, sizes, joint, hidden, where: str) -> bool:
    """Whether all hidden records of the node are in one state: then their sum, of enough records, tells each."""
    node = where[0]
    table = family(joint, list(sizes), (*parents[node], node))
    return int((table[hidden[node]].sum(axis=0) > 0).sum()) < 2


@pytest.mark.few(1)
@pytest.mark.parametrize("block", range(4))
def test_no_small_configuration_follows_from_what_is_published(block) -> None:
    plain, kept = 0, []
    for seed in range(block * 60, block * 60 + 60):
        parents, sizes, joint = random_case(seed)
        counts = {node: family(joint, list(sizes), (*own, node)) for node, own in parents.items()}
        small = hidden_configurations(dict.fromkeys(parents, ()) | parents, counts, MINIMUM)
        alone = {node: counts[node].sum(axis=-1) < MINIMUM for node in parents}
        alone = {
            node: np.asarray(part).reshape(small[node].shape) & bool(parents[node]) for node, part in alone.items()
        }
        assert all((small[node] | ~alone[node]).all() for node in parents)
        plain += len(restored(parents, sizes, joint, alone))
        kept += [
            (seed, w) for w in restored(parents, sizes, joint, small) if not alike(parents, sizes, joint, small, w)
        ]
    assert plain > 0  # the positive control: hiding small ones alone gives some of them back
    assert kept == []


def test_a_single_hidden_configuration_takes_the_smallest_other_with_it() -> None:
    counts = {"p": np.array([100, 1, 60]), "c": np.array([[90, 10], [0, 1], [50, 10]])}
    hidden = hidden_configurations({"p": (), "c": ("p",)}, counts, 10)
    assert hidden["c"].tolist() == [False, True, True]
    assert hidden["p"].tolist() is False
    network = BayesianNetwork.from_counts({"p": "xyz", "c": "01"}, {"p": (), "c": ("p",)}, counts)
    tables = network.publish(counts, 10).tables["c"]
    np.testing.assert_allclose(tables[1:], np.full((2, 2), [140 / 161, 21 / 161]))
    np.testing.assert_allclose(tables[0], [0.9, 0.1])


def test_nothing_is_hidden_without_a_minimum() -> None:
    hidden = hidden_configurations({"p": (), "c": ("p",)}, {"p": np.ones(2), "c": np.ones((2, 2))}, 0)
    assert not hidden["c"].any()


def differing() -> int:
    """Return of how many networks another order of states, parents and nodes hides other configurations."""
    found = 0
    for seed in range(150):
        parents, sizes, joint = random_case(seed)
        joint = np.minimum(joint, 9)
        counts = {node: family(joint, list(sizes), (*own, node)) for node, own in parents.items()}
        other = {node: own[::-1] for node, own in reversed(parents.items())}
        back = {node: np.flip(table).transpose(*range(len(parents[node]))[::-1], -1) for node, table in counts.items()}
        one, two = (hidden_configurations(*asked, MINIMUM) for asked in ((parents, counts), (other, back)))
        found += any(not np.array_equal(np.flip(one[node]).T, two[node]) for node in parents)
    return found


def test_no_order_decides_what_is_hidden() -> None:
    """Of two networks one would show what the other hides, and so give a small configuration back."""
    assert differing() == 0


def first_of_the_smallest(totals, hidden, exposed):
    """The choice of old."""
    least, alone = beside(totals, hidden, exposed)
    return least & (np.cumsum(least).reshape(least.shape) == 1), alone


beside = hiding._beside


def test_control_the_first_of_the_smallest_does() -> None:
    with mock.patch.object(hiding, "_beside", first_of_the_smallest):
        assert differing() > 0
