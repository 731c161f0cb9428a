"""Columns that a dictionary cuts from a number are bins and ranges of it by another name: exact answers are held against each other alike."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked
from party_kit import remembering

from fedbayes.bayes.dictionaries.entry import Cut
from fedbayes.bayes.schema import LARGEST_BOUND
from fedbayes.federation.answered.cut_columns import in_numbers, sets_few_between
from fedbayes.federation.answered.readings import NO_NUMBER
from fedbayes.federation.errors import ThresholdError

ROWS = 120
REFUSED = "would set apart"
AGE = Cut("age", (30.0, 60.0), ("young", "middle", "old"))


@pytest.mark.parametrize(
    ("operator", "value", "told"),
    [
        ("==", "young", [("<", 30.0)]),
        ("==", "middle", [(">=", 30.0), ("<", 60.0)]),
        ("!=", "young", [(">=", 30.0)]),
        ("in", ["middle", "young"], [("<", 60.0)]),
        ("in", ["young", "middle", "old"], [(">=", -LARGEST_BOUND)]),
        ("missing", None, [(NO_NUMBER, None)]),
    ],
)
def test_a_condition_on_categories_in_numbers(operator, value, told):
    other = ("sex", "==", "f")
    found = in_numbers([("group", operator, value), other], {"group": AGE})
    assert found == [*(("age", *words) for words in told), other]


@pytest.mark.parametrize(("operator", "value"), [("!=", "middle"), ("in", ["young", "old"]), ("==", "none such")])
def test_categories_that_are_apart_are_not_asked_together(operator, value):
    with pytest.raises(ThresholdError, match="beside one another"):
        in_numbers([("group", operator, value)], {"group": AGE})


def frames():
    ids = [f"p{row:03d}" for row in range(ROWS)]
    draw = np.random.default_rng(4)
    a = pd.DataFrame({"id": ids, "age": np.arange(20, 20 + ROWS), "sex": draw.choice(["m", "f"], ROWS)})
    return a, pd.DataFrame({"id": ids, "ill": draw.choice(["no", "yes"], ROWS)})


@pytest.fixture
def nodes(tmp_path):
    """Two stations, one's with all but the diagnosis, that remember what they answered exactly, or do not."""

    def made(allow_differences=False, parties=None):
        tables = dict(zip("ab", parties or frames(), strict=True))
        return remembering(tables, tmp_path, allow_differences=allow_differences)

    return made


def study(name, point):
    cut = {"type": "category", "categories": ["below", "above"], "cut": {"column": "age", "at": [point]}}
    return {"columns": {name: cut, "ill": {"type": "category", "categories": ["no", "yes"]}}}


def below(name):
    return [{"column": name, "op": "==", "value": "below"}, {"column": "ill", "op": "==", "value": "yes"}]


QUESTIONS = [
    ("scalar_product", "count", lambda name: {"conditions": below(name)}),
    ("scalar_product", "contingency", lambda name: {"columns": [name, "ill"]}),
    ("vertibayes", "fit", lambda name: {"columns": [name, "ill"], "structure": [[name, "ill"]]}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("algorithm", "function", "arguments"), QUESTIONS, ids=lambda one: str(one)[:20])
@pytest.mark.parametrize("other", ["group", "renamed"])
def test_two_cuts_that_one_row_lies_between(nodes, algorithm, function, arguments, other):
    """Each answer is about many; the difference is one person's value at another station, whatever the columns are called."""

    def asked(federation, name, point, **more):
        given = {"id_column": "id", "dictionary": study(name, point), **arguments(name), **more}
        return federation.run(algorithm, function, given)

    for allowed in (False, True):
        with nodes(allowed) as federation:
            asked(federation, "group", 80)
            asked(federation, other, 100)
            if allowed:
                asked(federation, other, 81)
                continue
            with pytest.raises(ThresholdError, match=REFUSED):
                asked(federation, other, 81)
            asked(federation, other, 80)


def test_a_cut_and_a_range_that_one_row_lies_between(nodes):
    with nodes() as federation:
        cut = {"conditions": below("group"), "id_column": "id"}
        federation.run("scalar_product", "count", {**cut, "dictionary": study("group", 80)})
        tests = [{"column": "age", "op": "<", "value": 81}, below("group")[1]]
        with pytest.raises(ThresholdError, match=REFUSED):
            federation.run("scalar_product", "count", {"conditions": tests, "id_column": "id"})
        federation.run("scalar_product", "count", {**cut, "dictionary": study("group", 81), "epsilon": 1.0})


def test_a_further_condition_on_a_cut_column_that_one_row_fails(nodes):
    """The men of a group, and all men but one: of several columns, so that only the rows of the counts tell."""
    a, b = frames()
    a["sex"] = np.where(a["age"] >= 80, "f", "m")
    a.loc[a["age"] == 90, "sex"] = "m"
    man = {"column": "sex", "op": "==", "value": "m"}
    with nodes(parties=(a, b)) as federation:
        federation.run("scalar_product", "count", {"conditions": [man, below("group")[1]], "id_column": "id"})
        asked = {"conditions": [man, *below("group")], "dictionary": study("group", 80), "id_column": "id"}
        with pytest.raises(ThresholdError, match=REFUSED):
            federation.run("scalar_product", "count", asked)


def test_a_text_among_numbers_is_missing_in_a_cut_column_alone(nodes):
    """Of both counts of who has no number the one by the cut column has that person more."""
    a, b = frames()
    a["age"] = a["age"].astype(object).where(np.arange(ROWS) >= 30, None)
    a.loc[17, "age"], b.loc[17, "ill"] = "old", "yes"
    ill = {"column": "ill", "op": "==", "value": "yes"}

    def asked(federation, column, **more):
        tests = [{"column": column, "op": "missing"}, ill]
        return federation.run("scalar_product", "count", {"conditions": tests, "id_column": "id", **more})["count"]

    with nodes(parties=(a, b), allow_differences=True) as federation:
        first = asked(federation, "age")
        assert asked(federation, "group", dictionary=study("group", 80)) == first + 1, "a control"
    with nodes(parties=(a, b)) as federation:
        assert asked(federation, "age") == first
        with pytest.raises(ThresholdError, match=REFUSED):
            asked(federation, "group", dictionary=study("group", 80))


@pytest.mark.parametrize(("algorithm", "function", "arguments"), QUESTIONS[:2], ids=lambda one: str(one)[:20])
def test_a_node_that_remembers_nothing_answers_no_cuts(monkeypatch, algorithm, function, arguments):
    monkeypatch.delenv("FEDBAYES_ALLOW_DIFFERENCES")
    given = {**arguments("group"), "id_column": "id", "dictionary": study("group", 80)}
    with pytest.raises(ThresholdError, match="no folder database"):
        run_mocked(algorithm, function, [*frames(), NO_DATA], **given)
    private = run_mocked(algorithm, function, [*frames(), NO_DATA], **given, epsilon=1.0)
    assert private["privacy"]["differentially_private"]


ALONE = [
    ("scalar_product", "contingency", {"columns": ["group", "ill"]}),
    ("vertibayes", "fit", {"columns": ["group", "ill"], "structure": [["group", "ill"]]}),
    ("bayesian_ensemble", "fit", {"label": "ill", "features": ["group"]}),
]


@pytest.mark.parametrize(("algorithm", "function", "arguments"), ALONE, ids=lambda one: str(one)[:20])
def test_a_cut_beside_one_person_is_refused_by_the_owner(nodes, algorithm, function, arguments):
    with nodes() as federation:
        asked = {"id_column": "id", **arguments}
        for point in (20.5, 139):
            with pytest.raises(ThresholdError, match="dictionary: the cut points of column 'group'"):
                federation.run(algorithm, function, {**asked, "dictionary": study("group", point)})
            if algorithm != "bayesian_ensemble":
                federation.run(algorithm, function, {**asked, "dictionary": study("group", point), "epsilon": 1.0})
        federation.run(algorithm, function, {**asked, "dictionary": study("group", 80)})


BETWEEN = "cuts one number at points between which"


def twice(first, second):
    one = {"type": "category", "categories": ["below", "above"]}
    cuts = {name: {**one, "cut": {"column": "age", "at": [point]}} for name, point in (("g1", first), ("g2", second))}
    return {"columns": {**cuts, "ill": {"type": "category", "categories": ["no", "yes"]}}}


LINKED = [
    ("vertibayes", "fit", {"columns": ["g1", "g2", "ill"], "structure": [["g1", "ill"], ["ill", "g2"]]}),
    ("scalar_product", "information_gain", {"label": "ill", "columns": ["g1", "g2"]}),
    ("bayesian_ensemble", "fit", {"label": "ill", "features": ["g1", "g2"]}),
]


@pytest.mark.parametrize(("algorithm", "function", "arguments"), LINKED, ids=lambda one: str(one)[:20])
def test_two_cuts_of_one_task_that_one_row_lies_between(nodes, algorithm, function, arguments):
    """Each of its tables is about many; the difference of two is one person's value at another station."""
    with nodes() as federation:
        asked = {"id_column": "id", **arguments}
        with pytest.raises(ThresholdError, match=BETWEEN):
            federation.run(algorithm, function, {**asked, "dictionary": twice(80, 81)})
        federation.run(algorithm, function, {**asked, "dictionary": twice(60, 100)})


def whole(folder):
    """Return three stations of whole records that remember what they answered."""
    draw = np.random.default_rng(1)
    tables = {}
    for shift, name in enumerate("abc"):
        ages = np.arange(20, 20 + ROWS) + shift / 10
        tables[name] = pd.DataFrame({"age": ages, "ill": draw.choice(["no", "yes"], ROWS)})
    return remembering(tables, folder, helpers=())


NETWORK = {"split": "horizontal", "structure": [["g1", "ill"]]}
WHOLE = [
    ("vertibayes", {"columns": ["g1", "g2", "ill"], **NETWORK}),
    ("vertibayes", {"columns": ["g1", "age", "ill"], "bins": {"age": [81.0]}, **NETWORK}),
    ("bayesian_ensemble", {"label": "ill", "features": ["g1", "g2"], "split": "horizontal"}),
    ("bayesian_ensemble", {"label": "ill", "features": ["g1", "age"], "bins": {"age": [81.0]}, "split": "horizontal"}),
    ("dp_naive_bayes", {"label": "ill", "features": ["g1", "g2"], "noise": "none"}),
]


@pytest.mark.parametrize(("algorithm", "arguments"), WHOLE, ids=lambda one: str(one)[:40])
def test_whole_records_too(tmp_path, algorithm, arguments):
    study = twice(80, 81)
    study["columns"]["age"] = {"type": "number", "bounds": [0, 200]}
    with whole(tmp_path) as federation:
        with pytest.raises(ThresholdError, match=BETWEEN):
            federation.run(algorithm, "fit", {**arguments, "dictionary": study})
        far = twice(120, 121) if "age" in str(arguments.get("features", arguments.get("columns"))) else twice(60, 100)
        far["columns"]["age"] = study["columns"]["age"]
        federation.run(algorithm, "fit", {**arguments, "dictionary": far})
        if algorithm != "bayesian_ensemble":
            noise = {"noise": "distributed"} if algorithm == "dp_naive_bayes" else {}
            federation.run(algorithm, "fit", {**arguments, **noise, "dictionary": study, "epsilon": 1.0})


def test_cuts_one_within_the_other_are_held_alone():
    """A group that stands by itself in one column is nothing that two columns tell together."""
    coarse, fine = np.repeat([0, 1], [50, 50]), np.repeat([0, 1, 2], [50, 2, 48])
    rows = np.ones(100, dtype=np.int64)
    assert not sets_few_between([coarse, fine], rows, 5)
    assert sets_few_between([coarse, np.repeat([0, 1], [52, 48])], rows, 5)
    assert not sets_few_between([coarse, np.repeat([0, 1], [55, 45])], rows, 5)
