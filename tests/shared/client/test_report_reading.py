"""A report as somebody reads it who sees the first one: titles, headings, words for codes, figures for lists."""

import re
from html import unescape

import pytest

from fedbayes.client import html
from fedbayes.client.figures.cox import _told as told_ratio
from fedbayes.client.formats import clock, counted
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result
from fedbayes.client.text.heading import heading_of

COUNTS = {"axes": {"sex": ["f", "m"], "age": ["young", "old"]}, "counts": [[12, 8], [7, 9]]}
SAMPLE = {"records": {"a": ["x", "y"]}}
GAIN = {"label": "ill", "information_gain": {"age": 0.2}, "null_level": {"age": 0.1}}
DESCRIBED = {"format": "fedbayes.description/1", "columns": {}}
PREDICTED = {"predicted": ["x"], "probabilities": [[0.8, 0.2]], "states": ["x", "y"]}


def text_of(**content):
    page = render({"privacy": {}, "federation": {}, "diagnostics": {}, "warnings": [], "model": {}, **content}, "R")
    return re.sub(r"(<[^>]*>|\s)+", " ", unescape(page.partition("<body>")[2]))


@pytest.mark.parametrize(
    ("function", "arguments", "title"),
    [
        ("contingency", {"columns": ["sex", "age"]}, "Contingency table of sex by age with m, 2026-05-01"),
        ("scalar_product", {"columns": ["age", "days"]}, "Scalar product of age and days with m, 2026-05-01"),
        ("information_gain", {"columns": ["age"], "label": "ill"}, "Information gain about ill with m, 2026-05-01"),
        ("sample", {"model": {"label": "ill"}}, "Synthetic records with m, 2026-05-01"),
        ("evaluate", {"model": {"label": "ill"}}, "Evaluation of ill with m, 2026-05-01"),
        ("count", {}, "Count with m, 2026-05-01"),
        (
            "count",
            {
                "conditions": [
                    {"column": "age", "op": ">=", "value": 65},
                    {"column": "stage", "op": "in", "value": ["1", "2"]},
                    {"column": "crp", "op": "missing"},
                ]
            },
            "Count of age >= 65 and stage in ['1', '2'] and crp missing with m, 2026-05-01",
        ),
        ("count", {"conditions": ["a"] * 7}, "Count of a and a and a and a and a and 2 more with m, 2026-05-01"),
    ],
)
def test_a_title_says_what_was_done_and_about_what(function, arguments, title):
    provenance = {"algorithm": "m", "function": function, "arguments": arguments, "date": "2026-05-01T10:00:00+00:00"}
    assert heading_of({"provenance": provenance}) == title


@pytest.mark.parametrize(
    ("model", "heading"),
    [
        (COUNTS, "Counts"),
        (SAMPLE, "Synthetic records"),
        (GAIN, "Information"),
        (DESCRIBED, "Columns"),
        (PREDICTED, "Predictions"),
    ],
)
def test_what_is_no_model_is_not_called_one(model, heading):
    page = render({"model": model}, "R")
    assert f"<h2>{heading}</h2>" in page
    assert "<h2>Model</h2>" not in page


def test_codes_are_told_in_words_and_times_as_people_write_them():
    promise = {"differentially_private": True, "epsilon": 1.0, "unit": "record", "neighbors": "zero_out"}
    text = text_of(
        privacy=promise,
        provenance={"algorithm": "m", "function": "fit", "date": "2026-11-27T15:56:15+00:00", "parties": []},
    )
    assert "Neighbors erasing the values of one record" in text
    assert "zero_out" not in text.split("The whole result")[0]
    assert "Date 2026-11-27 15:56 UTC" in text
    assert "Parties" not in text  # nobody was asked: no empty row
    assert [clock(None), clock("soon"), clock("2026-11-27T15:56:15.25Z")] == ["–", "soon", "2026-11-27 15:56 UTC"]
    assert [counted(1, "edge"), counted(0, "edge"), counted(1200, "node")] == ["1 edge", "0 edges", "1,200 nodes"]


def test_no_cards_of_a_cost_that_there_was_not():
    none = render({"model": SAMPLE, "federation": {"rounds": 0, "bytes": 0, "seconds": 0.1}}, "R")
    assert 'class="cards"' not in none
    assert 'class="cards"' in render({"model": SAMPLE, "federation": {"rounds": 2, "bytes": 9}}, "R")


def test_diagnostics_are_tables_and_figures():
    noise = {"age": {"ill": 0.02, "well": 0.125}, "bmi": {"ill": 0.03, "well": 0.25}}
    diagnostics = {"noise_of_means": noise, "missing_share": {"age": 0.00874}, "objective": [0.7, 0.6, 0.55]}
    page = render({"model": {}, "diagnostics": diagnostics}, "R")
    text = re.sub(r"(<[^>]*>|\s)+", " ", unescape(page.partition("<h2>Diagnostics</h2>")[2]))
    assert "Noise of means ill well age 0.02 0.125 bmi 0.03 0.25 " in text
    assert "Missing share Name Value age 0.9% " in text
    assert "Objective, step by step: from 0.7 to 0.55." in text
    assert "<details" not in page.partition("<h2>Diagnostics</h2>")[2].partition("<h2>")[0]


def test_fields_whose_names_say_too_little_are_told_in_words_on_the_terminal_and_on_the_page():
    membership = {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"1": 2, "2": 2}}
    diagnostics = {"class_noise": 7.4, "accuracy_noise": 0.01, "encryption": {"modulus_bits": 3072}}
    answer = {"membership": membership, "diagnostics": diagnostics}
    told, page = Result(answer).summary(), text_of(**answer).partition("The whole result")[0]
    for words in (
        "Times that stations joined or left",
        "Noise deviation of a class's rows",
        "Noise deviation of the accuracy",
    ):
        assert words in told
        assert words in page
    assert "Number by which each organization sizes its noise" in page
    assert "Modulus bits" in page
    for code in ("epoch", "Class noise", "modulus_bits"):
        assert code not in told + page


def test_a_column_keeps_its_name_where_a_field_of_ours_has_it():
    gain = Result({"model": None, "gains": {"epoch": 0.1, "uses": 0.2}})
    assert "epoch" in gain.summary()


def test_a_dash_is_explained_where_there_is_one():
    assert "hidden cell" not in render({"model": COUNTS}, "R")
    assert "a dash is a hidden cell" in render({"model": {**COUNTS, "counts": [[12, 8], [7, None]]}}, "R")


def test_a_narrow_interval_has_a_third_decimal():
    assert told_ratio(1.0067, 1.0056, 1.0079) == "1.007 (1.006 to 1.008)"
    assert told_ratio(2.978, 2.428, 3.653) == "2.98 (2.43 to 3.65)"


def test_long_sentences_in_several_columns_stand_as_paragraphs_on_a_narrow_screen():
    prose = html.table("", ("Role", "Who", "Received"), [("Central", "north", "y " * 60)])
    assert '<table class="prose">' in prose
    assert '<td data-head="Who">north</td>' in prose
    assert "prose" not in html.table("", ("Role", "Received"), [("Central", "y " * 60)])
    assert "prose" not in html.table("", ("A", "B", "C"), [("short", "short", "short")])


def test_more_columns_than_a_narrow_screen_holds_stand_as_paragraphs():
    measures = ("Class", "Records", "Sensitivity", "Specificity", "Positive predictive value", "F1")
    row = ("ill", 407, "0.747", "0.773", "0.731", "0.739")
    assert '<td class="n" data-head="Sensitivity">0.747</td>' in html.table("", measures, [row], range(1, 6))
    assert "prose" not in html.table("", measures[1:], [row[1:]], range(5))  # no name to stand above
    rounds = ("Round", "Function", "Organizations", "Seconds", "Bytes")
    table = html.table("", rounds, [(1, "partial_open_channel", 4, "0.8898", "189.4 KB")], (0, 2, 3, 4))
    assert "prose" not in table
    assert "partial_<wbr>open_<wbr>channel" in table


def test_names_are_broken_between_words_and_behind_the_column():
    page = html.table("", ("Feature", "z"), [("stage=early", 1), ("a" * 30, 2), ("x<y:z", 3)], (1,))
    assert "<td>stage=<wbr>early</td>" in page
    assert f'<td class="long">{"a" * 30}</td>' in page
    assert "<td>x&lt;y:<wbr>z</td>" in page
