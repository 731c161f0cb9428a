"""Robust errors of fits to columns of the same records with Efron's ties, case weights, times of entry and gaps: the definition and what others compute."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from lifelines import CoxPHFitter
from lin_wei import lin_wei, naive, score_residuals
from statsmodels.duration.hazard_regression import PHReg

from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError
from v6_verticox.arguments import Fit
from v6_verticox.rounds import surface

ROWS = 260
FEATURES = ["age", "bmi", "dose"]
SPLIT = {"a": ["age", "bmi", "dose", "family"], "c": ["months", "died", "weight", "since", "site", "pool"]}
TASK = {"time": "months", "event": "died", "features": FEATURES, "id_column": "id", "tolerance": 1e-9}


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    """Return records with ties of many and of few events, entries at events' times, and families of up to eight."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": [f"p{place}" for place in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(2)})
    frame["bmi"], frame["dose"] = rng.uniform(18, 45, ROWS).round(2), rng.exponential(size=ROWS).round(4)
    frame["site"] = rng.choice(["north", "south"], ROWS)
    risk = 0.04 * (frame["age"] - 60) + 0.3 * frame["dose"]
    months = (12 * rng.exponential(np.exp(-risk))).round(2) + 0.01
    frame["died"] = (rng.random(ROWS) < 0.7).astype(int)
    frame["weight"] = rng.choice([0.5, 1.0, 2.0, 3.5], ROWS)
    since = np.where(rng.random(ROWS) < 0.4, -1.0, months * rng.choice([0.2, 0.5, 0.8], ROWS) - 0.001)
    frame["family"] = [f"f{place}" for place in rng.integers(0, 70, ROWS)]
    frame["pool"] = frame["family"]
    frame["exact"] = months + np.argsort(np.argsort(months, kind="stable")) * 1e-6
    return frame.assign(months=np.ceil(months), since=np.floor(since))


def untied(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(months=frame["exact"])


def ask(frame: pd.DataFrame, split: dict[str, list[str]] = SPLIT, **task: Any) -> dict[str, Any]:
    files: dict[str, str | None] = {
        name: frame.sample(frac=1.0, random_state=place)[["id", *columns]].to_csv(index=False)
        for place, (name, columns) in enumerate(split.items())
    }
    with InProcess("v6_verticox", {**files, "h": None}, {name: {} for name in [*files, "h"]}, "a") as running:
        return dict(running.run("fit", {**TASK, **task}))


def table(result: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(result["model"]["coefficients"]).set_index("feature").loc[FEATURES]


def defined(frame: pd.DataFrame, beta: np.ndarray, task: dict[str, Any], covariance: Any = lin_wei) -> np.ndarray:
    """Return the errors of the definition for what a task asks."""
    cases = {name: task[name] for name in ("ties", "weights", "entry") if name in task}
    if covariance is lin_wei and "cluster" in task:
        cases["cluster"] = frame[task["cluster"]].to_numpy()
    stratum = frame["site"].to_numpy() if "strata" in task else None
    return np.sqrt(np.diag(covariance(frame, FEATURES, beta, "months", "died", stratum, **cases)))


CASES = {
    "efron": {"ties": "efron", "robust": True},
    "efron in strata by cluster": {"ties": "efron", "cluster": "family", "strata": "site"},
    "weights": {"weights": "weight", "robust": True},
    "weights by cluster": {"weights": "weight", "cluster": "pool"},
    "entry": {"entry": "since", "robust": True},
    "entry by cluster": {"entry": "since", "cluster": "family"},
    "all": {"weights": "weight", "entry": "since", "cluster": "pool", "strata": "site"},
    "weights, efron": {"ties": "efron", "weights": "weight", "robust": True},
    "entry, efron": {"ties": "efron", "entry": "since", "robust": True},
    "all, efron": {"ties": "efron", "weights": "weight", "entry": "since", "cluster": "pool", "strata": "site"},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("task", CASES.values(), ids=CASES)
def test_it_is_the_sandwich_of_its_definition(cohort: pd.DataFrame, task: dict[str, Any]) -> None:
    found = table(ask(cohort, **task))
    beta = found["coefficient"].to_numpy()
    wanted = defined(cohort, beta, task)
    np.testing.assert_allclose(found["standard_error"], wanted, rtol=1e-6)
    assert np.abs(wanted / defined(cohort, beta, task, naive) - 1.0).max() > 0.02  # the control: not the model's


def test_efrons_residuals_are_slopes_in_the_case_weights_of_lifelines(cohort: pd.DataFrame) -> None:
    """How its coefficients follow the weights, of which R defines a record's part of the score: the twin is not wrong as the fit is."""
    part = cohort.iloc[:120][["months", "died", *FEATURES]].assign(one=1.0)
    ties = part[part["died"] == 1].groupby("months").size()
    assert ties.max() > 3

    def fitted(weights: np.ndarray) -> np.ndarray:
        options = {"precision": 1e-13}
        fit = CoxPHFitter().fit(part.assign(one=weights), "months", "died", weights_col="one", fit_options=options)
        return np.asarray(fit.params_[FEATURES])

    beta = fitted(np.ones(120))
    residuals = score_residuals(part, FEATURES, beta, "months", "died", ties="efron")
    moved = residuals @ naive(part, FEATURES, beta, "months", "died", ties="efron")
    for seed in range(2):
        direction = np.random.default_rng(seed).normal(size=120)
        slope = (fitted(1.0 + 1e-3 * direction) - fitted(1.0 - 1e-3 * direction)) / 2e-3
        np.testing.assert_allclose(slope, direction @ moved, rtol=1e-4, atol=1e-5 * np.abs(moved).max())


def test_efrons_are_those_of_the_fit_to_whole_records(cohort: pd.DataFrame) -> None:
    domain = {name: {"bounds": [float(cohort[name].min()), float(cohort[name].max())]} for name in FEATURES}
    asked = {"time": "months", "event": "died", "features": FEATURES, "domain": domain, "times": [2, 4, 6, 9, 14, 999]}
    files: dict[str, str | None] = {f"s{place}": cohort.iloc[place::3].to_csv(index=False) for place in range(3)}
    with InProcess("v6_verticox", files, {name: {} for name in files}, "s0") as running:
        more = {"split": "horizontal", "ties": "efron", "robust": True, "tolerance": 1e-9}
        rows = dict(running.run("fit", {**asked, **more}))
    grid = np.array(rows["model"]["times"])
    own = table(ask(cohort.assign(months=grid[np.searchsorted(grid, cohort["months"])]), ties="efron", robust=True))
    np.testing.assert_allclose(own["standard_error"], table(rows)["standard_error"], rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("cluster", [None, "pool"])
def test_with_weights_it_is_lifelines(cohort: pd.DataFrame, cluster: str | None) -> None:
    """Times without ties, which its score residuals take no heed of."""
    frame = untied(cohort)
    found = table(ask(frame, weights="weight", robust=True, cluster=cluster))
    columns = frame[["months", "died", "weight", *FEATURES, *([cluster] if cluster else [])]]
    roles = {"weights_col": "weight", "cluster_col": cluster, "robust": True, "fit_options": {"precision": 1e-12}}
    wanted = CoxPHFitter().fit(columns, "months", "died", **roles)
    np.testing.assert_allclose(found["standard_error"], wanted.standard_errors_[FEATURES], rtol=1e-6)


def test_with_entry_it_is_statsmodels(cohort: pd.DataFrame) -> None:
    found = table(ask(cohort, entry="since", cluster="family", strata="site"))
    after = cohort["since"] + 1e-6  # it counts who enters at a time as at risk there
    shifted = {"status": cohort["died"], "entry": after + 1, "strata": cohort["site"], "ties": "breslow"}
    peer = PHReg(cohort["months"] + 1, cohort[FEATURES], **shifted).fit(groups=cohort["family"].to_numpy())
    np.testing.assert_allclose(found["coefficient"], peer.params, rtol=1e-6)
    np.testing.assert_allclose(found["standard_error"], peer.bse, rtol=1e-6)


def test_with_gaps_it_is_that_of_the_complete_records(cohort: pd.DataFrame) -> None:
    frame, rng = cohort.copy(), np.random.default_rng(1)
    for name in ("age", "dose"):
        frame.loc[rng.random(ROWS) < 0.12, name] = np.nan
    found = table(ask(frame, robust=True, missing="complete"))
    wanted = defined(frame.dropna(), found["coefficient"].to_numpy(), {})
    np.testing.assert_allclose(found["standard_error"], wanted, rtol=1e-6)


def test_weights_that_differ_much_within_ties(cohort: pd.DataFrame) -> None:
    """Small ties whose first record weighs a thousandth of the next: their sums at risk are corrected from the start."""
    rng = np.random.default_rng(2)
    frame = cohort.assign(weight=np.exp(rng.uniform(np.log(1 / 60), np.log(60), ROWS)))
    task = {"weights": "weight", "robust": True}
    result = ask(frame, **task)
    found = table(result)
    np.testing.assert_allclose(
        found["standard_error"], defined(frame, found["coefficient"].to_numpy(), task), rtol=1e-6
    )
    assert not result["warnings"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("task", "more"),
    [({"ties": "efron"}, 4), ({"weights": "weight"}, 4), ({"entry": "since"}, 6), ({"missing": "complete"}, 4)],
    ids=lambda task: next(iter(task)) if isinstance(task, dict) else None,
)
def test_rounds_are_those_that_the_page_says(cohort: pd.DataFrame, task: dict[str, Any], more: int) -> None:
    """Without ties, so that nothing but the residuals differs."""
    frame = untied(cohort)
    rounds = [ask(frame, **task, robust=robust)["federation"]["rounds"] for robust in (False, True)]
    assert rounds[1] - rounds[0] == more
    assert Fit.usual_rounds({**task, "robust": True}) - Fit.usual_rounds(task) == more + 1  # with small ties


@pytest.mark.parametrize(
    ("task", "kind", "text"),
    [
        (
            {"cluster": "family", "weights": "weight"},
            DataProblem,
            "cluster column 'family' must be at the station with",
        ),
        ({"cluster": "pair", "weights": "heavy"}, DataProblem, "cluster column 'pair' and the weights: fewer records"),
        ({"cluster": "giant", "weights": "large"}, DataProblem, "cluster column 'giant' and the weights: fewer"),
        ({"robust": True, "weights": "lone"}, DataProblem, "weights column 'lone' weighs fewer records"),
        ({"cluster": "family", "missing": "complete"}, ArgumentError, "cluster of a vertical fit is for missing="),
        ({"robust": True, "solver": "bfgs"}, ArgumentError, "robust of a vertical fit is for solver='private_newton'"),
    ],
)
def test_what_is_asked_wrongly_or_singles_out_records_is_named(
    cohort: pd.DataFrame, task: dict[str, Any], kind: Any, text: str
) -> None:
    """Weights can make a pair of few records, or one record, most of the matrix, where numbers of records look harmless."""
    place, rng = np.arange(ROWS), np.random.default_rng(3)
    frame = cohort.assign(lone=np.where(place == 7, 40.0, rng.uniform(1.0, 2.0, ROWS)))
    frame["heavy"] = np.where(place < 20, 60.0, 0.02)  # of twenty heavy records two are a pair, of the light ones ten
    frame["pair"] = np.where(place == 1, 0, np.where((place >= 20) & (place < 30), 20 + (place - 20) // 2, place))
    frame["large"] = np.where(
        place % 2, 50.0, 0.02
    )  # outside the largest cluster are three heavy records and light ones
    frame["giant"] = np.where((place % 2 == 1) & (place > 6), -1, place)
    split = {**SPLIT, "c": [*SPLIT["c"], "lone", "heavy", "pair", "large", "giant"]}
    with pytest.raises(kind, match=text):
        ask(frame, split, **task)


def test_lone_weights_are_let_through_without_squares(cohort: pd.DataFrame) -> None:
    """The control: in sums of weights the record is one of many."""
    lone = np.where(np.arange(ROWS) == 7, 40.0, np.random.default_rng(3).uniform(1.0, 2.0, ROWS))
    split = {**SPLIT, "c": [*SPLIT["c"], "lone"]}
    assert ask(cohort.assign(lone=lone), split, weights="lone")["model"]["coefficients"]


@pytest.mark.audit
def test_residuals_that_nobody_asked_for_are_not_computed(
    cohort: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A central that deviates would pass by what is checked of weights and clusters for robust errors."""
    honest = surface.FederatedSurface.information

    async def information(self: Any, step: int, final: bool) -> Any:
        found = await honest(self, step, final)
        if final:
            await self.squares()
        return found

    monkeypatch.setattr(surface.FederatedSurface, "information", information)
    with pytest.raises(MessageError, match="an earlier round of this job is missing"):
        ask(cohort, weights="weight")
    assert ask(cohort, weights="weight", robust=True)["model"]["robust"]
