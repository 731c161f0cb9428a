"""Exact answers over the bounded rows of identifiers, which a second task compares with those over all rows."""

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation import errors
from fedbayes.federation.horizontal import units
from fedbayes.federation.horizontal.units import bounded, sets_few_apart

ROWS = 120
DOMAIN = {"ill": {"categories": ["no", "yes"]}, "town": {"categories": ["north", "south"]}}
BY = {"unit": "identifier", "id_column": "id"}


@pytest.mark.parametrize(
    ("sizes", "without", "rows", "few"),
    [
        ([1] * 20, 0, 1, False),
        ([1] * 20, 4, 1, True),  # all rows less these are four
        ([1] * 20, 5, 1, False),
        ([1] * 20 + [30], 0, 1, True),  # 29 rows, but of one person
        ([1] * 20 + [30], 0, 30, False),
        ([1] * 20 + [2] * 5, 0, 1, False),
        ([50, 50, 50], 0, 1, True),  # three rows are used
    ],
)
def test_what_bounded_rows_set_apart(sizes, without, rows, few):
    identifiers = np.array([-1] * without + [code for code, size in enumerate(sizes) for _ in range(size)])
    assert sets_few_apart(identifiers, rows, 5, 5) is few
    used = bounded(identifiers, {}, rows, b"key")
    assert used.sum() == sum(min(size, rows) for size in sizes)


def tables(change):
    found = {}
    for name in "abc":
        draw = np.random.default_rng(ord(name))
        table = pd.DataFrame({column: draw.choice(entry["categories"], ROWS) for column, entry in DOMAIN.items()})
        table["id"] = [f"p{row}" for row in range(ROWS)]
        change(table, name)
        found[name] = table
    return found


def one_without(table, name):
    if name == "a":
        table.loc[17, "id"] = None


def one_twice(table, name):
    if name == "a":
        table.loc[18, "id"] = "p17"


TASKS = [
    ("secure_naive_bayes", "describe", {"domain": DOMAIN}),
    ("discriminative_naive_bayes", "fit", {"label": "ill", "features": ["town"], "domain": DOMAIN, "rounds": 1}),
    ("secure_naive_bayes", "fit", {"label": "ill", "features": ["town"], "domain": DOMAIN, "noise": "none"}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: "-".join(task[:2]))
@pytest.mark.parametrize("change", [one_without, one_twice])
def test_exact_answers_that_one_row_is_left_out_of(tmp_path, task, change):
    algorithm, function, given = task
    with remembering(tables(change), tmp_path, helpers=()) as federation:
        federation.run(algorithm, function, given)
        with pytest.raises(errors.ThresholdError, match="id_column"):
            federation.run(algorithm, function, {**given, **BY})


def visits(gone):
    """Return a change of a's table: two columns of visits, which some rows lack."""

    def change(table, name):
        for column, rows in gone.items():
            table[column] = [None if name == "a" and row in rows else f"{column}-{row}" for row in range(ROWS)]

    return change


def by_visits(tmp_path, gone, task, **more):
    """Return the answers by the identifiers of a first and of a second visit."""
    algorithm, function, given = task
    with remembering(tables(visits(gone)), tmp_path, helpers=()) as federation:
        return [
            federation.run(algorithm, function, {**given, **BY, **more, "id_column": column})
            for column in ("first", "second")
        ]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: "-".join(task[:2]))
def test_two_columns_of_identifiers_of_which_one_row_lacks_one(tmp_path, task):
    """Thirty rows lack the first visit, all but one of these the second: the difference would be that row."""
    with pytest.raises(errors.ThresholdError, match="id_column"):
        by_visits(tmp_path, {"first": range(30), "second": range(29)}, task)


def test_control_columns_of_identifiers_that_many_rows_tell_apart(tmp_path):
    """With an epsilon nothing is refused, nor where the rows are the same or many."""
    private = by_visits(tmp_path, {"first": range(30), "second": range(29)}, TASKS[0], epsilon=1.0)
    assert all(answer["privacy"]["differentially_private"] for answer in private)
    for place, second in enumerate((range(30), range(20))):
        answers = by_visits(tmp_path / str(place), {"first": range(30), "second": second}, TASKS[0])
        assert not any(answer["privacy"]["differentially_private"] for answer in answers)


def test_control_noise_and_nobody_apart(tmp_path):
    """With an epsilon nothing is refused, and with nobody left out exact answers are those of all rows."""
    algorithm, function, given = TASKS[0]
    with remembering(tables(one_without), tmp_path, helpers=()) as federation:
        assert federation.run(algorithm, function, {**given, **BY, "epsilon": 1.0})["privacy"]["unit"] == "identifier"
    with remembering(tables(lambda *_: None), tmp_path, helpers=()) as federation:
        answers = [federation.run(algorithm, function, {**given, **more})["model"]["columns"] for more in ({}, BY)]
        assert answers[0] == answers[1]


def crowded(second):
    """Return a change of a's table: ten people have two rows, by the second column of identifiers too, of whom `second` have their rows under two names."""

    def change(table, name):
        table["id"] = table["other"] = [f"p{row if row >= 20 else row % 10}" for row in range(ROWS)]
        if name == "a":
            table.loc[range(second), "other"] = [f"q{row}" for row in range(second)]

    return change


@pytest.mark.few(2)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: "-".join(task[:2]))
def test_two_exact_answers_use_the_same_rows_of_who_has_many(tmp_path, task):
    """Else each pair of answers would tell of a few people, one of them now and then: which of their rows was used before, and which now."""
    algorithm, function, given = task
    with remembering(tables(crowded(0)), tmp_path, helpers=()) as federation:
        answers = [federation.run(algorithm, function, {**given, **BY})["model"] for _ in range(3)]
    for answer in answers:
        del answer["seal"]
    assert answers[0] == answers[1] == answers[2]


def test_control_drawn_anew_answers_differ(tmp_path, monkeypatch):
    def drawn(identifiers, content, rows, key, of=units.bounded):
        return of(identifiers, {"row": np.arange(len(identifiers))}, rows, key)

    monkeypatch.setattr(units, "bounded", drawn)
    with remembering(tables(crowded(0)), tmp_path, helpers=(), allow_differences=True) as federation:
        algorithm, function, given = TASKS[0]
        answers = [federation.run(algorithm, function, {**given, **BY})["model"]["columns"] for _ in range(3)]
    assert answers[0] != answers[1] or answers[1] != answers[2]


@pytest.mark.few(2)
@pytest.mark.parametrize(("second", "refused"), [(1, True), (0, False), (5, False)])
def test_two_columns_of_identifiers_by_which_few_other_rows_are_used(tmp_path, second, refused):
    algorithm, function, given = TASKS[2]
    with remembering(tables(crowded(second)), tmp_path, helpers=()) as federation:
        federation.run(algorithm, function, {**given, **BY})
        again = {**given, **BY, "id_column": "other"}
        if refused:
            with pytest.raises(errors.ThresholdError, match="organizations, id_column"):
                federation.run(algorithm, function, again)
        else:
            federation.run(algorithm, function, again)
