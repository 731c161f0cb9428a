"""Reports: every part is there, nothing comes from outside, every text is escaped; figures of every kind of model."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.sklearn import NaiveBayesClassifier
from fedbayes.client import figures, html
from fedbayes.client.figures.layout import layers_of, layout
from fedbayes.client.figures.style import to_svg
from fedbayes.client.models.naive_bayes import information
from fedbayes.client.pages.report import render
from fedbayes.client.pages.study import tables_of
from fedbayes.client.view import view_of

NETWORK = {
    "nodes": {name: {"states": ["no", "yes"]} for name in ("rain", "sprinkler", "wet")},
    "edges": [["rain", "wet"], ["sprinkler", "wet"]],
    "tables": {
        "rain": {"parents": [], "probabilities": [0.8, 0.2]},
        "sprinkler": {"parents": [], "probabilities": [0.5, 0.5]},
        "wet": {
            "parents": ["rain", "sprinkler"],
            "probabilities": [[[0.99, 0.01], [0.1, 0.9]], [[0.2, 0.8], [0.05, 0.95]]],
        },
    },
}
COX = {
    "coefficients": [
        {
            "feature": "age",
            "coefficient": 0.05,
            "hazard_ratio": 1.051,
            "standard_error": 0.01,
            "z": 5.0,
            "p": 6e-7,
            "lower_95": 0.03,
            "upper_95": 0.07,
        },
        {
            "feature": "<b>sex</b>",
            "coefficient": -0.5,
            "hazard_ratio": 0.607,
            "standard_error": 0.2,
            "z": -2.5,
            "p": 0.012,
            "lower_95": -0.9,
            "upper_95": -0.1,
        },
    ],
    "baseline": {"times": [1.0, 3.0, 8.0], "cumulative_hazard": [0.02, 0.1, 0.4]},
    "log_likelihood": -120.5,
}
COUNTS = {"axes": {"sex": ["f", "m"], "age": ["young", "old"]}, "counts": [[12, 8], [7, None]]}


def bayes_model(statistics="histogram"):
    domain = {
        "y": {"categories": ["a", "b", "c"]},
        "x": {"bounds": [0, 10]},
        "c": {"categories": ["red", "blue"]},
        "noise": {"bounds": [0, 1]},
    }
    frame = pd.DataFrame(
        {"x": [1, 5, 9] * 20, "c": ["red", "blue", "blue"] * 20, "noise": [0.1, 0.1, 0.1, 0.9, 0.9, 0.9] * 10}
    )
    classifier = NaiveBayesClassifier(domain, "y", bins=5, statistics=statistics)
    return classifier.fit(frame, pd.Series(["a", "b", "c"] * 20)).model_.to_dict()


def result(model, **fields):
    per_round = [
        {"round": k, "function": f"partial_{k}", "organizations": [1, 2], "seconds": 0.5, "bytes": 1200} for k in (1, 2)
    ]
    return {
        "model": model,
        "privacy": {
            "differentially_private": True,
            "epsilon": 0.7,
            "unit": "row",
            "neighbors": "add_remove",
            "reveals": {"central": "the <sum>"},
        },
        "federation": {
            "rounds": 2,
            "bytes": 2400,
            "seconds": 1.0,
            "organizations": ["north", "south"],
            "aggregator": "north",
            "per_round": per_round,
        },
        "diagnostics": {"iterations": 4},
        "warnings": ["mind the <gap>"],
        "versions": {"fedbayes": "0.1.0"},
        **fields,
    }


class Checker(HTMLParser):
    """Checks that tags close in order and that pictures have a text."""

    VOID = ("meta", "img", "br", "wbr", "link", "input")

    def __init__(self):
        super().__init__()
        self.open, self.pictures, self.headings = [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "img":
            self.pictures.append(values)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def check_page(page):
    """The page is well-formed, self-contained and tells what its pictures show; returns the checker."""
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert all(
        picture["src"].startswith("data:image/svg+xml;base64,") and picture["alt"] for picture in checker.pictures
    )
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "<script" not in page
    assert '<html lang="en">' in page
    return checker


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("model", "pictures", "parts"),
    [
        (bayes_model(), 5, ["Naive Bayes for &#x27;y&#x27;", "Features by information", "Prior"]),
        (bayes_model("gaussian"), 5, ["gaussian"]),
        (NETWORK, 2, ["3 nodes, 2 edges", "wet  given rain, sprinkler", "0.9900"]),
        (
            {"members": [{"name": "north", "weight": 0.4, "network": NETWORK}, {"name": "south", "weight": 0.6}]},
            2,
            ["Member north", "0.6"],
        ),
        ({"members": [{"name": "north"}]}, 1, ["stay at their stations"]),
        (COX, 3, ["Hazard ratio", "&lt; 0.001", "-120.5", "&lt;b&gt;sex"]),
        (COUNTS, 2, ["young", "–"]),
        ({"anything": {"x": [1]}, "value": 2}, 1, ["Anything", "Value"]),
        ([1, 2], 1, ["1"]),
    ],
)
def test_report_has_every_part(model, pictures, parts):
    page = render(result(model), "A <title>")
    checker = check_page(page)
    assert len(checker.pictures) == pictures
    for heading in (
        "Privacy",
        "Warnings",
        "Counts" if model == COUNTS else "Model",
        "Diagnostics",
        "Rounds",
        "The whole result",
    ):
        assert heading in checker.headings
    for part in (
        *parts,
        "epsilon = 0.7",
        "the &lt;sum&gt;",
        "mind the &lt;gap&gt;",
        "A &lt;title&gt;",
        "2.4 KB",
        "partial_2",
        "north",
    ):
        assert part in page


def test_report_of_scores_has_calibration():
    table = {"error": 0.02, "confidence": [0.15, 0.5, 0.85], "accuracy": [0.1, None, 0.9], "rows": [10, 0, 10]}
    page = render(result(None, accuracy=0.91, auc=0.95, log_loss=0.3, n=120, calibration=table), "Scores")
    checker = check_page(page)
    assert "0.91" in page
    assert any("Observed share" in picture["alt"] for picture in checker.pictures)


def test_report_of_a_count_shows_the_answer():
    assert "Answer" in check_page(render(result(None, count=42), "Count")).headings


def test_report_of_an_exact_result_says_so_first():
    page = render({"model": None, "privacy": {"differentially_private": False, "reason": "exact sums"}}, "Exact")
    assert "Not differentially private: exact sums." in page
    assert "statement bad" in page


def test_report_of_almost_nothing():
    assert check_page(render({}, "Empty")).headings[0] == "Empty"


@pytest.mark.parametrize(
    "model",
    [
        {**NETWORK, "tables": {}},
        {"coefficients": [{"feature": "x"}]},
        {"axes": {"a": [1, 2]}, "counts": [1]},
        {"format": "fedbayes.naive_bayes/1"},
    ],
)
def test_malformed_models_are_shown_as_they_are(model):
    page = render(result(model), "Malformed")
    check_page(page)
    assert "could not be drawn" in page


def test_kinds_are_told_by_content():
    kinds = [view_of(model).kind for model in (bayes_model(), NETWORK, {"members": []}, COX, COUNTS, {}, None, 3)]
    assert kinds == [
        "naive Bayes",
        "Bayesian network",
        "ensemble",
        "Cox regression",
        "counts",
        "other",
        "other",
        "other",
    ]


def test_information_ranks_features():
    from fedbayes.bayes.naive_bayes import NaiveBayes

    values = information(NaiveBayes.from_dict(bayes_model()))
    assert next(iter(values)) == "x"
    assert values["noise"] == pytest.approx(0.0, abs=1e-9)
    assert values["x"] <= np.log2(3) + 1e-9


def test_layers_put_children_below_parents_and_stay_narrow():
    nodes = [f"n{k}" for k in range(37)]
    edges = [(nodes[k // 3], nodes[k]) for k in range(1, 37)]
    layers = layers_of(nodes, edges)
    row = {node: position for position, layer in enumerate(layers) for node in layer}
    assert sorted(row) == sorted(nodes)
    assert all(row[parent] < row[child] for parent, child in edges)
    assert max(len(layer) for layer in layers) <= 8


def test_figures_are_figures_and_the_same_bytes_each_time():
    drawn = [
        figures.bayesian_network(NETWORK, highlight="wet"),
        figures.bayesian_network({"nodes": {"a": {}}, "edges": []}),
        figures.class_distributions(bayes_model()),
        figures.informative_features(bayes_model()),
        figures.forest(COX),
        figures.survival_curves(COX),
        figures.counts_heatmap([[1, 2], [3, np.nan]], ("a", [1, 2]), ("b", [1, 2])),
        figures.score_bars({"accuracy": {"ours": [0.9, 0.8], "theirs": [0.7, 0.6]}}, highlight="ours"),
        figures.calibration({"confidence": [0.1], "accuracy": [0.2]}),
    ]
    assert all(to_svg(figure).startswith("data:image/svg+xml;base64,") for figure in drawn)
    assert to_svg(figures.forest(COX)) == to_svg(figures.forest(COX))


def test_survival_curves_need_a_baseline():
    with pytest.raises(ValueError, match="baseline"):
        figures.survival_curves({"coefficients": []})


def test_layout_keeps_nodes_apart_and_long_edges_away_from_them():
    nodes = ["a", "b", "c", "d"]
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "c")]
    drawn = layout(nodes, edges)
    assert [drawn.places[node][1] for node in nodes] == [0.0, -1.0, -2.0, -3.0]
    for (_, _), route in drawn.routes.items():
        for x, y in route[1:-1]:
            beside = [place[0] for place in drawn.places.values() if place[1] == y]
            assert all(abs(x - other) > 0.5 for other in beside)
    assert drawn.routes[("a", "d")][0] == drawn.places["a"]


def test_a_domain_has_no_empty_columns_and_commas_are_told_from_those_between_values():
    domain = {"drug": {"categories": ["aspirin, low", "none"]}, "bp": {"bounds": [60, 200]}}
    (table,) = tables_of({"domain": domain})["domain"]
    assert re.findall("<th[^>]*>([^<]*)</th>", table) == ["Column", "Values"]
    assert "&quot;aspirin, low&quot;, none" in table
    (table,) = tables_of({"domain": {"bp": {"type": "number", "bounds": [60, 200]}}})["domain"]
    assert re.findall("<th[^>]*>([^<]*)</th>", table) == ["Column", "Type", "Values"]


def test_a_printed_page_breaks_in_long_tables_not_before_them_and_has_no_empty_part():
    page = html.page(
        "Fit, 2026-11-28", "lead", [html.section("The whole result", html.fold("JSON", "{}", raw=True))], ""
    )
    printed = page.partition("@media print")[2].partition("</style>")[0]
    assert "table:not(:has(tr:nth-child(15)))" in printed
    assert "section:has(>h2+details.raw:last-child){display:none}" in printed
    assert re.search(r'<section[^>]*><h2[^>]*>[^<]*</h2><details class="raw">', page)
    assert '<h1>Fit, <span style="white-space:nowrap">2026-11-28</span></h1>' in page
    assert "<title>Fit, 2026-11-28</title>" in page
