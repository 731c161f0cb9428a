"""Exact counts by conditions on several columns of one station that differ in a few rows: what a node remembers, and what it refuses."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import party_kit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_process import OneProcess

from fedbayes.federation import errors
from fedbayes.federation.answered import selections, tabled
from fedbayes.federation.answered.readings import bins_of
from fedbayes.federation.answered.selections import Selections, tells_of_few, words_of
from fedbayes.federation.tables.words import words_of as read

ROWS = 120
REFUSED = "would set apart"


@given(
    st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=5),
    st.integers(2, 4),
)
def test_against_every_sum_one_by_one(sets, minimum):
    *known, new = np.array(sets)
    found = False
    for first, second in itertools.combinations([*known, np.zeros(7, dtype=bool), np.zeros(7, dtype=bool)], 2):
        for a, b, c in itertools.product((-1, 0, 1), repeat=3):
            about = new.astype(int) + a * first + b * second + c
            found |= bool(known) and 0 < np.count_nonzero(about) < minimum
    assert tells_of_few(known, new, minimum) is bool(found)


def test_blocks_of_rows_add_up(monkeypatch):
    table = np.random.default_rng(3).random((5, 1000)) < 0.4
    whole = selections._pairs(table)
    monkeypatch.setattr(selections, "ROWS_AT_ONCE", 64)
    assert np.array_equal(selections._pairs(table), whole)
    assert np.array_equal(whole, table.astype(int) @ table.T.astype(int))


COLUMNS = {
    "age": [str(20 + row % 60) for row in range(ROWS)],
    "sex": ["f" if row == 59 else "m" if row % 60 >= 50 else "mf"[row % 2] for row in range(ROWS)],
    "code": ["-9" if row % 4 == 0 else str(row % 60) for row in range(ROWS)],
}
"""Of the men and women of 70 and more one alone is a woman; every fourth code is one that may be declared missing."""


def words(*conditions, missing=()):
    return words_of(conditions, {name: read(missing if name == "code" else (), (), {}) for name in COLUMNS})


OLD, MAN, WOMAN = ("age", ">=", 70), ("sex", "==", "m"), ("sex", "==", "f")


@pytest.mark.parametrize(
    ("earlier", "new", "refused"),
    [
        ([[OLD]], [OLD, MAN], True),  # the difference is the woman
        ([[OLD, MAN]], [OLD], True),
        ([[OLD, MAN]], [MAN, OLD], False),
        ([[("age", ">=", 40)]], [("age", ">=", 40), MAN], False),
        ([[("age", "<", 70)]], [OLD, MAN], True),  # of all, the two leave her
        ([[("age", "<", 70)], [OLD]], [OLD, MAN], True),
        ([[("age", ">=", 60)], [("age", "between", [60, 69]), ("sex", "in", ["m", "f"])]], [OLD, MAN], True),
        ([[("age", ">=", 60)], [("age", "between", [60, 69]), MAN]], [("age", ">=", 60), MAN], False),
    ],
)
def test_counts_that_leave_one_row(tmp_path, earlier, new, refused):
    record = Selections(tmp_path, "table")
    for one in earlier:
        assert record.admit(words(*one), 5, COLUMNS.get)
    assert record.admit(words(*new), 5, COLUMNS.get) is not refused
    assert record.admit(words(*earlier[0]), 5, COLUMNS.get), "what was answered once is no new count"
    assert Selections(tmp_path, "of another organization").admit(words(*new), 5, COLUMNS.get)
    assert record.admit(words(*new), 1, COLUMNS.get), "by the administrator's minimum"


def test_rows_whose_code_is_declared_missing_hide_nobody(tmp_path):
    """Thirty rows with the code -9 would hide the one row that is really between the two counts."""
    both = [("code", "<", 50), ("code", "<", 50), ("sex", "in", ["m", "x"])]
    sex = ["f" if row == 1 or row % 4 == 0 else "m" for row in range(ROWS)]
    texts = {**COLUMNS, "sex": sex}.get
    for number, (missing, refused) in enumerate([((), False), (("-9",), True)]):
        (tmp_path / str(number)).mkdir()
        record = Selections(tmp_path / str(number), "table")
        assert record.admit(words(both[0], missing=missing), 5, texts)
        assert record.admit(words(*both[1:], missing=missing), 5, texts) is not refused


def test_too_many_counts_and_a_damaged_record_let_nothing_out(tmp_path, monkeypatch):
    monkeypatch.setattr(selections, "MOST_SELECTIONS", 2)
    record = Selections(tmp_path, "table")
    for age in (30, 40):
        assert record.admit(words(("age", "<", age)), 5, COLUMNS.get)
    assert record.admit(words(("age", "<=", 39)), 5, COLUMNS.get), "the same rows in other words"
    assert not record.admit(words(("age", "<", 50)), 5, COLUMNS.get)
    (tmp_path / "fedbayes-selections.sqlite3").write_bytes(b"no database at all " * 100)
    with pytest.raises(errors.StationError, match="record of selections"):
        record.admit(words(("age", "<", 50)), 5, COLUMNS.get)


# -- whole tasks -------------------------------------------------------------------------------------------------------


def count(federation, *conditions, **given):
    tests = [{"column": name, "op": op, "value": value} for name, op, value in [*conditions, ("ill", "==", "yes")]]
    return federation.run("scalar_product", "count", {"conditions": tests, "id_column": "id", **given})["count"]


@pytest.mark.parametrize("comma", [False, True], ids=["point", "comma"])
def test_a_further_condition_that_one_row_fails(tmp_path, comma):
    """Each count is about many; the difference is the one woman's value at another station."""
    ids, parties = [f"p{row}" for row in range(ROWS)], {}
    ill = ["yes" if row % 60 == 59 or row % 3 else "no" for row in range(ROWS)]
    ages = [f"{age},0" if comma else age for age in COLUMNS["age"]]
    for name, table in {"a": {"id": ids, "age": ages, "sex": COLUMNS["sex"]}, "b": {"id": ids, "ill": ill}}.items():
        (tmp_path / name).mkdir()
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False, sep=";" if comma else ",")
        parties[name] = {"default": tmp_path / f"{name}.csv", "vault": tmp_path / name}
    for allowed in (False, True):
        policies = {name: {"ledger": "vault", "allow_differences": allowed} for name in parties}
        with OneProcess(parties, helpers=["helper"], policies=policies) as federation:
            everybody = count(federation, OLD)
            assert count(federation, OLD) == everybody
            assert count(federation, ("age", ">=", 40), MAN) > 0
            if allowed:
                assert everybody - count(federation, OLD, MAN) == int(ill[59] == "yes"), "a control"
                continue
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                count(federation, OLD, MAN)
            assert isinstance(count(federation, OLD, MAN, epsilon=1.0), int)


# -- counts beside tables ----------------------------------------------------------------------------------------------

CUT = {"age": {"bounds": [0, 100]}}
TABLES = {
    "contingency": ("scalar_product", "contingency", {"columns": ["age", "ill"], "bins": {"age": [70]}, "domain": CUT}),
    "network": (
        "vertibayes",
        "fit",
        {"columns": ["age", "ill"], "structure": [["age", "ill"]], "bins": {"age": [70]}, "domain": CUT},
    ),
    "description": ("vertibayes", "describe", {"columns": ["age"], "bins": {"age": [0, 70, 100]}, "domain": CUT}),
    "product": ("scalar_product", "scalar_product", {"columns": ["old", "risk"]}),
}
"""Each tells how many of 70 and more there are, or are ill."""


@pytest.fixture
def remembering(tmp_path):
    """Two stations that remember; the second one's column is what the difference of two answers would tell of one woman."""
    ids = [f"p{row}" for row in range(ROWS)]
    ill = ["yes" if row % 60 == 59 or row % 3 else "no" for row in range(ROWS)]
    old = [int(int(age) >= 70) for age in COLUMNS["age"]]
    tables = {
        "a": {"id": ids, "age": COLUMNS["age"], "sex": COLUMNS["sex"], "old": old},
        "b": {"id": ids, "ill": ill, "risk": [int(value == "yes") for value in ill]},
    }
    return partial(party_kit.remembering, tables, tmp_path)


def ask(federation, table):
    algorithm, function, arguments = TABLES[table]
    return federation.run(
        algorithm, function, arguments if function == "describe" else {"id_column": "id", **arguments}
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("table", TABLES)
def test_a_table_and_a_count_of_all_but_one_of_a_cell(remembering, table):
    """The count is of the men of a cell in which there is one woman more."""
    extra = ("old", "==", 1) if table == "product" else OLD
    with remembering() as federation:
        ask(federation, table)
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            count(federation, extra, MAN)
        assert isinstance(count(federation, extra, MAN, epsilon=1.0), int)
        assert count(federation, MAN) > 0, "a control: many women are in the other count"
        assert count(federation, extra) > 0, "a control: the cell itself"


@pytest.mark.parametrize("table", ["contingency", "network", "product"])
def test_a_count_and_a_later_table(remembering, table):
    extra = ("old", "==", 1) if table == "product" else OLD
    with remembering() as federation:
        assert count(federation, extra, MAN) > 0
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            ask(federation, table)
        other = {"columns": ["sex", "ill"], "id_column": "id"}
        assert federation.run("scalar_product", "contingency", other)["records"] == ROWS, "a control: other cells"


def test_control_a_node_that_lets_answers_differ(remembering):
    with remembering(allow_differences=True) as federation:
        cells = ask(federation, "contingency")["counts"]
        assert cells[1][1] - count(federation, OLD, MAN) == 1


STATES = st.lists(st.integers(-1, 2), min_size=9, max_size=9)


@given(st.lists(st.booleans(), min_size=9, max_size=9), st.lists(STATES, min_size=1, max_size=3), st.integers(2, 4))
def test_against_every_sum_of_cells_one_by_one(chosen, columns, minimum):
    chosen = np.array(chosen)
    states = {str(number): np.array(column) for number, column in enumerate(columns)}
    found = False
    for size in range(1, len(columns) + 1):
        for group in itertools.combinations(columns, size):
            cells = [
                np.array([cell == one for cell in zip(*group, strict=True)]) for one in set(zip(*group, strict=True))
            ]
            told = [cell for cell in cells if cell.sum() >= minimum]
            sums = [
                np.any([np.zeros(9, dtype=bool), *some], axis=0)
                for n in range(len(told) + 1)
                for some in itertools.combinations(told, n)
            ]
            found |= 0 < min(np.count_nonzero(one ^ chosen) for one in sums) < minimum
    counted = min(chosen.sum(), (~chosen).sum()) >= minimum
    assert tabled.differs_in_few(chosen, ["0"], states, minimum, 1) is bool(found and counted)


@pytest.mark.parametrize("work", [0, 10**9])
def test_columns_of_the_conditions_are_compared_however_much_there_is(monkeypatch, work):
    """Four columns together, which one row of the count does not fit: no three of them show it."""
    monkeypatch.setattr(tabled, "MOST_WORK", work)
    states = {str(number): np.arange(160) >> number & 1 for number in range(4)}
    chosen = np.all([column == 1 for column in states.values()], axis=0)
    chosen[np.flatnonzero(chosen)[0]] = False
    assert tabled.differs_in_few(chosen, list(states), states, 5, 1)
    beside = {name: states[name] for name in "012"}
    assert not tabled.differs_in_few(chosen, list(states), beside, 5, 1), "a control"


def test_tables_are_remembered_as_one_unless_a_column_has_other_states(tmp_path):
    record = Selections(tmp_path, "table")
    plain = {name: read((), (), {}) for name in COLUMNS}
    for one in (
        {"age": plain["age"]},
        {"sex": plain["sex"]},
        {"age": bins_of(plain["age"], [40])},
        {"age": plain["age"]},
    ):
        assert record.admit_table(one, 5, COLUMNS.get)
    with record.reading() as remembered:
        assert selections._tables(remembered) == [
            {"age": plain["age"], "sex": plain["sex"]},
            {"age": bins_of(plain["age"], [40])},
        ]
