"""Smooth sensitivity against brute force over every data set on small grids."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.dp import smooth

LOW, HIGH = 0.0, 1.0
GRIDS = [np.linspace(LOW, HIGH, points) for points in (2, 3, 4, 5)]
MARGIN = 1e-9


def statistic(name: str, values: tuple[float, ...]) -> float:
    if name == "mean":
        return float(np.mean(values)) if values else (LOW + HIGH) / 2
    spread = float(np.var(values)) if values else 0.0
    return spread if name == "variance" else math.sqrt(spread)


def replaced(data: tuple[float, ...], grid: np.ndarray) -> set[tuple[float, ...]]:
    return {
        tuple(sorted((*data[:i], float(v), *data[i + 1 :]))) for i in range(len(data)) for v in grid if v != data[i]
    }


def added_or_removed(data: tuple[float, ...], grid: np.ndarray, largest: int) -> set[tuple[float, ...]]:
    fewer = {(*data[:i], *data[i + 1 :]) for i in range(len(data))}
    more = {tuple(sorted((*data, float(v)))) for v in grid} if len(data) < largest else set()
    return fewer | more


def universe(grid: np.ndarray, sizes: range) -> list[tuple[float, ...]]:
    return [data for size in sizes for data in itertools.combinations_with_replacement([float(v) for v in grid], size)]


def brute_force(name: str, graph: dict, beta: float, more: Callable[[tuple], float] | None = None) -> dict:
    """S*(x) for every x: relax S(x) >= exp(-beta) S(neighbour) from the local sensitivities until nothing changes.

    `more`: change of a table by neighbours that are not on the grid.
    """
    values = {data: statistic(name, data) for data in graph}
    best = {data: max((abs(values[data] - values[other]) for other in graph[data]), default=0.0) for data in graph}
    if more is not None:
        best = {data: max(value, more(data)) for data, value in best.items()}
    factor, changed = math.exp(-beta), True
    while changed:
        changed = False
        for data, others in graph.items():
            reach = max((best[other] for other in others), default=0.0) * factor
            if reach > best[data] * (1 + 1e-12):
                best[data], changed = reach, True
    return best


def replace_graph(grid: np.ndarray, rows: int) -> dict:
    return {data: replaced(data, grid) for data in universe(grid, range(rows, rows + 1))}


def free_graph(grid: np.ndarray, largest: int) -> dict:
    return {data: added_or_removed(data, grid, largest) for data in universe(grid, range(largest + 1))}


def ours(name: str, data: tuple[float, ...], beta: float, neighbors: str) -> smooth.SmoothSensitivity:
    return getattr(smooth, name)(np.array(data), (LOW, HIGH), beta, neighbors)


def check_smooth(name: str, graph: dict, beta: float, neighbors: str) -> None:
    """S >= LS everywhere and S(x) <= e^beta S(y) for all neighbours."""
    values = {data: statistic(name, data) for data in graph}
    bound = {data: ours(name, data, beta, neighbors).value for data in graph}
    for data, others in graph.items():
        for other in others:
            assert abs(values[data] - values[other]) <= bound[data] + MARGIN
            assert bound[data] <= math.exp(beta) * bound[other] * (1 + MARGIN) + MARGIN


@pytest.mark.few(9)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize("grid", GRIDS[1:], ids=len)
@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("name", ["mean", "variance", "standard_deviation"])
def test_replace_one_is_smooth(name, rows, grid, beta):
    check_smooth(name, replace_graph(grid, rows), beta, "replace_one")


@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize("grid", GRIDS[:3], ids=len)
@pytest.mark.parametrize("name", ["mean", "variance", "standard_deviation"])
def test_add_remove_is_smooth(name, grid, beta):
    check_smooth(name, free_graph(grid, 7), beta, "add_remove")


@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize(("points", "rows"), [(2, 6), (3, 5), (5, 4)])
def test_mean_replace_one_is_exact(points, rows, beta):
    best = brute_force("mean", replace_graph(np.linspace(LOW, HIGH, points), rows), beta)
    for data, value in best.items():
        result = ours("mean", data, beta, "replace_one")
        assert result.exact
        assert result.value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize("points", [2, 3, 4])
def test_mean_add_remove_is_exact(points, beta):
    """Data sets of at most 5 rows in a universe of up to 8: additions never beat removals, so the limit does not matter."""
    best = brute_force("mean", free_graph(np.linspace(LOW, HIGH, points), 8), beta)
    for data in universe(np.linspace(LOW, HIGH, points), range(6)):
        result = ours("mean", data, beta, "add_remove")
        assert result.exact
        assert result.value == pytest.approx(best[data], rel=1e-9)


@pytest.mark.few(12)
@pytest.mark.parametrize("beta", [0.0005, 0.02, 0.15, 0.4, 1.5])
@pytest.mark.parametrize(("points", "largest"), [(2, 12), (3, 11), (4, 9), (5, 8)])
@pytest.mark.parametrize("name", ["variance", "standard_deviation"])
def test_add_remove_is_exact(name, points, largest, beta):
    """Equality for every table of at most three rows less than the universe, where a row at the mean needs no grid."""
    grid = np.linspace(LOW, HIGH, points)

    def one_more_at_the_mean(data):
        return abs(statistic(name, data) - statistic(name, (*data, statistic("mean", data))))

    best = brute_force(name, free_graph(grid, largest), beta, one_more_at_the_mean)
    for data in universe(grid, range(largest - 2)):
        result = ours(name, data, beta, "add_remove")
        assert result.exact
        assert result.value == pytest.approx(best[data], rel=1e-9)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.floats(LOW, HIGH), min_size=3, max_size=40),
    st.lists(st.tuples(st.booleans(), st.floats(LOW, HIGH)), min_size=1, max_size=8),
    st.sampled_from([0.001, 0.05, 0.4]),
)
def test_no_walk_of_additions_and_removals_meets_a_worse_table(values, steps, beta):
    data = list(values)
    bounds = {
        name: ours(name, tuple(values), beta, "add_remove") for name in ("mean", "variance", "standard_deviation")
    }
    for distance, (add, row) in enumerate(steps, 1):
        data.append(row) if add or not data else data.pop(int(row * (len(data) - 1)))
        for name, bound in bounds.items():
            local = ours(name, tuple(data), beta, "add_remove").local
            assert math.exp(-beta * distance) * local <= bound.value * (1 + MARGIN) + 1e-12


@pytest.mark.few(3)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize("rows", [2, 3, 4])
def test_variance_replace_one_is_exact(rows, beta):
    """The grid holds the ends and every mean of the other rows, so the continuous maximum is reached up to the grid's step."""
    points = 4 * (rows - 1) + 1
    grid = np.linspace(LOW, HIGH, points)
    best = brute_force("variance", replace_graph(grid, rows), beta)
    for data, value in best.items():
        result = ours("variance", data, beta, "replace_one")
        assert result.exact
        assert result.value >= value - MARGIN
        assert result.value <= value + (rows - 1) / rows**2 * (0.5 / (points - 1)) ** 2 + MARGIN


@pytest.mark.few(1)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
@pytest.mark.parametrize(("rows", "points"), [(2, 49), (3, 25), (4, 13)])
def test_deviation_replace_one_is_exact(rows, points, beta):
    """The continuous maximum is at least that of a grid, and near it."""
    best = brute_force(
        "standard_deviation", replace_graph(np.linspace(LOW, HIGH, points), rows), beta, middle_of_others
    )
    for data, value in itertools.islice(best.items(), 0, None, len(best) // 40):
        result = ours("standard_deviation", data, beta, "replace_one")
        assert result.exact
        assert value - MARGIN <= result.value <= 1.006 * value


def middle_of_others(data):
    """Change when one row is replaced by the mean of the others, which may not be on the grid."""
    others = [(*data[:i], *data[i + 1 :]) for i in range(len(data))]
    return max(abs(np.std(data) - np.std([*rest, np.mean(rest)])) for rest in others)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.4])
def test_deviation_replace_one_of_many_rows_is_bounded(monkeypatch, beta):
    """Above a number of rows an upper bound stands in; it says so unless it meets the local sensitivity."""
    for rows in (4, 40):
        values = np.random.default_rng(rows).beta(0.6, 2, rows)
        searched = smooth.standard_deviation(values, (LOW, HIGH), beta, "replace_one")
        with monkeypatch.context() as limit:
            limit.setattr(smooth, "MOST_ROWS_SEARCHED", 1)
            bound = smooth.standard_deviation(values, (LOW, HIGH), beta, "replace_one")
        assert searched.value - MARGIN <= bound.value <= 2.5 * searched.value
        assert bound.exact == (bound.value == bound.local)


@pytest.mark.parametrize("name", ["mean", "variance", "standard_deviation"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_many_rows_reach_the_local_sensitivity(name, neighbors):
    values = np.linspace(0.3, 0.6, 5001)
    result = getattr(smooth, name)(values, (LOW, HIGH), 0.05, neighbors)
    limit = 1.6 if (name, neighbors) == ("mean", "replace_one") else 1.0
    assert result.local <= result.value <= result.local * max(limit, 1.0) + MARGIN


def test_add_remove_pays_against_the_global_sensitivity():
    result = smooth.mean(np.full(1000, 0.2), (LOW, HIGH), 0.05, "add_remove")
    assert result.value < 0.5 / 500


@pytest.mark.parametrize("name", ["mean", "variance", "standard_deviation"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("values", [[], [0.4], [0.0, 0.0], [1.0, 0.0]])
def test_few_rows_give_a_finite_bound(name, neighbors, values):
    result = getattr(smooth, name)(np.array(values), (LOW, HIGH), 0.1, neighbors)
    assert 0.0 <= result.local <= result.value <= 1.0


def test_scale_and_shift_of_the_bounds():
    values = np.random.default_rng(3).beta(2, 5, 300)
    for name, power in (("mean", 1), ("variance", 2), ("standard_deviation", 1)):
        for neighbors in ("add_remove", "replace_one"):
            function = getattr(smooth, name)
            unit = function(values, (0.0, 1.0), 0.01, neighbors).value
            moved = function(-7.0 + 40.0 * values, (-7.0, 33.0), 0.01, neighbors).value
            assert moved == pytest.approx(unit * 40.0**power, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "bounds", "beta", "neighbors", "named"),
    [
        ([0.1], (1.0, 0.0), 0.1, "add_remove", "bounds"),
        ([0.1], (0.0, math.inf), 0.1, "add_remove", "bounds"),
        ([0.1], (0.0, 1.0), 0.0, "add_remove", "beta"),
        ([0.1], (0.0, 1.0), 0.1, "swap", "neighbors"),
        ([math.nan], (0.0, 1.0), 0.1, "add_remove", "values"),
    ],
)
def test_bad_input_names_the_argument(values, bounds, beta, neighbors, named):
    for function in (smooth.mean, smooth.variance, smooth.standard_deviation):
        with pytest.raises(ValueError, match=named):
            function(values, bounds, beta, neighbors)
