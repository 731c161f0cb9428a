"""The question of a report: its dictionary, its domain and names of columns."""

import re
from html import unescape

import pytest

from fedbayes.client.exits import UsageProblem
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result

BARE = {"model": {"something": 1}, "privacy": {}, "federation": {}, "diagnostics": {}, "warnings": []}


def test_a_report_shows_the_dictionary_as_one_table_and_names_of_columns_as_they_are():
    study = {
        "missing": [""],
        "columns": {
            "age": {"type": "integer", "bounds": [18, 95], "unit": "years", "bins": [40, 65]},
            "sex": {
                "type": "category",
                "categories": {"F": "female", "M": "male"},
                "reference": "F",
                "label": "Sex at birth",
            },
        },
        "subset": "age >= 18",
    }
    arguments = {"dictionary": study, "domain": {"smoker": {"categories": [0, 1]}}, "records": [{"bmi": 20.5}]}
    content = {
        **BARE,
        "provenance": {"algorithm": "a", "function": "fit", "arguments": arguments},
        "diagnostics": {"columns": {"lab": ["bmi"], "clinic": ["age"]}},
    }
    page = render(content, "A study")
    text = re.sub(r"(<[^>]*>|\s)+", " ", unescape(page))
    assert "age integer 18 to 95 years Bins: 40, 65 " in text
    assert "sex (Sex at birth) category F = female, M = male Reference: F " in text
    assert 'Missing "" Subset age >= 18 ' in text
    assert "smoker 0, 1 " in text
    assert "lab: bmi. clinic: age. " in text
    assert " bmi 20.5 " in text


@pytest.mark.parametrize("content", ["s.yaml", 3, [1], {"columns": []}, {"columns": {"x": 1}}, {"columns": {"x": {}}}])
def test_a_report_survives_a_malformed_dictionary(content):
    provenance = {"algorithm": "a", "function": "fit", "arguments": {"dictionary": content, "domain": content}}
    page = render({**BARE, "provenance": provenance}, "Malformed")
    assert "Question" in page


def test_a_report_is_a_page_and_ends_as_one(tmp_path):
    assert Result(BARE).report(tmp_path / "r.html").read_text().startswith("<!doctype html>")
    for name in ("r.pdf", "r", "none/r.html"):
        with pytest.raises(UsageProblem, match=r"report\(\)"):
            Result(BARE).report(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_a_long_table_on_the_terminal_says_where_all_of_it_is():
    axes = [{"column": "a", "labels": list(range(60))}]
    text = Result({**BARE, "model": {"axes": axes, "counts": list(range(60))}}).summary()
    assert "... and 21 more; --export FILE.csv writes the answer as a table" in text
