"""Exact answers by two readings of a column that differ in a few rows: what a node remembers, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_process import OneProcess
from party_kit import by_columns, remembering, with_folders

from fedbayes.federation import errors
from fedbayes.federation.answered import readings
from fedbayes.federation.answered.readings import Readings, groups_of, sets_few_apart
from fedbayes.federation.errors import StationError
from fedbayes.federation.tables.words import words_of

ROWS = 120
REFUSED = "would set apart"


def words(missing=(), listed=(), **recode):
    return words_of(missing, listed, recode)


def test_a_reading_in_groups():
    texts = ["a", "b", "9", None, "c"]
    assert groups_of(texts, words()).tolist() == [0, 1, 2, -1, 3]
    assert groups_of(texts, words(missing=["9"], c="a")).tolist() == [0, 1, -1, -1, 0]
    assert groups_of(texts, words(listed=["a", "b", "9"], missing=["9"])).tolist() == [0, 1, 2, -1, -1]


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (words(), words(missing=["one"]), True),  # drops one row
        (words(), words(one="many"), True),  # moves it to others
        (words(many="other"), words(many="other", one="other"), True),
        (words(), words(missing=["many"]), False),
        (words(), words(many="other"), False),
        (words(), words(many="much", one="few"), False),  # other names of the same groups
        (words(), words(missing=["nobody"], nobody="many"), False),
        (words(), words(listed=["many", "other"]), True),  # unknown, so missing
        (words(), words(listed=["many", "other", "one", "nobody"]), False),
        (words(many="one"), words(other="one"), True),
    ],
)
def test_readings_that_differ_in_one_row(tmp_path, old, new, refused):
    texts = ["many"] * 20 + ["other"] * 20 + ["one"]
    for number, pair in enumerate([(old, new), (new, old)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        record = Readings(folder, "table")
        assert record.admit([("column", pair[0])], 5, lambda _: texts)
        assert record.admit([("column", pair[1])], 5, lambda _: texts) is not refused
        assert record.admit([("column", pair[0])], 5, lambda _: texts), "what was answered once is no new reading"
        assert Readings(folder, "of another organization").admit([("column", pair[1])], 5, lambda _: texts)
        assert Readings(folder, "another").admit([("column", pair[1])], 5, lambda _: texts)


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (words(), words(**{"10": 0}), True),  # in a sum another part, though no other row has a 0
        (words(**{"10": 0}), words(**{"10": 1}), True),
        (words(), words(**{"below": 3}), True),  # no number before
        (words(), words(**{"1.5": 0}), False),  # of many rows
        (words(), words(**{"10": "name"}), False),  # no number any more: in no sum
        (words(), words(**{"10": "10.0", "1,5": "1.5"}), False),
        (words(**{"10": "ten", "11": "eleven"}), words(**{"10": "eleven", "11": "ten"}), False),
    ],
)
def test_numbers_of_few_rows_have_no_other_names(tmp_path, old, new, refused):
    texts = ["1.5"] * 20 + ["2"] * 20 + ["10", "11", "12", "13", "14", "below"]
    for number, pair in enumerate([(old, new), (new, old)]):
        (folder := tmp_path / str(number)).mkdir()
        record = Readings(folder, "table")
        assert record.admit([("column", pair[0])], 5, lambda _: texts)
        assert record.admit([("column", pair[1])], 5, lambda _: texts) is not refused
        assert record.admit([("column", pair[0])], 5, lambda _: texts)


def test_nor_are_they_left_when_all_other_numbers_are_moved(tmp_path):
    """Of 1, 2 and, once, 7: the sum less those of 1 and of 2 is one row's part."""
    texts = ["1"] * 20 + ["2"] * 20 + ["7"]
    record = Readings(tmp_path, "table")
    assert record.admit([("column", words())], 5, lambda _: texts)
    assert not record.admit([("column", words(**{"1": 0}))], 5, lambda _: texts)
    assert record.admit([("more", words())], 5, lambda _: texts[:-1])
    assert record.admit([("more", words(**{"1": 0}))], 5, lambda _: texts[:-1])


def test_names_become_numbers_beside_a_few_that_stay_names(tmp_path):
    """Two rows of "isle" are in no sum, whatever numbers stand for the others."""
    texts = ["north"] * 20 + ["south"] * 20 + ["isle"] * 2
    record = Readings(tmp_path, "table")
    assert record.admit([("column", words())], 5, lambda _: texts)
    assert record.admit([("column", words(north=0, south=1))], 5, lambda _: texts)
    assert not record.admit([("column", words(north=0, south=1, isle=2))], 5, lambda _: texts)


def alone(groups, rows, minimum):
    """Whether some sum of rows of few, told by all readings together, is not told by each of them: every union of groups, brute force."""
    cells = {}
    for value in range(len(rows)):
        cells.setdefault(tuple(int(one[value]) for one in groups), []).append(value)
    for key, values in cells.items():
        if not 0 < sum(rows[value] for value in values) < minimum:
            continue
        for one, label in zip(groups, key, strict=True):
            same = [value for value in range(len(rows)) if one[value] == label and rows[value]]
            if sorted(same) != sorted(value for value in values if rows[value]):
                return True
        if len({label == readings.GONE for label in key}) == 2:
            return True
    return False


@given(
    st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), min_size=1, max_size=3),
    st.lists(st.integers(1, 8), min_size=6, max_size=6),
    st.integers(2, 6),
)
def test_against_every_group_one_by_one(groups, rows, minimum):
    found = sets_few_apart([np.array(one) for one in groups], np.array(rows), minimum)
    assert found is alone(groups, rows, minimum)


def test_three_readings_that_are_apart_in_pairs_are_held_against_each_other(tmp_path):
    """Each two differ in many rows; the third makes one row of the first two's groups."""
    texts = [*("a" * 6), *("b" * 6), *("c" * 6), "p", *("q" * 5)]
    record = Readings(tmp_path, "table")
    assert record.admit([("column", words(missing=["a", "b", "p", "q"]))], 5, lambda _: texts)
    assert record.admit([("column", words(missing=["a", "c", "p", "q"]))], 5, lambda _: texts)
    assert not record.admit([("column", words(missing=["b", "c", "q"]))], 5, lambda _: texts)


def test_the_first_reading_of_a_column_needs_no_look_at_its_values(tmp_path):
    asked = []

    def texts(column):
        asked.append(column)
        return ["x"] * 20 + ["y"] * 20

    readings = Readings(tmp_path, "data")
    assert readings.admit([(name, words()) for name in "abc"], 5, texts)
    assert not asked
    assert readings.admit([("a", words(["x"])), ("b", words())], 5, texts)
    assert asked == ["a"]


def test_too_many_readings_and_a_damaged_record_let_nothing_out(tmp_path):
    record = Readings(tmp_path, "table")
    texts = [f"v{number}" for number in range(readings.MOST_READINGS + 2) for _ in range(5)]
    everything = {f"v{number}": "all" for number in range(readings.MOST_READINGS + 2)}

    def split(number):
        return [("column", words(**{**everything, f"v{number}": "one"}))]

    for number in range(readings.MOST_READINGS):
        assert record.admit(split(number), 5, lambda _: texts)
        assert record.admit([("column", words(missing=[f"of no effect {number}"], **everything))], 5, lambda _: texts)
    assert not record.admit([("column", words())], 5, lambda _: texts)
    (tmp_path / "fedbayes-readings.sqlite3").write_bytes(b"no database at all " * 100)
    with pytest.raises(StationError, match="record of readings"):
        record.admit([("column", words())], 5, lambda _: texts)


# -- whole tasks -------------------------------------------------------------------------------------------------------


def table(name):
    rng = np.random.default_rng(ord(name))
    town = rng.choice(["north", "south", "west"], ROWS).astype(object)
    town[17] = "island"  # the one whom somebody is after
    return pd.DataFrame(
        {"town": town, "ill": rng.choice(["no", "yes"], ROWS), "smoker": rng.choice(["no", "yes"], ROWS)}
    )


TOWNS = ["north", "south", "west"]
STUDY = {
    "town": {"type": "category", "categories": [*TOWNS, "island"]},
    "ill": {"type": "category", "categories": ["no", "yes"]},
    "smoker": {"type": "category", "categories": ["no", "yes"]},
}
DROPPED = {**STUDY, "town": {"type": "category", "categories": TOWNS, "missing": ["island"]}}
MOVED = {**STUDY, "town": {"type": "category", "categories": TOWNS, "recode": {"island": "north"}}}
NETWORK = {"columns": ["town", "ill"], "split": "horizontal", "structure": [["town", "ill"]], "missing": "drop"}
WEIGHTS = {"label": "ill", "features": ["town", "smoker"], "rounds": 1}


def asked(tmp_path, tasks, **policy):
    with remembering({name: table(name) for name in "abc"}, tmp_path, **policy) as federation:
        return [
            federation.run(algorithm, function, {**arguments, "dictionary": {"columns": study}})
            for algorithm, function, arguments, study in tasks
        ]


@pytest.mark.parametrize("other", [DROPPED, MOVED], ids=["missing", "recode"])
@pytest.mark.parametrize(
    "task",
    [
        ("vertibayes", "fit", NETWORK),
        ("discriminative_naive_bayes", "fit", WEIGHTS),
        ("scalar_product", "describe", {}),
    ],
    ids=lambda task: task[0],
)
def test_one_row_more_or_less_is_not_told(tmp_path, task, other):
    with pytest.raises(errors.ThresholdError, match=f"{REFUSED}|takes few values"):
        asked(tmp_path, [(*task, STUDY), (*task, other)])


CODED = {  # how a column is described, and by which of its values the task's domain knows it
    "no categories": ("lost", {"type": "category"}, None),
    "categories of the task": ("lost", {"type": "category"}, ["no", "yes"]),
    "numbers": (9, {"type": "integer"}, None),
    "numbers, categories of the task": (9, {"type": "integer"}, [0, 1]),
}


@pytest.mark.parametrize("recorded", [True, False], ids=["record", "no record"])
@pytest.mark.parametrize("name", CODED)
def test_a_recode_of_one_row_of_a_column_whose_categories_nobody_gives(tmp_path, monkeypatch, name, recorded):
    """The difference of the two tables is what that person has at the other station."""
    code, described, categories = CODED[name]
    groups = ["no", "yes"] if code == "lost" else [0, 1]
    parts = {
        "a": {"sex": np.array(["m", "f"])[np.arange(ROWS) % 2]},
        "b": {"state": [code if row == 3 else groups[row // 2 % 2] for row in range(ROWS)]},
    }
    ids = [f"p{row}" for row in range(ROWS)]
    tables = {party: pd.DataFrame({"id": ids, **columns}) for party, columns in parts.items()}
    if not recorded:
        monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    asked = {"columns": ["state", "sex"], "id_column": "id"}
    if categories:
        asked["domain"] = {"state": {"categories": categories}}
    studies = [{"columns": {"state": {**described, "recode": {code: group}}}} for group in groups]
    with remembering(tables, tmp_path, **({} if recorded else {"ledger": None})) as federation:

        def both():
            return [
                federation.run("scalar_product", "contingency", {**asked, "dictionary": study}) for study in studies
            ]

        with pytest.raises(errors.ThresholdError, match=r"would set apart|no folder database"):
            both()


@pytest.mark.parametrize("name", ["vertibayes", "dp_naive_bayes"])
def test_an_identifier_has_no_recode(tmp_path, name):
    """It was none in the table, but in the record of readings: the task read as another one was recorded to."""
    study = {**STUDY, "town": {"type": "identifier", "recode": {"island": "north"}}}
    given = NETWORK if name == "vertibayes" else {"label": "ill", "features": ["town"], "noise": "none"}
    with pytest.raises(errors.ArgumentError, match="leave recode out"):
        asked(tmp_path, [(name, "fit", given, study)])


def test_control_the_same_reading_noise_and_the_administrators_leave(tmp_path):
    task = ("vertibayes", "fit", NETWORK)
    asked(tmp_path, [(*task, STUDY), (*task, STUDY), ("scalar_product", "describe", {}, STUDY)])
    asked(tmp_path, [("scalar_product", "describe", {"epsilon": 1.0}, DROPPED)])
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        asked(tmp_path, [("scalar_product", "describe", {"epsilon": 1e6}, DROPPED)])
    first, second = asked(tmp_path, [(*task, DROPPED), (*task, STUDY)], allow_differences=True)
    assert first["model"] != second["model"]


def test_linked_records_too(tmp_path):
    """A table over columns of two stations: the code leaves out one record, whose value at the other station the difference is."""
    whole = table("a").assign(id=[f"p{row}" for row in range(ROWS)])
    parties = with_folders(by_columns(whole, {"a": ["town"], "b": ["ill"], "c": ["smoker"]}), tmp_path)
    given = {"columns": ["town", "ill"], "id_column": "id"}
    policies = {name: {"ledger": "vault", "allow_differences": False} for name in parties}
    with OneProcess(parties, helpers=["helper"], policies=policies) as federation:
        for study, refused in ((MOVED, False), (DROPPED, True), (MOVED, False)):
            arguments = {**given, "dictionary": {"columns": study}}
            if refused:
                with pytest.raises(errors.ThresholdError, match=REFUSED):
                    federation.run("scalar_product", "contingency", arguments)
            else:
                federation.run("scalar_product", "contingency", arguments)


IDS = [f"p{row}" for row in range(ROWS)]
ILL = np.random.default_rng(4).choice(["no", "yes"], ROWS)
TWO = {"a": {"id": IDS, "age": np.arange(20, 20 + ROWS)}, "b": {"id": IDS, "ill": ILL}}
"""Of the same people, one of every age."""


def test_two_ranges_that_one_row_lies_between(tmp_path):
    """Each count is about many; the difference is the value of the one between, at another station."""

    def count(federation, limit, **given):
        tests = [{"column": "age", "op": "<", "value": limit}, {"column": "ill", "op": "==", "value": "yes"}]
        return federation.run("scalar_product", "count", {"conditions": tests, "id_column": "id", **given})["count"]

    for allowed in (False, True):
        with remembering(TWO, tmp_path, allow_differences=allowed) as federation:
            first = count(federation, 80)
            assert count(federation, 80) == first
            assert count(federation, 100) > first, "twenty rows lie between"
            if allowed:
                assert count(federation, 81) - first == int(TWO["b"]["ill"][60] == "yes"), "a control"
                continue
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                count(federation, 81)
            assert isinstance(count(federation, 81, epsilon=1.0), int)


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (("<", 30), ("<=", 30), False),  # five rows
        (("<", 29), ("<=", 29), True),
        (("<", 30), (">=", 30), False),
        (("<", 30), (">", 29.5), False),
        (("<", 30), ("<", 40), False),
        (("in", [28, 29, 30, 31, 32]), ("in", [28, 29, 30, 31, 33]), True),
        (("==", 30), ("missing", None), False),
        (("between", [10, 30]), ("between", [10, 31]), True),
    ],
)
def test_conditions_that_differ_in_one_row(tmp_path, first, second, refused):
    texts = [str(value) for value in range(60)] + ["30"] * 4
    record = Readings(tmp_path, "table")
    asked = [[(readings.OF + "x", readings.conditions_of([one], words()))] for one in (first, second)]
    assert record.admit(asked[0], 5, lambda _: texts)
    assert record.admit(asked[1], 5, lambda _: texts) is not refused


def test_a_condition_on_a_derived_column_is_no_question_about_a_column_of_the_table(tmp_path):
    """It is answered by the leave that formulae need, and the record, which has no such column, is not asked."""
    ids = [str(number) for number in range(60)]
    tables = {"a": {"id": ids, "months": range(60)}, "b": {"id": ids, "ill": ["yes", "no"] * 30}}
    tests = [{"column": "years", "op": "<", "value": 3}, {"column": "ill", "op": "==", "value": "yes"}]
    words = {"columns": {"years": {"type": "number", "derive": "months / 12"}}}
    with remembering(tables, tmp_path, allow_formulas=True) as federation:
        asked = {"conditions": tests, "id_column": "id", "dictionary": words}
        assert federation.run("scalar_product", "count", asked)["count"] == 18
        assert federation.run("scalar_product", "count", asked)["count"] == 18
        asked["conditions"] = [{**tests[0], "value": 4}, tests[1]]
        assert federation.run("scalar_product", "count", asked)["count"] == 24


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ([30.0], [30.0], False),
        ([30.0], [30.5], False),  # five rows of 30
        ([29.0], [29.5], True),
        ([30.0], [29.5], False),  # no row between
        ([30.0], [28.0], True),
        ([30.0], [20.0, 30.0, 40.0], False),
        ([20.0, 40.0], [20.0, 41.0], True),
        ([1.0], [30.0], True),  # one row beside the first border, in a bin with others by the second
        ([30.0], ("<", 30), False),
        ([30.0], ("<=", 30), False),
        ([29.0], ("<", 30), True),
        ([20.0], ("<", 30), False),
    ],
)
def test_bins_that_differ_in_few_rows(tmp_path, first, second, refused):
    texts = [str(value) for value in range(60)] + ["30"] * 4 + ["-9", "-9", None]
    read = words(missing=["-9"])

    def told(one):
        said = readings.conditions_of([one], read) if isinstance(one, tuple) else readings.bins_of(read, one)
        return [(readings.OF + "x", said)]

    for number, pair in enumerate([(first, second), (second, first)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        record = Readings(folder, "table")
        assert record.admit(told(pair[0]), 5, lambda _: texts)
        assert record.admit(told(pair[1]), 5, lambda _: texts) is not refused


def test_gaps_of_a_column_with_bins_do_not_hinder_counts(tmp_path):
    """Two counts of which each has the few gaps on another side are refused; of a table they are cells of their own."""
    texts = [str(value) for value in range(60)] + [None, None]
    record = Readings(tmp_path, "table")
    below, above = (readings.conditions_of([(op, 30)], words()) for op in ("<", ">="))
    assert record.admit([(readings.OF + "x", readings.bins_of(words(), [30.0]))], 5, lambda _: texts)
    assert record.admit([(readings.OF + "x", below)], 5, lambda _: texts)
    assert not record.admit([(readings.OF + "x", above)], 5, lambda _: texts)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("algorithm", "function", "given"),
    [
        ("scalar_product", "contingency", {"columns": ["age", "ill"]}),
        ("scalar_product", "information_gain", {"label": "ill", "columns": ["age"]}),
        ("vertibayes", "fit", {"columns": ["age", "ill"], "structure": [["age", "ill"]]}),
    ],
    ids=["contingency", "information_gain", "fit"],
)
def test_two_borders_that_one_row_lies_between(tmp_path, algorithm, function, given):
    """Each table has large cells alone; their difference is one person's value at another station."""

    def asked(federation, bins, **more):
        return federation.run(algorithm, function, {"id_column": "id", "bins": bins, **given, **more})

    for allowed in (False, True):
        with remembering(TWO, tmp_path, allow_differences=allowed) as federation:
            asked(federation, {"age": [80]})
            asked(federation, {"age": [60, 80, 100]})
            if allowed:
                asked(federation, {"age": [81]})
                continue
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                asked(federation, {"age": [81]})
            asked(federation, {"age": 4})  # quantiles: 50, 80, 110
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                asked(federation, {"age": 19})
            domain = {"age": {"bounds": [0, 150]}, "ill": {"categories": ["no", "yes"]}}
            asked(federation, {"age": [81]}, domain=domain, epsilon=1.0)
