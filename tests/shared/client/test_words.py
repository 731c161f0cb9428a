"""What people read of an answer: whole words, numbers without powers of ten, nothing twice, nothing empty."""

import json

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.values.written import interval
from fedbayes.client.figures.style import along, new_figure
from fedbayes.client.formats import cost, number, plain_items, word
from fedbayes.client.kinds import ConversionError
from fedbayes.client.models import weighted
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result
from fedbayes.client.text import model as text
from fedbayes.client.text.description import holds
from fedbayes.client.views.counts import pieces
from fedbayes.client.views.cox import _profiles

WEIGHTED = {
    "format": "fedbayes-weighted-naive-bayes-1",
    "label": "ill",
    "domain": {
        "sex": {"categories": ["f", "m"]},
        "age": {"bounds": [0, 100]},
        "crp": {"bounds": [0, 50]},
        "ill": {"categories": ["no", "yes"]},
    },
    "bins": {"age": 2, "crp": [5]},
    "structure": "naive",
    "weighting": "value",
    "continuous": "binned",
    "tables_at": "dp",
    "weights": [1.0, 1.0, *[1.0, 2.0] * 6],
    "tables": {
        "base": [-0.7, -0.7],
        "single": np.log([[0.5, 0.5], [0.5, 0.5], [0.8, 0.1], [0.2, 0.9], [0.4, 0.5], [0.6, 0.5]]).tolist(),
    },
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1159.4, "1,159"),
        (-10321.7, "-10,322"),
        (0.00036, "0.00036"),
        (12.3456, "12.35"),
        (2e15, "2e+15"),
        (5.0, "5"),
        (2000.0, "2,000"),
    ],
)
def test_numbers_have_no_powers_of_ten_where_people_count(value, text):
    assert number(value) == text


def test_entries_that_say_nothing_are_left_out():
    assert plain_items({"em": None, "format": "x/1", "records": 5}) == {"Records": "5"}
    assert (word("chi_squared"), word("p_value"), word("blood_group")) == ("Chi-squared", "p", "blood_group")
    assert cost({"rounds": 0, "bytes": 0, "seconds": 0.1, "organizations": []}) == "no organization was asked"


def test_quantiles_in_bins_too_wide_for_them_are_told_as_the_bins():
    bins = {"edges": [0, 50, 100], "counts": [95, 5]}
    told = {"records": 100, "bins": bins, "quantiles": {"0.25": 13.0, "0.5": 26.0, "0.75": 39.0}}
    assert holds(told) == "half of them or more in 0 to 50; finer bins tell more"
    told["quantiles"]["0.75"] = 61.0
    assert holds(told) == "median in 0 to 50, quartiles in 0 to 50 and in 50 to 100"
    told["bins"]["edges"] = [0, 20, 40, 80]
    assert holds(told) == "median 26, quartiles 13 to 61"
    assert holds({"records": 10, "categories": {"values": ["1", "2"], "counts": [4, 6]}}) == "2: 60.0%, 1: 40.0%"


def test_bins_too_narrow_to_be_seen_stand_side_by_side():
    axes = new_figure(3, 2).add_subplot()
    assert along(axes, [0, 1, 2, 22]).tolist() == [0, 1, 2, 22]
    assert along(axes, [0, 1, 4, 500]).tolist() == [0, 1, 2, 3]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1", "4", "500"]


def test_a_category_is_there_or_not():
    assert _profiles([{"feature": "stage=II", "coefficient": 0.01}]) == {"stage=II": 0.01}


def test_bins_have_the_digits_of_their_edges():
    assert interval(26.2, 30.299999999999997) == "[26.2, 30.3)"
    assert interval(1_000_000.25, 1_000_000.5) == "[1000000.25, 1000000.5)"


def test_a_weighted_model_is_a_table_of_its_values():
    frame = Result({"model": WEIGHTED}).to_frame()
    assert frame["value"].tolist() == ["f", "m", "[0, 50)", "[50, 100)", "[0, 5)", "[5, 50)"]
    assert frame["P(value | no)"].tolist() == pytest.approx([0.5, 0.5, 0.8, 0.2, 0.4, 0.6])
    assert frame["weight | yes"].tolist() == [2.0] * 6
    found = weighted.effects(WEIGHTED)
    assert next(iter(found)) == "age"
    # Of age the part is x = (log P(v | no) - 2 log P(v | yes)) / 2, of values as likely as (.8 + .1) / 2 and (.2 + .9) / 2.
    low, high = 0.5 * (np.log(0.8) - 2 * np.log(0.1)), 0.5 * (np.log(0.2) - 2 * np.log(0.9))
    assert found["age"] == pytest.approx(abs(low - high) * np.sqrt(0.45 * 0.55))
    assert "moves the odds" in render({"model": WEIGHTED, "privacy": {}}, "title")
    assert Result({"model": {**WEIGHTED, "structure": "a1de"}}).to_frame().index.name == "name"


def test_weighted_models_and_ensembles_are_drawn():
    (axes,) = Result({"model": WEIGHTED}).plot().axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(weighted.effects(WEIGHTED))
    with pytest.raises(ConversionError, match="A1DE"):
        Result({"model": {**WEIGHTED, "structure": "a1de"}}).plot()
    nodes = {"ill": {"states": ["no", "yes"]}, "sex": {"states": ["f", "m"]}}
    tables = {"ill": {"parents": [], "probabilities": [0.5, 0.5]}, "sex": {"parents": [], "probabilities": [0.5, 0.5]}}
    network = {"nodes": nodes, "edges": [["ill", "sex"]], "tables": tables}
    members = [{"name": "north", "network": network}, {"name": "south", "network": {**network, "edges": []}}]
    drawn = Result({"model": {"label": "ill", "members": members}}).plot().axes
    assert [axes.get_title(loc="left") for axes in drawn] == ["north", "south"]
    assert [len(axes.patches) for axes in drawn] == [1, 0]
    secret = [{"name": "north", "network": None}]
    with pytest.raises(ConversionError, match="stay at their stations"):
        Result({"model": {"label": "ill", "members": secret}}).plot()


def test_an_answer_is_printed_once(command, tmp_path):
    gain = {"information_gain": {"a": 0.1, "b": 0.2}, "null_level": {"a": 0.01, "b": 0.02}}
    (tmp_path / "g.json").write_text(json.dumps({"model": {"label": "y", **gain}, **gain}))
    code, out, _ = command("show", "g.json", "--export", "g.csv")
    assert code == 0
    assert out.count("0.02") == 1
    assert "chance reaches" in out
    assert pd.read_csv(tmp_path / "g.csv")["null_level"].tolist() == [0.01, 0.02]
    (axes,) = Result(model={"label": "t", **gain}).plot().axes
    assert [line.get_segments()[0][0][0] for line in axes.collections] == [
        0.02,
        0.01,
    ]  # beside their bars, the largest first
    assert "chance" in axes.get_xlabel()
    (tmp_path / "c.json").write_text(
        json.dumps({"model": {"count": 124, "records": 1426}, "count": 124, "records": 1426})
    )
    assert command("show", "c.json")[1].count("124") == 1
    table = {
        "axes": [{"column": "a", "labels": ["x", None]}, {"column": "b", "labels": ["y", "z"]}],
        "counts": [[5, None], [7, 8]],
    }
    test = {"association": {"chi_squared": 15.85, "p_value": 0.004, "odds_ratio": None}}
    (tmp_path / "t.json").write_text(json.dumps({"model": {**table, **test}, **table, **test}))
    out = command("show", "t.json", "--export", "t.csv")[1]
    assert "Chi-squared" in out
    assert "odds" not in out.lower()
    assert (tmp_path / "t.csv").read_text().splitlines()[1:3] == ["x,y,5", "x,z,"]


def test_a_figure_is_not_of_a_table_that_is_hidden_as_a_whole() -> None:
    calibration = {"confidence": [0.2, 0.8], "accuracy": [0.25, 0.7], "count": [20, 20], "error": 0.1}
    scores = {"accuracy": 0.7, "calibration": calibration, "classes": ["no", "yes"]}
    hidden, known = [[None, None], [None, None]], [[12, None], [None, 20]]
    for confusion, kind in ((hidden, "predicted probability"), (known, "predicted")):
        assert Result({**scores, "confusion": confusion}).plot().axes[0].get_xlabel() == kind
    assert Result({"classes": ["no", "yes"], "confusion": hidden}).plot().axes


def test_people_read_no_line_of_missing_that_is_zero_throughout() -> None:
    axes = [{"column": "a", "labels": ["x", "y", None]}, {"column": "b", "labels": ["no", "missing", None]}]
    told = Result(model={"axes": axes, "counts": [[1, 0, 0], [7, 0, None], [0, 0, 0]]})
    cells = [("x", "no", 1), ("x", "missing", 0), ("x", "missing", 0), ("y", "no", 7), ("y", "missing", 0)]
    frame = told.to_frame()
    assert (
        list(frame.itertuples(index=False, name=None))[:-1] == cells
    )  # what may be above 0, and the study's own word, stay
    assert frame["count"].isna().tolist() == [False] * 5 + [True]
    assert [row[:2] for row in text.counts(told["model"])[1:]] == [(a, b) for a, b, _ in cells] + [("y", "missing")]
    assert len(told.plot().axes[0].get_yticklabels()) == 2
    assert pieces(told["model"])[-1].count("<tr>") == 7
    assert told.counts.values_along[0] == ["x", "y", "missing"]
    assert told.counts.counts == [[1, 0, 0], [7, 0, None], [0, 0, 0]]
