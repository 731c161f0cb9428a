"""Tables of which cells follow from others: how they are asked, what is left out, and that the whole is what was counted."""

import itertools
import math
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.questions.asked_tables import MOST_AXES, AskedTables
from fedbayes.federation.questions.factor_info import FactorInfo
from fedbayes.federation.vertical import engine
from fedbayes.federation.vertical.accounting import check_possible
from fedbayes.federation.vertical.known_tables import KnownTables
from fedbayes.federation.vertical.messages import Delivery, Setup, TablesRequest

STATES = {"a": 3, "b": 2, "c": 4, "d": 1, "e": 2}
ROWS = 60
PAIRS = [((x,), (y,)) for x, y in itertools.combinations(STATES, 2)]
TRIPLES = [((x, y), (z,)) for x, y, z in itertools.combinations(STATES, 3)]


@pytest.fixture
def codes():
    draw = np.random.default_rng(8)
    return {name: draw.integers(0, states, ROWS) for name, states in STATES.items()}


def counted(codes, columns):
    counts = np.zeros([STATES[name] for name in columns], dtype=np.int64)
    np.add.at(counts, tuple(codes[name] for name in columns), 1)
    return counts


def cut(counts, cuts, parts):
    """Return the cells that are asked: without the last state of the first column of factors in `cuts`."""
    axes = [axis for axis, one in zip((0, len(parts[0])), cuts, strict=True) if one]
    return counts[tuple(slice(-1 if axis in axes else None) for axis in range(counts.ndim))]


def test_a_search_is_whole_though_cells_are_left_out(codes):
    known, asked, whole = KnownTables(), 0, 0
    for batch in (PAIRS, TRIPLES, [(("b", "a", "c"), ("e",))]):
        cuts = [known.cuts(parts) for parts in batch]
        for parts, one in zip(batch, cuts, strict=True):
            order = parts[0] + parts[1]
            one = tuple(cut and STATES[part[0]] > 1 for cut, part in zip(one, parts, strict=True))
            expected = counted(codes, order)
            cells = cut(expected, one, parts)
            sizes = [tuple(STATES[name] for name in part) for part in parts]
            got = known.completed([cells.ravel()], one, [parts], sizes)[0]
            assert np.array_equal(got, expected), parts
            known.add(order, got)
            asked, whole = asked + cells.size, whole + expected.size
    assert cuts == [(True, True)]
    assert asked < whole / 2


def test_what_is_not_known_is_asked(codes):
    known = KnownTables()
    assert known.cuts((("a", "b"), ("c",))) == (False, False)
    assert known.cuts((("a",),)) == (False,)
    assert known.cuts((("a",), ("b",))) == (False, False)
    assert known.cuts((("a",), ("c",))) == (False, True)
    known.add(("c", "b"), counted(codes, "cb"))
    assert known.cuts((("a", "b"), ("c",))) == (True, False)
    assert known.cuts((("a",), ("b", "c"))) == (True, False)


def test_cells_that_do_not_add_up_with_earlier_ones_end_the_job(codes):
    known = KnownTables()
    for name in "ab":
        known.add((name,), counted(codes, name))
    cells = counted(codes, "ab")[:-1, :-1]
    cells[0, 0] += ROWS
    with pytest.raises(errors.StationError, match="do not add up"):
        known.completed([cells], (True, True), [(("a",), ("b",))], [(3,), (2,)])


# -- how tables are asked --------------------------------------------------------------------------------------------------


def test_tables_travel_as_positions_and_come_back():
    tables = [("x", "y"), ("y",), ("z", "x", "y"), ("x", "y")]
    asked = AskedTables.of(tables)
    again = decode(AskedTables, encode(asked))
    assert again.tables == tables
    assert again.digest == asked.digest != AskedTables.of(tables[:-1]).digest
    assert asked.cells({"x": 2, "y": 3, "z": 1 << 24}).tolist() == [6, 3, 6 * 2.0**24, 6]
    assert asked.joined({"x": [1, 2], "z": []}) == [(1, 2), (), (1, 2), (1, 2)]


def test_another_grouping_of_the_same_names_is_another_question():
    digests = {
        AskedTables.of(tables).digest for tables in ([("x", "y"), ("x",)], [("x",), ("y", "x")], [("x", "y", "x")])
    }
    assert len(digests) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"axes": np.array([], np.uint8), "positions": np.array([], np.uint16)},
        {"axes": np.array([2, 0], np.uint8)},
        {"axes": np.array([3], np.uint8)},
        {"axes": np.array([2], np.int64)},
        {"axes": np.array([[2]], np.uint8)},
        {"positions": np.array([0, 2], np.uint16)},
        {"names": ["x", "x"]},
    ],
)
def test_malformed_tables_are_refused(change):
    fields = {"names": ["x", "y"], "axes": np.array([2], np.uint8), "positions": np.array([0, 1], np.uint16)}
    AskedTables(**fields)
    with pytest.raises(ValueError, match=r"batch"):
        AskedTables(**{**fields, **change})


def test_a_table_has_a_bounded_number_of_factors():
    AskedTables.of([list("abcdefgh")])
    for length in (MOST_AXES + 1, 300):
        with pytest.raises(ValueError, match="eight"):
            AskedTables.of([["a"] * length])


def test_a_table_whose_other_cells_follow_counts_as_one():
    """Of two columns with two states one cell is asked; it is no count of a condition, which would belong to a larger one."""
    infos = []
    for owner, name in enumerate("abc", start=1):
        info = FactorInfo(name, [name], [owner], 1, True, 32, 0, [owner])
        infos += [info, FactorInfo(f"first {name}", [name], [owner], 1, False, 32, 0, [owner], view_of=name)]
    setup = Setup(9, [1, 2, 3], "id", False, {}, "quantile", True, False, True)
    tables = AskedTables.of([["first a", "first b"], ["first a", "first b", "first c"]])
    request = TablesRequest(Delivery(setup, 100, infos, [], None, [], []), tables, 32, None, 1.0)
    assert tables.cells(request.states).tolist() == [1, 1]
    assert request.queries == 2


# -- in a federation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("helpers", [["helper"], []])
def test_answers_are_whole_and_fewer_cells_are_shared(tmp_path, codes, helpers):
    frame = pd.DataFrame({"id": range(ROWS), **codes})
    parties = {}
    for station, own in {"north": "ad", "south": "be", "west": "c"}.items():
        frame[["id", *own]].to_csv(tmp_path / f"{station}.csv", index=False)
        parties[station] = {"default": tmp_path / f"{station}.csv"}
    batches = [[x + y for x, y in batch] for batch in (PAIRS, TRIPLES, [(("a", "c", "b"), ("e",))])]
    cells = []

    def noted(*given):
        cells.append(int(given[1].sum()))
        return check_possible(*given)

    arguments = {"columns": list(STATES), "batches": [[list(one) for one in batch] for batch in batches]}
    arguments |= {} if helpers else {"helper": "none"}
    with mock.patch.object(engine, "check_possible", noted), OneProcess(parties, helpers=helpers) as federation:
        answers = federation.run("vertical_toy", "run_tables", arguments)["model"]
    for batch, tables in zip(batches, answers, strict=True):
        for columns, counts in zip(batch, tables, strict=True):
            assert np.array_equal(np.array(counts), counted(codes, columns)), columns
    assert len(cells) == len(batches)
    wanted = sum(math.prod(STATES[name] for name in columns) for batch in batches for columns in batch)
    assert sum(cells) < 0.6 * wanted
