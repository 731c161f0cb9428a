"""Cox models as survival analysts read them: summary frame, terminal, report."""

import io

import numpy as np
import pandas as pd
import pytest

from fedbayes.client.models.survival import summary_frame
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result
from fedbayes.client.text.cox import chi_squared, hypothesis_tests, interval, ratio
from fedbayes.client.text.terminal import print_result
from fedbayes.client.views.cox import _profiles

CHECK = {
    "time_transform": "rank",
    "features": [
        {"feature": "age", "statistic": 11.2, "degrees_of_freedom": 1, "p": 0.0008},
        {"feature": "fin", "statistic": 0.1, "degrees_of_freedom": 1, "p": 0.75},
    ],
    "global": {"statistic": 12.0, "degrees_of_freedom": 2, "p": 0.0025},
}
FOLD = {
    "records": 40,
    "concordance": 0.6,
    "integrated_brier_score": 0.1,
    "calibration_slope": None,
    "calibration_difference": 0.01,
}
METRICS = {
    **{name: FOLD[name] for name in FOLD if name != "records"},
    "spread": {"concordance": 0.05},
    "folds": [FOLD, FOLD],
    "times": [1.0, 2.0],
    "pooled": {"brier_scores": [0.1, 0.2]},
    "calibration": {
        "time": 2.0,
        "groups": [
            {"predicted": 0.8, "observed": 0.7, "records": 40},
            {"predicted": 0.9, "observed": 0.9, "records": 40},
        ],
    },
}


def model_of(fitter, **more):
    summary = fitter.summary
    names = {
        "coefficient": "coef",
        "hazard_ratio": "exp(coef)",
        "standard_error": "se(coef)",
        "z": "z",
        "p": "p",
        "lower_95": "coef lower 95%",
        "upper_95": "coef upper 95%",
    }
    rows = [{"feature": name, **{k: float(row[v]) for k, v in names.items()}} for name, row in summary.iterrows()]
    return {"coefficients": rows, "records": 432, "events": 114, "time": "weeks", **more}


@pytest.fixture(scope="module")
def fitter(paper_data):
    from lifelines import CoxPHFitter

    return CoxPHFitter().fit(paper_data("rossi")[["fin", "age", "time", "event"]], "time", "event")


def test_the_summary_frame_is_that_of_lifelines(fitter):
    pd.testing.assert_frame_equal(
        summary_frame({"model": model_of(fitter)}), fitter.summary, check_names=True, atol=1e-9
    )
    assert list(summary_frame(model_of(fitter)).index) == ["fin", "age"]
    with pytest.raises(ValueError, match="standard errors"):
        summary_frame({"model": {"coefficients": [{"feature": "a", "coefficient": 1.0}]}})


def printed(result):
    from rich.console import Console

    stream = io.StringIO()
    print_result(Console(file=stream, width=80), result)
    return stream.getvalue()


def test_the_terminal_shows_table_and_tests(fitter):
    text = printed({"model": model_of(fitter, proportional_hazards=CHECK)})
    assert "95 % CI" in text
    assert "of age: chi-squared 11.2 on 1 df, p < 0.001" in text
    assert "of fin" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "Compared with" not in text
    assert "Compared with: stage=I, smoker=ex" in printed(
        {"model": model_of(fitter, references={"stage": "I", "smoker": "ex"})}
    )
    assert "Concordance: 0.6 (standard deviation over folds 0.05)" in printed({"metrics": METRICS, "concordance": 0.6})


def test_the_concordance_of_whole_records_says_of_which_pairs(fitter):
    """It is of pairs of one station at united times, and so above that which `evaluate` gives of the same records."""
    model = model_of(fitter, concordance=0.8081344, split="horizontal")
    assert "Concordance of pairs of one station, on the grid of times: 0.808\n" in printed({"model": model})
    assert "Concordance of pairs of one station, on the grid of times</td><td>0.808<" in render({"model": model}, "Cox")
    assert "Concordance: 0.808\n" in printed({"model": {**model, "split": "vertical"}})


def test_the_report_shows_the_check_and_the_folds(fitter):
    page = render(
        {"model": model_of(fitter, proportional_hazards=CHECK), "metrics": METRICS, "concordance": 0.6}, "Cox"
    )
    assert "speaks against proportional hazards" in page
    assert "Calibration slope" in page
    for picture in ("Forest plot of hazard ratios", "Observed survival by predicted survival", "Brier score over time"):
        assert page.count(f'alt="{picture}') == 1
    without = {"time_transform": "km", "features": None, "global": None, "reason": "not with this solver"}
    assert "not with this solver" in render({"model": model_of(fitter, proportional_hazards=without)}, "Cox")


def test_a_judgement_without_predictors_is_shown():
    part = {"stratum": "all", "time": [1.0], "cumulative_hazard": [0.2], "model_cumulative_hazard": [0.3]}
    test = {"statistic": 9.2, "degrees_of_freedom": 2, "p": 0.01}
    metrics = {"calibration_slope": 0.6, "calibration_slope_standard_error": 0.1, "fit_test": test, "baseline": [part]}
    text = printed({"metrics": metrics, "concordance": None})
    assert "Calibration slope: 0.6 (standard error 0.1)" in text
    assert "chi-squared 9.2 on 2 df, p = 0.010" in text
    other = {**metrics, "baseline": [part, {**part, "stratum": "b", "model_cumulative_hazard": None}]}
    assert "These records" in render({"metrics": other, "concordance": None}, "Cox")


JUDGED = {
    "concordance": 0.6,
    "integrated_brier_score": 0.17,
    "times": [365.0, 1460.0],
    "brier_scores": [0.074, 0.207],
    "calibration": {"time": 730.0, "groups": [{"predicted": 0.572, "observed": 0.504, "records": 138}]},
    "records": 686,
    "events": 299,
}


def test_scores_by_time_and_by_group_are_shown_and_in_the_frame():
    text = printed({"metrics": JUDGED, "concordance": 0.6})
    assert "Brier score" in text
    assert "0.207" in text
    assert "Survival at 730" in text
    assert "0.504" in text
    scores = Result({"model": None, "metrics": JUDGED, "concordance": 0.6}).to_frame()["value"]
    assert (scores["Brier score(365)"], scores["observed(730, group 1)"], scores["events"]) == (0.074, 0.504, 299)


def test_times_that_are_quantiles_are_named_without_the_rounding_of_a_sum():
    moments = {"times": [281.0, 478.0000000000001], "concordance_by_time": [0.7, 0.8], "auc_by_time": [0.6, 0.5]}
    told = {**JUDGED, **moments, "brier_scores": [0.1, 0.2]}
    scores = Result({"model": None, "metrics": told, "concordance": 0.6}).to_frame()["value"]
    assert scores["concordance up to(281)"] == 0.7
    assert scores["AUC(478)"] == 0.5
    assert scores["Brier score(478)"] == 0.2


@pytest.mark.parametrize("strata", [["all"] * 3, ["a", "a", "b"]])
def test_a_baseline_without_a_model_is_shown_drawn_and_a_frame(strata):
    told = {"strata": strata, "time": [1.0, 2.0, 3.0], "cumulative_hazard": [0.1, 0.3, 0.7]}
    result = Result({"model": None, "baseline": told})
    assert result.kind == "baseline hazard"
    assert "0.741" in printed(result)
    frame = result.to_frame()
    assert list(frame["survival"]) == pytest.approx(list(np.exp(-frame["cumulative_hazard"])))
    assert list(frame.get("stratum", strata)) == strata
    assert len(result.plot().axes[0].lines) == len(set(strata))
    assert "Survival over time" in render(result, "Baseline")


def test_texts():
    assert ratio(0.6842) == "0.684"
    assert ratio(1234.5) == "1,234"
    assert ratio(None) == "–"
    assert interval({"feature": "a"}) == "–"
    assert interval({"lower_95": np.log(0.5), "upper_95": 2000.0}).startswith("0.500 to ")
    assert chi_squared({"statistic": 3.84, "degrees_of_freedom": 1, "p": 0.05}) == "chi-squared 3.84 on 1 df, p = 0.050"
    assert hypothesis_tests({}) == []


def test_profiles_are_shifted_so_that_they_show():
    found = _profiles(
        [{"feature": "age", "coefficient": -0.057, "z": 2.6}, {"feature": "stage=II", "coefficient": 7.0}]
    )
    assert found == {"stage=II": 7.0, "age + 10": pytest.approx(-0.57)}
