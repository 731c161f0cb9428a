"""Errors robust by cluster of fits to columns of the same records: lifelines, the fit to whole records, the definition, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from limits_kit import predicting
from lin_wei import lin_wei
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import ArgumentError, DataProblem, ThresholdError

ROWS = 300
FEATURES = ["age", "bmi", "dose"]
SPLITS = {
    "outcome": {"a": ["age"], "b": ["bmi", "dose"], "c": ["months", "died", "site", "family"]},
    "features": {"a": ["age"], "b": ["bmi", "dose", "family"], "c": ["months", "died", "site"]},
    "alone": {"a": ["age", "bmi", "dose"], "b": ["family"], "c": ["months", "died", "site"]},
}
TASK = {"time": "months", "event": "died", "features": FEATURES, "id_column": "id"}


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    """Return families of one to eight, and a few large ones, whose members share a frailty; times without ties."""
    rng = np.random.default_rng(11)
    sizes = np.r_[40, 25, rng.integers(1, 8, 80)]
    family = np.repeat(np.arange(len(sizes)), sizes)[:ROWS]
    frame = pd.DataFrame({"id": [f"p{place}" for place in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(2)})
    frame["bmi"] = (rng.uniform(18, 45, len(sizes))[family] + rng.normal(size=ROWS)).round(2)
    frame["dose"], frame["site"] = rng.exponential(size=ROWS).round(4), rng.choice(["north", "south"], ROWS)
    frailty = 0.8 * rng.normal(size=len(sizes))[family]
    risk = 0.04 * (frame["age"] - 60) + 0.03 * frame["bmi"] + frailty
    months = (12 * rng.exponential(np.exp(-risk))).round(2) + 0.01
    frame["months"] = months + np.argsort(np.argsort(months, kind="stable")) * 1e-4
    frame["died"] = (rng.random(ROWS) < 0.7).astype(int)
    frame["family"] = [f"f{code}" for code in rng.permutation(len(sizes))[family]]
    return frame.sample(frac=1.0, random_state=3).reset_index(drop=True)


def ask(
    frame: pd.DataFrame, split: str = "features", central: str = "a", function: str = "fit", **task: Any
) -> dict[str, Any]:
    given = TASK if function == "fit" else {"id_column": "id"}
    parties = by_columns(frame, SPLITS[split])
    with OneProcess(parties, helpers=["h"], policies=predicting(), aggregator=central) as running:
        return dict(running.run("verticox", function, {**given, **task}))


def table(result: dict[str, Any], columns: list[str] = FEATURES) -> pd.DataFrame:
    return pd.DataFrame(result["model"]["coefficients"]).set_index("feature").loc[columns]


def covariance(result: dict[str, Any]) -> np.ndarray:
    names = [row["feature"] for row in result["model"]["coefficients"]]
    places = [names.index(name) for name in FEATURES]
    return np.array(result["model"]["covariance"])[np.ix_(places, places)]


def pooled(frame: pd.DataFrame) -> CoxPHFitter:
    columns = ["months", "died", "family", *FEATURES]
    precision = {"precision": 1e-12}
    return CoxPHFitter().fit(frame[columns], "months", "died", cluster_col="family", fit_options=precision)


@pytest.mark.few(1)
@pytest.mark.parametrize(("split", "central"), [("features", "a"), ("features", "b"), ("outcome", "c"), ("alone", "c")])
def test_it_is_lifelines_wherever_the_clusters_are(cohort: pd.DataFrame, split: str, central: str) -> None:
    result, peer = ask(cohort, split, central, cluster="family", tolerance=1e-9), pooled(cohort)
    found = table(result)
    np.testing.assert_allclose(found["coefficient"], peer.params_[FEATURES], atol=1e-7)
    np.testing.assert_allclose(found["standard_error"], peer.standard_errors_[FEATURES], rtol=1e-6)
    beta, family = found["coefficient"].to_numpy(), cohort["family"].to_numpy()
    wanted = lin_wei(cohort, FEATURES, beta, "months", "died", cluster=family)
    np.testing.assert_allclose(covariance(result), wanted, rtol=1e-5, atol=1e-8)
    model = result["model"]
    assert (model["robust"], model["cluster"], model["clusters"]) == (True, "family", cohort["family"].nunique())


def test_it_is_the_fit_to_whole_records(cohort: pd.DataFrame) -> None:
    """Families that are at one station each, and times that the grid of whole records knows."""
    thirds = [part.drop(columns="id") for _, part in cohort.groupby(cohort["family"].map(third_of))]
    domain = {name: {"bounds": [float(cohort[name].min()), float(cohort[name].max())]} for name in FEATURES}
    asked = {name: TASK[name] for name in ("time", "event", "features")} | {
        "domain": domain,
        "times": [1, 2, 3, 4, 6, 9, 99],
    }
    asked |= {"split": "horizontal", "cluster": "family", "tolerance": 1e-9}
    with OneProcess({f"s{place}": part for place, part in enumerate(thirds)}) as running:
        rows = running.fit("verticox", **asked)
    grid = np.array(rows["model"]["times"])
    known = cohort.assign(months=grid[np.minimum(np.searchsorted(grid, cohort["months"]), len(grid) - 1)])
    found = ask(known, cluster="family", tolerance=1e-9)
    own, whole = table(found), table(rows)
    np.testing.assert_allclose(own["coefficient"], whole["coefficient"], atol=1e-6)
    np.testing.assert_allclose(own["standard_error"], whole["standard_error"], rtol=1e-5)
    assert found["model"]["clusters"] == rows["model"]["clusters"]


def third_of(family: str) -> int:
    return int(family[1:]) % 3


def test_each_record_a_cluster_is_robust(cohort: pd.DataFrame) -> None:
    frame = cohort.assign(family=[f"f{place}" for place in range(ROWS)])
    own, robust = ask(frame, cluster="family"), ask(frame, robust=True)
    np.testing.assert_allclose(table(own)["standard_error"], table(robust)["standard_error"], rtol=1e-7)
    more = own["federation"]["rounds"] - robust["federation"]["rounds"]
    assert more == 3  # to the station with the clusters, from it, and the sums


def test_a_model_with_clusters_is_judged_but_not_in_folds(cohort: pd.DataFrame) -> None:
    model = ask(cohort, cluster="family")["model"]
    assert 0.5 < ask(cohort, function="evaluate", model=model)["metrics"]["concordance"] < 1.0
    with pytest.raises(ArgumentError, match="a model with cluster is not cross-validated"):
        ask(cohort, function="evaluate", model=model, folds=3)


def test_ties_strata_and_products(cohort: pd.DataFrame) -> None:
    """Blank rows beside ties, and records in other places than their rows."""
    frame = cohort.assign(months=np.ceil(cohort["months"]))
    names = ["age", "dose", "age:dose"]
    task = {"features": None, "formula": "~ age + dose + age:dose", "strata": "site", "tolerance": 1e-9}
    own = table(ask(frame, "alone", "b", cluster="family", **task), names)
    frame["age:dose"] = frame["age"] * frame["dose"]
    site, family, beta = frame["site"].to_numpy(), frame["family"].to_numpy(), own["coefficient"].to_numpy()
    wanted = lin_wei(frame, names, beta, "months", "died", site, family)
    np.testing.assert_allclose(own["standard_error"], np.sqrt(np.diag(wanted)), rtol=2e-5)


@pytest.mark.parametrize(
    ("task", "kind", "text"),
    [
        ({"cluster": "nowhere"}, ArgumentError, "cluster: no station has the column 'nowhere'"),
        ({"cluster": "id"}, ArgumentError, "cluster and id_column must be different columns"),
        ({"cluster": "twice"}, ArgumentError, "cluster: 'twice' is at two stations"),
        ({"cluster": "gaps"}, DataProblem, "cluster column 'gaps' has missing values"),
        ({"cluster": "three"}, ThresholdError, "cluster column 'three' has fewer clusters"),
        ({"cluster": "pair"}, DataProblem, "cluster column 'pair' has fewer records than this node reveals"),
        ({"cluster": "giant"}, DataProblem, "cluster column 'giant' has fewer records than this node reveals"),
        (
            {"cluster": "five"},
            ThresholdError,
            "cluster column 'five' has too few clusters for that many design columns",
        ),
        ({"cluster": "family", "missing": "complete"}, ArgumentError, "^cluster of a vertical fit is for"),
        ({"cluster": "family", "solver": "bfgs"}, ArgumentError, "^cluster of a vertical fit is for"),
    ],
)
def test_what_is_asked_wrongly_or_singles_out_records_is_named(
    cohort: pd.DataFrame, task: dict[str, Any], kind: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, place = cohort.copy(), np.arange(ROWS)
    frame["twice"], frame["gaps"] = place // 3, np.where(place == 3, np.nan, place // 3)
    frame["three"], frame["five"] = place % 3, place % 5
    frame["pair"] = np.where(place == 1, 0, place)  # one record with another: less robust errors it tells of these two
    frame["giant"] = np.where(place < 4, place, 4)
    more = ["twice", "gaps", "three", "five", "pair", "giant"]
    monkeypatch.setitem(
        SPLITS, "more", {"a": ["age", *more], "b": ["bmi", "dose", "family"], "c": ["months", "died", "site", "twice"]}
    )
    with pytest.raises(kind, match=text):
        ask(frame, "more", **task)
