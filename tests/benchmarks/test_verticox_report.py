"""A Cox model of public data as the report shows it, and what a cross-validation costs beside one fit."""

import time

import numpy as np
import pytest
from limits_kit import predicting
from party_kit import by_columns

from fedbayes.client.figures.cox import draw_forest, draw_survival
from fedbayes.client.models.survival import summary_frame
from fedbayes.federation.embedded import EmbeddedFederation

pytestmark = pytest.mark.benchmark
FEATURES = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]
SPLIT = {"a": ["fin", "age", "race"], "b": ["wexp", "mar", "paro"], "c": ["prio", "time", "event"]}
TASK = {"time": "time", "event": "event", "features": FEATURES, "ties": "efron", "id_column": "id"}
FOLDS = 10


@pytest.fixture(scope="module")
def federation(paper_data):
    parties = by_columns(paper_data("rossi").reset_index(names="id"), SPLIT)
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=predicting()) as running:
        yield running


def rounded(value):
    """Return a model to four decimals, so that the figure is the same file in every run."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value


def test_forest_plot_and_survival_curves_of_rossi(federation, paper_data, figure):
    """Three organizations; the same summary as lifelines gives on the pooled table."""
    from lifelines import CoxPHFitter

    found = federation.run("verticox", "fit", TASK)
    pooled = CoxPHFitter().fit(paper_data("rossi"), "time", "event", fit_options={"precision": 1e-12})
    frame = summary_frame(found).loc[pooled.summary.index]
    assert np.max(np.abs(frame["coef"] - pooled.summary["coef"])) < 1e-6
    assert np.max(np.abs(frame["se(coef)"] - pooled.summary["se(coef)"])) < 1e-5
    beta = {entry["feature"]: entry["coefficient"] for entry in found["model"]["coefficients"]}
    curves = {"at the mean": 0.0, "5 more convictions": 5 * beta["prio"], "10 years older": 10 * beta["age"]}
    with figure("verticox", "rossi", columns=2) as (left, right):
        drawn = rounded({**found["model"], "time": "weeks since release"})
        draw_forest(left, drawn)
        draw_survival(right, drawn, rounded(curves))
    print(
        "rounds",
        found["federation"]["rounds"],
        "proportional hazards",
        found["model"]["proportional_hazards"]["global"],
    )


def test_ten_folds_in_the_rounds_of_one_fit(federation):
    began = time.perf_counter()
    fit = federation.run("verticox", "fit", TASK)
    between = time.perf_counter()
    found = federation.run("verticox", "evaluate", {"model": fit["model"], "folds": FOLDS, "id_column": "id"})
    ratio = (time.perf_counter() - between) / (between - began)
    metrics, rounds = found["metrics"], found["federation"]["rounds"]
    print(
        f"{FOLDS} folds: {rounds} rounds, one fit {fit['federation']['rounds']}; time of the fits as a ratio {ratio:.1f}"
    )
    print(f"bytes {found['federation']['bytes'] / 1e6:.0f} MB, one fit {fit['federation']['bytes'] / 1e6:.0f} MB")
    print({name: (metrics[name], metrics["spread"][name]) for name in metrics["spread"]})
    assert rounds <= fit["federation"]["rounds"] + 15
    assert 0.5 < metrics["concordance"] < 0.75
