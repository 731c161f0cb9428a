"""Questions that are attacks: products of codes, gains, conditions around a person, and noisy answers that depend on data in other ways."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation import errors

PEOPLE = 200


def run(frames, function, **arguments):
    return run_mocked("scalar_product", function, [*frames, NO_DATA], **{"id_column": "id", **arguments})


def flags(first, second, low=0.0, high=1.0, people=PEOPLE):
    """Two stations; `first` and `second` are the records (places) in which a column has its high value."""
    one, other = np.full(people, low), np.full(people, low)
    one[list(first)], other[list(second)] = high, high
    income = np.round(np.random.default_rng(1).lognormal(8, 0.4, people), 2)
    ids = [f"p{number:03d}" for number in range(people)]
    return [pd.DataFrame({"id": ids, "a": one}), pd.DataFrame({"id": ids, "b": other, "income": income})]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 3.0), (1.0, 2.0), (0.0, -1.0)])
@pytest.mark.parametrize(
    ("first", "second"),
    [(range(12), range(11, 30)), (range(12), range(12, 30)), (range(2, PEOPLE), range(PEOPLE - 3))],
    ids=["one in both", "none in both", "all but a few in both"],
)
def test_a_product_of_codes_is_guarded_as_the_count_that_it_is(first, second, low, high):
    with pytest.raises(errors.ThresholdError):
        run(flags(first, second, low, high), "scalar_product", columns=["a", "b"])


def test_a_sum_over_a_group_of_few_or_of_nearly_all_is_refused():
    for first in (range(4), range(4, PEOPLE)):
        with pytest.raises(errors.ThresholdError):
            run(flags(first, range(50)), "scalar_product", columns=["a", "income"])
    frames = flags(range(60), range(50))
    frames[1]["income"] = np.where(np.arange(PEOPLE) < 58, 0.0, frames[1]["income"])
    with pytest.raises(errors.ThresholdError, match="answer or its complement"):
        run(frames, "scalar_product", columns=["a", "income"])


def test_one_record_that_stands_out_is_not_told():
    frames = flags(range(60), range(50))
    for odd in (1e9, 3.0):
        frames[0]["a"] = np.where(np.arange(PEOPLE) == 7, odd, 1.0)
        with pytest.raises(errors.ThresholdError, match="one value in nearly all records"):
            run(frames, "scalar_product", columns=["a", "income"])


def test_products_that_say_nothing_of_few_are_exact():
    frames = flags(range(60), range(30, 120))
    assert run(frames, "scalar_product", columns=["a", "b"])["scalar_product"] == pytest.approx(30.0, abs=1e-6)
    both = frames[0].merge(frames[1], on="id")
    found = run(frames, "scalar_product", columns=["a", "income"])
    assert found["scalar_product"] == pytest.approx(float((both.a * both.income).sum()), rel=1e-9)
    found = run(frames, "scalar_product", columns=["income"])
    assert found["scalar_product"] == pytest.approx(float(both.income.sum()), rel=1e-9)


def test_a_table_that_hides_most_of_its_counts_warns_with_what_would_help():
    domain = {"a": {"categories": [0, 1]}, "b": {"categories": [0, 1]}}
    few = run(flags(range(12), range(10, 40)), "contingency", columns=["a", "b"], domain=domain)
    assert few["diagnostics"]["hidden_cells"] > 0
    assert any("cells are hidden" in text and "fewer states or bins" in text for text in few["warnings"])
    many = run(flags(range(100), range(50, 150)), "contingency", columns=["a", "b"], domain=domain)
    assert not [text for text in many["warnings"] if "hidden" in text]


def test_a_gain_does_not_give_a_hidden_cell_back():
    """With both margins, which are questions of their own, one exact gain determines all four cells."""
    domain = {"a": {"categories": [0, 1]}, "b": {"categories": [0, 1]}}
    few = flags(range(12), range(10, 40))
    with pytest.raises(errors.ThresholdError, match="every table"):
        run(few, "information_gain", label="b", columns=["a"], domain=domain)
    few[0]["fine"] = np.arange(PEOPLE) % 2
    found = run(few, "information_gain", label="b", columns=["a", "fine"], domain=domain)
    assert found["information_gain"]["a"] is None
    assert found["information_gain"]["fine"] is not None
    assert any("no information gain for a:" in text for text in found["warnings"])


@pytest.mark.parametrize(
    "conditions",
    [
        [{"column": "age", "op": "==", "value": 44}, {"column": "zip", "op": "==", "value": 7}],
        [{"column": "age", "op": "between", "value": [44, 44]}, {"column": "zip", "op": "in", "value": [7]}],
        [{"column": "age", "op": "!=", "value": 44}],
        [{"column": "age", "op": "<", "value": 1e9}, {"column": "age", "op": ">=", "value": 99}],
    ],
)
@pytest.mark.parametrize("function", ["count"])
def test_conditions_around_a_person_are_refused_at_their_owner(function, conditions):
    age = np.r_[44, 99, np.arange(PEOPLE - 2) % 20 + 50]
    frames = flags(range(60), range(100))
    frames[0] = frames[0].assign(age=age, zip=np.arange(PEOPLE) % 10 + 7)
    others = [{"column": "b", "op": "==", "value": 1}]
    with pytest.raises(errors.ThresholdError, match="single out too few"):
        run(frames, function, conditions=[*conditions, *others])
    answered = run(frames, function, conditions=[*conditions, *others], epsilon=1.0)
    assert answered["privacy"]["neighbors"] == "replace_one"
    assert answered["privacy"]["sensitivity"] == "1"


def three(holding):
    """Three stations; `holding` has for each the records (places) in which its column is 1."""
    ids = [f"p{number:03d}" for number in range(PEOPLE)]
    columns = [np.isin(np.arange(PEOPLE), list(places)).astype(int) for places in holding]
    return [pd.DataFrame({"id": ids, name: column}) for name, column in zip("abc", columns, strict=False)]


@pytest.mark.few(5)
@pytest.mark.parametrize("protocol", ["masked_tables", "thesis"])
@pytest.mark.parametrize(
    "holding",
    [
        (range(60), range(57)),  # three of the sixty do not
        (range(60), range(60)),  # none
        (range(60), range(20, PEOPLE - 2)),  # of all others, two
        (range(100), range(100), range(97)),
        (range(100), range(3, 100), range(100)),
    ],
    ids=["three without", "none without", "two with neither", "three of three stations", "the second of three"],
)
def test_a_count_less_one_with_fewer_conditions_tells_of_no_few(holding, protocol):
    """Both are legal questions: the difference are the records for which one station's condition alone fails."""
    frames = three(holding)
    conditions = [{"column": name, "op": "==", "value": 1} for name in "abc"[: len(holding)]]
    for left in conditions[:2]:
        assert run(frames, "count", conditions=[left])["count"] >= 50
    with pytest.raises(errors.ThresholdError, match="less one with fewer of its conditions"):
        run(frames, "count", conditions=conditions, protocol=protocol)
    assert run(frames, "count", conditions=conditions, epsilon=1.0)["privacy"]["sensitivity"] == "1"


@pytest.mark.parametrize("second", [range(57), range(60), range(20, PEOPLE - 2)])
def test_a_product_of_codes_less_one_of_fewer_columns_tells_of_no_few(second):
    with pytest.raises(errors.ThresholdError, match="less one with fewer"):
        run(flags(range(60), second), "scalar_product", columns=["a", "b"])


@pytest.mark.parametrize("stations", [2, 3, 4, 5])
def test_counts_over_several_stations_are_right_and_all_cells_near_are_looked_at(stations):
    draw = np.random.default_rng(stations)
    held = draw.random((stations, PEOPLE)) < 0.7
    ids = [f"p{number:03d}" for number in range(PEOPLE)]
    frames = [pd.DataFrame({"id": ids, f"c{n}": column.astype(int)}) for n, column in enumerate(held)]
    conditions = [{"column": f"c{n}", "op": "==", "value": 1} for n in range(stations)]
    near = [int((held == row).all(axis=0).sum()) for row in ~near_rows(stations)]
    wanted = int(held.all(axis=0).sum())
    if min(near) >= 5:
        assert run(frames, "count", conditions=conditions)["count"] == wanted
    else:
        with pytest.raises(errors.ThresholdError, match="fewer of its conditions"):
            run(frames, "count", conditions=conditions)
    loud = run(frames, "count", conditions=conditions[:2], epsilon=100.0)
    assert loud["privacy"]["sensitivity"] == "3", "the answer and two with fewer conditions"


def near_rows(stations):
    """Rows of bool, shape (cells, stations, 1): where conditions fail in the cells that are guarded beside the answer."""
    places = [[place] for place in range(stations)] + [[0, 1]] * (stations == 2)
    return np.array([[[place in some] for place in range(stations)] for some in places])


def test_with_an_epsilon_states_are_public_and_nothing_is_refused_because_of_data():
    frames = flags(range(60), range(100))
    frames[0]["dx"] = np.where(np.arange(PEOPLE) % 2, "flu", "cold")
    domain = {"dx": {"categories": ["flu", "cold"]}, "b": {"categories": [0, 1]}}
    arguments = {"columns": ["dx", "b"], "epsilon": 5.0}
    with pytest.raises(errors.ArgumentError, match=r"public states.*dx, b"):
        run(frames, "contingency", **arguments)
    answers = []
    for odd in ("flu", "hiv", None, 3.5):
        frames[0].loc[7, "dx"] = odd
        answers.append(run(frames, "contingency", domain=domain, **arguments))
    axes = [[axis["labels"] for axis in answer["axes"]] for answer in answers]
    assert all(entry == [["flu", "cold", None], [0, 1, None]] for entry in axes)
    assert all(answer["warnings"] == answers[0]["warnings"] for answer in answers)
    assert answers[0]["privacy"]["sensitivity"] == "2"
    assert answers[0]["privacy"]["neighbors"] == "replace_one"


def test_erased_values_are_one_cell_of_every_table_and_the_answer_says_so():
    frames = flags(range(60), range(100))
    domain = {name: {"categories": [0, 1]} for name in "ab"}
    arguments = {"epsilon": 5.0, "domain": domain, "neighbors": "zero_out"}
    found = [run(frames, "contingency", columns=["a", "b"], **arguments)]
    found.append(run(frames, "information_gain", label="a", columns=["b"], **arguments))
    found.append(
        run(frames, "count", conditions=[{"column": "a", "op": "==", "value": 1}], epsilon=5.0, neighbors="zero_out")
    )
    for answer in found:
        assert answer["privacy"]["neighbors"] == "zero_out"
        assert answer["privacy"]["sensitivity"] == "1"
        assert "erasing the values of one record" in answer["privacy"]["composition"]


def test_with_an_epsilon_gaps_and_repeats_of_identifiers_are_not_told():
    frames = flags(range(60), range(100))
    frames[0].loc[3, "id"] = None
    frames[0].loc[4, "id"] = "p005"
    question = {"conditions": [{"column": "a", "op": "==", "value": 1}, {"column": "b", "op": "==", "value": 1}]}
    with pytest.raises(errors.DataProblem, match="rows"):
        run(frames, "count", **question)
    assert run(frames, "count", **question, epsilon=20.0)["records"] == PEOPLE - 2


def test_records_are_matched_or_said_to_be_aligned():
    frames = flags(range(60), range(30, 120))
    question = {"conditions": [{"column": "a", "op": "==", "value": 1}, {"column": "b", "op": "==", "value": 1}]}
    with pytest.raises(errors.ArgumentError, match=r"id_column.*rows_aligned"):
        run(frames, "count", **question, id_column=None)
    bare = [frame.drop(columns="id") for frame in frames]
    assert run(bare, "count", **question, id_column=None, rows_aligned=True)["count"] == 30
    with pytest.raises(errors.DataProblem, match="different numbers of rows"):
        run([bare[0], bare[1][:-1]], "count", **question, id_column=None, rows_aligned=True)


def test_a_helper_that_is_named_is_asked_beside_the_organizations():
    frames = flags(range(60), range(30, 120))
    question = {"conditions": [{"column": "a", "op": "==", "value": 1}, {"column": "b", "op": "==", "value": 1}]}
    assert run(frames, "count", **question, organizations=[1, 2], helper=3)["count"] == 30


def test_one_rule_for_leading_zeros_at_all_stations():
    """A spreadsheet that took them away at one station loses nobody; who has 007 and 7 repeats an identifier."""
    ids = [f"{number:05d}" for number in range(PEOPLE)]
    frames = [frame.assign(id=ids) for frame in flags(range(60), range(30, 120))]
    frames[1]["id"] = range(PEOPLE)
    question = {"conditions": [{"column": "a", "op": "==", "value": 1}, {"column": "b", "op": "==", "value": 1}]}
    found = run(frames, "count", **question)
    assert (found["count"], found["records"]) == (30, PEOPLE)
    frames[0].loc[8, "id"] = "7"
    with pytest.raises(errors.DataProblem, match="repeat an identifier"):
        run(frames, "count", **question)


def test_an_empty_state_for_missing_values_hides_no_cell():
    draw = np.random.default_rng(2)
    frames = flags(range(60), range(30, 120))
    frames[0]["x"], frames[1]["y"] = draw.integers(0, 2, PEOPLE), draw.integers(0, 2, PEOPLE)
    domain = {name: {"categories": [0, 1]} for name in "xy"}
    found = run(frames, "contingency", columns=["x", "y"], domain=domain)
    assert found["diagnostics"]["hidden_cells"] == 0
    both = frames[0].merge(frames[1], on="id")
    assert np.array(found["counts"])[:2, :2].tolist() == pd.crosstab(both.x, both.y).to_numpy().tolist()


@pytest.mark.parametrize("epsilon", [21.0, 1000.0])
def test_noise_that_hides_nobody_stands_in_for_no_guard(epsilon):
    """An epsilon above what may be called private is next to no noise: who is singled out, and what is few, is guarded like an exact answer."""
    frames = flags(range(60), range(30, 120))
    test = {"column": "a", "op": "==", "value": 1}
    of_one = {"column": "income", "op": ">=", "value": float(frames[1]["income"].max())}
    of_name = {"column": "income", "op": "==", "value": float(frames[1]["income"][7])}
    for narrow in (of_one, of_name):
        with pytest.raises((errors.ThresholdError, errors.PolicyError)):
            run(frames, "count", conditions=[test, narrow], epsilon=epsilon)
        run(frames, "count", conditions=[test, narrow], epsilon=1.0)
    few = flags(range(12), range(11, 30))
    both = [test, {"column": "b", "op": "==", "value": 1}]
    with pytest.raises(errors.ThresholdError, match="answer or its complement"):
        run(few, "count", conditions=both, epsilon=epsilon)
    domain = {"a": {"categories": [0, 1]}, "b": {"categories": [0, 1]}}
    told = run(few, "contingency", columns=["a", "b"], domain=domain, epsilon=epsilon)
    assert any(cell is None for row in told["counts"] for cell in row)
    assert told["privacy"]["differentially_private"] is False
    cut = {"income": [float(np.sort(frames[1]["income"])[1])]}
    with pytest.raises(errors.ThresholdError):
        run(frames, "contingency", columns=["a", "income"], domain={"a": domain["a"]}, bins=cut, epsilon=epsilon)


def test_a_recode_that_names_people_gives_exact_answers_by_the_administrators_leave_only(monkeypatch):
    """Two groups of the caller's choice that differ by one name would tell that person's value."""
    frames = flags(range(60), range(30, 120))
    frames[1]["name"] = [f"name {number}" for number in range(PEOPLE)]
    conditions = [{"column": "a", "op": "==", "value": 1}, {"column": "name", "op": "==", "value": "mine"}]
    recode = {f"name {number}": "mine" if 10 <= number < 110 else "others" for number in range(PEOPLE)}
    study = {"columns": {"name": {"type": "category", "categories": ["mine", "others"], "recode": recode}}}
    for function, asked in (("count", {"conditions": conditions}), ("contingency", {"columns": ["a", "name"]})):
        with pytest.raises(errors.PolicyError, match="recode of many values"):
            run(frames, function, dictionary=study, **asked)
    assert run(frames, "count", conditions=conditions, dictionary=study, epsilon=1.0)["count"] > 0
    monkeypatch.setenv("FEDBAYES_ALLOW_FORMULAS", "true")
    assert run(frames, "count", conditions=conditions, dictionary=study)["count"] == 50


def test_a_recode_of_groups_is_no_choice_of_people():
    frames = flags(range(60), range(30, 120))
    frames[1]["town"] = [f"town {number % 12}" for number in range(PEOPLE)]
    recode = {f"town {number}": "north" if number < 6 else "south" for number in range(12)}
    study = {"columns": {"town": {"type": "category", "categories": ["north", "south"], "recode": recode}}}
    assert run(frames, "contingency", columns=["a", "town"], dictionary=study)["counts"]
