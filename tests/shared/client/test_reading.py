"""What people read of a result: scores of each class and Cox figures against libraries, tables in the place of raw JSON, whole names, distinct colours."""

import re

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.sklearn import NaiveBayesClassifier
from fedbayes.client import figures
from fedbayes.client.figures.style import color_of
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result
from fedbayes.client.scores import confusion_of, per_class
from fedbayes.client.text.cox import aic_of, coefficient_rows, nested_test
from fedbayes.client.text.heading import heading_of

LONG = ["Chronic obstructive pulmonary disease", "Chronic ischaemic heart disease"]
PRIVACY = {"differentially_private": False, "reason": "a test"}


def texts(figure):
    """Return all words of a figure."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return {item.get_text().replace("\n", " ") for item in figure.findobj(Text)}


def cox(names, likelihood, **more):
    """Return a Cox model with a likelihood."""
    entries = [
        {"feature": name, "coefficient": 0.5, "standard_error": 0.1, "hazard_ratio": 1.65, "z": 5.0, "p": 0.01}
        for name in names
    ]
    return {
        "coefficients": entries,
        "log_likelihood": likelihood,
        "time": "t",
        "event": "e",
        "records": 9,
        "events": 5,
        **more,
    }


def test_each_class_is_told_as_scikit_learn_tells_it():
    from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

    rng = np.random.default_rng(4)
    truth, guess = rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    rows = per_class(confusion_matrix(truth, guess).astype(float), list("abcd"))
    for name, score in ((2, recall_score), (4, precision_score), (6, f1_score)):
        assert np.allclose([row[name] for row in rows], score(truth, guess, average=None))
    for place, row in enumerate(rows):
        assert np.isclose(row[3], recall_score(truth != place, guess != place))
        assert np.isclose(row[5], precision_score(truth != place, guess != place))
        assert row[1] == int((truth == place).sum())


def test_hidden_counts_and_empty_classes_are_dashes_not_numbers():
    rows = per_class(np.array([[np.nan, 1.0], [2.0, 3.0]]), ["a", "b"])
    assert rows[0][2] is None
    assert rows[1][2] == pytest.approx(0.6)
    assert per_class(np.array([[0.0, 0.0], [1.0, 1.0]]), ["a", "b"])[0][2] is None


def shown(result):
    return " ".join(Result(result).summary().split())


def test_hidden_tables_of_classes_say_why_and_partly_hidden_ones_show_the_rest():
    hidden = {"confusion": [[32, None], [None, 35]], "classes": ["a", "b"]}
    text = shown({"accuracy": 0.8, "auc": 0.9, "diagnostics": hidden})
    assert "hidden: each needs a count below the smallest that the nodes publish" in text
    assert "sens." not in text
    assert "Sensitivity, specificity and predictive values are hidden" in render({"diagnostics": hidden}, "t")
    partly = {"confusion": [[32, 7, 9], [None, 35, None], [8, 6, 40]], "classes": ["a", "b", "c"]}
    assert "sens." in shown({"accuracy": 0.8, "auc": 0.9, "diagnostics": partly})


def test_validation_criteria_and_intervals_of_an_answer_are_shown():
    network = {"nodes": {"a": {"states": ["0", "1"]}}, "edges": [], "tables": {"a": {"probabilities": [0.3, 0.7]}}}
    judged = {"validation": {"method": "svdg", "auc": 0.61, "rows": 500}, "criteria": {"aic": 6164.2607, "bic": 6295.6}}
    text = shown({"model": network, "diagnostics": judged})
    assert "Validation" in text
    assert "0.61" in text
    assert "6,164.26" in text or "6164.26" in text
    counts = {"axes": [{"column": "a", "labels": ["0", "1"]}], "counts": [3, 4]}
    text = shown({"model": counts, "association": {"odds_ratio": 0.7089, "odds_ratio_interval": [0.5157, 0.9745]}})
    assert "0.5157 to 0.9745" in text


@pytest.mark.parametrize(
    "result",
    [
        {"diagnostics": {"confusion": [[1, 2], [3, 4]], "classes": ["a", "b"]}},
        {"model": {"accuracy": 1, "auc": 1, "confusion": [[1, 2], [3, 4]], "states": ["a", "b"]}},
    ],
)
def test_the_confusion_table_is_found_wherever_a_method_puts_it(result):
    counts, classes = confusion_of(result)
    assert counts.tolist() == [[1, 2], [3, 4]]
    assert classes == ["a", "b"]
    page = render(result, "x")
    assert "Sensitivity" in page
    assert "Negative predictive value" in page


def test_nested_cox_models_and_aic_are_those_of_lifelines():
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_rossi
    from scipy.stats import chi2

    frame = load_rossi()
    fits = {
        names: CoxPHFitter().fit(frame[[*names, "week", "arrest"]], "week", "arrest")
        for names in (("age", "fin", "prio"), ("age",))
    }
    large, small = (Result(model=cox(names, fit.log_likelihood_)) for names, fit in fits.items())
    test = large.compare(small)
    statistic = 2 * (large["model"]["log_likelihood"] - small["model"]["log_likelihood"])
    assert test["statistic"] == pytest.approx(statistic)
    assert test["p"] == pytest.approx(chi2.sf(statistic, 2))
    assert (test["degrees_of_freedom"], test["added"]) == (2, ["fin", "prio"])
    assert aic_of(large["model"]) == pytest.approx(fits[("age", "fin", "prio")].AIC_partial_)


@pytest.mark.parametrize(
    ("smaller", "part"),
    [
        (cox(["c"], -9.0), "a part of the other's"),
        (cox(["a", "b"], -9.0), "a part of the other's"),
        (cox(["a"], -9.0, records=8), "records"),
        (cox(["a"], None), "log-likelihood"),
        (cox(["a"], -9.0, penalty=0.5), "no penalty"),
    ],
)
def test_models_that_are_not_nested_are_refused(smaller, part):
    with pytest.raises(ValueError, match=part):
        nested_test(cox(["a", "b"], -8.0), smaller)


def test_splines_of_nested_models_have_the_same_bounds():
    def model(high, *more):
        formula = f"~ {' + '.join([f'bs(a, df=3, lower_bound=0, upper_bound={high})', *more])}"
        return cox([*(f"bs(a, df=3)[{place}]" for place in range(3)), *more], -9.0 + len(more), formula=formula)

    assert nested_test(model(9, "b"), model(9))["added"] == ["b"]
    with pytest.raises(ValueError, match="other bounds"):
        nested_test(model(9, "b"), model(10))


def test_decimals_of_coefficients_are_aligned():
    entries = [
        {"feature": "a", "coefficient": value, "standard_error": 0.02, "z": value} for value in (1.5, -0.0573, 12.0)
    ]
    column = [row[1] for row in coefficient_rows(entries)]
    assert column == ["1.500", "-0.057", "12.000"]
    assert coefficient_rows([{"feature": "a", "coefficient": 0.00012, "standard_error": 0.00003}])[0][1] == "0.000120"


def test_ten_classes_have_ten_colours():
    assert len({color_of(place) for place in range(16)}) == 16


def test_long_names_are_whole_in_every_figure():
    domain = {"y": {"categories": LONG}, "c": {"categories": [f"{name} {k}" for name in LONG for k in range(2)]}}
    frame = pd.DataFrame({"c": domain["c"]["categories"] * 5})
    model = NaiveBayesClassifier(domain, "y").fit(frame, pd.Series(LONG * 10)).model_.to_dict()
    assert set(LONG) | set(domain["c"]["categories"]) <= texts(figures.class_distributions(model))
    assert set(LONG) <= texts(figures.confusion_matrix([[1, 2], [3, 4]], LONG))
    assert set(LONG) <= texts(figures.counts_heatmap([[1, 2], [3, 4]], ("a", LONG), ("b", LONG)))
    assert set(LONG) <= texts(figures.forest(cox(LONG, -1.0)))
    assert set(LONG) <= texts(figures.named_bars(dict.fromkeys(LONG, 1.0), "bits"))
    network = {"nodes": {name.replace(" ", "_"): {} for name in LONG}, "edges": []}
    assert {name.replace(" ", "_") for name in LONG} == {
        text.replace(" ", "") for text in texts(figures.bayesian_network(network))
    } - {""}


def test_nothing_but_the_appendix_is_raw_json():
    nested = {
        "list": [{"a": 1, "b": [1, 2]}, {"a": 2}],
        "table": {"x": [1, 2], "y": [3, 4]},
        "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}},
    }
    page = render({"model": {"something": nested}, "privacy": PRIVACY, "diagnostics": nested, "answer": nested}, "x")
    assert page.count("<pre>") == 1
    assert '<details class="raw">' in page


def test_rounds_are_folded():
    rounds = [{"round": k, "function": "partial_x", "organizations": [1], "seconds": 1.0, "bytes": 5} for k in (1, 2)]
    page = render(
        {"federation": {"rounds": 2, "bytes": 10, "seconds": 2.0, "organizations": ["a"], "per_round": rounds}}, "x"
    )
    assert re.search(r"<details><summary>2 rounds</summary>.*partial_<wbr>x", page)


def test_exact_scores_say_how_the_accuracy_counts_classes_predicted_for_few():
    told = "predicted for fewer records"
    coarse = {"accuracy": 0.8, "auc": 0.9, "diagnostics": {"log_loss_error": 0.001}}
    assert told in " ".join(shown(coarse).split())
    assert told in " ".join(render({**coarse, "model": None}, "R").split())
    assert told not in " ".join(shown({**coarse, "diagnostics": {"accuracy_noise": 0.01}}).split())


def test_the_title_says_what_was_done():
    told = {
        "date": "2026-11-22T10:00:00+00:00",
        "algorithm": "dp_naive_bayes",
        "function": "fit",
        "arguments": {"label": "outcome"},
    }
    assert heading_of({"provenance": told}) == "Fit of outcome with dp_naive_bayes, 2026-11-22"
    assert heading_of(
        {"provenance": {**told, "function": "evaluate", "arguments": {"model": {"label": "y"}}}}
    ).startswith("Evaluation of y")
    assert heading_of({})


def test_predictions_and_samples_are_previewed():
    found = Result(
        model={"predicted": ["x"] * 30, "probabilities": [[0.5, 0.5]] * 30, "states": ["x", "y"], "identifiers": None},
        privacy=PRIVACY,
    )
    assert "... 24 more" in found.summary()
    assert "the first 20 of 30" in render(found, "x")
    assert "a2" in Result(model={"records": {"col": ["a1", "a2"]}}, privacy=PRIVACY).summary()
    baseline = {"time": [1.0, 2.0, 9.0], "cumulative_hazard": [0.1, 0.2, 0.5]}
    assert re.search(r"9 │ +0\.607", Result(model=cox(["a"], -1.0, baseline=baseline)).summary())


def test_a_long_baseline_is_shown_to_its_last_time():
    baseline = {"time": [float(time) for time in range(1, 69)], "cumulative_hazard": np.linspace(0.01, 3, 68).tolist()}
    page = render({"baseline": baseline, "privacy": PRIVACY}, "x")
    assert "Baseline hazard at 20 of 68 times" in page
    assert re.search(r">68</td>.*>3\.0000</td>.*>0\.0498</td>", page)


def test_of_a_hidden_confusion_no_empty_picture_and_no_straight_curve_is_drawn():
    ends = {"false_positive_rate": [0.0, 1.0], "true_positive_rate": [0.0, 1.0]}
    scores = {"accuracy": 0.7, "auc": 0.66, "roc": [ends]}
    hidden = {"confusion": [[None, None], [None, None]], "classes": ["no", "yes"]}
    page = render({**scores, "diagnostics": hidden, "privacy": PRIVACY}, "x")
    assert "Confusion matrix, sensitivity, specificity and predictive values are hidden" in page
    assert "<img" not in page
    told = {"confusion": [[8, 2], [3, 9]], "classes": ["no", "yes"]}
    curve = {"false_positive_rate": [0.0, 0.2, 1.0], "true_positive_rate": [0.0, 0.75, 1.0]}
    page = render({**scores, "roc": [curve], "diagnostics": told, "privacy": PRIVACY}, "x")
    assert page.count("<img") == 2


def test_a_curve_that_is_told_keeps_its_class_where_others_are_hidden(monkeypatch):
    from fedbayes.client.views import scores

    seen = []
    monkeypatch.setattr(
        scores, "roc", lambda curves, classes: seen.append((len(curves), classes)) or figures.roc(curves, classes)
    )
    none = {"false_positive_rate": [], "true_positive_rate": []}
    curve = {"false_positive_rate": [0.0, 0.2, 1.0], "true_positive_rate": [0.0, 0.75, 1.0]}
    asked = {"accuracy": 0.7, "auc": 0.66, "diagnostics": {"confusion": np.eye(3).tolist(), "classes": ["a", "b", "c"]}}
    render({**asked, "roc": [none, curve, none], "privacy": PRIVACY}, "x")
    assert seen == [(1, ["b"])]


def test_criteria_keep_the_digits_that_models_are_compared_by():
    criteria = {"log_likelihood": -1131.7339, "parameters": 5, "aic": 2273.4678, "bic": 2295.4525}
    page = render({"diagnostics": {"criteria": criteria}, "privacy": PRIVACY}, "x")
    assert "2273.468" in page


def test_noise_has_a_band_as_high_as_its_deviation(bayes_model):
    from fedbayes.bayes.naive_bayes import NaiveBayes
    from fedbayes.client.figures.naive_bayes import noise_share

    assert "grey band" not in render({"model": bayes_model, "privacy": PRIVACY}, "x")
    noisy = {
        **bayes_model,
        "class_noise": 2.0,
        "features": {name: {**told, "noise": 2.5} for name, told in bayes_model["features"].items()},
    }
    assert noise_share(NaiveBayes.from_dict(noisy), "x") == pytest.approx(2.5 / 10)
    assert "grey band" in render({"model": noisy, "privacy": PRIVACY}, "x")
    before, after = (figures.class_distributions(model) for model in (bayes_model, noisy))
    assert [axes.get_title(loc="left") for axes in after.axes]
    assert sum(len(axes.patches) for axes in after.axes) > sum(len(axes.patches) for axes in before.axes)
