"""Functions of tables: what one record changes in them, by trying all records, and that they are taken of shares as of counts."""

from itertools import combinations, product

import numpy as np
import pytest

from fedbayes.bayes.markov.balance import WIDEST, balanced, simplex
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.questions.contrasts import LARGEST, LARGEST_FACTOR, Contrasts

STATES = {"a": 2, "b": 3, "c": 2, "d": 4}
GAPS = {"a": 1, "b": 0, "c": 1, "d": 0}


def contrasts(tables, factors=None, scale=20, gaps=GAPS):
    maps = {name: balanced(states, scale, gaps[name]) for name, states in STATES.items()}
    return Contrasts(maps, factors or [1] * len(tables))


def vector(asked, tables, record):
    """Return what one record makes the functions of all tables, by its definition: a table that it is alone in."""
    cells = []
    for table in tables:
        alone = np.zeros([asked.maps[name].shape[1] for name in table], dtype=np.int64)
        alone[tuple(record[name] for name in table)] = 1
        cells.append(alone.ravel())
    return asked.of(tables, np.concatenate(cells)).astype(float)


def largest(asked, tables, replaced):
    """Return the root of the largest square over all (pairs of) records."""
    columns = sorted({name for table in tables for name in table})
    records = [
        dict(zip(columns, states, strict=True))
        for states in product(*(range(asked.maps[name].shape[1]) for name in columns))
    ]
    vectors = np.array([vector(asked, tables, record) for record in records])
    if not replaced:
        return float(np.sqrt((vectors**2).sum(axis=1).max()))
    squares = (vectors**2).sum(axis=1)
    return float(np.sqrt((squares[:, None] + squares[None, :] - 2 * vectors @ vectors.T).max()))


PAIRS = [tuple(pair) for pair in combinations(STATES, 2)]
WITH_SINGLES = [*((name,) for name in STATES), *PAIRS]
CLIQUES = [("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"), ("c", "d")]


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("gaps", [GAPS, dict.fromkeys(STATES, 0), dict.fromkeys(STATES, 1)])
@pytest.mark.parametrize(
    ("tables", "factors"),
    [(PAIRS, None), (WITH_SINGLES, [9] * 4 + [1] * 6), (CLIQUES, [400, 28, 28, 1, 28]), ([("d", "a")], [3])],
)
def test_no_record_changes_more_than_is_claimed_and_some_nearly_as_much(replaced, gaps, tables, factors) -> None:
    asked = contrasts(tables, factors, gaps=gaps)
    claimed, true = asked.change(tables, replaced), largest(asked, tables, replaced)
    assert true <= claimed.l2 * (1 + 1e-9)
    assert claimed.l2 <= 1.15 * true
    assert claimed.l1 >= claimed.l2
    assert claimed.cells == len(vector(asked, tables, dict.fromkeys(STATES, 0)))


@pytest.mark.parametrize("seed", range(5))
def test_maps_that_nobody_would_choose_are_bounded_too(seed) -> None:
    draw = np.random.default_rng(seed)
    maps = {
        name: draw.integers(-5, 6, (draw.integers(1, 4), states)) * draw.integers(0, 2, states)
        for name, states in STATES.items()
    }
    maps = {name: matrix if matrix.any() else matrix + 1 for name, matrix in maps.items()}
    for tables in (PAIRS, WITH_SINGLES, CLIQUES):
        asked = Contrasts(maps, list(map(int, draw.integers(1, 9, len(tables)))))
        for replaced in (False, True):
            assert largest(asked, tables, replaced) <= asked.change(tables, replaced).l2 * (1 + 1e-9)


def test_maps_of_other_states_than_the_columns_have_are_refused() -> None:
    """As many cells in all, but cut elsewhere: a record is in two cells of the first table, and changes it by twice what is claimed."""
    tables, states = [("a",), ("d",)], {"a": 2, "d": 4}
    cut = Contrasts({"a": np.ones((1, 4), dtype=np.int64), "d": np.ones((1, 2), dtype=np.int64)}, [100, 1])
    alone = np.array([1, 0, 1, 0, 0, 0])  # the first state of either column
    assert np.linalg.norm(cut.of(tables, alone)) > 1.9 * cut.change(tables, False).l2
    with pytest.raises(ValueError, match="states of their columns"):
        cut.check_states(tables, states)
    contrasts(tables, gaps=dict.fromkeys(STATES, 0)).check_states(tables, states)


def test_functions_that_no_record_changes_have_noise_too() -> None:
    """The number of records is a function of tables; where it is public no record changes it."""
    change = Contrasts({"a": np.ones((1, 2), dtype=np.int64)}, [1]).change([("a",)], True)
    assert (change.l1, change.l2) == (1.0, 1.0)
    for delta in (0.0, 1e-6):
        assert Installment(1.0, delta).shares((3,), change, 3, 0.8).shape == (3,)


def test_a_record_that_is_in_no_state_is_bounded_too() -> None:
    """From both states of two columns with two states each to other ones nothing changes, to none the whole vector does."""
    asked = contrasts([("a", "c")], scale=100, gaps=dict.fromkeys(STATES, 0))
    whole = contrasts([("a", "c")], scale=100)
    assert asked.change([("a", "c")], True, absent=True).l2 == pytest.approx(
        largest(whole, [("a", "c")], True), rel=0.02
    )


def test_differences_of_two_states_are_changed_by_half_of_what_counts_are() -> None:
    tables = [("a", "c")]
    asked = contrasts(tables, scale=100, gaps=dict.fromkeys(STATES, 0))
    assert asked.change(tables, False).l2 == pytest.approx(100**2 / 2, rel=0.01)
    assert asked.change(tables, True).l2 == pytest.approx(100**2, rel=0.02)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_functions_of_shares_add_up_to_those_of_the_counts(dtype) -> None:
    draw, tables = np.random.default_rng(4), [("b", "d"), ("a", "b", "c")]
    asked = contrasts(tables, [7, 1])
    counts = draw.integers(0, 1000, 3 * 4 + 3 * 3 * 3)
    first = draw.integers(0, 2**32, len(counts)).astype(dtype)
    total = asked.of(tables, first) + asked.of(tables, counts.astype(dtype) - first)
    for table, found, cells in zip(tables, asked.split(tables, total), np.split(counts, [12]), strict=True):
        wanted = cells.reshape(asked.states(table)) * (7 if len(table) == 2 else 1)
        for axis, name in enumerate(table):
            wanted = np.apply_along_axis(lambda line, m=asked.maps[name]: m @ line, axis, wanted)
        assert (found == wanted).all()


def test_factors_beyond_a_ring_wrap_as_its_cells_do() -> None:
    asked = contrasts([("a",)], [LARGEST_FACTOR])
    assert (asked.of([("a",)], np.ones(3, dtype=np.uint16)) == 0).all()


def test_messages_with_functions_travel_and_malformed_ones_do_not() -> None:
    asked = contrasts(PAIRS)
    again = decode(Contrasts, encode(asked))
    assert again.factors == asked.factors
    assert all((again.maps[name] == asked.maps[name]).all() for name in STATES)
    one = np.ones((1, 2), dtype=np.int64)
    for maps in ({"a": one * 0}, {"a": one * (LARGEST + 1)}, {"a": one.astype(float)}, {"a": one[0]}, {"a": one[:0]}):
        with pytest.raises(ValueError, match="map"):
            Contrasts(maps, [1])
    with pytest.raises(ValueError, match="factors"):
        Contrasts({"a": one}, [0])
    for tables in ([("a",), ("b",)], [("a", "a")], [("z",)], [("a", "b", "c", "d")]):
        with pytest.raises(ValueError, match="contrasts"):
            contrasts([("a",)]).check(tables)
    with pytest.raises(ValueError, match="cells"):
        asked.of(PAIRS, np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("states", [2, 3, 5, WIDEST])
def test_states_are_corners_of_a_regular_simplex(states) -> None:
    rows = simplex(states)
    assert rows @ rows.T == pytest.approx(np.eye(states - 1))
    assert rows.T @ rows == pytest.approx(np.eye(states) - 1 / states)
    whole = balanced(states, 32, 1)
    assert (whole[:, -1] == 0).all()
    assert whole[:, :-1] / 32 == pytest.approx(rows, abs=0.5 / 32)


def test_of_wide_columns_the_counts_are_measured() -> None:
    assert (balanced(WIDEST + 1, 4) == 4 * np.eye(WIDEST + 1)).all()
    assert (balanced(1, 4, 1) == [[4, 0]]).all()


def test_a_missing_value_is_missing_in_all_pairs_at_once() -> None:
    """Eight columns with two states and gaps: at worst four get the other state, by which 16 pairs change sign; a bound a pair would allow more."""
    names = [f"c{v}" for v in range(8)]
    tables = list(combinations(names, 2))
    asked = Contrasts({name: balanced(2, 100, 1) for name in names}, [1] * len(tables))
    assert asked.change(tables, True).l2 == pytest.approx(4 * 2 * 71**2)
